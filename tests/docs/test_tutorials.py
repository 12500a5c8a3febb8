"""The tutorials run from their text sources, cell after cell, as a reader would type them."""

import re
from pathlib import Path

import matplotlib
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
TUTORIALS = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")


def cells(name: str) -> list[str]:
    text = (FOLDER / f"{name}.md").read_text()
    return re.findall(r"```\{code-cell\} python\n(.*?)```", text, flags=re.DOTALL)


def test_there_is_one_tutorial_for_each_reader():
    assert TUTORIALS == ["checker", "practitioner", "researcher", "statistician"]


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_runs(name, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    written = cells(name)
    assert len(written) >= 3
    names: dict[str, object] = {}
    for number, cell in enumerate(written):
        exec(compile(cell, f"{name}.md, cell {number + 1}", "exec"), names)
