"""Tries wheels as a stranger would: contents, stable ABI, demo and tutorials without a compiler.

Usage: python scripts/try_wheel.py [--record FILE] dist/*.whl
The wheel that fits this Python is installed with its extra `cli` into an empty environment outside
the repository in which no compiler can be found, runs `elasticgnn doctor` and `elasticgnn demo`
there and, with MORE_EXTRAS, the tutorials of docs/tutorials from their text.
A stable-ABI wheel fits Python 3.12 and later: run this with one of them. With an older one it is
only loaded, by every newer Python on the path. The record holds the seconds of each step on the
clock and of the processors.
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MORE_EXTRAS = "data,sklearn,study"  # what the tutorials need beside `cli`
COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "clang++", "cl")
LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("elasticgnn.kernels._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
print(sys.version.split()[0], "loads it:", module.simd)
"""
WHERE = "import elasticgnn; print(elasticgnn.__file__)"


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
        for python in filter(runs, ("python3.12", "python3.13", "python3.14")):
            subprocess.run([python, "-c", LOAD, path], check=True)


def runs(python: str) -> bool:
    """Whether a Python of this name starts: what is found on the path may be an empty shim."""
    found = shutil.which(python)
    return (
        found is not None
        and subprocess.run([found, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0
    )


def fits(wheel: str, version: tuple[int, int]) -> bool:
    """Whether a Python of this version can install the wheel of this name."""
    tag = re.search(r"-cp(\d)(\d+)-(cp|abi3)", wheel)
    if tag is None:
        return False
    built = (int(tag[1]), int(tag[2]))
    return built == version or (tag[3] == "abi3" and built < version)


def processor_seconds() -> float:
    """Of all that was run and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cells(text: str) -> list[str]:
    """The code of a tutorial, cell by cell."""
    return re.findall(r"```\{code-cell\} python\n(.*?)```", text, flags=re.DOTALL)


@dataclass
class Stranger:
    """An empty environment in which only its own programs are found."""

    folder: Path
    steps: dict[str, dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        self.binaries = self.folder / "venv" / "bin"
        found = [name for name in COMPILERS if shutil.which(name, path=str(self.binaries))]
        if found:
            raise SystemExit(f"the environment must have no compiler, got {found}")
        self.environment = {
            **os.environ,
            "PATH": str(self.binaries),
            "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
            "MPLBACKEND": "agg",
        }
        self.environment.pop("PYTHONPATH", None)

    def run(self, step: str, program: str, *arguments: str | Path) -> None:
        """Runs a program of the environment in a folder of its own; a failure ends everything."""
        work = self.folder / step.replace(" ", "-")
        work.mkdir(exist_ok=True)
        command = [self.binaries / program, *arguments]
        began, used = time.perf_counter(), processor_seconds()
        subprocess.run(command, check=True, env=self.environment, cwd=work)
        seconds, used = time.perf_counter() - began, processor_seconds() - used
        self.steps[step] = {"seconds": round(seconds, 1), "processor_seconds": round(used, 1)}
        print(f"{step}: {seconds:.1f} s", flush=True)

    def install(self, step: str, target: str) -> None:
        """What pip finds as wheels; nothing is built."""
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        self.run(step, "python", *pip, "--only-binary=:all:", target)

    def check_home(self) -> None:
        """Refuses a package that is not the one of this environment."""
        command = [self.binaries / "python", "-c", WHERE]
        location = subprocess.run(
            command, check=True, env=self.environment, cwd=self.folder, capture_output=True
        ).stdout.decode()
        if not Path(location.strip()).is_relative_to(self.folder.resolve()):
            raise SystemExit(f"elasticgnn must come from the wheel, got {location.strip()}")


def try_all(wheel: Path, record: Path | None) -> None:
    """Every step of a first hour with the wheel; the record holds their seconds."""
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    with tempfile.TemporaryDirectory() as folder:
        stranger = Stranger(Path(folder))
        stranger.install("install", f"{wheel.resolve()}[cli]")
        stranger.check_home()
        stranger.run("doctor", "elasticgnn", "doctor")
        stranger.run("demo", "elasticgnn", "demo")
        stranger.install("install more", f"{wheel.resolve()}[{MORE_EXTRAS}]")
        for tutorial in (page for page in pages if page.stem != "index"):
            script = Path(folder) / f"{tutorial.stem}.py"
            script.write_text("\n".join(cells(tutorial.read_text())))
            stranger.run(f"tutorial {tutorial.stem}", "python", script)
        if record is not None:
            write_record(record, wheel, stranger.steps)


def write_record(path: Path, wheel: Path, steps: dict[str, dict[str, float]]) -> None:
    """What each step took, with what is needed to repeat it."""
    about = {"python": platform.python_version(), "cores": os.cpu_count()}
    command = f"python scripts/try_wheel.py --record {path} dist/{wheel.name}"
    record = {"command": command, "wheel": wheel.name, **about, **steps}
    path.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--record", type=Path, help="write what each step took as JSON")
    options = parser.parse_args()
    for wheel in options.wheels:
        check_contents(wheel)
        if fits(wheel.name, sys.version_info[:2]):
            try_all(wheel, options.record)
        elif "abi3" in wheel.name:
            load_elsewhere(wheel)
        print(f"{wheel.name}: good")


if __name__ == "__main__":
    main()
