"""Times what a newcomer waits for: `make run` in a fresh clone, its install and its demo apart.

Usage: python scripts/first_look.py [--record FILE]
The last commit is cloned into a temporary folder, so what is not committed is not measured.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = {"install": ["make", ".venv/.run"], "demo": ["make", "run"]}


def timed(command: list[str], folder: Path) -> dict[str, float]:
    """Seconds on the clock and of the processors; what the command says goes to stderr."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 1), "processor_seconds": round(used, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, help="write the seconds as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        described = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(described, cwd=clone, capture_output=True, text=True).stdout.strip()
        steps = {name: timed(command, clone) for name, command in STEPS.items()}
    total = round(sum(step["seconds"] for step in steps.values()), 1)
    record = {
        "command": " ".join(["python", "scripts/first_look.py", *sys.argv[1:]]),
        "commit": commit,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "seconds": total,
        **steps,
    }
    print(json.dumps(record, indent=1))
    if options.record is not None:
        options.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
