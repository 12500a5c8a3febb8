"""Installs the package with its compiled loops into the environment that runs this script.

Usage: .venv/bin/python scripts/install.py EXTRA [--sets all|native]
Libraries are installed while the loops are compiled: two pips, side by side. Then what the demo
imports is imported once. What they say goes to logs beside the environment; a line on the terminal
says how far they are.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(sys.prefix) / "install"
OBJECTS = ROOT / "build" / "loops"
PIP = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-color"]
PIP += ["--no-input", "--progress-bar=off"]
# Python compiles what is imported at its first use: a tenth of what is installed. Done here, the
# processes of the demo need not do it each for itself.
IMPORT = """
import contextlib, importlib, sys, warnings
warnings.simplefilter("ignore")  # our loops are still being compiled
sys.path.insert(0, "src")
libraries = "torch", "matplotlib.backends.backend_agg", "matplotlib.figure", "rich.table", "typer"
for name in (*libraries, "elasticgnn.demo.picture", "elasticgnn.training", "elasticgnn.attack"):
    with contextlib.suppress(Exception):  # an editable installation of before may name moved files
        importlib.import_module(name)
"""


def requirements(extras: Iterable[str]) -> set[str]:
    """What the core and these extras need, extras of extras included; none of it is ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, waiting = set(project["dependencies"]), list(extras)
    while waiting:
        for line in project["optional-dependencies"][waiting.pop()]:
            inner = re.fullmatch(rf"{project['name']}\[(.*)\]", line)
            if inner is None:
                found.add(line)
            else:
                waiting += inner[1].split(",")
    return found


def newer_pip() -> dict[str, str]:
    """Where Python finds a pip that reads an index in half the time, if its own is older.

    It lies beside the environment's, which compiles the loops meanwhile.
    """
    if int(version("pip").split(".")[0]) >= 24:
        return {}
    folder = LOGS / "pip"
    found = start("pip", [*PIP, "--no-deps", f"--target={folder}", "pip>=24"]).wait() == 0
    return {"PYTHONPATH": str(folder)} if found else {}


def start(name: str, command: list[str], **variables: str) -> subprocess.Popen[bytes]:
    """A program in the background whose words go to LOGS/name.log."""
    LOGS.mkdir(exist_ok=True)
    pinned = {
        **os.environ,
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        **variables,
    }  # in the build environment too
    pinned.pop("PYTHONDONTWRITEBYTECODE", None)  # which is for sources, not for an environment
    with (LOGS / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=pinned)


def last_match(name: str, pattern: str) -> str:
    """The last text in a log that fits the pattern's group, or dots."""
    found = re.findall(pattern, (LOGS / f"{name}.log").read_text(errors="replace"))
    return found[-1] if found else "..."


def state_line(seconds: float) -> str:
    """Which library is being fetched, and how many files are compiled."""
    library = last_match("libraries", r"(?m)^(?:Collecting|Installing collected) ([\w-]+)")
    library = "unpacking" if library == "packages" else library
    compiled = last_match("loops", r"\[(\d+/\d+)\]")
    return f"{seconds:4.0f} s   libraries: {library}   compiled: {compiled}"


def wait(jobs: dict[str, subprocess.Popen[bytes]]) -> None:
    """Until all are done; on the first failure the others end and its log is shown."""
    began, shown = time.monotonic(), sys.stderr.isatty()
    while any(job.poll() is None for job in jobs.values()):
        if any(job.poll() for job in jobs.values()):
            break
        if jobs["libraries"].poll() == 0 and "imports" not in jobs:
            jobs["imports"] = start("imports", [sys.executable, "-c", IMPORT])
        if shown:
            print(f"\r\033[K{state_line(time.monotonic() - began)}", end="", file=sys.stderr)
        time.sleep(0.2)
    if shown:
        print("\r\033[K", end="", file=sys.stderr)
    failed = [name for name, job in jobs.items() if job.poll()]
    for job in jobs.values():
        job.terminate()
        job.wait()
    for name in failed:
        print("\n".join((LOGS / f"{name}.log").read_text(errors="replace").splitlines()[-30:]))
        sys.exit(f"{name} could not be installed: all of the log is in {LOGS / name}.log")


def word_on_loops(installed: Path) -> str | None:
    """What to say where the package came without compiled loops, which is no failure: it works."""
    if any((installed / "elasticgnn" / "kernels").glob("_native*")):
        return None
    return f"no loops were compiled: plain torch is used, slowly; why is in {LOGS / 'loops.log'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extra")
    parser.add_argument("--sets", default="all", choices=["all", "native"])
    options = parser.parse_args()
    print(f"installing libraries and compiling loops ({options.sets} instruction sets)", flush=True)
    began = time.monotonic()
    build = [f"--config-settings=cmake.define.ELASTICGNN_SETS={options.sets}", "--verbose"]
    # the objects stay behind: tests/kernels/test_symbols.py looks into them
    build += [f"--config-settings=build-dir={OBJECTS.relative_to(ROOT)}/{options.sets}"]
    listed = ["--no-compile", "--prefer-binary", *sorted(requirements([options.extra]))]
    loops = start("loops", [*PIP, "--no-deps", *build, "--editable", "."])
    wait({"libraries": start("libraries", PIP + listed, **newer_pip()), "loops": loops})
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)
    word = word_on_loops(Path(sysconfig.get_path("platlib")))
    if word is not None:
        print(f"warning: {word}", flush=True)


if __name__ == "__main__":
    main()
