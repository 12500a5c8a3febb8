"""How far a request travels through the package: files and functions on its way, as one table.

`python scripts/count_hops.py` measures the elasticgnn that Python imports; another checkout is
measured by `PYTHONPATH=<checkout>/src python scripts/count_hops.py --plain`, which leaves the
compiled loops out, so that the checkout needs no build. That path goes before an editable install.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

if "--plain" in sys.argv:
    sys.modules["elasticgnn.kernels._native"] = None
if "PYTHONPATH" in os.environ:  # an editable install has a finder that is asked before any path
    sys.meta_path = [found for found in sys.meta_path if "Redirecting" not in type(found).__name__]

import torch

import elasticgnn

PACKAGE = str(Path(elasticgnn.__file__).parent)


@dataclass
class Way:
    """What one request entered: files, functions, and the longest chain of files calling files."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    calls: int = 0
    hops: int = 0

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if is_importing(frame):  # which is no part of the way
            return
        self.calls += 1
        self.files.add(code.co_filename)
        self.functions.add((code.co_filename, code.co_qualname))
        self.hops = max(self.hops, len(chain(frame)))


def is_importing(frame: FrameType | None) -> bool:
    """Whether a module of the package is being executed, its classes and decorators too."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def chain(frame: FrameType | None) -> list[str]:
    """The package's files on the stack above `frame`, neighbours in the same file counted once."""
    found: list[str] = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(PACKAGE):
            found += [name] if not found or found[-1] != name else []
        frame = frame.f_back
    return found


def measure(request: Callable[[], object]) -> dict[str, int]:
    """The counts of one request."""
    way = Way()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(way.watch)
        try:
            request()
        except SystemExit as done:
            if done.code not in (0, None):
                raise
        finally:
            sys.setprofile(None)
    return {
        "hops": way.hops,
        "files": len(way.files),
        "functions": len(way.functions),
        "calls": way.calls,
    }


def command(*words: str) -> Callable[[], object]:
    from elasticgnn.cli.__main__ import build_app

    app = build_app()
    return lambda: app(list(words))


def layer_call() -> Callable[[], object]:
    from elasticgnn.nn import EMP

    tail, head = torch.arange(50), (torch.arange(50) + 1) % 50
    edge_index = torch.stack((torch.cat((tail, head)), torch.cat((head, tail))))
    x = torch.randn(50, 7, generator=torch.Generator().manual_seed(0), requires_grad=True)
    layer = EMP(K=10)
    return lambda: layer(x, edge_index)


def main() -> None:
    """Prints the table, or one JSON object with --json."""
    with tempfile.TemporaryDirectory() as folder:
        signal, edges = Path(folder) / "signal.csv", Path(folder) / "edges.csv"
        signal.write_text("id,value\n" + "".join(f"{i},{i // 10}\n" for i in range(30)))
        edges.write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(29)))
        os.chdir(folder)
        ways = {
            "train cora": command("train", "cora", "--splits", "1", "--epochs", "2"),
            "denoise": command("denoise", str(signal), str(edges), "--lambda1", "0.5"),
            "EMP(x, edge_index)": layer_call(),
        }
        found = {name: measure(request) for name, request in ways.items()}
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, counts in found.items():
        print(f"{name:20}" + "".join(f"{counts[key]:>7} {key}" for key in counts))


if __name__ == "__main__":
    main()
