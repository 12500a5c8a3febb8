"""How far the coverage of conformal sets lies from what was asked, beside what counting explains.

    python benchmarks/bench_coverage.py --output benchmarks/results/coverage.json

Draws of Cora with half of its edges replaced, and of an invented graph with useless features: half
of the nodes are known, the others are kept away. One network (an ElasticGNN, and APPNP on node
ids) is trained and calibrated as `tune` does it, without the search. The sets ask for 90 %.
Of m calibrating and n counted nodes, chance alone gives the share that is held a standard
deviation of sqrt(0.09 (1 / (m + 2) + 1 / n)): a beta distribution for the threshold, a binomial
one for the count; `simulated` is that of as many random numbers. `swap` compares in place of the
nodes kept away and the known ones two random halves of all of them, with the scores as they are:
the same chance, without anything that a model could do wrong. `by probabilities` takes as threshold
where the calibrated probabilities themselves expect 90 %, and counts no scores: less chance, if the
probabilities were true. `verbs` is of real_data_tasks.py, whose files are in `--sources`.

    python benchmarks/bench_coverage.py cora --draws 12 --minutes 0.4 --output FILE

measures the whole path instead, search included: what `tune` saves after so many minutes of
processor time of one thread, and the coverage that it claims.
"""

import argparse
import itertools
import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from bench_own_data import with_labels_of
from bench_real_data import made
from own_data_tasks import MAKERS
from real_data_tasks import REAL_MAKERS
from scipy.stats import chi2

from elasticgnn.data import NodeTask
from elasticgnn.nn import ModelSettings
from elasticgnn.training.model.preparation import fit_preparation
from elasticgnn.training.prediction.conformal import (
    conformal_scores,
    conformal_sets,
    coverage_deviation,
    threshold,
)
from elasticgnn.training.tuning import out_of_fold, tune
from elasticgnn.training.tuning.calibration import cross_calibrated, fit_calibration
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.closed_form import PROPAGATION, label_averages
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.tuning.holdout import Holdout

ASKED = 0.9
MEASURES = ("coverage", "uncalibrated", "swap", "by probabilities")
CANDIDATES = {
    "cora": Candidate("elastic", ModelSettings(lambda1=1.0, lambda2=1.0, norm="l1")),
    "features": Candidate("appnp on ids", ModelSettings("appnp", alpha=0.1), by_id=True),
    "verbs": label_averages(PROPAGATION)[0],
}


