"""The page about a model: clicked through in a browser, with names that try to break it."""

import csv
import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch

from browsing import opened
from elasticgnn.data import add_wrong_edges, block_model
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.report.model import find, write_model_page
from elasticgnn.report.model.evidence import evidence
from elasticgnn.report.model.layout import layout
from elasticgnn.report.model.packing import packed
from elasticgnn.training import make_model, trained_on, tune
from elasticgnn.training.tuning.candidates import Candidate

EVIL = "</script><b>a</b>"
MISLABELLED = 18  # learned from by no model, and known to be what it does not look like


@pytest.fixture(scope="module")
def task():
    generator = torch.Generator().manual_seed(3)
    clean = block_model([60, 60], generator, inside=0.15, between=0.004, signal=1.0)
    wrong = add_wrong_edges(clean, 0.05, generator)
    ids = ("/*DATA*/", "<img src=x onerror=alert(1)>", *(f"n{k}" for k in range(2, 120)))
    labels = torch.where(torch.arange(120) % 3 == 0, -1, wrong.labels)
    return replace(wrong, labels=labels, node_ids=ids, class_names=(EVIL, "b"), name="<i>net</i>")


@pytest.fixture(scope="module")
def findings(task):
    few = [Candidate("elastic", ModelSettings(lambda1=1.0, lambda2=1.0))]  # all would take long
    with mock.patch("elasticgnn.training.tuning.search.first_candidates", return_value=few):
        trained, labels = tune(task, minutes=0.02).winner, task.labels.clone()
    labels[MISLABELLED] = 1 - trained.predict(task).label[MISLABELLED]
    return find(trained, replace(task, labels=labels))


