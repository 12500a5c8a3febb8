"""Every example of docs/solver.md runs and says what the page says; its tables are the records."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas
import pytest
from PIL import Image

from elasticgnn.cli.__main__ import main

RECORDS = Path(__file__).parents[2] / "benchmarks" / "results"
PAGE = (Path(__file__).parents[2] / "docs" / "solver.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = re.findall(r"^    elasticgnn (denoise .*)$", PAGE, flags=re.MULTILINE)


def expected_lines(block):
    """What the comments behind print(...) promise, as patterns; ... stands for anything."""
    promises = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert len(promises) == block.count("print(")
    return [re.escape(text).replace(re.escape("..."), ".*") for text in promises]


def test_page_has_examples():
    assert len(BLOCKS) == 4
    assert len(COMMANDS) == 3


def test_python_examples_print_what_their_comments_say(capsys):
    names = {}
    for block in BLOCKS:  # later blocks go on with the names of earlier ones
        exec(block, names)
        printed = capsys.readouterr().out.splitlines()
        for line, pattern in zip(printed, expected_lines(block), strict=True):
            assert re.fullmatch(pattern, line), (line, pattern)


@pytest.mark.parametrize("name", ["rivals", "largest", "paths", "methods"])
def test_tables_of_the_page_are_those_of_the_records(solver_tables, name):
    results = json.loads(solver_tables.RESULTS.read_text())
    assert solver_tables.all_tables(results)[name] in PAGE


def test_page_tells_what_the_record_of_certificates_holds():
    total = json.loads((RECORDS / "certificate.json").read_text())["total"]
    whole, certified, floor = (
        total[name] for name in ("unlimited", "unlimited_certified", "unlimited_at_floor")
    )
    assert total["violations"] == 0
    sentence = (
        f"holds {total['problems']:,}, {total['outside']:,} of them also with cvxpy: no violation. "
        f"Of {whole:,} without a limit of steps {certified:,} ({100 * certified / whole:.1f} %) "
        f"were certified, {floor} stood at the rounding floor and {whole - certified - floor} were "
        "not certified."
    )
    assert sentence in " ".join(PAGE.split())


def test_page_tells_what_the_record_of_sparse_systems_holds():
    total = json.loads((RECORDS / "certificate_sparse.json").read_text())["total"]
    whole, certified = total["unlimited"], total["unlimited_certified"]
    sentence = (
        f"holds {total['problems']:,} so, {total['outside']:,} of them also with cvxpy: "
        f"no violation, {certified:,} of {whole:,} without a limit of steps certified "
        f"({100 * certified / whole:.1f} %), {total['unlimited_at_floor']} at the rounding floor."
    )
    assert total["violations"] == 0
    assert sentence in " ".join(PAGE.split())


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the commands of the page name."""
    rng = np.random.default_rng(0)
    signal = pandas.DataFrame({"node": list("abcdef"), "level": rng.normal(size=6)})
    edges = pandas.DataFrame({"from": list("abcde"), "to": list("bcdef")})
    for name, table in (("signal", signal), ("edges", edges)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        table.to_parquet(tmp_path / f"{name}.parquet", index=False)
    pixels = rng.integers(0, 255, (8, 9, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_leave_with_zero(files, command):
    before = set(files.iterdir())
    with pytest.raises(SystemExit) as leaving:
        main(shlex.split(command))
    assert leaving.value.code == 0
    assert set(files.iterdir()) > before
