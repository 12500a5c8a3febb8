"""The search of `tune`: who is measured on every fold, and who is given up after one."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from elasticgnn.cli.train_tuned import summary_lines
from elasticgnn.data.synthetic import block_model
from elasticgnn.nn import ModelSettings
from elasticgnn.training.tuning.candidates import PLAN, Candidate
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.tuning.outcome import Outcome, joined
from elasticgnn.training.tuning.outcome_file import OutcomeFile
from elasticgnn.training.tuning.search import affordable_folds, candidates, raced, search
from elasticgnn.training.tuning.splitting import Splitting
from elasticgnn.training.tuning.tune import tune


def of_width(width):
    return Candidate("sage", ModelSettings("sage", width), replace(PLAN, epochs=2))


class Invented:
    """Gives every candidate the scores of a table, fold by fold; keeps what it was asked."""

    def __init__(self, scores, cut=()):
        self.scores, self.cut, self.asked = scores, cut, []

    def measure(self, candidates, folds, seconds):
        self.asked.append(([c.settings.hidden_channels for c in candidates], list(folds)))
        return [self.outcome(candidate, folds) for candidate in candidates]

    def outcome(self, candidate, folds):
        width = candidate.settings.hidden_channels
        scores = tuple(self.scores[width][fold] for fold in folds)
        nodes, outputs = np.array(folds), np.ones((len(folds), 2)) / 2
        return Outcome(candidate, scores, nodes, outputs, 3, is_cut=width in self.cut)


SCORES = {
    1: (0.9, 0.7, 0.8),
    2: (0.3, 0.9, 0.9),
    3: (0.6, 0.1, 0.2),
    4: (0.95, 0.9, 0.9),
}


def test_those_below_the_median_of_the_first_fold_are_given_up():
    known = [Outcome(of_width(9), (x, 0.0, 0.0), np.zeros(3), np.zeros((3, 2)), 1) for x in (0.5,)]
    evaluation = Invented(SCORES)
    more = [of_width(width) for width in SCORES]
    found = {o.candidate.settings.hidden_channels: o for o in raced_by(evaluation, more, known)}
    assert evaluation.asked == [([1, 2, 3, 4], [0]), ([1, 3, 4], [1, 2])]
    assert found[2].scores == (0.3,)
    assert {width: found[width].scores for width in (1, 3, 4)} == {
        width: SCORES[width] for width in (1, 3, 4)
    }
    assert found[1].nodes.tolist() == [0, 1, 2]


def test_one_that_its_time_has_cut_is_not_measured_further():
    known = [Outcome(of_width(9), (0.1, 0.1, 0.1), np.zeros(3), np.zeros((3, 2)), 1)]
    evaluation = Invented(SCORES, cut=(4,))
    found = raced_by(evaluation, [of_width(1), of_width(4)], known)
    assert evaluation.asked[1] == ([1], [1, 2])
    assert [len(outcome.scores) for outcome in found] == [3, 1]


def test_one_fold_is_measured_at_once():
    evaluation = Invented(SCORES)
    found = raced(evaluation, [of_width(1), of_width(2)], [], (0,), 60.0)
    assert [outcome.scores for outcome in found] == [(0.9,), (0.3,)]
    assert len(evaluation.asked) == 1


def raced_by(evaluation, more, known):
    return raced(evaluation, more, known, (0, 1, 2), 60.0)


class Drawn:
    """Scores at random, the same for the same candidate, of a task that is never looked at."""

    unit, is_large = None, False

    def __init__(self):
        self.task = block_model([20, 20], torch.Generator().manual_seed(0))

    def measure(self, candidates, folds, seconds):
        return [self.outcome(candidate, folds) for candidate in candidates]

    def outcome(self, candidate, folds):
        scores = tuple(random.Random(f"{candidate} {fold}").random() for fold in folds)
        return Outcome(candidate, scores, np.array(folds), np.ones((len(folds), 2)) / 2, 3)


def test_every_round_tells_the_best_so_far():
    best_so_far, division = [], SimpleNamespace(folds=(0, 1, 2))
    rng = np.random.default_rng(0)
    found = search(Drawn(), division, 600.0, rng, lambda rounds, best: best_so_far.append(best))
    assert len(best_so_far) > 3
    assert best_so_far == sorted(best_so_far)
    assert best_so_far[-1] == max(outcome.mean for outcome in found)


def test_an_outcome_in_two_parts_is_that_of_all_folds():
    task = block_model([40, 40], torch.Generator().manual_seed(0))
    division = divide(task, np.random.default_rng(0))
    evaluation, folds = Evaluation(task, "accuracy", 0), division.folds
    few = of_width(8)
    whole = evaluation.measure([few], folds, 600.0)[0]
    parts = [evaluation.measure([few], part, 600.0)[0] for part in (folds[:1], folds[1:])]
    both = joined(parts)
    assert both.scores == whole.scores
    assert np.array_equal(both.nodes, whole.nodes)
    np.testing.assert_allclose(both.probability, whole.probability, atol=1e-6)
    assert len(both.curves) == len(whole.curves) == 4
    assert both.seconds == pytest.approx(sum(part.seconds for part in parts))


@pytest.mark.parametrize(("minutes", "count"), [(0.0005, 5), (1e3, 12)])
def test_of_many_folds_so_many_are_measured_as_there_is_time_for(minutes, count):
    """Closed forms on all of them took minutes where a second was asked for."""
    task = block_model([30, 30], torch.Generator().manual_seed(0), inside=0.2)
    evaluation = Evaluation(task, "accuracy", 0)
    folds = divide(task, np.random.default_rng(0), Splitting(folds=12)).folds
    quick, first = candidates(evaluation, balanced=False)
    first = [replace(c, plan=replace(c.plan, epochs=2)) for c in first[:2]]
    found = affordable_folds(evaluation, quick, first, folds, 60 * minutes)
    assert found == folds[:count]
    assert affordable_folds(evaluation, quick, first, folds[:5], 1e-6) == folds[:5]


def test_a_comparison_that_goes_on_keeps_to_its_folds(tmp_path):
    task = block_model([30, 30], torch.Generator().manual_seed(0), inside=0.2)
    known = OutcomeFile(tmp_path / "m.tuning", "key")
    evaluation = Evaluation(task, "accuracy", 0, known=known)
    folds = divide(task, np.random.default_rng(0), Splitting(folds=12)).folds
    quick, first = candidates(evaluation, balanced=False)
    evaluation.measure(quick[:1], folds[:7], 1.0)
    assert affordable_folds(evaluation, quick, first, folds, 1e-6) == folds[:7]


def test_folds_that_were_left_out_are_said():
    task = block_model([60, 60], torch.Generator().manual_seed(0), inside=0.1)
    board = tune(task, minutes=0.001, splitting=Splitting(folds=40))
    used = board.entries[0].folds
    assert used < 40
    assert board.folds_left_out == board.to_json()["folds_left_out"] == 40 - used
    assert sum(f"note: {used} of 40 folds" in line for line in summary_lines(board)) == 1
    assert not any("folds" in line for line in summary_lines(replace(board, folds_left_out=0))[1:])
