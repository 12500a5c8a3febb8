"""The commands that write files, what they read, and what is compared of what they wrote."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forked import run

OLD = b"the old file"
FETCHED = "planetoid/ind.cora.graph"


@dataclass(frozen=True)
class Command:
    """Arguments, and the file or folder that they write; `goes_on`: a second call finishes it.

    before: the file whose content stands at the output first, where the output is read too.
    """

    arguments: tuple[str, ...]
    output: str
    goes_on: bool = False
    before: str = ""

    def writing_to(self, folder: Path) -> list[str]:
        """The arguments with the output in another folder."""
        return [word if word != self.output else f"{folder}/{word}" for word in self.arguments]


def commands(address: str) -> dict[str, Command]:
    """Every command that writes, as short as it can be."""
    edges = ("edges.csv", "--lambda1", "1")
    stored = ("table1", "--quick", "--results", "stored")
    compare = ("robustness", "cora", "--models", "gcn,mlp", "--attacks", "random,dice")
    few = ("--rates", "0.05,0.1", "--seeds", "1", "--epochs", "3")
    train = ("train", "cora", "--splits", "1", "--epochs", "4")
    study = ("study", "run", "table1", "--quick", "--dataset", "cora", "--model", "gcn")
    fetch = ("data", "fetch", "cora-planetoid", "--mirror", address, "--data-root")
    return {
        "denoise": Command(("denoise", "signal.csv", *edges, "-o", "out.csv"), "out.csv"),
        "denoise in place": Command(
            ("denoise", "own.csv", *edges, "-o", "own.csv"), "own.csv", before="signal.csv"
        ),
        "attack": Command(("attack", "cora", "--method", "random", "-o", "f.json"), "f.json"),
        "train": Command((*train, "-o", "m.safetensors"), "m.safetensors"),
        "predict": Command(("predict", "given.safetensors", "cora", "-o", "p.csv"), "p.csv"),
        "inspect": Command(("inspect", "given.safetensors", "-o", "i.csv"), "i.csv"),
        "report": Command(("report", "--results", "results", "--output", "r.html"), "r.html"),
        "report of a model": Command(
            ("report", "given.safetensors", "--output", "m.html"), "m.html"
        ),
        "explain": Command(
            ("explain", "given.safetensors", "cora", "31336", "--plot", "e.png"), "e.png"
        ),
        "certify": Command(
            ("certify", "given.safetensors", "--samples", "50", "-o", "c.csv"), "c.csv"
        ),
        "export": Command(
            ("export", "given.safetensors", "--licence", "mit", "-o", "card"), "card", True
        ),
        "demo": Command(
            ("demo", "--runs", "1", "--epochs", "2", "--jobs", "1", "-o", "d.png"), "d.png"
        ),
        "robustness": Command((*compare, *few, "--rows", "rows"), "rows", True),
        "study plot": Command(("study", "plot", *stored, "-o", "plot.svg"), "plot.svg"),
        "study export": Command(("study", "export", *stored, "-o", "exported"), "exported", True),
        "partition": Command(("partition", "cora", "--parts", "4", "-o", "parts"), "parts", True),
        "study": Command((*study, "--results", "runs"), "runs", True),
        "data fetch": Command((*fetch, "fetched"), "fetched", True),
    }


def prepare(folder: Path, train: Command) -> None:
    """The files that the commands read."""
    rows = range(20_000)
    (folder / "signal.csv").write_text("id,v\n" + "".join(f"{k},{k % 7}\n" for k in rows))
    (folder / "edges.csv").write_text("a,b\n" + "".join(f"{k},{k + 1}\n" for k in rows[:-1]))
    run([*train.arguments[:-1], "given.safetensors"], folder)
    study = ("study", "run", "table1", "--quick", "--dataset", "cora", "--model", "gcn")
    run([*study, "--results", "stored"], folder)
    (folder / "results").mkdir()
    folder.chmod(0o755)  # an unprivileged user may read


def content(path: Path) -> str:
    """A digest of what a command wrote, without seconds and machines; "" if there is nothing."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and is_result(p))
        return digest("".join(f"{p.relative_to(path)}{content(p)}" for p in files).encode())
    if not path.exists():
        return ""
    if path.suffix == ".safetensors" and path.read_bytes() != OLD:
        from safetensors.torch import load

        weights = load(path.read_bytes())  # its description records seconds
        return digest(b"".join(weights[name].numpy().tobytes() for name in sorted(weights)))
    if path.suffix == ".jsonl":
        return digest(json.dumps([asdict(row) | {"seconds": 0} for row in rows_of(path)]).encode())
    if path.suffix == ".json" and path.parent.parent.name == "runs":
        return digest(json.dumps(runs_of(json.loads(path.read_text()))).encode())
    return digest(path.read_bytes())


def is_result(path: Path) -> bool:
    """A study's database grows with every attempt: the results are what counts."""
    return ".db" not in path.name


def rows_of(path: Path) -> list[Any]:
    """The rows of a comparison in one order; a line that a kill cut off is none."""
    from elasticgnn.robustness.store import read_rows

    return sorted(read_rows(path), key=lambda row: row.key)


def runs_of(table: dict[str, Any]) -> Any:
    keys = ("run", "seed", "split", "val", "test", "selected_epoch")
    return [{key: row[key] for key in keys} for row in table.get("runs", [])] or table


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def clear(path: Path) -> None:
    """Removes a file or folder, if there is one."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def put_old(command: Command, folder: Path) -> str:
    """Puts what stands at the output before the command runs; its digest."""
    output = folder / command.output
    clear(output)
    if command.before:
        shutil.copyfile(folder / command.before, output)
    elif not command.goes_on:
        output.write_bytes(OLD)
    return content(output)
