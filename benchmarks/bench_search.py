"""The search of `tune` beside Optuna's, trial for trial: near the best, or TPE with pruning.

    python benchmarks/bench_search.py --output benchmarks/results/search.json

Both vary the same settings of ElasticGNN from the same start and are measured on the same four
folds. `tune` proposes four settings at a time, trains them side by side and gives up those that
are below the median after the first fold; Optuna proposes one after the other and gives a trial up
after any fold below the median of the earlier ones. Given are the best accuracy on the folds after
so many trials, its accuracy on the holdout, and processor seconds. The last lines count and average
over tasks and seeds.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from own_data_tasks import heterophilous, nineteen_classes, useless_edges, useless_features

from elasticgnn.data import NodeTask
from elasticgnn.training.model.preparation import fit_preparation
from elasticgnn.training.tuning.candidates import Candidate, first_candidates
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import Division, divide
from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.proposals import propose, space_of, value_of, with_values
from elasticgnn.training.tuning.search import raced

TASKS = {
    "useless features": lambda rng: useless_features(rng, 1000),
    "heterophilous": lambda rng: heterophilous(rng, 1000),
    "useless edges": lambda rng: useless_edges(rng, 1000),
    "19 classes": lambda rng: nineteen_classes(rng, 600),
}
FOREVER = 1e9  # seconds: epochs and patience end a training


def start() -> Candidate:
    every = first_candidates(large=False, has_features=True)
    return next(candidate for candidate in every if candidate.family == "elastic")


def by_proposals(evaluation: Evaluation, division: Division, trials: int, seed: int) -> list:
    """As `tune` does it: four settings at a time, of which the worse half ends after a fold."""
    rng, folds = np.random.default_rng(seed), division.folds
    found = evaluation.measure([start()], folds, FOREVER)
    while len(found) < trials:
        more = propose(found, rng, min(4, trials - len(found)))
        found += raced(evaluation, more, found, folds, FOREVER)
    return [outcome for outcome in found if len(outcome.scores) == len(folds)]


def by_optuna(evaluation: Evaluation, division: Division, trials: int, seed: int) -> list:
    """TPE from the same start; a trial is pruned after a fold below the median."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler, pruner = optuna.samplers.TPESampler(seed=seed), optuna.pruners.MedianPruner(5)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    first, found = start(), []
    study.enqueue_trial({name: value_of(first, name) for name in space_of(first)})

    def objective(trial: optuna.Trial) -> float:
        candidate = proposed(first, trial)
        outcomes, folds = [], division.folds
        for step, fold in enumerate(folds):
            outcomes += evaluation.measure([candidate], [fold], FOREVER)
            mean = float(np.mean([outcome.mean for outcome in outcomes]))
            trial.report(mean, step)
            if step + 1 < len(folds) and trial.should_prune():
                raise optuna.TrialPruned
        scores = tuple(outcome.mean for outcome in outcomes)
        epochs = int(np.median([outcome.epochs for outcome in outcomes]))
        found.append(replace(outcomes[0], scores=scores, epochs=epochs))
        return mean

    study.optimize(objective, n_trials=trials)
    return found


def proposed(first: Candidate, trial) -> Candidate:
    """The settings that `propose` varies, with the same values, drawn by Optuna."""
    space = space_of(first)
    return with_values(first, {n: trial.suggest_categorical(n, space[n]) for n in space})


def prepared(kind: str, seed: int) -> NodeTask:
    task = TASKS[kind](np.random.default_rng(seed))
    return fit_preparation(task.features).apply(task)


def measure(kind: str, trials: int, seed: int) -> list[dict]:
    task, rows = prepared(kind, seed), []
    division = divide(task, np.random.default_rng(seed))
    for name, search in (("tune", by_proposals), ("optuna", by_optuna)):
        evaluation = Evaluation(task, "accuracy", seed)
        began = time.process_time()
        found = search(evaluation, division, trials, seed)
        seconds = time.process_time() - began
        best = max(found, key=lambda outcome: outcome.mean)
        holdout = Holdout(evaluation, division, FOREVER, np.random.default_rng(0))
        row = {"data": kind, "search": name, "seed": seed, "trials": trials, "whole": len(found)}
        row |= {"folds": best.mean, "holdout": holdout.estimate(holdout.outputs_of(best)).value}
        rows.append(row | {"processor seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--output", type=Path, default=None, help="JSON file, gone on with")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    if options.output is not None and options.output.exists():
        rows = json.loads(options.output.read_text())
    done = {(row["data"], row["seed"]) for row in rows}
    for seed in options.seeds:
        for kind in TASKS:
            if (kind, seed) not in done:
                rows += measure(kind, options.trials, seed)
                if options.output is not None:
                    options.output.write_text(json.dumps(rows, indent=1) + "\n")
    report(rows)


def report(rows: list[dict]) -> None:
    """Mean accuracy on the folds and on the holdout, and how often ours was no worse."""
    for name in ("tune", "optuna"):
        own = [row for row in rows if row["search"] == name]
        means = [100 * np.mean([row[part] for row in own]) for part in ("folds", "holdout")]
        print(f"{name:8} folds {means[0]:.2f} holdout {means[1]:.2f} of {len(own)} searches")
    pairs = {(row["data"], row["seed"], row["search"]): row["folds"] for row in rows}
    gaps = [
        pairs[data, seed, "tune"] - pairs[data, seed, "optuna"]
        for data, seed, name in pairs
        if name == "tune"
    ]
    wins, ties = sum(gap > 0 for gap in gaps), sum(gap == 0 for gap in gaps)
    print(f"tune better in {wins}, equal in {ties} of {len(gaps)}")


if __name__ == "__main__":
    main()
