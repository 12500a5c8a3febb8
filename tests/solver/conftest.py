"""The random problems of scripts/verify_certificate.py, for the tests of this folder."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "verify_certificate.py"


@pytest.fixture(scope="session")
def verify_certificate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_certificate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verify_certificate"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module
