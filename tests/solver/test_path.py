"""The path in lambda1, its end, and the choice of a point on it."""

import pytest
import torch
from scipy.optimize import linprog

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import (
    Path,
    UncertifiedFoldWarning,
    cross_validate,
    lambda1_max,
    log_grid,
    minimise,
    minimise_path,
    noise_grid,
)
from elasticgnn.solver.derivative.freedom import degrees_of_freedom
from elasticgnn.solver.linear_algebra.factor import BandFactor
from elasticgnn.solver.paths.lanes import LaneAscent
from elasticgnn.solver.selection.noise import noise_level
from marks import needs_kernels
from solver_signals import chain, random_graph, steps


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def least_congestion(x, graph):
    """lambda1_max of one channel as a linear program: the flow with the smallest |V| / w."""
    edges, labels, stiff = graph.num_edges, graph.component_labels, 1 / graph.scale**2
    scaled = graph.scale * x
    mean = torch.zeros(graph.num_components, dtype=torch.float64)
    total = mean.index_add(0, labels, stiff)
    mean = mean.index_add(0, labels, stiff * scaled) / total
    ends = torch.zeros(graph.num_nodes, edges + 1, dtype=torch.float64)
    ends[graph.tail, torch.arange(edges)] = 1.0
    ends[graph.head, torch.arange(edges)] = -1.0
    one, w = torch.eye(edges, dtype=torch.float64), -graph.weight[:, None]
    above = torch.cat([torch.cat([one, w], 1), torch.cat([-one, w], 1)])
    cost = torch.zeros(edges + 1).index_fill_(0, torch.tensor(edges), 1.0)
    source = stiff * (scaled - mean[labels])
    bounds = [(None, None)] * (edges + 1)
    arrays = [t.numpy() for t in (cost, above, torch.zeros(2 * edges), ends, source)]
    return linprog(*arrays, bounds=bounds).fun


