"""What belongs together stays together: a part that a change forgets turns one of these red.

docs/architecture.md lists ten plausible changes, the files that each touches, and the test.
"""

import ast
import dataclasses
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import typer

import elasticgnn
from elasticgnn import nn
from elasticgnn.attack import Constraints
from elasticgnn.attack.methods import GRADIENT_METHODS, METHODS
from elasticgnn.attack.run import GRADIENT_ATTACKS, SETTINGS
from elasticgnn.cli.__main__ import COMMANDS, build_app
from elasticgnn.cli.attack import settings_for
from elasticgnn.cli.task_files import OWN_STRENGTH, PAPER_STRENGTH
from elasticgnn.data.catalogue import catalogue
from elasticgnn.experiment import Setting
from elasticgnn.experiment.tasks import toy_task
from elasticgnn.nn.settings import MODEL_NAMES, ModelSettings, settings_in_use
from elasticgnn.operator.routes import ROUTES
from elasticgnn.training import (
    ElasticGNNClassifier,
    ElasticGNNRegressor,
    Run,
    TrainingPlan,
    tune,
)
from elasticgnn.training.tuning.metrics import ERRORS, METRICS, NUMBER_METRICS, SHARES, score

PACKAGE = Path(elasticgnn.__file__).parent
PLAN = dataclasses.fields(TrainingPlan)
ROOT = PACKAGE.parents[1]


def help_of(command: str, option: str) -> str:
    tree = typer.main.get_command(build_app())
    (found,) = [p for p in tree.commands[command].params if p.name == option]
    return found.help


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_every_model_can_be_built(name):
    generator = torch.Generator().manual_seed(0)
    model = nn.build_model(ModelSettings(name, hidden_channels=16), 4, 3, generator)
    assert type(model).__name__ in vars(nn)


def test_what_is_offered_is_there():
    """Names that the help of an option has and the code does not: a table was forgotten."""
    assert words(help_of("train", "model")) - {"or"} == set(MODEL_NAMES)
    assert words(help_of("attack", "method")) == set(METHODS)
    metrics = words(help_of("train", "metric")) - {"auto", "numbers"}
    assert metrics == {*METRICS, *NUMBER_METRICS}


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_model_takes_no_notice_of_settings_that_it_does_not_use(name):
    others = {"hidden_channels": 8, "steps": 3, "lambda1": 0.5, "lambda2": 0.5, "norm": "l1"}
    others |= {"alpha": 0.4, "heads": 4, "attention_dropout": 0.3, "dropout": 0.1}
    task = toy_task(torch.Generator().manual_seed(0))

    def built(settings: ModelSettings) -> tuple[list[object], torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        model = nn.build_model(settings, task.num_features, 2, generator).eval()
        rates = [getattr(model, part, None) for part in ("dropout", "attention_dropout")]
        return rates, model(task.features, task.graph)

    usual = ModelSettings(name, hidden_channels=16)
    rates, logits = built(usual)
    for setting in others.keys() - settings_in_use(usual).keys():
        again = built(dataclasses.replace(usual, **{setting: others[setting]}))
        assert again[0] == rates, setting
        assert torch.equal(again[1], logits), setting


def defaults_of(entrance: type) -> dict[str, object]:
    """Defaults by name, as the models and the plan call them."""
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(entrance).parameters.items()
        if parameter.default is not parameter.empty
    }
    return found | {"steps": found["K"]} if "K" in found else found


@pytest.mark.parametrize(
    "entrance",
    [Run, Setting, ElasticGNNClassifier, nn.ElasticGNN, nn.EMP, nn.APPNP, nn.GAT, nn.MLP],
)
def test_every_entrance_has_the_same_defaults(entrance):
    fields = (*dataclasses.fields(ModelSettings), *dataclasses.fields(TrainingPlan))
    usual = {field.name: field.default for field in fields}
    found = defaults_of(entrance)
    own = {"patience"}  # the classifier holds out validation nodes of its own to stop by
    if entrance is ElasticGNNClassifier:
        own |= {"lambda1", "lambda2"}
        assert found["lambda1"] == found["lambda2"] == OWN_STRENGTH
    if entrance is nn.ElasticGNN:
        own |= {"lambda1", "lambda2", "norm"}  # None: those of its penalty
    if entrance is nn.EMP:
        own.add("dropout")  # of edges, and none
    shared = usual.keys() & found.keys() - own
    assert {name: found[name] for name in shared} == {name: usual[name] for name in shared}


