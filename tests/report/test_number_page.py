"""The page about a model of numbers, clicked through in a browser."""

import re
from dataclasses import replace
from unittest import mock

import pytest
import torch

from browsing import opened
from elasticgnn.cli.train_tuned import shown_as
from elasticgnn.data import block_model
from elasticgnn.report.model import find_numbers, write_model_page
from elasticgnn.training import tune


@pytest.fixture(scope="module")
def findings():
    made = block_model([60, 60], torch.Generator().manual_seed(3), inside=0.15)
    value = 1000 + 50 * made.features[:, 0].double()
    values = torch.where(torch.arange(120) % 3 == 0, torch.nan, value)
    values[4] = 5000.0  # far outside what can be said of it
    task = replace(
        made, labels=torch.full((120,), -1), class_names=(), values=values, name="<i>houses</i>"
    )
    with mock.patch("elasticgnn.training.tuning.search.first_candidates", return_value=[]):
        return find_numbers(tune(task, minutes=0.02).winner, task)


@pytest.fixture(scope="module", params=[(1280, 900, "light"), (390, 844, "dark")])
def page(browser, findings, tmp_path_factory, request):
    path = tmp_path_factory.mktemp("numbers") / "page.html"
    write_model_page(findings, path)
    with opened(browser, path, request.param) as page:
        page.wait_for_selector("body[data-ready=yes]")
        yield page


def test_it_says_what_the_model_is_worth(page, findings):
    shown = page.locator("main").inner_text()
    board = findings.trained.facts["leaderboard"]
    assert f"{board['estimate']['value']:.3f}" in shown
    assert "always the mean: " in shown
    assert page.locator("svg.scatter circle").count() == board["estimate"]["nodes"]
    rows = page.locator("#leaderboard tbody tr").all_inner_texts()
    assert len(rows) == len(board["entries"]) + 1
    assert rows[-1].startswith("the mean")
    assert re.search(r"± \d\.\d{3}\s", rows[0])  # as many places as the value
    for strange in ("NaN", "undefined", "class"):
        assert strange not in shown
    sizes = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert sizes[0] <= sizes[1]


def test_a_node_shows_its_number_and_its_interval(page, findings):
    page.get_by_label("Search a node").fill("4")
    page.get_by_label("Search a node").press("Enter")
    panel = page.locator("#graph .panel")
    titles, texts = (panel.locator(kind).all_inner_texts() for kind in ("dt", "dd"))
    shown = dict(zip(titles, texts, strict=True))
    expected = float(findings.prediction.value[4])
    assert float(shown["predicted"]) == pytest.approx(expected, rel=1e-3)
    low, high = (float(end) for end in shown["interval for 90 %"].split(" to "))
    assert (high - low) / 2 == pytest.approx(findings.half, rel=0.02, abs=0.6)
    assert shown["known number"] == "5000"
    assert "outside its interval" in panel.inner_text()


def test_the_edges_of_the_strangest_node_are_the_widest(page, findings):
    first = page.locator("#edges tbody tr").first.locator("td").all_inner_texts()
    assert "4" in first[:2]
    assert float(first[3]) == pytest.approx(float(findings.edges.difference.max()), rel=1e-3)
    assert page.get_by_role("button", name="Different classes only").count() == 0
    ends = [float(number) for number in first[-2:]]
    assert 5000 in ends  # known, though predicted otherwise
    assert abs(ends[0] - ends[1]) == pytest.approx(float(first[3]), rel=1e-3)
    page.get_by_role("button", name="moved", exact=True).click()
    assert "moved by neighbours" in page.locator("#graph .key").first.inner_text()
    page.get_by_role("button", name="number", exact=True).click()


def test_nodes_of_unknown_number_are_said_to_be_so(page, findings):
    page.get_by_label("Search a node").fill("3")
    page.get_by_label("Search a node").press("Enter")
    assert "unknown" in page.locator("#graph .panel").inner_text()
    assert bool(findings.known.isnan()[3])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.0002, "0.000"), (-0.0006, "-0.001"), (0.69, "0.690"), (-7.163e23, "-7.16e+23")],
)
def test_no_zero_has_a_sign_and_huge_ones_are_short(page, value, shown):
    assert page.evaluate(f"measured('r2', {value})") == shown
    assert shown_as("r2")(value) == shown


@pytest.fixture(scope="module")
def large(findings):
    """The same findings of numbers near 1,000,000,000."""
    mean, spread = findings.trained.unit
    far = replace(findings.trained, unit=(mean + 1e9, spread))
    board = dict(far.facts["leaderboard"])
    pairs = [[a + 1e9, b + 1e9] for a, b in board["report"]["pairs"]]
    board["report"] = {**board["report"], "pairs": pairs}
    far = replace(far, facts={**far.facts, "leaderboard": board})
    return find_numbers(far, replace(findings.task, values=findings.task.values + 1e9))


def test_large_numbers_near_each_other_stay_apart(browser, findings, large, tmp_path):
    write_model_page(large, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", (1280, 900, "light")) as page:
        page.wait_for_selector("body[data-ready=yes]")
        found = page.evaluate("[viewer.graph.value, viewer.graph.known].map((x) => Array.from(x))")
        assert found[0] == pytest.approx(large.prediction.value.tolist(), abs=1e-3)
        known = [k for k in range(120) if k % 3]
        assert [found[1][k] for k in known] == pytest.approx(large.known[known].tolist(), abs=1e-2)
        chips = page.locator("#edges tbody .chip").all_inner_texts()
        assert len(set(chips)) > 10
        ticks = page.locator("svg.scatter text").all_text_contents()
        assert all(len(text) < 8 for text in ticks[:-2])
        assert "− 1000000000" in ticks[-1]
