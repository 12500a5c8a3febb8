"""Building the package: metadata without compiling, and a package where nothing compiles."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def ask(hook: str, folder: Path, **settings: str) -> tuple[Path, str]:
    """What a hook of the build backend wrote into `folder`, and what it said."""
    code = f"import build_backend; print(build_backend.{hook}({str(folder)!r}))"
    path = {"PYTHONPATH": str(ROOT / "packaging"), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **path, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / done.stdout.splitlines()[-1], done.stdout


def test_metadata_are_made_without_compiling(tmp_path):
    found, printed = ask("prepare_metadata_for_build_wheel", tmp_path, CXX="/bin/false")
    assert "Name: elasticgnn" in (found / "METADATA").read_text()
    assert "Configuring CMake" not in printed


def test_without_a_compiler_the_package_is_built_without_loops(tmp_path):
    found, printed = ask("build_wheel", tmp_path, CXX="/bin/false")
    assert "the loops could not be compiled" in printed
    assert found.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(found).namelist()
    assert "elasticgnn/operator/plain.py" in names
    assert not any("_native." in name for name in names)
