"""Every example runs, and the table of the folder names each."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_example_runs(script, tmp_path):
    command = [sys.executable, str(FOLDER / script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout


def test_the_table_names_every_example():
    table = (FOLDER / "README.md").read_text()
    assert not [script for script in SCRIPTS if f"[{script}]({script})" not in table]
