"""No object of an instruction set exports a weak symbol of ours.

The linker keeps one copy of a weak symbol for all sets, and an old CPU would meet AVX-512 code.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "build" / "loops" / "all"  # of scripts/install.py
OBJECTS = sorted(BUILD.glob("CMakeFiles/kernels_*.dir/**/*.o"))
SETS = r"elasticgnn::(baseline|avx2|avx512)::"


def weak_symbols(text):
    """Names of ours among the weak symbols that nm lists, outside of a set's namespace."""
    found = re.findall(r"^\S+ [WVu] (.+)$", text, re.MULTILINE)
    return [name for name in found if "elasticgnn::" in name and not re.search(SETS, name)]


def test_a_weak_symbol_is_seen():
    listing = "0000 W elasticgnn::Steps::next()\n0000 W elasticgnn::avx2::f()\n0000 T main\n"
    assert weak_symbols(listing) == ["elasticgnn::Steps::next()"]


@pytest.mark.skipif(not BUILD.is_dir(), reason="not installed by scripts/install.py (make test)")
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm of the binutils")
def test_no_object_of_a_set_exports_a_weak_symbol_of_ours():
    built = {path.relative_to(BUILD / "CMakeFiles").parts[0] for path in OBJECTS}
    assert len(built) == (3 if platform.machine() in ("x86_64", "AMD64") else 1)
    command = ["nm", "-C", *map(str, OBJECTS)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.count("elasticgnn::") > 100
    assert weak_symbols(text) == []
