"""The table of routes: each call takes the first that does not refuse, and can say why."""

import dataclasses

import pytest
import torch

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.operator import explain_route
from elasticgnn.operator.request import Options, make_request
from elasticgnn.operator.routes import ROUTES
from marks import needs_kernels
from strategies import normal_rows, random_graph

GRAPH = random_graph(20, 40)
PENALTY = ElasticPenalty(0.4, 1.5)
SHORT = "packed" if native is not None and native.packed_lanes(3) else "wide"


def route(x, penalty=PENALTY, **options):
    return explain_route(x, GRAPH, penalty, 5, **options).taken


@needs_kernels
def test_each_request_takes_its_route():
    x = normal_rows(20, 3)
    assert route(x.float()) == SHORT
    assert route(normal_rows(20, 16, 3).float()) == "population"
    assert route(x) == "wide"
    assert route(x, ElasticPenalty(0.4, 1.5, "l1")) == "wide"
    assert route(x.requires_grad_()) == "wide"
    assert route(x, ElasticPenalty(0.4, 1.5, "l1")) == "general"
    assert route(x, edge_weight=GRAPH.weight.requires_grad_()) == "general"
    assert route(x, implementation="reference") == "plain"


@pytest.mark.skipif(SHORT != "packed", reason="packed loops need AVX-512")
def test_rows_of_a_whole_register_beyond_the_last_cache_are_left_to_the_wide_loops(monkeypatch):
    swept = 64 * (2 * GRAPH.num_edges + 4 * GRAPH.num_nodes)
    monkeypatch.setattr(native.tuning, "shared_cache_bytes", swept)
    assert route(normal_rows(20, 16).float()) == "packed"
    monkeypatch.setattr(native.tuning, "shared_cache_bytes", swept - 1)
    assert route(normal_rows(20, 16).float()) == "wide"
    assert route(normal_rows(20, 8).float()) == "packed"  # two rows share a register
    assert route(normal_rows(20, 2, 16).float()) == "packed"
    rows = normal_rows(20, 16).float().requires_grad_()
    assert route(rows) == "wide"
    assert route(rows, ElasticPenalty(0.4, 1.5, "l1")) == "packed"  # wide has no such gradient


@pytest.mark.skipif(SHORT != "packed", reason="packed loops need AVX-512")
@pytest.mark.parametrize(("chords", "taken"), [(7, "packed"), (8, "wide")])
def test_rows_of_a_whole_register_with_many_edges_are_left_to_the_wide_loops(chords, taken):
    node = torch.arange(40)
    edges = torch.cat([torch.stack([node, (node + k) % 40]) for k in range(1, chords + 1)], 1)
    graph = Graph.from_edge_index(edges, 40, undirected=True)
    assert graph.num_edges == 40 * chords
    for width, expected in ((8, "packed"), (9, taken), (16, taken)):
        assert explain_route(normal_rows(40, width).float(), graph, PENALTY).taken == expected


@needs_kernels
def test_every_refusal_is_a_reason_and_one_route_is_left():
    report = explain_route(normal_rows(20, 2, 3), GRAPH, PENALTY, 5)
    names = [name for name, _ in report.refusals]
    assert names == ["distributed", "population", "packed", "wide"]
    assert all(len(reason) > 10 for _, reason in report.refusals)
    assert str(report).startswith(
        "takes the route 'general'\ndistributed: this process holds the whole graph\npopulation: "
    )


@needs_kernels
def test_a_watched_call_goes_through_the_dispatcher():
    seen = []

    def watch(x):
        seen.append(explain_route(x, GRAPH, PENALTY, 5).taken)
        return x.sum()

    torch.func.grad(watch)(normal_rows(20, 3).float())
    assert seen == ["general"]
    assert route(torch.nn.Parameter(normal_rows(20, 3).float())) in ("packed", "wide")


def test_the_report_tells_what_the_call_does(monkeypatch):
    taken = []
    watched = tuple(
        dataclasses.replace(r, run=lambda request, r=r: taken.append(r.name) or r.run(request))
        for r in ROUTES
    )
    monkeypatch.setattr("elasticgnn.operator.routes.ROUTES", watched)
    inputs = [normal_rows(20, 3), normal_rows(20, 3).float(), normal_rows(20, 16, 3).float()]
    inputs += [x.clone().requires_grad_() for x in inputs]
    for x in inputs:
        elastic_message_passing(x, GRAPH, PENALTY, 5)
        assert taken[-1] == explain_route(x, GRAPH, PENALTY, 5).taken


def test_neither_request_nor_report_can_be_changed():
    report = explain_route(normal_rows(20, 3), GRAPH, PENALTY, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.taken = "plain"
    request = make_request(normal_rows(20, 3), GRAPH, PENALTY, 5, Options())
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.steps = 6
