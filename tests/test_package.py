"""The package as a whole: cheap to import, documented by examples that run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elasticgnn

ROOT = Path(__file__).parent.parent
HEAVY = ("matplotlib", "pandas", "sklearn", "torch_geometric", "optuna", "networkx", "pyarrow")


@pytest.mark.parametrize("module", ["", ".nn", ".training", ".solver", ".data"])
def test_importing_the_package_loads_no_heavy_library(module):
    code = f"import elasticgnn{module}, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_demo_trains_without_slow_imports():
    code = (
        "import sys\nfrom elasticgnn.demo.trainings import list_cells, train_cell\n"
        "cells = {cell.model: cell for cell in list_cells(1, 1, 0)}\n"
        "for cell in cells.values(): train_cell(cell)\n"
        "print([m for m in ('torch_geometric', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_demo_starts_its_processes_before_it_loads_torch():
    code = (
        "import sys, elasticgnn.demo.picture\nfrom elasticgnn.demo import trainings\n"
        "trainings.list_cells(1, 1, 0)\n"
        "print([m for m in ('torch', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_types_are_shipped():
    assert (Path(elasticgnn.__file__).parent / "py.typed").exists()


def test_help_of_the_tool_does_not_load_torch():
    code = (
        "import sys\nfrom elasticgnn.cli.__main__ import build_app\nbuild_app()\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def python_examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(python_examples(ROOT / "README.md"))))
def test_readme_example_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(python_examples(ROOT / "README.md")[number], "README.md", "exec"), {})


def test_what_the_readme_says_an_example_prints_is_what_it_prints(capsys):
    text = (ROOT / "README.md").read_text()
    exec(compile(python_examples(ROOT / "README.md")[0], "README.md", "exec"), {})
    promised = re.search(r"It prints `(.*?)`", text)
    assert promised is not None
    assert promised[1] in capsys.readouterr().out


def test_every_changelog_fragment_is_well_formed():
    script = ROOT / "scripts" / "release.py"
    subprocess.run([sys.executable, script, "fragments"], check=True, capture_output=True)
