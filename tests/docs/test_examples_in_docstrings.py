"""The examples in docstrings run, and every exported name has one."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
try:
    api_pages = pytest.importorskip("api_pages", reason="the reference needs elasticgnn[docs]")
finally:
    sys.path.pop(0)
SHOWN_ELSEWHERE = {"Leaderboard": "tune"}  # a record that comes out of minutes of work
NAMES = [f"{folder}.{name}" for folder in api_pages.FOLDERS for name in api_pages.names_of(folder)]


def beginning() -> dict[str, object]:
    """The names that examples may use, as the first page of the reference makes them."""
    page = (DOCS / "reference" / "index.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "reference/index.md", "exec"), names)
    return names


def is_constant(name: str) -> bool:
    """Whether it is neither a class nor a function: it has no docstring of its own."""
    value = api_pages.find(name)
    return not inspect.isclass(value) and not inspect.isroutine(value)


@pytest.mark.parametrize("name", [name for name in NAMES if not is_constant(name)])
def test_the_examples_of_an_exported_name_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(api_pages.find(name)) or ""
    if (last := name.partition(".")[2]) in SHOWN_ELSEWHERE:
        other = api_pages.find(f"{name.partition('.')[0]}.{SHOWN_ELSEWHERE[last]}")
        text = inspect.getdoc(other) or ""
    test = doctest.DocTestParser().get_doctest(text, beginning(), name, None, None)
    assert test.examples, f"{name} has no example in its docstring"
    failed = doctest.DocTestRunner(verbose=False).run(test).failed
    assert not failed, capsys.readouterr().out


def test_what_pages_and_examples_import_stands_in_the_reference():
    pages = [DOCS.parent / "README.md", *DOCS.rglob("*.md"), *DOCS.parent.glob("examples/*.py")]
    statement = r"^from elasticgnn\.([\w.]+) import (\([^)]*\)|.*)$"
    found = {
        f"{module}.{name}"
        for page in pages
        for module, names in re.findall(statement, page.read_text(), flags=re.MULTILINE)
        for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", names))
    }
    assert len(found) > 30
    assert found <= set(NAMES)
