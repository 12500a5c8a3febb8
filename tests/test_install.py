"""scripts/install.py says when the package came without compiled loops."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "install.py"


def install_script():
    spec = importlib.util.spec_from_file_location("install_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_install_without_loops_is_reported(tmp_path):
    script = install_script()
    (tmp_path / "elasticgnn" / "kernels").mkdir(parents=True)
    assert "loops.log" in script.word_on_loops(tmp_path)
    (tmp_path / "elasticgnn" / "kernels" / "_native.abi3.so").write_bytes(b"")
    assert script.word_on_loops(tmp_path) is None
