"""One way from Python into the loops: bindings go through kernels/binding/call.h."""

import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "src" / "elasticgnn" / "kernels"
BINDINGS = sorted(KERNELS.rglob("bind_*.cpp"))


@pytest.mark.parametrize("path", BINDINGS, ids=lambda path: path.stem)
def test_a_binding_casts_no_address_and_releases_no_lock_by_itself(path):
    own = re.findall(r"reinterpret_cast|gil_scoped_release|Interruption \w+;", path.read_text())
    assert not own, f"{path.name} does by itself what binding/call.h does: {own}"


def test_the_families_are_found():
    assert {path.stem for path in BINDINGS} >= {
        "bind_emp",
        "bind_packed",
        "bind_wide",
        "bind_solver",
        "bind_distributed",
    }