@pytest.mark.parametrize("normalization", ["degree", "none"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_lambda1_max_of_one_channel_is_exact(normalization, seed):
    graph = random_graph(seed, 12, normalization)
    x = torch.randn(12, generator=generator(seed), dtype=torch.float64)
    found = lambda1_max(x, graph)
    assert found.value == pytest.approx(least_congestion(x, graph), rel=1e-10)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-6)


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_solution_is_flat_at_lambda1_max_and_not_just_below(norm):
    graph = random_graph(7, 12, "none")
    x = torch.randn(12, 3, generator=generator(7), dtype=torch.float64)
    end = lambda1_max(x, graph, norm=norm).value
    counts = [
        int(
            minimise(x, graph, ElasticPenalty(share * end, 0.0, norm), rtol=1e-12)
            .pieces(tolerance=1e-5)
            .max()
        )
        + 1
        for share in (0.98, 1.0001)
    ]
    assert counts[0] > graph.num_components == counts[1]


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_lambda1_max_of_a_chain_is_the_largest_of_its_sums(norm):
    x = torch.randn(50, 2, generator=generator(), dtype=torch.float64)
    sums = (x - x.mean(0)).cumsum(0)[:-1]
    expected = sums.abs().max() if norm == "l1" else sums.norm(dim=1).max()
    found = lambda1_max(x, chain(50), norm=norm)
    assert found.value == pytest.approx(float(expected), rel=1e-12)
    assert found.lower == found.upper == found.value


def test_lambda1_max_of_a_flat_signal_is_zero():
    assert lambda1_max(torch.ones(5, dtype=torch.float64), chain(5)).value == 0.0


def test_path_answers_in_the_order_asked_and_equals_single_solves():
    x, graph = steps(generator()), chain(120)
    path = minimise_path(x, graph, [1.0, 0.1, 0.5, 0.1])
    assert path.certified
    assert path.lambda1s == (1.0, 0.1, 0.5, 0.1)
    for lambda1, solution in zip(path.lambda1s, path, strict=True):
        alone = minimise(x, graph, ElasticPenalty(lambda1, 0.0))
        away = float(torch.linalg.vector_norm(solution.value - alone.value))
        assert away <= solution.distance_bound + alone.distance_bound


def test_interrupt_ends_a_path(monkeypatch):
    def interrupted(factor):
        raise KeyboardInterrupt

    monkeypatch.setattr(BandFactor, "factorise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        minimise_path(steps(generator()), chain(120), [0.1, 1.0], order=1)


@needs_kernels
@pytest.mark.parametrize("channels", [1, 2])
def test_path_of_fifty_costs_less_than_eight_cold_solves_of_its_hardest(channels, monkeypatch):
    def counted(ascent, steps):
        taken.append(steps)
        real(ascent, steps)

    taken, real = [], LaneAscent.advance
    monkeypatch.setattr(LaneAscent, "advance", counted)
    clean = torch.zeros(60, 60, dtype=torch.float64)
    clean[10:40, 20:50], clean[30:, :25] = 2.0, -1.0
    noise = torch.randn(3600, channels, generator=generator(), dtype=torch.float64)
    x, graph = clean.reshape(-1, 1) + 0.5 * noise, grid_graph(60, 60)
    values = log_grid(lambda1_max(x, graph, rtol=1e-2).upper)
    path = minimise_path(x, graph, values)
    assert path.certified
    cold = max(minimise(x, graph, ElasticPenalty(value, 0.0)).steps for value in values[-20:])
    # a step of all lanes takes as long as one to three of a single ascent
    assert 3 * sum(taken) <= 8 * cold


@pytest.mark.parametrize("criterion", ["cv", "sure"])
def test_selection_beats_both_ends_of_its_grid(criterion):
    x, graph = steps(generator(3)), chain(120)
    truth = torch.tensor([0.0, 2.0, -1.0], dtype=torch.float64).repeat_interleave(40)[:, None]
    values = [0.01, 0.1, 0.4, 1.0, 30.0]
    found = cross_validate(x, graph, values, criterion=criterion, generator=generator(1))
    assert found.scores.shape == (1, 5)

    def error(lambda1):
        value = minimise(x, graph, ElasticPenalty(lambda1, 0.0)).value
        return float((value - truth).square().mean())

    assert error(found.lambda1) < min(error(0.01), error(30.0)) / 3
    assert found.solution.certified


def test_quadratic_strength_is_chosen_for_a_smooth_signal():
    t = torch.linspace(0, 6.28, 150, dtype=torch.float64)
    x = torch.sin(t) + 0.2 * torch.randn(150, generator=generator(), dtype=torch.float64)
    found = cross_validate(
        x, chain(150), [0.0, 0.3], [0.0, 20.0], criterion="sure", generator=generator()
    )
    assert found.lambda2 == 20.0


def test_degrees_of_freedom_are_the_trace_of_the_derivative():
    graph, x = random_graph(3, 8), torch.randn(8, 2, generator=generator(), dtype=torch.float64)
    penalty = ElasticPenalty(0.2, 0.3, "l1")
    ones = torch.ones(8, dtype=torch.float64)
    solution = minimise(x, graph, penalty, rtol=1e-13)

    def signal(rows):
        return minimise(rows, graph, penalty, rtol=1e-13).value

    trace = torch.autograd.functional.jacobian(signal, x).reshape(16, 16).trace()
    assert solution.degrees_of_freedom(generator()) == degrees_of_freedom(
        x, graph, penalty, solution, ones, generator()
    )
    alone = minimise(x[:, 0], graph, ElasticPenalty(0.2, 0.0))
    assert alone.degrees_of_freedom() == int(alone.pieces().max()) + 1
    with pytest.raises(ValueError, match="generator must be given"):
        solution.degrees_of_freedom()
    guesses = [
        degrees_of_freedom(x, graph, penalty, solution, ones, generator(k)) for k in range(40)
    ]
    # 320 probes of +-1 on a 16-dimensional trace: standard error below 0.1
    assert sum(guesses) / 40 == pytest.approx(float(trace), abs=0.3)


def test_noise_level_is_not_fooled_by_a_range_that_was_cut_off():
    """A picture whose dark half is black where the noise would be below: 8 bits, sigma 20."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.where(torch.arange(2400) < 1200, 0.0, 120.0).double()
    noisy = truth + 20 * torch.randn(2400, generator=generator, dtype=torch.float64)
    level = noise_level(noisy.round().clamp(0, 255), chain(2400), torch.ones(2400))
    assert 14 < level < 22  # some of the dark half is left, and half of its noise is not


def test_noise_level_is_not_fooled_by_jumps():
    x = steps(generator(5), nodes=3000)
    assert noise_level(x, chain(3000), torch.ones(3000)) == pytest.approx(0.2, rel=0.1)


def test_unknown_criterion_is_refused():
    graph = Graph.from_edges([(0, 1)])
    with pytest.raises(ValueError, match="criterion must be one of"):
        cross_validate(torch.zeros(2), graph, [1.0], criterion="aic", generator=generator())


@pytest.mark.parametrize("jump", [3.0, 3000.0])
def test_choice_by_held_out_nodes_does_not_depend_on_the_height_of_jumps(jump):
    levels = torch.tensor([0.0, 1.0, -1.0, 0.5], dtype=torch.float64)
    clean, graph = (levels * jump).repeat_interleave(60), chain(240)
    x = clean + torch.randn(240, generator=generator(3), dtype=torch.float64)
    grid = noise_grid(x, graph, torch.ones(240))
    found = cross_validate(x, graph, grid, generator=generator(1))
    assert found.certified
    risks = [float((s.value - clean).square().mean()) for s in minimise_path(x, graph, grid)]
    assert float((found.solution.value - clean).square().mean()) < 2 * min(risks)


def test_choice_says_when_its_folds_were_not_certified(monkeypatch):
    monkeypatch.setattr(Path, "usable", property(lambda path: False))
    with pytest.warns(UncertifiedFoldWarning, match="not certified"):
        found = cross_validate(steps(generator()), chain(120), [0.1, 1.0], generator=generator())
    assert not found.certified


def test_choice_stands_nodes_that_hang_on_edges_of_weight_zero():
    weight = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graph = Graph.from_edge_index(index, 4, weight, undirected=True, normalization="none")
    x = torch.tensor([0.0, 0.1, 0.2, 5.0], dtype=torch.float64)
    assert cross_validate(x, graph, [0.1], generator=generator()).solution.certified


def test_one_standard_error_rule_takes_the_stronger_of_equals():
    x, values = steps(generator(3)), [0.01, 0.1, 0.4, 1.0, 2.0]
    least, rule = (
        cross_validate(x, chain(120), values, rule=rule, generator=generator(1))
        for rule in ("least", "one-standard-error")
    )
    assert rule.lambda1 >= least.lambda1
    place = values.index(rule.lambda1)
    best = int(rule.scores[0].argmin())
    assert rule.scores[0, place] <= rule.scores[0, best] + rule.errors[0, best]


def test_given_sigma_is_used_by_steins_estimate():
    x, graph, values = steps(generator(3)), chain(120), [0.01, 0.1, 0.4, 1.0, 30.0]
    kept = cross_validate(x, graph, values, criterion="sure", sigma=0.0, generator=generator())
    assert kept.lambda1 == 0.01  # without noise the signal is best left alone
    assert kept.sigma == 0.0


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
def test_noise_of_rounded_data_is_found(step):
    levels = torch.tensor([0.0, 10.0, -10.0], dtype=torch.float64).repeat_interleave(800)
    x = levels + torch.randn(2400, generator=generator(), dtype=torch.float64)
    rounded = (x / step).round() * step
    assert 0.6 < noise_level(rounded, chain(2400), torch.ones(2400)) < 1.6


@pytest.mark.parametrize(
    ("lambda1s", "words"), [((0.2, 9.0), ", the smallest of 2"), ((0.2,), " of 1")]
)
def test_a_choice_at_the_end_of_what_was_tried_is_called_so(lambda1s, words):
    x = steps(torch.Generator().manual_seed(0))
    chosen = cross_validate(x, chain(120), lambda1s, generator=torch.Generator().manual_seed(0))
    assert chosen.summary().startswith(f"lambda1 0.2{words} values")
