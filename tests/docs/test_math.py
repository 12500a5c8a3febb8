"""The table of symbols: every name that it gives for a symbol stands in the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "elasticgnn"
PAGE = (ROOT / "docs" / "math.md").read_text()
WHERE = {  # the heading of a table's last column, and where its names live
    "name in code": ("graph", "problem", "operator"),
    "name in the kernels": ("kernels",),
    "name in the solver": ("solver", "kernels/solver"),
}


def names(heading: str) -> set[str]:
    """The names in the last column of the table with this heading, taken apart at dots."""
    rows = PAGE.split(f"| {heading} |\n")[1].split("\n\n")[0].splitlines()[1:]
    cells = [row.rstrip(" |").rpartition(" | ")[2] for row in rows]
    return {
        part
        for cell in cells
        for name in re.findall(r"`([^`]+)`", cell)
        for part in name.split(".")
    }


def words(folders: tuple[str, ...]) -> set[str]:
    files = [path for folder in folders for path in (SOURCES / folder).rglob("*.*")]
    texts = [path.read_text() for path in files if path.suffix in (".py", ".h", ".cpp")]
    return {word for text in texts for word in re.findall(r"\w+", text)}


@pytest.mark.parametrize("heading", WHERE)
def test_every_name_of_a_symbol_is_in_the_code(heading):
    found = names(heading)
    assert len(found) >= 9
    assert found <= words(WHERE[heading])