def halved(kind: str, rng: np.random.Generator) -> tuple[NodeTask, NodeTask, torch.Tensor]:
    """A task, the same with half of its classes known, and the nodes of the others."""
    whole = MAKERS[kind](rng)
    order = torch.from_numpy(rng.permutation(whole.labelled.numpy()))
    return whole, with_labels_of(whole, order[: len(order) // 2]), order[len(order) // 2 :]


def draw_whole(kind: str, seed: int, minutes: float) -> dict:
    """The coverage on nodes kept away of what `tune` saves."""
    whole, task, away = halved(kind, np.random.default_rng(seed))
    board, truth = tune(task, minutes=minutes, seed=seed), whole.labels[away].numpy()
    predicted = board.winner.predict(task).probability[away].numpy()
    return {
        "kind": kind,
        "seed": seed,
        "minutes": minutes,
        "winner": board.entries[0].family,
        "members": board.entries[0].members,
        "coverage": share(predicted, board.winner.facts["conformal"], truth),
        "printed": board.coverage,
        "printed range": board.coverage_range,
        "calibrating": len(task.labelled),
        "kept away": len(truth),
    }


def draw(kind: str, seed: int) -> dict:
    """The coverage on nodes kept away, by calibrated probabilities and by those of the network."""
    rng = np.random.default_rng(seed)
    whole, task, away = halved(kind, rng)
    evaluation = Evaluation(fit_preparation(task.features).apply(task), "accuracy", seed)
    division = divide(task, rng)
    candidate = CANDIDATES[kind]
    (best,) = evaluation.measure([candidate], division.folds, 1e6)
    held = out_of_fold.predict_out_of_fold(Holdout(evaluation, division, 0.0, rng), best, 1e6)
    labels, truth = whole.labels[held.nodes].numpy(), whole.labels[away].numpy()
    model = evaluation.refit(best, division.refit_nodes)
    predicted = evaluation.probability(candidate, model, away)
    calibrated = fit_calibration(labels, held.outputs).apply(predicted)
    fair = cross_calibrated(labels, held.outputs, held.group)
    of_known, of_away = own_scores(fair, labels), own_scores(calibrated, truth)
    return {
        "kind": kind,
        "seed": seed,
        "coverage": share(calibrated, conformal_scores(labels, fair), truth),
        "uncalibrated": share(predicted, conformal_scores(labels, held.outputs), truth),
        "swap": swapped(of_known, of_away, rng),
        "by probabilities": float((of_away <= expected_threshold(fair)).mean()),
        "calibrating": len(labels),
        "kept away": len(truth),
    }


def own_scores(probability: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return 1 - probability[np.arange(len(labels)), labels]


def share(probability: np.ndarray, scores: list[float], truth: np.ndarray) -> float:
    sets = conformal_sets(probability, scores, ASKED)
    return float(sets[np.arange(len(truth)), truth].mean())


def expected_threshold(probability: np.ndarray) -> float:
    """Below it lie the scores of 90 % of nodes whose classes are drawn by their probabilities."""
    order = np.argsort(1 - probability, axis=None)
    total = np.cumsum(probability.ravel()[order]) / len(probability)
    return float(1 - probability.ravel()[order][np.searchsorted(total, ASKED)])


def swapped(known: np.ndarray, away: np.ndarray, rng: np.random.Generator) -> float:
    every = rng.permutation(np.concatenate([known, away]))
    limit = threshold(sorted(every[: len(known)]), ASKED)
    return float((every[len(known) :] <= limit).mean())


def simulated(m: int, n: int, draws: int = 4000) -> float:
    """The deviation of the share of n numbers below the threshold of m, all of one kind."""
    rng = np.random.default_rng(0)
    rank = int(np.ceil((m + 1) * ASKED)) - 1
    limits = np.sort(rng.random((draws, m)), axis=1)[:, rank]
    return float(np.std([(rng.random(n) <= limit).mean() for limit in limits]))


def summary(rows: list[dict]) -> dict:
    m, n = rows[0]["calibrating"], rows[0]["kept away"]
    found = {
        "draws": len(rows),
        "expected deviation": coverage_deviation(ASKED, m, n),
        "simulated deviation": simulated(m, n),
    }
    for name in [name for name in MEASURES if all(name in row for row in rows)]:
        values = np.array([row[name] for row in rows])
        misses = int((np.abs(values - ASKED) > 0.02).sum())
        found[name] = {
            "mean": float(values.mean()),
            "deviation": float(values.std(ddof=1)) if len(rows) > 1 else 0.0,
            "chance of a larger one": larger(values, found["expected deviation"]),
            "more than 2 points away": misses,
        }
    return found


def larger(values: np.ndarray, expected: float) -> float:
    """How often as many normal draws of the expected deviation have a larger one than `values`."""
    if len(values) < 2:
        return 1.0
    return float(chi2.sf(values.var(ddof=1) / expected**2 * (len(values) - 1), len(values) - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=["cora", "features"])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--pieces", type=int, default=out_of_fold.MOST_PIECES, help="of a group")
    parser.add_argument("--minutes", type=float, default=None, help="of the whole search")
    parser.add_argument("--output", type=Path, default=None, help="JSON file; goes on where it is")
    parser.add_argument("--sources", type=Path, default=None, help="files of real_data_tasks.py")
    options = parser.parse_args()
    if options.sources is not None:
        MAKERS.update({kind: partial(made, kind, options.sources) for kind in REAL_MAKERS})
    if options.minutes is not None:
        torch.set_num_threads(1)
        time.perf_counter = time.process_time  # other programs do not shorten the search
    out_of_fold.MOST_PIECES = options.pieces
    rows = []
    if options.output is not None and options.output.exists():
        rows = json.loads(options.output.read_text())["rows"]
    done = {(row["kind"], row["seed"]) for row in rows}
    for kind, seed in itertools.product(options.kinds, range(options.draws)):
        if (kind, seed) in done:
            continue
        whole = options.minutes is not None
        rows.append(draw_whole(kind, seed, options.minutes) if whole else draw(kind, seed))
        print(json.dumps(rows[-1]), flush=True)
        if options.output is not None:
            options.output.write_text(json.dumps(record(rows), indent=1) + "\n")
    print(json.dumps(record(rows)["summary"], indent=1))


def record(rows: list[dict]) -> dict:
    kinds = dict.fromkeys(row["kind"] for row in rows)
    parts = {kind: summary([row for row in rows if row["kind"] == kind]) for kind in kinds}
    return {"summary": parts, "rows": rows}


if __name__ == "__main__":
    main()
