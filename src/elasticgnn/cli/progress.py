"""A progress bar on stderr: what is done, accuracy so far, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from elasticgnn.extras import optional_imports
from elasticgnn.files import visible

Advance = Callable[[int, float], None]


@contextmanager
def waiting_line(
    what: str, seconds: float, *, shown: bool = True
) -> Iterator[Callable[[str], None]]:
    """A line on stderr while something takes about `seconds`: a function that says how it goes."""
    with optional_imports():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    hidden = not shown or not console.is_terminal
    about = f"of about {seconds:.0f} s" if seconds < 100 else f"of about {seconds / 60:.3g} min"
    columns = (
        SpinnerColumn(),
        TextColumn(what),
        TimeElapsedColumn(),
        TextColumn(f"{about}{{task.fields[news]}}"),
    )
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        line = progress.add_task(what, total=None, news="")
        yield lambda news: progress.update(line, news=f", {news}")


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
