"""Files of a planted graph, and the commands about attacks as one program."""

import pytest
import typer
from typer.testing import CliRunner

from attack.small_task import write_planted
from elasticgnn.cli import attack as attack_module
from elasticgnn.cli import inspect as inspect_module
from elasticgnn.cli import report as report_module
from elasticgnn.cli import robustness as robustness_module


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return write_planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def other_unit(tmp_path_factory):
    return write_planted(tmp_path_factory.mktemp("unit"), scale=1024)


@pytest.fixture
def attack_cli():
    app = typer.Typer()
    for module in (attack_module, inspect_module, robustness_module, report_module):
        module.register(app)

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call
