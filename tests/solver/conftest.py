"""The random problems of a script and the tables of a benchmark, for the tests of this folder."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def verify_certificate() -> ModuleType:
    load_file(ROOT / "scripts" / "certificate_problems.py")  # which the other one imports
    return load_file(ROOT / "scripts" / "verify_certificate.py")


@pytest.fixture(scope="session")
def solver_tables() -> ModuleType:
    return load_file(ROOT / "benchmarks" / "solver_tables.py")
