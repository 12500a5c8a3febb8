"""Certificates against every graph of four nodes: none may be wrong, none needlessly small."""

import itertools

import numpy as np
import pytest
import torch

from attack.small_task import planted_split, planted_task
from elasticgnn.attack.many_graphs import one_by_one, predictor
from elasticgnn.certify import Certificate, SparseNoise, certify, count_votes
from elasticgnn.certify.certificate import clopper_pearson
from elasticgnn.certify.regions import Regions
from elasticgnn.certify.votes import denoising_predictor
from elasticgnn.graph import Graph
from elasticgnn.training import TrainingPlan, fit, make_model

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
GRAPHS = np.array(list(itertools.product((0, 1), repeat=len(PAIRS))))  # (64, 6)
NOISES = [
    SparseNoise(0.1, 0.4),
    SparseNoise(0.3, 0.3),
    SparseNoise(0.0, 0.5),
    SparseNoise(0.2, 0.0),
]


def likelihood(noise: SparseNoise) -> np.ndarray:
    """(64, 64): the chance of each noisy graph (column) around each graph (row)."""
    flip = np.where(GRAPHS == 1, noise.p_minus, noise.p_plus)
    differs = GRAPHS[:, None] != GRAPHS[None]
    return np.where(differs, flip[:, None], 1 - flip[:, None]).prod(2)


def exact(chance: np.ndarray, noise: SparseNoise) -> Certificate:
    """The certificate of exactly known chances (graphs, classes)."""
    label, row = chance.argmax(1), np.arange(len(chance))
    others = chance.copy()
    others[row, label] = -1
    return Certificate(noise, label, chance[row, label], others.max(1), 0, 0.0)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kinds", [2, 3])
def test_no_certificate_is_wrong_on_any_graph_of_four_nodes(noise, kinds):
    random, weight = np.random.default_rng(0), likelihood(noise)
    assert weight.sum(1) == pytest.approx(1)
    certified = 0
    for _ in range(30):
        base = random.integers(0, kinds, len(GRAPHS)) * (random.random(len(GRAPHS)) < 0.5)
        chance = weight @ np.eye(kinds)[base]  # the smoothed classifier, exactly
        known = exact(chance, noise)
        for additions, deletions in itertools.product(range(3), range(3)):
            holds = known.holds(additions, deletions)
            certified += int(holds.sum()) * (additions + deletions > 0)
            for graph in np.flatnonzero(holds):
                more = ((GRAPHS == 1) & (GRAPHS[graph] == 0)).sum(1)
                less = ((GRAPHS == 0) & (GRAPHS[graph] == 1)).sum(1)
                near = (more <= additions) & (less <= deletions)
                assert (known.label[near] == known.label[graph]).all()
    assert certified > 50


def test_an_edge_that_comes_back_without_its_weight_is_reckoned_with():
    """One heavy edge; whose weight is 1 gets another class, so without the edge most votes do."""
    noise = SparseNoise(p_plus=0.6, p_minus=0.4)
    sure = {"label": np.array([0]), "lower": np.ones(1), "upper": np.zeros(1)}
    unweighted, weighted = (
        Certificate(noise, **sure, samples=0, alpha=0.0, weighted=flag) for flag in (False, True)
    )
    assert unweighted.holds(0, 1).all()  # as a function of which edges are there
    assert not weighted.holds(0, 1).any()  # but it is none: 0.6 of the votes are for the other
    assert weighted.holds(3, 0).all()  # edges of weight 1 alone are put in
    little = SparseNoise(p_plus=0.1, p_minus=0.4)
    known = Certificate(little, **sure, samples=0, alpha=0.0, weighted=True)
    assert [bool(known.holds(0, count).all()) for count in (1, 6, 7)] == [True, True, False]


@pytest.mark.parametrize("noise", NOISES[:2])
@pytest.mark.parametrize(("additions", "deletions"), [(1, 0), (0, 1), (2, 1), (1, 2)])
def test_bounds_are_met_by_the_worst_classifier(noise, additions, deletions):
    """The likelihood-ratio classifier reaches the bound: the certificate is tight."""
    weight = likelihood(noise)
    start = np.array([0] * additions + [1] * deletions + [0] * (6 - additions - deletions))
    other = start.copy()
    other[: additions + deletions] ^= 1
    places = [int(np.flatnonzero((each == GRAPHS).all(1))[0]) for each in (start, other)]
    own, perturbed = weight[places[0]], weight[places[1]]
    order = np.argsort(-(own / perturbed), kind="stable")
    regions = Regions.of(noise, additions, deletions)
    for count in (5, 20, 40, 63):
        chosen = order[:count]
        bound = regions.least(np.array([own[chosen].sum()]))[0]
        assert perturbed[chosen].sum() == pytest.approx(bound, abs=1e-9)
        most = regions.most(np.array([own[order[count:]].sum()]))[0]
        assert perturbed[order[count:]].sum() == pytest.approx(most, abs=1e-9)


