"""Tries wheels as a stranger would: contents, stable ABI, and the demo without a compiler.

Usage: python scripts/try_wheel.py dist/*.whl
The wheel that fits this Python is installed with its extra `cli` into an empty environment in
which no compiler can be found, and runs `elasticgnn doctor` and `elasticgnn demo` there. A
stable-ABI wheel that does not fit is loaded by every newer Python on the path.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("elasticgnn.kernels._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(sys.version.split()[0], "loads it:", module.simd)
"""


def check_contents(wheel: Path) -> None:
    """Loops, types and bundled data are inside; sources of the loops are not."""
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ("_native.", "py.typed", "cora.npz", "licenses/LICENSE")
    missing = [part for part in wanted if not any(part in name for name in names)]
    extra = [name for name in names if name.endswith((".cpp", ".h"))]
    if missing or extra:
        raise SystemExit(f"{wheel.name}: missing {missing}, should not be there {extra[:3]}")


def load_elsewhere(wheel: Path) -> None:
    """The extension of a stable-ABI wheel, loaded by each newer Python that is here."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if "_native." in name)
        path = archive.extract(name, folder)
        for python in filter(None, map(shutil.which, ("python3.12", "python3.13", "python3.14"))):
            subprocess.run([python, "-c", LOAD, path], check=True)


def run_demo(wheel: Path) -> None:
    """Installs the wheel where there is no compiler and runs the demo."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        binaries = Path(folder) / "bin"
        constraints = Path(__file__).parent.parent / "constraints.txt"
        clean = {**os.environ, "PATH": str(binaries), "PIP_CONSTRAINT": str(constraints.resolve())}
        clean.pop("PYTHONPATH", None)
        target = f"{wheel.resolve()}[cli]"
        began = time.perf_counter()
        for command in (
            [binaries / "python", "-m", "pip", "install", "--quiet", "--only-binary=:all:", target],
            [binaries / "elasticgnn", "doctor"],
            [binaries / "elasticgnn", "demo"],
        ):
            subprocess.run(command, check=True, env=clean, cwd=folder)
            print(f"{time.perf_counter() - began:.0f} s after the start: {command[1]} done")


def main() -> None:
    fits = f"cp{sys.version_info.major}{sys.version_info.minor}-cp"
    for wheel in map(Path, sys.argv[1:]):
        check_contents(wheel)
        if fits in wheel.name:
            run_demo(wheel)
        elif "abi3" in wheel.name:
            load_elsewhere(wheel)
        print(f"{wheel.name}: good")


if __name__ == "__main__":
    main()
