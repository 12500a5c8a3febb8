"""What pictures show: the right thing at the right place in the right colour."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from elasticgnn.data import block_model
from elasticgnn.nn import ModelSettings
from elasticgnn.report.model import findings, neighbourhood
from elasticgnn.report.model.findings import suspicion_notes
from elasticgnn.report.model.layout import layout
from elasticgnn.report.model.neighbourhood import (
    AGAINST,
    FOR,
    colours_of,
    draw_bars,
    draw_ring,
    plain,
)
from elasticgnn.report.model.packing import node_arrays
from elasticgnn.report.model.picture import draw_curves, draw_reliability, interval_of
from elasticgnn.report.plot import draw_panel, draw_series
from elasticgnn.report.series import spread
from elasticgnn.training import make_model, trained_on
from elasticgnn.training.prediction.explanation import Explanation, FeatureEffect, NeighbourEffect

NEIGHBOURS = tuple(
    NeighbourEffect(k, f"n{k}", label, effect)
    for k, (label, effect) in enumerate([("a", 0.4), ("b", -0.2), ("a", 0.0), ("b", 0.1)])
)
FEATURES = (FeatureEffect(0, "age", 3.0, 0.2), FeatureEffect(1, "size", 1.5, -0.1))
KNOWN = Explanation(
    node=9,
    name="me",
    label="a",
    probability=0.9,
    alone=0.4,
    neighbours=NEIGHBOURS,
    features=FEATURES,
    num_neighbours=4,
    num_features=2,
)


@pytest.fixture
def axes():
    return Figure().subplots()


def test_edges_of_the_ring_lead_from_the_node_around_the_clock(axes):
    draw_ring(axes, KNOWN, colours_of(KNOWN, ("a", "b")))
    lines = [line for line in axes.lines if len(line.get_xdata())]
    ends = [(line.get_xdata(), line.get_ydata()) for line in lines]
    assert [(x[0], y[0]) for x, y in ends] == [(0, 0)] * 4
    np.testing.assert_allclose([x[1] for x, _ in ends], [0, 1, 0, -1], atol=1e-12)
    np.testing.assert_allclose([y[1] for _, y in ends], [1, 0, -1, 0], atol=1e-12)
    widths = [line.get_linewidth() for line in lines]
    np.testing.assert_allclose(widths, [5.6, 3.1, 0.6, 1.85])
    colours = [FOR, AGAINST, FOR, FOR]  # no effect speaks not against it
    assert all(same_color(line.get_color(), c) for line, c in zip(lines, colours, strict=True))
    labels = [text.get_text() for text in axes.texts]
    assert labels == ["n0\n+40.0", "n1\n-20.0", "n2\n+0.0", "n3\n+10.0"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["a", "b", "edge speaks for it", "edge speaks against it"]
    assert axes.get_title() == "4 of 4 neighbours, points"


def test_bars_have_the_names_values_and_colours_of_their_features(axes):
    none = FeatureEffect(2, "none", 0.0, 0.0)
    draw_bars(axes, replace(KNOWN, features=(*FEATURES, none)))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        *("age = 3", "size = 1.5", "none = 0")
    ]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [20, -10, 0])
    colours = [FOR, AGAINST, FOR]
    assert all(
        same_color(bar.get_facecolor(), c) for bar, c in zip(axes.patches, colours, strict=True)
    )
    assert axes.yaxis_inverted()  # the first one on top


def test_an_empty_panel_has_a_title_and_no_axes(axes):
    draw_bars(axes, replace(KNOWN, features=()))
    assert axes.get_title() == "no features of its own"
    assert not axes.axison
    axes.set_axis_on()
    draw_curves(axes, [], "fold")
    assert axes.get_title() == "no epochs: weights are computed in one go"
    assert not axes.axison


def test_a_picture_names_the_node_and_both_probabilities(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(neighbourhood, "save_figure", lambda figure, *_, **__: kept.append(figure))
    neighbourhood.save_explanation(KNOWN, ("a", "b"), tmp_path / "x.svg")
    assert kept[0].get_suptitle() == "me: a 90.0 % (40.0 % without any edge)"
    ring, bars = kept[0].axes
    assert len(ring.texts) > 1
    assert len(bars.patches) == len(KNOWN.features)


def test_names_in_pictures_are_short_and_no_formulas():
    assert plain("x" * 24) == "x" * 24
    assert plain("x" * 25) == "x" * 23 + "…"
    assert plain("$5") == r"\$5"


def test_the_reliability_curve_has_room_above_and_below(axes):
    draw_reliability(axes, [{"nodes": 3, "confidence": 0.5, "accuracy": 0.0}])
    low, high = axes.get_ylim()
    assert low < 0 < 1 < high
    assert axes.get_xlim() == (0, 1)


def test_a_panel_has_no_frame_above_and_on_the_right(axes):
    spec = SimpleNamespace(metric="accuracy", axis="rate", models=(), levels=())
    draw_panel(axes, SimpleNamespace(spec=spec, entries=()), "cora")
    shown = {name: spine.get_visible() for name, spine in axes.spines.items()}
    assert shown == {"left": True, "bottom": True, "top": False, "right": False}


def test_two_values_have_a_spread_and_one_has_none():
    assert spread([1.0]) == "1.0000"
    assert spread([1.0, 2.0]) == "1.5000 ± 0.7071"


def test_the_page_keeps_the_five_best_classes_of_a_node():
    probability = torch.tensor([[0.05, 0.3, 0.1, 0.2, 0.15, 0.12, 0.08]])
    prediction = SimpleNamespace(probability=probability, moved=torch.zeros(1))
    task = SimpleNamespace(labels=torch.tensor([2]))
    found = node_arrays(SimpleNamespace(prediction=prediction, task=task, roles=None))
    assert found["top"].tolist() == [1, 3, 4, 5, 2]
    np.testing.assert_allclose(found["chance"] / 65535, [0.3, 0.2, 0.15, 0.12, 0.1], atol=1e-5)
    assert found["known"].tolist() == [3]


def test_a_graph_whose_classes_cross_edges_is_described_with_both_shares():
    task = block_model(
        [40, 40], torch.Generator().manual_seed(0), inside=0.02, between=0.2, signal=1.0
    )
    settings = ModelSettings(name="mlp")
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    notes = suspicion_notes(trained_on(task, model, settings), task)
    same = task.labels[task.graph.tail] == task.labels[task.graph.head]
    share = round(100 * float(same.float().mean()))
    assert f"Only {share} % of the edges" in notes[1]
    assert "50 % would by chance" in notes[1] or "49 % would by chance" in notes[1]


def test_shares_are_shown_in_percent(monkeypatch):
    task = block_model([9, 9], torch.Generator().manual_seed(0), inside=0.5, signal=1.0)
    settings = ModelSettings(name="mlp")
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    monkeypatch.setattr(findings, "homophily", lambda _: (0.2, 0.6))
    note = suspicion_notes(trained_on(task, model, settings), task)[1]
    assert note.startswith("Only 20 % of the edges")
    assert "60 % would by chance" in note


def test_a_series_is_drawn_over_its_steps(axes):
    draw_series(axes, SimpleNamespace(spec=SimpleNamespace(models=())), "cora")
    assert axes.get_xlabel() == "step k"
    assert axes.get_ylabel() == "objective / objective at the last step"


def test_groups_of_a_graph_stand_apart():
    task = block_model(
        [40, 40], torch.Generator().manual_seed(1), inside=0.3, between=0.002, signal=1.0
    )
    place = torch.from_numpy(layout(task.graph))
    centre = [place[task.labels == k].mean(0) for k in (0, 1)]
    inside = torch.cat([(place[task.labels == k] - centre[k]).norm(dim=1) for k in (0, 1)])
    assert float((centre[0] - centre[1]).norm()) > 1.2 * float(inside.mean())


def test_a_picture_tells_log_loss_without_a_sign():
    estimate = {"value": -0.21, "low": -0.621, "high": -0.0}
    assert interval_of("logloss", estimate) == "0.210 (95 % between 0.000 and 0.621)"
    estimate = {"value": 0.8, "low": 0.7, "high": 0.9}
    assert interval_of("auc", estimate) == "0.800 (95 % between 0.700 and 0.900)"
