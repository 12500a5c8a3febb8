"""What belongs together stays together: a part that a change forgets turns one of these red.

docs/architecture.md lists ten plausible changes, the files that each touches, and the test.
"""

import ast
import re
from pathlib import Path

import pytest
import torch
import typer

import elasticgnn
from elasticgnn import nn
from elasticgnn.attack.methods import METHODS
from elasticgnn.cli.__main__ import COMMANDS, build_app
from elasticgnn.data.catalogue import catalogue
from elasticgnn.nn.settings import MODEL_NAMES, ModelSettings
from elasticgnn.operator.routes import ROUTES
from elasticgnn.training.tuning.metrics import METRICS, NUMBER_METRICS, SHARES

PACKAGE = Path(elasticgnn.__file__).parent
ROOT = PACKAGE.parents[1]


def help_of(command: str, option: str) -> str:
    tree = typer.main.get_command(build_app())
    (found,) = [p for p in tree.commands[command].params if p.name == option]
    return found.help


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_can_be_built_and_is_offered(name):
    generator = torch.Generator().manual_seed(0)
    model = nn.build_model(ModelSettings(name, hidden_channels=16), 4, 3, generator)
    assert type(model).__name__ in vars(nn)
    assert name in words(help_of("train", "model"))


@pytest.mark.parametrize(("command", "option"), [("attack", "method"), ("robustness", "attacks")])
def test_every_attack_is_offered(command, option):
    assert set(METHODS) <= words(help_of(command, option))


def test_every_attack_has_a_way_through_the_entrance():
    named = set(re.findall(r'"(\w+)"', (PACKAGE / "attack" / "run.py").read_text()))
    assert set(METHODS) <= named


def test_every_metric_is_offered():
    assert {"auto", *METRICS, *NUMBER_METRICS} <= words(help_of("train", "metric"))


def test_every_metric_is_named_on_the_page_of_a_model():
    page = (PACKAGE / "report" / "assets" / "model" / "evidence.js").read_text()
    (titles,) = re.findall(r"const METRICS = {([^}]*)}", page)
    assert set(re.findall(r"(\w+): \"", titles)) == {*METRICS, *NUMBER_METRICS}
    (not_shares,) = re.findall(r"const NOT_SHARES = \[([^\]]*)\]", page)
    assert words(not_shares) == {*METRICS, *NUMBER_METRICS} - {*SHARES}


def test_every_module_with_a_command_is_in_the_list():
    modules = {p.stem for p in (PACKAGE / "cli").glob("*.py") if "def register(" in p.read_text()}
    assert modules == set(COMMANDS)


def test_every_module_that_is_a_route_is_in_the_table():
    def is_route(path: Path) -> bool:
        names = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return {"refusal", "run"} <= names

    modules = {path for path in (PACKAGE / "operator").rglob("*.py") if is_route(path)}
    assert len(modules) == len(ROUTES)
    assert len({route.name for route in ROUTES}) == len(ROUTES)


def test_every_file_of_a_data_set_has_a_checksum():
    sums = (PACKAGE / "data" / "SHA256SUMS").read_text()
    missing = [file for data in catalogue().values() for file in data.files if file not in sums]
    assert missing == []


def test_instruction_sets_agree_between_build_and_dispatch():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    built = set(re.findall(r"set\(flags_(\w+)", cmake))
    dispatch = (PACKAGE / "kernels" / "binding" / "dispatch.h").read_text()
    (listed,) = re.findall(r"enum class Isa \{([^}]*)\}", dispatch)
    sets = set(re.findall(r"(\w+) =", listed))
    assert built == sets
    assert all(f"namespace elasticgnn::{name} {{" in dispatch for name in sets)
    assert sets <= words((PACKAGE / "kernels" / "native.cpp").read_text())


def test_every_study_is_on_the_page_that_reproduces_it():
    page = (ROOT / "docs" / "reproduce.md").read_text()
    studies = [path.stem for path in (PACKAGE / "experiment" / "specs").glob("*.toml")]
    assert [name for name in studies if name not in page] == []
