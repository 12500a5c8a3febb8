"""What keeps a tree from being released is found and said."""

import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    import release
finally:
    sys.path.pop(0)
FILES = ("pyproject.toml", "CHANGELOG.md", *release.NAMED_IN)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """The files that a release looks at, no fragment waiting, nothing built."""
    (tmp_path / "changelog.d").mkdir()
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


def write_wheel(tree: Path, tags: str, *names: str) -> None:
    (tree / "dist").mkdir(exist_ok=True)
    with zipfile.ZipFile(tree / "dist" / f"elasticgnn-0.1.0-{tags}.whl", "w") as archive:
        for name in names:
            archive.writestr(name, "")


def test_this_version_is_named_everywhere(tree):
    assert release.problems("v0.1.0") == []


@pytest.mark.parametrize("name", release.NAMED_IN)
def test_a_file_that_names_another_version_is_found(tree, name):
    text = (tree / name).read_text()
    (tree / name).write_text(text.replace("0.1.0", "0.0.9"))
    assert release.problems(None) == [f"{name} must name version 0.1.0"]


def test_another_tag_and_waiting_fragments_are_found(tree):
    (tree / "changelog.d" / "a.added.md").write_text("A thing.")
    assert release.problems("v0.2.0") == [
        "the tag must be v0.1.0, got v0.2.0",
        "1 changelog fragments are not joined",
    ]


def test_a_site_without_a_page_or_of_another_version_is_found(tree):
    site = tree / "build" / "site"
    site.mkdir(parents=True)
    (tree / "docs" / "index.md").write_text("")
    for page in ("cite", "index", "results"):
        (site / f"{page}.html").write_text("<title>elasticgnn 0.0.9</title>")
    assert release.problems(None) == ["build/site must have comparison.html: run make docs"]
    (site / "comparison.html").write_text("")
    assert release.problems(None) == ["build/site must be of version 0.1.0: run make docs"]
    (site / "index.html").write_text("<title>elasticgnn 0.1.0</title>")
    assert release.problems(None) == []


def test_compiled_wheels_need_their_loops_and_the_plain_one_none(tree):
    write_wheel(tree, "cp312-abi3-manylinux_2_34_x86_64", "elasticgnn/kernels/_native.abi3.so")
    write_wheel(tree, "py3-none-any", "elasticgnn/__init__.py")
    assert release.problems(None) == []
    write_wheel(tree, "cp311-cp311-linux_x86_64", "elasticgnn/__init__.py")
    assert release.problems(None) == [
        "elasticgnn-0.1.0-cp311-cp311-linux_x86_64.whl has no compiled loops",
        "elasticgnn-0.1.0-cp311-cp311-linux_x86_64.whl must be repaired by auditwheel",
    ]
