"""What a partition folder says of itself; written last, so that a folder with it is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elasticgnn.distributed.checks import check_content, check_fill, check_sums
from elasticgnn.files import file_digest, write_whole

FORMAT = "elasticgnn partition 1"
MANIFEST = "manifest.json"
PLAN = "plan.json"  # what a folder shall hold, written first


@dataclass(frozen=True)
class PartEntry:
    """One part: its nodes, its neighbours, and the SHA-256 of each of its files."""

    nodes: int
    neighbours: int
    files: Mapping[str, str]

    @property
    def work(self) -> int:
        """Nodes and neighbours together: what a step costs."""
        return self.nodes + self.neighbours


@dataclass(frozen=True)
class Manifest:
    """A partition folder: the task, how it was divided, and the SHA-256 of every file."""

    name: str
    fingerprint: str  # of the task, as model files have it
    num_nodes: int
    num_edges: int
    normalization: str
    method: str
    class_names: tuple[str, ...]
    num_features: int
    feature_names: tuple[str, ...] | None
    sparse: bool
    split_rule: str
    own_files: bool  # 60/20/20 splits instead of the paper's
    files: Mapping[str, str]
    parts: tuple[PartEntry, ...]
    categories: tuple[str, ...] = ()  # of words among the features, as the model file has them
    fill: tuple[float, ...] | None = None  # what stands for a missing value in each column

    @property
    def imbalance(self) -> float:
        """The work of the heaviest part as a multiple of the mean."""
        work = [part.work for part in self.parts]
        return max(work) * len(work) / sum(work)

    @property
    def digest(self) -> str:
        """SHA-256 of all of it: what a checkpoint belongs to."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"

    def write(self, folder: Path) -> None:
        """Writes the manifest into the folder, whole or not at all."""
        write_whole(folder / MANIFEST, self.to_json())


def is_partition(path: str | Path) -> bool:
    """Whether `path` is a folder that says it holds, or shall hold, a partition."""
    return Path(path).is_dir() and (Path(path, MANIFEST).exists() or Path(path, PLAN).exists())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished partition folder."""
    path = folder / MANIFEST
    if not path.is_file():
        hint = (
            "unfinished: run the same `elasticgnn partition` again" if is_partition(folder) else ""
        )
        raise ValueError(f"{folder} must be a finished partition folder, got {hint or 'another'}")
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if content.pop("format", None) != FORMAT:
            raise ValueError("another format")
        for each in (content, *content["parts"]):
            check_content(each)
        check_sums(content)
        check_fill(content)
        parts = tuple(PartEntry(**entry) for entry in content.pop("parts"))
        names = tuple(content.pop("class_names"))
        lists = {name: content.pop(name, None) for name in ("feature_names", "fill")}
        further: dict[str, Any] = {
            name: None if one is None else tuple(one) for name, one in lists.items()
        }
        further["categories"] = tuple(content.pop("categories", ()))
        return Manifest(**content, class_names=names, parts=parts, **further)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be of format {FORMAT!r}, got: {error}") from None


def part_folder(folder: Path, number: int) -> Path:
    """The folder of one part."""
    return folder / f"part-{number:05d}"


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Refuses a folder in which a listed file is missing or has other bytes."""
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            raise ValueError(
                f"{path} must be there: the partition folder was changed, make it again"
            )
        found = file_digest(path)
        if found != expected:
            raise ValueError(
                f"{path} must have SHA-256 {expected[:16]}…, got {found[:16]}…: "
                "the partition folder was changed, make it again"
            )


def verify_partition(folder: Path) -> Manifest:
    """The manifest, after every byte of the folder was compared with it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.distributed import verify_partition, write_partition
    >>> with TemporaryDirectory() as place:
    ...     _ = write_partition(task, Path(place) / "parts", parts=3)
    ...     verify_partition(Path(place) / "parts").num_nodes
    60
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest.files)
    for number, entry in enumerate(manifest.parts):
        check_files(part_folder(folder, number), entry.files)
    return manifest