@pytest.fixture(scope="module")
def page_file(findings, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "page.html"
    write_model_page(findings, path)
    return path


@pytest.fixture(scope="module", params=[(1280, 900, "light"), (390, 844, "dark")])
def page(browser, page_file, request):
    with opened(browser, page_file, request.param) as page:
        page.wait_for_selector("body[data-ready=yes]")
        yield page


def test_the_page_is_one_file_and_names_stay_names(page_file):
    text = page_file.read_text("utf-8")
    assert not re.search(r'(src|href)="(?!#|data:,)', text)
    assert EVIL not in text
    assert "<i>net" not in text
    assert text.count("</script>") == 4  # the page's own


def test_it_says_what_the_model_is_worth(page, findings):
    shown = page.locator("main").inner_text()
    board = findings.trained.facts["leaderboard"]
    assert page.locator("h1").inner_text() == f"{board['entries'][0]['family']} on <i>net</i>"
    assert f"{100 * board['estimate']['value']:.1f} %" in shown
    assert page.locator("#leaderboard tbody tr").count() == len(board["entries"]) + 1
    cells = page.locator("#worth table.confusion td").all_inner_texts()
    assert [int(cell) for cell in cells] == np.array(board["report"]["confusion"]).ravel().tolist()
    bins = page.locator("svg.reliability circle").count()
    assert bins == len(board["report"]["reliability"])
    assert EVIL in shown
    sizes = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert sizes[0] <= sizes[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        ({"majority": 1.0}, ["learned nothing of use"]),
        ({"majority": 0.5, "low": 0.4}, ["do not show that this model is of use"]),
        ({"coverage": 0.5}, ["Sets for 90 % hold only 50.0 %"]),
        ({"majority": 1.0, "coverage": 0.5}, ["learned nothing", "hold only"]),
    ],
)
def test_it_warns_of_what_was_not_shown(browser, findings, tmp_path, changes, words):
    board = findings.trained.facts["leaderboard"]
    worth = {"majority": 0.4, "low": 0.6, "coverage": 0.9, **changes}
    estimate = {**board["estimate"], "value": 0.7, "low": worth.pop("low")}
    board = {**board, **worth, "estimate": estimate, "coverage_range": [0.8, 1.0]}
    trained = replace(findings.trained, facts={**findings.trained.facts, "leaderboard": board})
    write_model_page(replace(findings, trained=trained), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", (1280, 900, "light")) as page:
        page.wait_for_selector("body[data-ready=yes]")
        warnings_shown = page.locator("p.warning").all_inner_texts()
    assert len(warnings_shown) == len(words)
    assert all(word in line for word, line in zip(words, warnings_shown, strict=True))


COLOURS = """cells => cells.map(cell => [getComputedStyle(cell).color,
  getComputedStyle(cell).backgroundColor,
  getComputedStyle(cell.closest("section")).backgroundColor])"""


def channels(colour):
    """Red, green, blue and opacity in [0, 1] of a computed colour."""
    numbers = [float(word) for word in re.findall(r"[\d.]+", colour)]
    scale = 1 if colour.startswith("color(") else 255
    return np.array([value / scale for value in numbers[:3]]), [*numbers, 1.0][3]


def luminance(rgb):
    linear = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(ink, ground, card):
    """Of the ink on the ground, which lets the card shine through."""
    (shade, opacity), below = channels(ground), channels(card)[0]
    one, other = (luminance(c) for c in (channels(ink)[0], opacity * shade + (1 - opacity) * below))
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_counts_can_be_read_on_every_cell_of_the_confusion_matrix(page):
    """4.5 to 1, as the W3C asks of text, with the ink of the theme, light and dark."""
    colours = page.eval_on_selector_all("table.confusion td.cell", COLOURS)
    assert len({ground for _, ground, _ in colours}) > 1
    assert min(contrast(*each) for each in colours) >= 4.5


def test_no_word_of_the_reliability_diagram_is_cut_off(page):
    words = page.eval_on_selector_all(
        "svg.reliability text", "all => all.map(text => text.getBoundingClientRect().toJSON())"
    )
    frame = page.locator("svg.reliability").bounding_box()
    assert words
    for word in words:
        assert word["left"] >= frame["x"] - 0.5
        assert word["right"] <= frame["x"] + frame["width"] + 0.5


def test_the_measure_on_nodes_kept_away_is_seen_without_scrolling(page):
    table = page.locator("#leaderboard .scroll").bounding_box()
    shown = page.locator("#leaderboard tr.winner td:nth-child(4)").bounding_box()
    assert shown["x"] + shown["width"] <= table["x"] + table["width"] + 1


def test_a_class_without_nodes_kept_away_has_no_precision(browser, findings, tmp_path):
    board = findings.trained.facts["leaderboard"]
    none, other = board["report"]["classes"]
    report = {**board["report"], "classes": [{**none, "recall": 0.0, "nodes": 0}, other]}
    report["confusion"] = [[0, 0], [0, 9]]  # nor was any said to be of it
    facts = {**findings.trained.facts, "leaderboard": {**board, "report": report}}
    found = replace(findings, trained=replace(findings.trained, facts=facts))
    write_model_page(found, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", (1280, 900, "light")) as page:
        page.wait_for_selector("body[data-ready=yes]")
        table = page.locator("#worth table:not(.confusion) tbody tr")
        assert table.nth(0).locator("td").all_inner_texts()[-4:] == ["–", "–", "–", "0"]
        assert "–" not in table.nth(1).inner_text()


@pytest.mark.parametrize(
    ("test", "words"), [([], "then trained on all known nodes"), ([3, 5], "not trained on them")]
)
def test_it_says_whether_the_model_was_trained_on_the_holdout(findings, test, words):
    facts = {**findings.trained.facts, "split": {"train": [0, 1], "val": [], "test": test}}
    trained = replace(findings.trained, facts=facts)
    assert words in evidence(replace(findings, trained=trained))["how"]


def test_a_click_on_a_node_shows_its_numbers(page, findings):
    node = 7
    page.locator("#graph .canvas").scroll_into_view_if_needed()
    place = page.evaluate(f"viewer.screenPosition({node})")
    page.locator("#graph .canvas").click(position=place)
    panel = page.locator("#graph .panel")
    panel.locator("h3").wait_for()
    shown = panel.locator("h3").inner_text()
    node = findings.ids.index(shown)  # a node drawn above the asked one may have been hit
    text = panel.inner_text()
    titles, texts = (panel.locator(kind).all_inner_texts() for kind in ("dt", "dd"))
    shown = dict(zip(titles, texts, strict=True))
    for name, values in (("certainty", "confidence"), ("moved by neighbours", "moved")):
        share = float(getattr(findings.prediction, values)[node])
        assert float(shown[name].split()[0]) == pytest.approx(100 * share, abs=0.06)
    degree = int(((findings.edges.graph.tail == node) | (findings.edges.graph.head == node)).sum())
    assert panel.locator("ul.neighbours li").count() == degree
    assert ("trained on" in text) == (findings.roles[node] == "trained on")


def test_search_finds_an_id_and_shows_its_neighbourhood(page, findings):
    page.get_by_label("Search a node").fill("n11")
    assert page.locator(".found button").all_inner_texts()[:2] == ["n11", "n110"]
    page.get_by_label("Search a node").press("Enter")
    assert page.locator("#graph .panel h3").inner_text() == "n11"
    page.get_by_role("button", name="neighbourhood").click()
    page.get_by_role("button", name="1", exact=True).click()
    degree = page.evaluate("viewer.graph.degree(11)")
    assert page.evaluate("viewer.drawn.order") == degree + 1
    page.get_by_role("button", name="moved", exact=True).click()
    assert "moved by neighbours" in page.locator("#graph .key").first.inner_text()
    page.get_by_role("button", name="whole graph").click()
    assert page.evaluate("viewer.drawn.order") == 120


def test_edges_are_sorted_filtered_and_exported(page, findings, tmp_path):
    rows = page.locator("#edges tbody tr")
    first = rows.first.locator("td").all_inner_texts()
    worst = int(findings.edges.order()[0])
    ends = findings.edges.graph.tail[worst], findings.edges.graph.head[worst]
    assert first[:2] == [findings.ids[int(end)] for end in ends]
    page.locator("#edges").get_by_role("button", name="source", exact=True).click()
    column = [text for text in rows.locator("td:first-child").all_inner_texts() if text[0] == "n"]
    assert column == sorted(column, key=lambda name: int(name[1:]))
    page.get_by_label("Filter edges").fill("n17")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    download.value.save_as(tmp_path / "edges.csv")
    with (tmp_path / "edges.csv").open() as file:
        saved = list(csv.DictReader(file))
    assert saved
    assert all("n17" in (row["source"] + " " + row["target"]) for row in saved)
    assert {row["source_class"] for row in saved} <= {EVIL, "b"}
    page.get_by_label("Filter edges").fill("")


def test_ends_of_edges_have_the_classes_that_they_are_compared_by(page, findings):
    """Those of `elasticgnn inspect`: known classes before predicted ones."""
    assert findings.prediction.label[MISLABELLED] != findings.edges.label[MISLABELLED]
    page.get_by_label("Filter edges").fill(f"n{MISLABELLED}")
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#edges tbody tr").all()]
    page.get_by_label("Filter edges").fill("")
    names, label = findings.trained.class_names, findings.edges.label.tolist()
    classes = {name: names[k] for name, k in zip(findings.ids, label, strict=True)}
    assert rows
    for source, target, *_, one, other in rows:
        assert [one, other] == [classes[source], classes[target]]


def test_figures_stand_below_their_titles(page):
    of_title, of_cell = (
        page.locator(f"#edges {place}").first.evaluate("x => getComputedStyle(x).textAlign")
        for place in ("thead th.figure", "tbody td.figure")
    )
    assert of_title == of_cell == "right"


def test_a_large_graph_is_shown_by_neighbourhoods(browser, task, tmp_path, monkeypatch):
    from elasticgnn.report.model import packing

    monkeypatch.setattr(packing, "WHOLE_NODES", 100)
    settings = ModelSettings("sage")
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    found = find(trained_on(task, model, settings), task)
    write_model_page(found, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", (1000, 800, "light")) as page:
        page.wait_for_selector("body[data-ready=yes]")
        assert page.evaluate("viewer.drawn.order") < 120
        assert page.get_by_role("button", name="whole graph").count() == 0
        shown = page.locator("main").inner_text()
    assert "How good this model is, is unknown" in shown
    assert "The winner (sage) is no ElasticGNN" in shown


def test_the_same_findings_give_the_same_page_and_picture(findings):
    assert packed(findings) == packed(findings)
    nothing = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), 5)
    pair = Graph.from_edge_index(torch.tensor([[0], [1]]), 2, undirected=True)
    for graph in (findings.task.graph, nothing, pair, nothing.subgraph(torch.empty(0).long())):
        place = layout(graph)
        assert place.shape == (graph.num_nodes, 2)
        assert np.isfinite(place).all()
        assert 0 <= place.min(initial=0) <= place.max(initial=1) <= 1
    tail, head = findings.task.graph.tail, findings.task.graph.head
    place = layout(findings.task.graph)
    near = np.hypot(*(place[tail] - place[head]).T).mean()
    far = np.hypot(*(place - np.roll(place, 31, 0)).T).mean()
    assert near < 0.7 * far


def test_long_class_names_leave_the_confusion_matrix_its_size(page):
    """One of 300 letters made the table thousands of pixels tall."""
    long = "😀" + 299 * "x"
    made = f"confusion({{evidence: {{confusion: [[3, 1], [0, 2]]}}, classes: ['{long}', 'b']}})"
    heads = page.evaluate(f"[...{made}.querySelectorAll('th')].map((head) => head.textContent)")
    assert heads == ["", f"😀{22 * 'x'}…", "b", f"😀{22 * 'x'}…", "b"]
    hovered = page.evaluate(f"{made}.querySelector('tbody th').title")
    assert hovered == long
    chip = page.evaluate(
        f"(({{title, textContent}}) => [title, textContent])(chip({{classes: ['{long}']}}, 0))"
    )
    assert chip == [long, f"😀{22 * 'x'}…"]
