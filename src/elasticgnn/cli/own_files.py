"""Options that say how one's own files are to be read, the same for every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

PANEL = "Own files"


def option(*names: str, help: str) -> Any:
    """An option that takes a text, shown among those of own files."""
    kind = typer.Option(*names, help=help, rich_help_panel=PANEL)
    return Annotated[str | None, kind]


OPTIONS = {
    "source_column": option("--source-column", "--source", help="column of an edge's first end"),
    "target_column": option("--target-column", "--target", help="column of an edge's other end"),
    "weight_column": option("--weight-column", "--weight", help="column of an edge's weight"),
    "id_column": option("--id-column", "--id", help="column of node ids in features and labels"),
    "label_column": option("--label-column", "--label", help="column of the labels"),
    "encoding": option("--encoding", help="of text files (default: UTF-8, else Windows-1252)"),
}
# of `train`, whose --target says what labels are; beside --source it names the column all the same
TARGET_ALONE = option(
    "--target-column", help="column of an edge's other end (--target x does, too)"
)


def is_column(target: str, asked: dict[str, str | None]) -> bool:
    """Whether a --target that could be the kind of labels is meant as --target-column."""
    from elasticgnn.data.own.targets import TARGETS

    return target not in TARGETS and asked["source"] is not None and asked["target"] is None


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """The command with OPTIONS added, which it gets as one TableLayout called `layout`."""
    # the layout is no option, and its class is not loaded before a command runs
    own = inspect.signature(command, eval_str=True, locals={"TableLayout": object})
    has_target = "target" in own.parameters
    options = OPTIONS | ({"target_column": TARGET_ALONE} if has_target else {})
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in options.items()
    ]
    kept = [part for part in own.parameters.values() if part.name != "layout"]

    @wraps(command)
    def with_layout(*args: Any, **given: Any) -> None:
        from elasticgnn.data.own.layout import TableLayout

        asked = {name.removesuffix("_column"): given.pop(name, None) for name in OPTIONS}
        if has_target and is_column(given["target"], asked):
            asked["target"] = given["target"]
            given["target"] = own.parameters["target"].default
        command(*args, **given, layout=TableLayout(**asked))

    with_layout.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]  # read by typer
    with_layout.__annotations__ = {part.name: part.annotation for part in (*kept, *added)}
    return with_layout
