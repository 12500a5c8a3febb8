"""The search of `tune` beside Optuna's, trial for trial: random variations, or TPE with pruning.

    python benchmarks/bench_search.py --output benchmarks/results/search.json

Both vary the same settings of ElasticGNN from the same start and are measured on the same four
folds. `tune` trains its variations by fours side by side; Optuna proposes one after the other and
gives up a trial after a fold that is below the median of the earlier ones. Given are the best
accuracy on the folds after so many trials, its accuracy on the judges, and processor seconds.
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from bench_own_data import heterophilous, nineteen_classes, useless_features

from elasticgnn.data import NodeTask
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from elasticgnn.training.preparation import fit_preparation
from elasticgnn.training.tuning.candidates import Candidate, first_candidates, variations
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import Division, divide
from elasticgnn.training.tuning.judge import Judges

TASKS = {
    "useless features": lambda rng: useless_features(rng, 1000),
    "heterophilous": lambda rng: heterophilous(rng, 1000),
    "19 classes": lambda rng: nineteen_classes(rng, 1500),
}
FOREVER = 1e9  # seconds: epochs and patience end a training


def start() -> Candidate:
    every = first_candidates(large=False, has_features=True)
    return next(candidate for candidate in every if candidate.family == "elastic")


def by_variations(evaluation: Evaluation, division: Division, trials: int, seed: int) -> list:
    """As `tune` does it: four random variations of the best at a time."""
    rng = np.random.default_rng(seed)
    found = evaluation.measure([start()], division.folds, FOREVER)
    while len(found) < trials:
        best = max(found, key=lambda outcome: outcome.mean)
        more = list(islice(variations(best.candidate, rng), 4))
        found += evaluation.measure(more, division.folds, FOREVER)
    return found[:trials]


def by_optuna(evaluation: Evaluation, division: Division, trials: int, seed: int) -> list:
    """TPE from the same start; a trial is pruned after a fold below the median."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler, pruner = optuna.samplers.TPESampler(seed=seed), optuna.pruners.MedianPruner(5)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    first, found = start(), []
    s, plan = first.settings, first.plan
    study.enqueue_trial(
        {
            "dropout": s.dropout,
            "hidden": s.hidden_channels,
            "lambda1": s.lambda1,
            "lambda2": s.lambda2,
            "steps": s.steps,
            "norm": s.norm,
            "decay": plan.weight_decay,
            "rate": plan.learning_rate,
        }
    )

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
    """The settings that `variations` varies, with the same values, drawn by Optuna."""
    strength = [0.0, 0.1, 0.3, 1.0, 3.0, 6.0]
    settings = replace(
        first.settings,
        dropout=trial.suggest_categorical("dropout", [0.0, 0.2, 0.5, 0.8]),
        hidden_channels=trial.suggest_categorical("hidden", [32, 64, 128]),
        lambda1=trial.suggest_categorical("lambda1", strength),
        lambda2=trial.suggest_categorical("lambda2", strength),
        steps=trial.suggest_categorical("steps", [3, 5, 10]),
        norm=trial.suggest_categorical("norm", list(CONVEX_NORMS)),
    )
    decay = trial.suggest_categorical("decay", [0.0, 5e-5, 5e-4, 5e-3])
    rate = trial.suggest_categorical("rate", [3e-3, 0.01])
    return replace(
        first,
        settings=settings,
        plan=replace(first.plan, weight_decay=decay, learning_rate=rate),
    )


def prepared(kind: str, seed: int) -> NodeTask:
    task = TASKS[kind](np.random.default_rng(seed))
    return fit_preparation(task.features).apply(task)


def measure(kind: str, trials: int, seed: int) -> list[dict]:
    task, rows = prepared(kind, seed), []
    division = divide(task, np.random.default_rng(seed))
    for name, search in (("tune", by_variations), ("optuna", by_optuna)):
        evaluation = Evaluation(task, "accuracy", seed)
        began = time.process_time()
        found = search(evaluation, division, trials, seed)
        seconds = time.process_time() - began
        best = max(found, key=lambda outcome: outcome.mean)
        judges = Judges(evaluation, division, FOREVER, np.random.default_rng(0))
        row = {"data": kind, "search": name, "seed": seed, "trials": trials, "whole": len(found)}
        row |= {"folds": best.mean, "judges": judges.estimate(judges.said_by(best)).value}
        rows.append(row | {"processor seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=None, help="JSON file, gone on with")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    if options.output is not None and options.output.exists():
        rows = json.loads(options.output.read_text())
    done = {(row["data"], row["seed"]) for row in rows}
    for seed in range(options.seeds):
        for kind in TASKS:
            if (kind, seed) not in done:
                rows += measure(kind, options.trials, seed)
                if options.output is not None:
                    options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
