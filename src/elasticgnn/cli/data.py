"""`elasticgnn data`: which data sets there are, what is in them, whether their files are right."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.say import say
from elasticgnn.extras import optional_imports
from elasticgnn.files import visible

if TYPE_CHECKING:
    from elasticgnn.data import DataSet

Root = Annotated[
    Path | None,
    typer.Option(
        "--data-root", help="folder of data files (default: $ELASTICGNN_DATA, or a cache)"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Name = Annotated[str, typer.Argument(help="a name from `elasticgnn data list`")]
Names = Annotated[list[str] | None, typer.Argument(help="data sets (default: all)")]
Mirror = Annotated[
    str | None, typer.Option(help="http(s) address with the layout of the data folder")
]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    group = typer.Typer(help="The paper's data sets: list, look inside, fetch, verify.")
    group.command("list")(list_data)
    group.command("info")(info)
    group.command("fetch")(fetch)
    group.command("verify")(verify)
    app.add_typer(group, name="data", no_args_is_help=True)


def list_data(data_root: Root = None, as_json: Json = False) -> None:
    """Every data set by name, its size, and whether it can be loaded without a network.

    Files are looked for in --data-root, else in the folder ELASTICGNN_DATA, else in the cache.
    Example: elasticgnn data list --data-root data/
    """
    from elasticgnn.data import catalogue

    rows = [list_row(entry, data_root) for entry in catalogue().values()]
    if as_json:
        say(json.dumps({"data_sets": rows}))
        return
    show_table("data sets", rows)


def info(name: Name, data_root: Root = None, as_json: Json = False) -> None:
    """Loads one data set and describes it: sizes, classes, edges within a class, split rule.

    Example: elasticgnn data info cora
    """
    from elasticgnn.data import load
    from elasticgnn.data.describe import describe

    facts = describe(load(name, root=data_root))
    if as_json:
        say(json.dumps(facts))
        return
    show_table(name, [{"": key, "value": str(value)} for key, value in facts.items()])


def fetch(
    names: Names = None, data_root: Root = None, mirror: Mirror = None, as_json: Json = False
) -> None:
    """Downloads what is missing of the named data sets; every file has a known SHA-256.

    Without names: of all. A file whose digest differs is refused.
    Example: elasticgnn data fetch citeseer pubmed --data-root data/
    """
    from elasticgnn.data.download import require_files
    from elasticgnn.data.files import data_folder

    files = chosen_files(names)
    missing = [name for name in files if not (data_folder(data_root) / name).exists()]
    require_files(files, data_root, mirror)
    summary = {"folder": str(data_folder(data_root)), "fetched": missing, "files": len(files)}
    if as_json:
        say(json.dumps(summary))
        return
    say(f"{len(missing)} of {len(files)} files fetched into {summary['folder']}")


def verify(names: Names = None, data_root: Root = None, as_json: Json = False) -> None:
    """Compares every file with its known SHA-256; exit code 1 when one is missing or differs.

    Example: elasticgnn data verify citeseer --data-root data/
    """
    from elasticgnn.data.files import data_folder

    rows = verify_rows(names, data_root)
    bad = [row for row in rows if row["state"] != "ok"]
    folder = str(data_folder(data_root))
    if as_json:
        say(json.dumps({"folder": folder, "ok": not bad, "files": rows}))
    else:
        show_table(folder, rows)
        say(f"{len(rows) - len(bad)} of {len(rows)} files are right")
    raise typer.Exit(1 if bad else 0)


def verify_rows(names: list[str] | None, data_root: Path | None) -> list[dict[str, str]]:
    """Each file with its state: ok, different or missing; the bundled file is one of them."""
    from importlib.resources import as_file, files

    from elasticgnn.data.cora import BUNDLED_FILE
    from elasticgnn.data.files import data_folder, file_state

    folder, rows = data_folder(data_root), []
    if not names or "cora" in names:
        with as_file(files("elasticgnn.data") / BUNDLED_FILE) as path:
            rows.append({"file": BUNDLED_FILE, "state": file_state(path, BUNDLED_FILE)})
    for name in chosen_files(names):
        rows.append({"file": name, "state": file_state(folder / name, name)})
    return rows


def chosen_files(names: list[str] | None) -> tuple[str, ...]:
    """The files of the named data sets, or of all, each once."""
    from elasticgnn.data.catalogue import catalogue, find_data_set

    entries = [find_data_set(name) for name in names] if names else list(catalogue().values())
    return tuple(dict.fromkeys(file for entry in entries for file in entry.files))


def list_row(entry: "DataSet", data_root: Path | None) -> dict[str, Any]:
    """One line of the list: sizes as in the paper, split rule, and where the bytes are."""
    from elasticgnn.data.files import data_folder

    folder = data_folder(data_root)
    where = "package" if not entry.files else "network"
    if entry.files and all((folder / file).exists() for file in entry.files):
        where = "folder"
    return {"name": entry.name, **asdict(entry.statistics), "split": entry.split_rule, "at": where}


def show_table(title: str, rows: list[dict[str, Any]]) -> None:
    """A table on standard output; numbers to the right."""
    with optional_imports():
        from rich import box
        from rich.console import Console
        from rich.table import Table
    with optional_imports():
        from rich.text import Text

    def shown(text: str) -> Text:  # as it is: no markup, no control characters
        return Text(visible(text))

    table = Table(title=shown(title), box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for key, value in rows[0].items():
        table.add_column(key, justify="right" if isinstance(value, int) else "left")
    for row in rows:
        table.add_row(
            *(f"{cell:,}" if isinstance(cell, int) else shown(cell) for cell in row.values())
        )
    Console().print(table)
