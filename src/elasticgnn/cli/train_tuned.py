"""`elasticgnn train` on own files: models compared, the best saved, and what it is worth."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elasticgnn.cli.say import say
from elasticgnn.cli.train_report import Places, none_for_nan

if TYPE_CHECKING:
    from pathlib import Path

    from elasticgnn.data import NodeTask
    from elasticgnn.training.tuning import Entry, Estimate, Leaderboard, Splitting

WIDTH = 28  # of the names of models
HUGE = 1e5  # R^2 beyond which no places are shown


@dataclass(frozen=True)
class TuneRequest:
    """What the options say of the comparison."""

    minutes: float
    metric: str
    seed: int
    splitting: Splitting
    balanced: bool = False


def train_tuned(task: NodeTask, asked: TuneRequest, places: Places) -> None:
    """Compares models on `task`, prints the leaderboard, and writes the winner."""
    output, page = places.output, places.page
    left_behind = None if output is None else output.with_name(f"{output.name}.tuning")
    if not places.as_json:  # before the minutes of work: columns may have been misread
        for note in task.notes:
            say(f"note: {note}")
    metric = metric_going_on(task, asked, left_behind)
    board = compared(task, asked, metric, left_behind, shown=not places.as_json)
    written = places.write(board.winner, task)
    if places.as_json:
        about = {"data": task.name, "notes": list(task.notes), "saved": None, **written}
        say(json.dumps(none_for_nan({**about, **board.to_json()})))
        return
    for line in summary_lines(board):
        say(line)
    if output is not None:
        nodes = "all known nodes" if asked.splitting.parts is None else "all but the test nodes"
        say(f"saved {called(board.entries[0])}, trained on {nodes}, as {output}")
    if page is not None:
        say(f"wrote the page about it to {page}")


def metric_going_on(task: NodeTask, asked: TuneRequest, left_behind: Path | None) -> str:
    """The metric that is compared by; a note where an interrupted comparison goes on.

    What another one left behind is refused.
    """
    from elasticgnn.training.tuning.outcome_file import OutcomeFile
    from elasticgnn.training.tuning.tune import planned

    plan = planned(task, asked.metric, asked.seed, asked.splitting, balanced=asked.balanced)
    if left_behind is not None and left_behind.exists():
        OutcomeFile(left_behind, plan.key)
        say(f"note: goes on with what was measured before, in {left_behind}", file=sys.stderr)
    return plan.metric


def compared(
    task: NodeTask, asked: TuneRequest, metric: str, checkpoint: Path | None, *, shown: bool
) -> Leaderboard:
    """The leaderboard of `task`; a line on the terminal says how far the comparison is."""
    from elasticgnn.cli.progress import waiting_line
    from elasticgnn.training.tuning import tune

    as_text = shown_as(metric)
    # held-out refits may take half of the time on top
    with waiting_line("comparing models", 90 * asked.minutes, shown=shown) as say_how:
        return tune(
            task,
            minutes=asked.minutes,
            metric=asked.metric,
            seed=asked.seed,
            splitting=asked.splitting,
            balanced=asked.balanced,
            progress=lambda _, best: say_how(f"best {metric} so far {as_text(best)}"),
            checkpoint=checkpoint,
        )


def summary_lines(board: Leaderboard) -> list[str]:
    """The leaderboard and what follows from it, line by line."""
    shown = shown_as(board.metric)
    head = f"{'model':{WIDTH}} {'tried':>5}   {'cross-validation':18} on nodes kept away"
    rows = [row(entry, shown) for entry in board.entries]
    simplest = "majority" if board.winner.unit is None else "mean"
    rows.append(f"{simplest:{WIDTH}} {'':5}   {'':18} {shown(board.majority)}")
    estimate = board.estimate
    return [
        f"{board.metric}{unit_of(board.metric)}, within the known nodes:",
        head,
        *rows,
        f"{called(board.entries[0])}: {board.metric} {shown(estimate.value)} (95 % between "
        f"{ends(estimate, shown, ' and ')}) on {estimate.nodes} nodes that chose nothing; "
        f"{certainty(board)}, {board.seconds:.0f} s",
        *verdicts(board),
        *left_out(board),
    ]


def left_out(board: Leaderboard) -> list[str]:
    """A note where there was no time for all folds that were asked for."""
    if not board.folds_left_out:
        return []
    used = board.entries[0].folds
    asked = used + board.folds_left_out
    return [
        f"note: {used} of {asked} folds were measured: more --minutes are needed for the others"
    ]


def shown_as(metric: str) -> Callable[[float], str]:
    """How a value of the metric is written: shares in percent, errors as they are."""
    from elasticgnn.training.tuning.metrics import ERRORS, SHARES

    if metric in ERRORS:
        return lambda value: f"{abs(value):.4g}"
    return percent if metric in SHARES else thousandths


def unit_of(metric: str) -> str:
    """What stands after the metric's name above its values."""
    from elasticgnn.training.tuning.metrics import SHARES

    return " in percent" if metric in SHARES else ""


