"""The data sets known by name: which files they need, and what the paper says about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elasticgnn.data.planetoid import planetoid_files
from elasticgnn.data.split import SplitRule

Kind = Literal["bundled", "planetoid", "npz", "attacked"]


@dataclass(frozen=True)
class Statistics:
    """Sizes of the graph as loaded; edges are undirected, without self-loops and duplicates."""

    nodes: int
    edges: int
    features: int
    classes: int


@dataclass(frozen=True)
class DataSet:
    """One name: where its bytes are, how they are read, and what must come out.

    >>> from elasticgnn.data import catalogue
    >>> catalogue()["cora"].split_rule
    '20-500-1000'
    """

    name: str
    base: str
    kind: Kind
    files: tuple[str, ...]
    statistics: Statistics
    split_rule: SplitRule
    normalized: bool
    rate: float | None = None

    @property
    def largest_component(self) -> bool:
        """Whether the paper cuts the stored graph down to its largest component."""
        return self.kind in ("npz", "attacked")


NPZ_FILES = {
    "coauthor-cs": "gnn-benchmark/ms_academic_cs.npz",
    "coauthor-physics": "gnn-benchmark/ms_academic_phy.npz",
    "amazon-computers": "gnn-benchmark/amazon_electronics_computers.npz",
    "amazon-photo": "gnn-benchmark/amazon_electronics_photo.npz",
    "polblogs": "nettack/polblogs.npz",
}

# The paper's appendix: the semi-supervised table, and the table of attacked data sets.
PAPER_STATISTICS = {
    "cora": Statistics(2708, 5278, 1433, 7),
    "citeseer": Statistics(3327, 4552, 3703, 6),
    "pubmed": Statistics(19717, 44324, 500, 3),
    "coauthor-cs": Statistics(18333, 81894, 6805, 15),
    "coauthor-physics": Statistics(34493, 247962, 8415, 5),
    "amazon-computers": Statistics(13381, 245778, 767, 10),
    "amazon-photo": Statistics(7487, 119043, 745, 8),
    "polblogs": Statistics(1222, 16714, 1490, 2),
}

# The paper prints 44,338 edges for PubMed here: half the entries of the file's neighbour lists,
# 28 of which are repetitions or self-loops. The simple graph has 44,324.
CLEAN_STATISTICS = {
    "cora": Statistics(2485, 5069, 1433, 7),
    "citeseer": Statistics(2110, 3668, 3703, 6),
    "polblogs": Statistics(1222, 16714, 1490, 2),
    "pubmed": Statistics(19717, 44324, 500, 3),
}

RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")

ATTACKED_EDGES = {
    "cora": (5322, 5567, 5809, 6040, 6246),
    "citeseer": (3851, 4032, 4196, 4375, 4549),
    "polblogs": (17349, 17813, 18131, 17794, 17636),
    "pubmed": (46540, 48756, 50972, 53188, 55395),
}


def find_data_set(name: str) -> DataSet:
    """The entry called `name`; rates may be written in any way, as in cora-meta-0.10."""
    known = catalogue()
    tidy = tidy_name(name)
    if tidy not in known:
        plain = ", ".join(entry for entry in known if "-meta-" not in entry)
        attacked = f"{'|'.join(ATTACKED_EDGES)}-meta-{'|'.join(('0', *RATES))}"
        raise ValueError(f"name must be one of {plain}, or {attacked}, got {name!r}")
    return known[tidy]


def tidy_name(name: str) -> str:
    """Lower case, hyphens, and the rate of an attacked graph in its shortest form."""
    tidy = name.strip().lower().replace("_", "-")
    base, marker, rate = tidy.partition("-meta-")
    if not marker:
        return tidy
    try:
        return f"{base}-meta-{float(rate):g}"
    except ValueError:
        return tidy


def catalogue() -> dict[str, DataSet]:
    """Every data set by name, in the order of the paper's tables.

    >>> from elasticgnn.data import catalogue
    >>> list(catalogue())[:3]
    ['cora', 'citeseer', 'pubmed']
    """
    plain = [from_package(), *map(from_planetoid, ("citeseer", "pubmed"))]
    plain += [from_npz(name) for name in NPZ_FILES]
    plain += [from_planetoid("cora", "cora-planetoid")]
    attacked = [from_attack(base, rate) for base in ATTACKED_EDGES for rate in ("0", *RATES)]
    return {entry.name: entry for entry in (*plain, *attacked)}


def from_package() -> DataSet:
    """The entry of bundled Cora."""
    return DataSet("cora", "cora", "bundled", (), PAPER_STATISTICS["cora"], "20-500-1000", True)


def from_planetoid(base: str, name: str | None = None) -> DataSet:
    """The entry of a citation network in Planetoid's files."""
    statistics = PAPER_STATISTICS[base]
    files = planetoid_files(base)
    return DataSet(name or base, base, "planetoid", files, statistics, "20-500-1000", True)


def from_npz(name: str) -> DataSet:
    """The entry of a graph in one NumPy archive."""
    rule: SplitRule = "10-10-80" if name == "polblogs" else "20-30-rest"
    files, statistics = (NPZ_FILES[name],), PAPER_STATISTICS[name]
    return DataSet(name, name, "npz", files, statistics, rule, name != "polblogs")


def from_attack(base: str, rate: str) -> DataSet:
    """A Metattack graph of the robustness study; rate 0 is the clean graph it started from."""
    clean = planetoid_files(base) if base == "pubmed" else (f"nettack/{base}.npz",)
    split = f"prognn-splits/{base}_prognn_splits.json"
    graph = () if rate == "0" else (f"meta-attacked/{base}_meta_adj_{rate}.npz",)
    sizes = CLEAN_STATISTICS[base]
    if rate != "0":
        edges = ATTACKED_EDGES[base][RATES.index(rate)]
        sizes = Statistics(sizes.nodes, edges, sizes.features, sizes.classes)
    files = (*clean, split, *graph)
    name = f"{base}-meta-{rate}"
    return DataSet(name, base, "attacked", files, sizes, "fixed", False, rate=float(rate))