def test_wider_radius_certifies_no_more():
    lower = np.linspace(0.5, 1, 9)
    known = Certificate(NOISES[0], np.zeros(9, int), lower, 1 - lower, 1, 0.1)
    counts = [known.holds(r, 0).sum() for r in range(5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_radius_counts_only_where_all_smaller_ones_hold(monkeypatch):
    known = certify(np.array([[990, 10], [700, 300], [500, 500]]), SparseNoise())
    held = {0: [True, True, False], 1: [True, False, False], 2: [True, True, False]}
    monkeypatch.setattr(
        Certificate, "holds", lambda self, additions, deletions: np.array(held[additions])
    )
    assert known.radii(2)[0].tolist() == [2, 0, -1]


def test_sampled_noise_has_its_chances():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 5)], num_nodes=6)
    noise = SparseNoise(0.15, 0.4)
    flips = noise.sample(graph, 4000, np.random.default_rng(0))
    keys = flips.pairs[:, 0] * 6 + flips.pairs[:, 1]
    share = torch.bincount(keys.long(), minlength=36) / 4000
    for i, j in itertools.combinations(range(6), 2):
        edge = (i, j) in {(0, 1), (1, 2), (2, 3), (0, 5)}
        expected = noise.p_minus if edge else noise.p_plus
        assert float(share[6 * i + j]) == pytest.approx(expected, abs=0.035)  # 4.5 deviations
    assert len(flips) == 4000


def test_sparse_draws_are_distinct_pairs_without_edges():
    graph = Graph.from_edges([(i, i + 1) for i in range(199)])
    flips = SparseNoise(0.005, 0.0).sample(graph, 20, np.random.default_rng(1))
    for number in range(20):
        pairs = flips[number]
        assert len(pairs.unique(dim=0)) == len(pairs)
        assert bool((pairs[:, 0] < pairs[:, 1]).all())
        assert bool((pairs[:, 1] - pairs[:, 0] > 1).all())
    assert abs(len(flips.pairs) / 20 - 0.005 * (199 * 200 / 2 - 199)) < 15


def test_clopper_pearson_misses_as_rarely_as_it_says():
    random, chance = np.random.default_rng(0), 0.8
    votes = random.binomial(100, chance, 20_000)
    low, high = clopper_pearson(votes, np.full(20_000, 100), 0.05)
    assert (low > chance).mean() <= 0.05
    assert (high < chance).mean() <= 0.05
    assert (low > chance).mean() > 0.02


@pytest.fixture(scope="module")
def trained():
    task, generator = planted_task(), torch.Generator().manual_seed(0)
    model = make_model("elastic", task, generator)
    fit(model, task, planted_split(task), TrainingPlan(epochs=60), generator)
    return task, model


def test_votes_of_a_model_certify_what_attacks_within_the_radius_cannot_change(trained):
    task, model = trained
    noise = SparseNoise(0.01, 0.7)
    votes = count_votes(predictor(model, task), task, noise, 600, np.random.default_rng(0))
    assert (votes.sum(1) == 600).all()
    known = certify(votes, noise, alpha=0.05)
    safe = known.holds(1, 1)
    assert safe.any()
    assert (known.lower < 1).all()
    flipped = task.graph.with_edges_flipped(torch.tensor([[0, 5], [0, 3]]))
    again = task.with_graph(flipped)
    votes = count_votes(predictor(model, again), again, noise, 600, np.random.default_rng(1))
    assert (votes.argmax(1)[safe] == known.label[safe]).all()


def test_denoiser_gives_what_the_model_gives_on_the_denoised_graph(trained):
    task, model = trained
    flips = SparseNoise(0.02, 0.3).sample(task.graph, 6, np.random.default_rng(2))
    chance = model.logits(task.features).softmax(1)
    found = denoising_predictor(model, task, 0.3)(flips)
    for number in range(6):
        noisy = task.graph.with_edges_flipped(flips[number])
        alike = (chance[noisy.tail] * chance[noisy.head]).sum(1) >= 0.3
        edges = torch.stack((noisy.tail[~alike], noisy.head[~alike]), 1)
        cleaned = task.with_graph(noisy.with_edges_flipped(edges))
        expected = model(task.features, cleaned.graph).argmax(1)
        assert torch.equal(found[number].long(), expected)
    everything = denoising_predictor(model, task, 0.0)(flips)
    assert torch.equal(everything, one_by_one(model, task, flips))


@pytest.mark.parametrize(
    ("chances", "message"),
    [((-0.1, 0.2), "p_plus"), ((0.1, 1.0), "p_minus"), ((0.6, 0.6), "most 1")],
)
def test_noise_that_certifies_nothing_is_refused(chances, message):
    with pytest.raises(ValueError, match=message):
        SparseNoise(*chances)


@pytest.mark.parametrize("votes", [[3, 4], [[5.5, 1.5]], [[5, -1]], [[0, 0]]])
def test_what_is_no_count_of_votes_is_refused(votes):
    with pytest.raises(ValueError, match=r"votes must be \(n, classes\)"):
        certify(np.array(votes), SparseNoise())
