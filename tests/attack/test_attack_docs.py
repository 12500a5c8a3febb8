"""The tables of the pages about attacks are what their records say."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from elasticgnn import robustness
from elasticgnn.cli.__main__ import main

ROOT = Path(__file__).parent.parent.parent
PAGES = ("attacks", "robustness_details", "defence_details")
TEXT = "\n".join((ROOT / "docs" / f"{name}.md").read_text() for name in PAGES)

WHATS = ("schedule", "scale", "eva", "certify", "rung", "rung_causes", "rung_gamma", "harmless")
WHATS += ("eva_default", "inductive_causes", "inductive_choice", "distilled")


@pytest.mark.parametrize(
    "what", [*WHATS, "worst", "by_attack", "costs", "inductive", "poisoning", "local", "adaptive"]
)
def test_table_is_made_from_its_record(what):
    script = ROOT / "studies" / "attack_tables.py"
    done = subprocess.run(
        [sys.executable, script, what], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) > 2
    assert done.stdout.strip() in TEXT


def commands():
    """Folder and words of the calls of `elasticgnn robustness` with a record, variables put in."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        known = {}
        for line in block.replace("\\\n", " ").splitlines():
            for name, value in known.items():
                line = line.replace(f"${name}", value)
            if given := re.match(r"([A-Z])=(.*)", line):
                known[given[1]] = given[2].strip('"')
            folder, call = re.fullmatch(r"(?:cd (\w+) && )?(.*)", line).groups()
            if call.startswith("elasticgnn robustness") and "results/attacks" in call:
                found.append((folder or ".", shlex.split(call, comments=True)[1:]))
    return found


def rows_of(folder, words, data_root, monkeypatch):
    """The file of rows that a call asks for."""

    class Asked(BaseException):
        pass

    def stop(task, plan, rows, say):
        asked.append(rows.path)
        raise Asked

    asked = []
    monkeypatch.chdir(ROOT / folder)
    monkeypatch.setenv("ELASTICGNN_DATA", str(data_root))
    monkeypatch.setattr(robustness, "measure_robustness", stop)
    with pytest.raises(Asked):
        main(words)
    return asked[0].resolve()


def test_a_command_of_the_pages_finds_each_committed_file_of_rows(data_root, monkeypatch):
    asked = {rows_of(*each, data_root, monkeypatch) for each in commands()}
    committed = set((ROOT / "results" / "attacks").glob("*/*.jsonl"))
    assert len(committed) == 7
    assert asked == committed


@pytest.mark.parametrize("name", PAGES)
def test_prose_is_wrapped(name):
    lines = (ROOT / "docs" / f"{name}.md").read_text().splitlines()
    prose = [line for line in lines if not line.startswith("|")]
    assert max(map(len, prose)) <= 135  # long addresses and commands cannot be broken