@pytest.mark.parametrize("entrance", [ElasticGNNClassifier, ElasticGNNRegressor])
def test_every_comparison_of_models_has_the_same_defaults(entrance):
    usual, found = defaults_of(tune), defaults_of(entrance)
    tree = typer.main.get_command(build_app()).commands["train"]
    words = {parameter.name: parameter.default for parameter in tree.params}
    for name, own in (("minutes", "minutes"), ("metric", "metric"), ("seed", "random_state")):
        assert usual[name] == found[own] == words[name], name


def test_train_has_the_defaults_of_settings_and_plan():
    tree = typer.main.get_command(build_app()).commands["train"]
    found = {parameter.name: parameter.default for parameter in tree.params}
    settings, plan = ModelSettings(), TrainingPlan()
    for name in ("steps", "alpha", "dropout", "norm", "concavity"):
        assert found[name] == getattr(settings, name), name
    for name in ("learning_rate", "weight_decay", "epochs", "patience"):
        assert found[name] == getattr(plan, name), name
    assert (found["model"], found["hidden"]) == (settings.name, settings.hidden_channels)
    assert settings.lambda1 == settings.lambda2 == PAPER_STRENGTH


@pytest.mark.parametrize(
    ("trainer", "unread"),
    [
        ("training/loop", set()),
        ("distributed/fit.py", {"loss"}),  # of numbers to predict, which no partition holds
    ],
)
def test_every_setting_of_the_plan_is_read_or_refused_by_a_trainer(trainer, unread):
    place = PACKAGE / trainer
    files = [place] if place.is_file() else sorted(place.glob("*.py"))
    read = {name for path in files for name in re.findall(r"\bplan\.(\w+)", path.read_text())}
    for name in read & vars(TrainingPlan).keys() - {field.name for field in PLAN}:  # methods
        read |= set(re.findall(r"self\.(\w+)", inspect.getsource(getattr(TrainingPlan, name))))
    assert {field.name for field in PLAN} - read == unread


def test_every_attack_is_offered_to_comparisons():
    assert set(METHODS) <= words(help_of("robustness", "attacks"))


def test_every_attack_has_a_way_through_the_entrance():
    assert set(SETTINGS) == set(METHODS)
    assert set(GRADIENT_ATTACKS) == set(GRADIENT_METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_the_command_gives_every_attack_its_settings_with_the_limits(method):
    limits = Constraints(keep_last_edge=False)
    found = settings_for(method, limits, None, "self", False, 1, 50)
    assert type(found) is SETTINGS[method]
    assert getattr(found, "constraints", found) is limits


def test_every_metric_is_named_on_the_page_of_a_model():
    page = (PACKAGE / "report" / "assets" / "model" / "evidence.js").read_text()
    (titles,) = re.findall(r"const METRICS = {([^}]*)}", page)
    assert set(re.findall(r"(\w+): \"", titles)) == {*METRICS, *NUMBER_METRICS}
    (not_shares,) = re.findall(r"const NOT_SHARES = \[([^\]]*)\]", page)
    assert words(not_shares) == {*METRICS, *NUMBER_METRICS} - {*SHARES}


def test_every_metric_has_a_formula_of_its_own_and_a_range():
    rng = np.random.default_rng(0)
    labels, probability = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    truth, predicted = rng.normal(size=60), rng.normal(size=(60, 1))
    values = [score(metric, labels, probability) for metric in METRICS]
    values += [score(metric, truth, predicted) for metric in NUMBER_METRICS]
    assert len(set(values)) == len(METRICS) + len(NUMBER_METRICS)
    assert {*METRICS, *NUMBER_METRICS} - {*SHARES, *ERRORS} == {"r2"}  # of 1, no share, no error
    assert all(
        value < 0 for metric, value in zip(METRICS, values, strict=False) if metric in ERRORS
    )


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


def test_the_page_counts_the_files_of_each_change_and_none_has_more_than_six():
    path = ROOT / "scripts" / "count_touches.py"
    spec = importlib.util.spec_from_file_location("count_touches", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (ROOT / "docs" / "architecture.md").read_text()
    listed = {
        name: int(re.search(rf"^\| {name} \| \S+ \| (\d+) \|", page, re.M)[1])
        for name in script.CHANGES
    }
    texts = {}
    for place in script.PLACES:
        found = [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*")
        texts |= {p: p.read_text() for p in found if p.is_file() and script.CODE.search(str(p))}
    counted = {
        name: sum(bool(re.search(pattern, text, re.M)) for text in texts.values())
        for name, (pattern, _) in script.CHANGES.items()
    }
    assert counted == listed
    assert max(counted.values()) <= 6
