"""The examples of the pages about data run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [(DOCS / name).read_text("utf-8") for name in ("data.md", "own_data.md")]
EXAMPLES = [re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) for page in PAGES]


def test_each_page_has_an_example():
    assert list(map(len, EXAMPLES)) == [1, 1]


@pytest.mark.parametrize("example", [text for page in EXAMPLES for text in page])
def test_examples_run(example, tmp_path, monkeypatch):
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cy\n")
    (tmp_path / "features.csv").write_text("id,size\nann,1\nbob,2\ncy,3\n")
    (tmp_path / "labels.csv").write_text("id,label\nann,red\ncy,blue\n")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "page", "exec"), names)
    assert names["task"].num_classes in (2, 7)
