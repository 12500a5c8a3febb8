"""The tutorial of examples/: every command of it, in order."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elasticgnn.cli.__main__ import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_commands_of_the_tutorial_work(tmp_path, monkeypatch, capsys):
    shutil.copytree(EXAMPLES / "transfers", tmp_path / "transfers")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(
        r"^elasticgnn (.+)$", (EXAMPLES / "transfers" / "README.md").read_text("utf-8"), re.M
    )
    assert len(commands) == 5
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main(command.replace("--minutes 0.5", "--minutes 0.01").split())
        assert not stop.value.code
    printed = capsys.readouterr().out
    assert "are read as source, target" in printed
    assert Path("page.html").stat().st_size > 200_000
    assert Path("why.png").exists()
    rows = list(csv.DictReader(Path("predictions.csv").read_text().splitlines()))
    assert len(rows) == 600
    ranking = list(csv.DictReader(Path("ranking.csv").read_text().splitlines()))
    assert len(ranking) == len(Path("cleaned.csv").read_text().splitlines()) - 1 + 40


def test_the_files_are_what_the_script_makes(tmp_path):
    shutil.copy(EXAMPLES / "transfers" / "make_data.py", tmp_path)
    subprocess.run([sys.executable, tmp_path / "make_data.py"], check=True)
    for name in ("accounts.csv", "transfers.csv", "verdicts.csv"):
        made = (tmp_path / name).read_text("utf-8")
        assert made == (EXAMPLES / "transfers" / name).read_text("utf-8")
