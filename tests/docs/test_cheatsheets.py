"""The cheat sheets name everything there is: commands, attacks, defences, methods, extras."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

from elasticgnn import attack, defence
from elasticgnn.cli.__main__ import build_app
from elasticgnn.extras import EXTRA_OF
from elasticgnn.solver.methods.choice import METHODS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "cheatsheets.md").read_text()


def first_cells(heading: str) -> str:
    """The first column of the tables under a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return "\n".join(row.split(" | ")[0] for row in rows)


def named(cells: str) -> set[str]:
    return {name.rpartition(".")[2] for name in re.findall(r"`([^`]+)`", cells)}


def test_every_command_is_named():
    assert named(first_cells("Commands")) == set(typer.main.get_command(build_app()).commands)


def test_every_attack_and_every_defence_is_named():
    models = {name for name in vars(defence) if name[0].isupper()}
    assert named(first_cells("Attacks and defences")) == {*attack.METHODS, *models, "ElasticGNN"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_solver_is_named(method):
    assert f"`{method}`" in first_cells("The solver")


def test_every_extra_with_what_it_brings_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    inner = {"bench", "docs", "dev"}  # for those who work on the package
    assert named(first_cells("Extras")) == set(project["optional-dependencies"]) - inner
    section = PAGE.split("## Extras\n")[1]
    written = {"PIL": "pillow", "sklearn": "scikit-learn"}
    for library, extra in EXTRA_OF.items():
        row = next(line for line in section.splitlines() if line.startswith(f"| `{extra}`"))
        assert written.get(library, library) in row
