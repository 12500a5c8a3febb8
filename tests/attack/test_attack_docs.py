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
    """The calls of `elasticgnn robustness` with a record, shell variables put in."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        known = {}
        for line in block.replace("\\\n", " ").splitlines():
            for name, value in known.items():
                line = line.replace(f"${name}", value)
            if given := re.match(r"([A-Z])=(.*)", line):
                known[given[1]] = given[2].strip('"')
            if line.startswith("elasticgnn robustness") and "--rows results/attacks" in line:
                found.append(shlex.split(line, comments=True)[1:])
    return found


def test_every_comparison_of_the_pages_is_among_the_commands():
    assert len(commands()) == 5


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words[:4]))
def test_a_command_of_the_pages_finds_its_rows(words, data_root, monkeypatch):
    class Asked(BaseException):
        pass

    def stop(task, plan, rows, say):
        asked.append(rows.path)
        raise Asked

    asked = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ELASTICGNN_DATA", str(data_root))
    monkeypatch.setattr(robustness, "measure_robustness", stop)
    with pytest.raises(Asked):
        main(words)
    assert asked[0].exists()


@pytest.mark.parametrize("name", PAGES)
def test_prose_is_wrapped(name):
    lines = (ROOT / "docs" / f"{name}.md").read_text().splitlines()
    prose = [line for line in lines if not line.startswith("|")]
    assert max(map(len, prose)) <= 135  # long addresses and commands cannot be broken
