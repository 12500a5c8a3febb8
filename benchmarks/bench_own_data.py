"""Data unlike the paper's: what `tune` saves, beside common models at common defaults.

    python benchmarks/bench_own_data.py --minutes 3 --output benchmarks/results/own_data.json

Rows that the output file has are not measured again: an interrupted run goes on. `large` has
560,000 nodes and 820,000 edges; `numbers` is a regression, whose rivals are the mean, ridge
regression and the average of neighbours. The last line counts intervals that hold the result.

Each task keeps half of its nodes away. `tune` sees the labels of the other half (at most 3000), its
model is measured on the nodes kept away, and so are majority, logistic regression, label
propagation, MLP, GCN and GraphSAGE trained on the same labels (100 of 500 epochs without progress).

`--clock processor` counts the minutes of `tune` in processor time of one thread instead of by the
clock on the wall: what other programs take of a shared machine then does not shorten the search.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from own_data_tasks import MAKERS

from elasticgnn.data import NodeTask, Split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model
from elasticgnn.training.model.preparation import fit_preparation
from elasticgnn.training.prediction.conformal import conformal_sets, threshold
from elasticgnn.training.splits.selection import selection_split
from elasticgnn.training.tuning import Leaderboard, tune
from elasticgnn.training.tuning.closed_form import (
    PROPAGATION,
    closed_form_candidates,
    fit_closed_form,
    number_candidates,
)
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.metrics import calibration_error, score

MOST_KNOWN = 3000  # labels that `tune` sees


def around_known(task: NodeTask, hops: int = 3) -> tuple[NodeTask, torch.Tensor]:
    """The nodes that a network of two layers looks at to learn the known ones; their places.

    Those three hops away give the others their degrees: what is learned is the same as on all
    nodes, which would take many times as long on a large graph.
    """
    reached = task.labels >= 0
    for _ in range(hops):
        tail, head = reached[task.graph.tail], reached[task.graph.head]
        reached = reached.clone()
        reached[task.graph.head[tail]] = True
        reached[task.graph.tail[head]] = True
    nodes, places = reached.nonzero()[:, 0], reached.cumsum(0) - 1
    if 2 * len(nodes) > task.num_nodes:
        return task, torch.arange(task.num_nodes)
    graph, rows = task.graph.subgraph(nodes), task.features[nodes]
    return replace(task, graph=graph, features=rows, labels=task.labels[nodes]), places


def rivals(task: NodeTask, metric: str, away: torch.Tensor) -> dict[str, float]:
    """The measure on `away` of each common model, trained on the known labels of `task`."""
    ready = fit_preparation(task.features).apply(task)
    evaluation = Evaluation(ready, metric, 0)
    found = {}
    for candidate in closed_form_candidates(has_features=True):
        if candidate.family == PROPAGATION:
            candidate = replace(candidate, shrinkage=0.001)  # nearly no prior, as is common
        if candidate.family not in found or candidate.settings.lambda2 == 9.0:
            model = fit_closed_form(candidate, evaluation.task_of(candidate), task.labelled)
            predicted = evaluation.probability(candidate, model, away)
            found[candidate.family] = predicted
    for name in ("mlp", "gcn", "sage"):
        generator = torch.Generator().manual_seed(0)
        split = selection_split(task.labels, 0.2, generator)
        near, places = around_known(ready)
        split = Split(*(places[part] for part in (split.train, split.val, split.test)))
        model = make_model(ModelSettings(name), near, generator)
        fit(model, near, split, TrainingPlan(patience=100), generator)
        with torch.no_grad():
            from elasticgnn.training.loop.forward import forward_on

            logits = forward_on(model, ready.features, ready.graph)(None)[away]
        found[name] = logits.double().softmax(1).numpy()
    counts = torch.bincount(task.labels[task.labelled], minlength=task.num_classes).double()
    found["majority"] = (counts / counts.sum()).expand(len(away), -1).numpy()
    return found


@dataclass(frozen=True)
class Measured:
    """A tuned model and its rivals on the nodes kept away."""

    own: float
    rivals: dict[str, float]
    calibration: float
    coverage: float


def compare(
    maker: Callable[[np.random.Generator], NodeTask], minutes: float, seed: int
) -> dict[str, Any]:
    """What `tune` saves of a task and its rivals, on half of the nodes, which are kept away."""
    rng = np.random.default_rng(seed)
    whole = maker(rng)
    order = torch.from_numpy(rng.permutation(whole.labelled.numpy()))
    most = MOST_KNOWN if whole.values is None else len(order)
    known, away = order[: min(len(order) // 2, most)], order[len(order) // 2 :]
    task = with_labels_of(whole, known)
    began = time.perf_counter()
    board = tune(task, minutes=minutes, seed=seed)
    seconds = time.perf_counter() - began
    measure = measure_classes if whole.values is None else measure_numbers
    found = measure(board, whole, task, away)
    low, high = board.estimate.low, board.estimate.high
    return {
        "data": whole.name,
        "metric": board.metric,
        "winner": board.entries[0].family,
        "members": board.entries[0].members,
        "tuned": found.own,
        "best rival": max(found.rivals, key=found.rivals.__getitem__),
        "rivals": found.rivals,
        "less than the best rival by": max(found.rivals.values()) - found.own,
        "estimate": [board.estimate.value, low, high],
        "inside": bool(low <= found.own <= high),
        "calibration error": found.calibration,
        "coverage of 90 %": found.coverage,
        "seconds": seconds,
    }


def with_labels_of(whole: NodeTask, known: torch.Tensor) -> NodeTask:
    """The task with the classes or numbers of some nodes alone."""
    if whole.values is None:
        labels = torch.full_like(whole.labels, -1)
        labels[known] = whole.labels[known]
        return replace(whole, labels=labels)
    values = torch.full_like(whole.values, torch.nan)
    values[known] = whole.values[known]
    return replace(whole, values=values)


def measure_classes(
    board: Leaderboard, whole: NodeTask, task: NodeTask, away: torch.Tensor
) -> Measured:
    truth = whole.labels[away].numpy()
    ours = board.winner.predict(task).probability[away].numpy()
    others = {k: score(board.metric, truth, p) for k, p in rivals(task, board.metric, away).items()}
    sets = conformal_sets(ours, board.winner.facts["conformal"], 0.9)
    held = float(sets[np.arange(len(truth)), truth].mean())
    return Measured(score(board.metric, truth, ours), others, calibration_error(truth, ours), held)


def measure_numbers(
    board: Leaderboard, whole: NodeTask, task: NodeTask, away: torch.Tensor
) -> Measured:
    """The same for a regression, whose rivals are the mean, ridge and the average of neighbours."""
    truth, known = whole.values[away].numpy(), task.values[task.labelled]
    ours = board.winner.predict_numbers(task).value[away].numpy()
    unit = float(known.mean()), float(known.std())
    ready = fit_preparation(task.features).apply(task)
    ready = replace(ready, values=(task.values - unit[0]) / unit[1])
    evaluation = Evaluation(ready, board.metric, 0, unit)
    others = {"mean": score("r2", truth, np.full((len(truth), 1), unit[0]))}
    for candidate in number_candidates(has_features=True):
        model = fit_closed_form(candidate, evaluation.task_of(candidate), task.labelled)
        reached = score("r2", truth, evaluation.probability(candidate, model, away))
        others[candidate.family] = max(reached, others.get(candidate.family, -np.inf))
    held = np.abs(truth - ours) <= threshold(board.winner.facts["conformal"], 0.9)
    return Measured(score("r2", truth, ours[:, None]), others, float("nan"), float(held.mean()))


def given_options(makers: Iterable[str], description: str) -> argparse.ArgumentParser:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("kinds", nargs="*", default=list(makers))
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--again", action="store_true", help="measure rows that are there again")
    parser.add_argument("--output", type=Path, default=None, help="JSON file")
    return parser


def measure_all(
    makers: Mapping[str, Callable[[np.random.Generator], NodeTask]], options: argparse.Namespace
) -> None:
    """A row for each kind that the output file has not; prints it and adds it to the file."""
    if options.clock == "processor":
        torch.set_num_threads(1)
        time.perf_counter = time.process_time  # the clock of every search and training
    rows = []
    if options.output is not None and options.output.exists():
        rows = json.loads(options.output.read_text())
    if options.again:
        named = {(kind, options.seed) for kind in options.kinds}
        rows = [row for row in rows if (row["kind"], row["seed"]) not in named]
    done = {(row.get("kind"), row.get("seed")) for row in rows}
    for kind in options.kinds:
        if (kind, options.seed) in done:
            continue
        row = compare(makers[kind], options.minutes, options.seed)
        row |= {"kind": kind, "seed": options.seed, "minutes": options.minutes}
        row |= {"clock": options.clock, "members": row.pop("members", 1)}
        rows.append(row)
        print(in_words(row), flush=True)
        if options.output is not None:
            text = json.dumps(rows, indent=1).replace(": NaN", ": null")
            options.output.write_text(text + "\n")
    inside = sum(row["inside"] for row in rows)
    print(f"{inside} of {len(rows)} intervals hold the result on nodes kept away")


def in_words(row: dict[str, Any]) -> str:
    """One line about a task."""
    low, high = row["estimate"][1:]
    return (
        f"{row['data']:32} {row['metric']:8} {row['winner']:20} {100 * row['tuned']:5.1f} "
        f"(predicted {100 * low:.1f} to {100 * high:.1f}: {row['inside']}); best rival "
        f"{row['best rival']} {100 * row['rivals'][row['best rival']]:5.1f}; calibration "
        f"{100 * row['calibration error']:.1f}, coverage {100 * row['coverage of 90 %']:.1f}, "
        f"{row['seconds']:.0f} s"
    )


def main() -> None:
    measure_all(MAKERS, given_options(MAKERS, __doc__ or "").parse_args())


if __name__ == "__main__":
    main()