def certainty(board: Leaderboard) -> str:
    """How true probabilities and sets, or intervals, are on the holdout."""
    low, high = board.coverage_range
    chance = f"by chance {percent(low)} to {percent(high)}"
    held = f"hold the {{}} of {percent(board.coverage)} % ({chance})"
    if board.calibration_error is None:
        errors = f"mean absolute error {board.report['mae']:.4g}"
        return f"{errors}, intervals for 90 % {held.format('number')}"
    error = f"calibration error {percent(board.calibration_error)}"
    return f"{error}, sets for 90 % {held.format('class')}"


def row(entry: Entry, shown: Callable[[float], str]) -> str:
    """One line of the leaderboard."""
    spread = f"± {shown(abs(entry.deviation)).lstrip('-')}" if entry.folds > 1 else "(one fold)"
    spread = f"{shown(entry.validation)} {spread}"
    seen = "" if entry.held_out is None else interval(entry.held_out, shown)
    return f"{called(entry):{WIDTH}} {entry.tried:5}   {spread:18} {seen}"


def called(entry: Entry) -> str:
    """The family, and how many networks of it are meant."""
    return entry.family if entry.members == 1 else f"{entry.members} x {entry.family}"


def verdicts(board: Leaderboard) -> list[str]:
    """Whether the graph helps, and a warning where nothing was learned."""
    lines = []
    gain = board.graph_gain
    if gain is not None:
        factor, unit = (100.0, " points") if unit_of(board.metric) else (1.0, "")
        low, high = factor * gain.low, factor * gain.high
        size = f"{factor * gain.value:+.3g}{unit} ({low:+.3g} to {high:+.3g})"
        lines.append(f"the graph {helping(gain)}: {size} against the best model without it")
    simplest = "naming the most frequent class" if board.winner.unit is None else "the mean"
    value = shown_as(board.metric)(board.majority)
    if not board.beats_majority:
        lines.append(
            f"WARNING: the best model has learned nothing of use: always {simplest} "
            f"gives {value}, no worse than the model"
        )
    elif board.estimate.low <= board.majority:
        lines.append(
            f"WARNING: {board.estimate.nodes} nodes do not show that the best model is of use: "
            f"always {simplest} gives {value}, which is inside its interval"
        )
    return lines + broken_promise(board)


def broken_promise(board: Leaderboard) -> list[str]:
    """A warning where sets, or intervals, hold less than chance lets those for 90 % hold."""
    least = board.coverage_range[0]
    if board.coverage >= least:
        return []
    what = "intervals" if board.calibration_error is None else "sets"
    return [
        f"WARNING: {what} for 90 % hold only {percent(board.coverage)} %, where chance lets them "
        f"hold {percent(least)} % or more: the nodes kept away are unlike the others"
    ]


def helping(gain: Estimate) -> str:
    """What the difference that the graph makes, with its interval, allows to say."""
    if gain.low > 0:
        return "helps"
    if gain.high < 0:  # where no node differs, both ends are 0, which shows nothing
        return "does not help"
    return "may help" if gain.value > 0 else "is not seen to help"


def interval(value: Estimate, shown: Callable[[float], str]) -> str:
    """A value with the ends of its interval."""
    return f"{shown(value.value)} ({ends(value, shown, ' to ')})"


def ends(value: Estimate, shown: Callable[[float], str], between: str) -> str:
    """The ends of the interval, the smaller number first (of errors the better one)."""
    return between.join(sorted((shown(value.low), shown(value.high)), key=float))


def thousandths(value: float) -> str:
    """A number to three places, without the sign of a zero; a huge one by its power of ten."""
    return f"{round(value, 3) + 0.0:.3f}" if abs(value) < HUGE else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.1f}"
