"""The page of stored comparisons: picture, tables, transfer matrix."""

from html.parser import HTMLParser

import pytest

from elasticgnn.robustness import Outcome, outcomes
from elasticgnn.robustness.matrix import Transfer, transfer_matrix
from elasticgnn.robustness.page import write_page
from elasticgnn.robustness.plot import draw_robustness, plot_robustness
from elasticgnn.robustness.store import Row

ROWS = [
    Row("evasion", 0, 0.0, "none", "", "", {"a": 0.9, "<b>": 0.8}, 0, 0.1, {"a": 4.0, "<b>": 5.0}),
    Row("evasion", 0, 0.1, "dice", "", "", {"a": 0.85, "<b>": 0.75}, 5, 1.0),
    Row("evasion", 0, 0.1, "prbcd", "a", "itself", {"a": 0.7, "<b>": 0.72}, 5, 2.0),
    Row("evasion", 0, 0.1, "prbcd", "a", "convex", {"a": 0.6, "<b>": 0.74}, 5, 3.0),
    Row("evasion", 1, 0.1, "dice", "", "", {"a": 0.85, "<b>": 0.75}, 5, 1.0),
    Row("evasion", 1, 0.1, "prbcd", "a", "itself", {"a": 0.5, "<b>": 0.7}, 5, 1.0),
    Row("evasion", 1, 0.1, "prbcd", "a", "convex", {"a": 0.55, "<b>": 0.74}, 5, 2.0),
]


class Cells(HTMLParser):
    """The rows of all tables as lists of text, and which elements there are."""

    def __init__(self):
        super().__init__()
        self.rows, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def test_matrix_has_the_worst_of_a_sources_routes_for_every_seed():
    cells = {(one.source, one.model): one for one in transfer_matrix(ROWS)}
    assert cells["a", "a"] == Transfer("a", "a", 0.1, (0.6, 0.5))
    assert cells["a", "<b>"].mean == pytest.approx(0.71)
    assert cells["", "a"].accuracy == (0.85, 0.85)
    cut_off = {(one.source, one.model): one for one in transfer_matrix(ROWS[:-1])}
    assert cut_off["a", "a"].accuracy == (0.6,)  # the other seed lacks a route


def test_the_same_rows_give_the_same_bytes(tmp_path):
    worst = [one for one in outcomes(ROWS) if one.mode == "worst"]
    for name in ("one", "two"):
        write_page([("mine", ROWS)], tmp_path / f"{name}.html")
        plot_robustness(worst, tmp_path / f"{name}.svg")
    for ending in ("html", "svg"):
        one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_page_has_picture_tables_costs_and_matrix(tmp_path):
    write_page([("mine & yours", ROWS)], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    page = Cells()
    page.feed(text)
    assert "svg" in page.tags
    assert "mine &amp; yours" in text
    assert ["a", "90.0", "55.0 ± 7.1", "4.0", "4.0"] in page.rows  # worst, training and attacks
    assert ["flips found through", "a", "<b>"] in page.rows
    assert ["no model", "85.0", "75.0"] in page.rows
    assert ["a", "55.0", "71.0"] in page.rows


def test_page_of_a_comparison_without_rows_says_so(tmp_path):
    write_page([("empty", [])], tmp_path / "page.html")
    assert "No rows yet." in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("attack", "local", "label"),
    [
        ("prbcd", False, "edges flipped (%)"),
        ("prbcd", True, "flips (% of the degree)"),
        ("features", False, "words flipped (%)"),
        ("labels", False, "training labels changed (%)"),
    ],
)
def test_picture_says_what_was_flipped(attack, local, label):
    outcome = Outcome("a", attack, "worst", 0.1, (0.5,))
    (axis,) = draw_robustness([outcome], "title", local=local).axes
    assert axis.get_xlabel() == label


def test_no_two_of_ten_models_are_drawn_alike():
    found = [Outcome(f"model {n}", "eva", "worst", 0.1, (0.5,)) for n in range(10)]
    (axis,) = draw_robustness(found).axes
    lines = [container.lines[0] for container in axis.containers]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 10


def test_clean_accuracies_alone_are_shown_too(tmp_path):
    write_page([("cora", ROWS[:1])], tmp_path / "page.html")
    cells = Cells()
    cells.feed((tmp_path / "page.html").read_text())
    assert cells.rows == [
        ["model", "clean", "training, s"],
        ["a", "90.0", "4.0"],
        ["<b>", "80.0", "5.0"],
    ]
    (axis,) = draw_robustness(outcomes(ROWS[:1])).axes
    assert axis.containers[0].lines[0].get_ydata().tolist() == [90]
