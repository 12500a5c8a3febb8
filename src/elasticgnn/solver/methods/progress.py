"""A progress bar on the terminal, from one second on."""

import math
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from elasticgnn.extras import optional_imports
from elasticgnn.tracking.callback import Callback

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0  # seconds before anything is shown


class GapProgress:
    """Shows how many of the gap's digits are won; silent where stderr is no terminal."""

    def __init__(self, rtol: float, callback: Callback | None = None) -> None:
        self.rtol, self.callback = rtol, callback
        self.begin = time.perf_counter()
        self.bar: Progress | None = None

    def __enter__(self) -> "GapProgress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.begin

    def show(self, steps: int, relative_gap: float) -> None:
        """Tell the present state, to the callback too."""
        if self.callback is not None:
            self.callback("minimise", steps, {"relative_gap": relative_gap})
        if self.bar is None and self.seconds > PATIENCE and sys.stderr.isatty():
            self.bar = _start_bar()
            self.bar.add_task("", total=-math.log10(self.rtol))
        if self.bar is not None:
            won = -math.log10(min(max(relative_gap, self.rtol), 1.0))
            text = f"step {steps}, relative gap {relative_gap:.1e}"
            self.bar.update(self.bar.task_ids[0], completed=won, description=text)


def _start_bar() -> "Progress":
    with optional_imports():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar
