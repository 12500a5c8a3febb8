"""docs/scale.md: its tables are those of the record, and its examples are real."""

import json
import re
import sys
from pathlib import Path

import pytest

from distributed_work import small_task
from elasticgnn.distributed import write_partition

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text()
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
NAMES = re.findall(r"^<!-- ([a-z-]+): begin -->$", PAGE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import distributed_tables
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return distributed_tables


@pytest.fixture(scope="module")
def record(tables):
    return json.loads(tables.RESULT.read_text())


def test_every_table_of_the_benchmark_has_a_place(tables):
    assert sorted(NAMES) == sorted(tables.TABLES)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_is_that_of_the_record(tables, record, name):
    begin, end = tables.marks(name)
    assert begin + tables.TABLES[name](record) + end in PAGE


def test_the_tables_come_into_the_page_as_they_are(tables, record):
    assert tables.replaced(PAGE, record) == PAGE
    emptied = re.sub(r"begin -->\n\n.*?\n\n<!--", "begin -->\n\nold\n\n<!--", PAGE, flags=re.DOTALL)
    assert emptied != PAGE
    assert tables.replaced(emptied, record) == PAGE


def test_the_rows_of_an_exchange_are_those_of_the_record(record):
    assert f"{record['exchange']['shared']['boundary']:,} rows" in PAGE
    assert f"{record['exchange']['sockets']['boundary']:,} rows" in PAGE


def test_the_lines_of_python_train_on_a_folder(tmp_path, monkeypatch):
    write_partition(small_task(), tmp_path / "parts", parts=3)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    assert EXAMPLE.count("TrainingPlan()") == 1
    exec(EXAMPLE.replace("TrainingPlan()", "TrainingPlan(epochs=3)"), names)
    assert names["trained"].history.epochs == 3
