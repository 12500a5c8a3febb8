"""A progress bar on stderr: what is done, accuracy so far, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from elasticgnn.extras import optional_imports
from elasticgnn.files import visible

Advance = Callable[[int, float], None]


@contextmanager
def progress_bar(what: str, total: int, *, shown: bool = True) -> Iterator[Advance]:
    """A function of (units done since its last call, mean validation accuracy so far)."""
    with optional_imports():
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  validation {task.fields[accuracy]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = not shown or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        bar = progress.add_task(escape(visible(what)), total=total, accuracy="...")

        def advance(done: int, accuracy: float) -> None:
            progress.update(bar, advance=done, accuracy=f"{100 * accuracy:.1f} %")

        yield advance
