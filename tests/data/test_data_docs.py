"""The examples of docs/data.md run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_page_has_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path, monkeypatch):
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cy\n")
    (tmp_path / "features.csv").write_text("id,size\nann,1\nbob,2\ncy,3\n")
    (tmp_path / "labels.csv").write_text("id,label\nann,red\ncy,blue\n")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, str(PAGE), "exec"), names)
    assert names["task"].num_classes in (2, 7)
