"""scripts/install.py: environments of before, and a word where no loops were compiled."""

import importlib.util
import sys
import warnings
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


def test_what_cannot_be_imported_yet_does_not_stop_the_installation(monkeypatch):
    # an editable installation of before names a file that has become a folder since
    def gone(name):
        raise FileNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", gone)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with warnings.catch_warnings():
        exec(install_script().IMPORT, {})
