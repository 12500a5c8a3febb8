"""The page, opened and clicked through in a real browser without network."""

import json
import re

import pytest

from browsing import opened
from elasticgnn.experiment import load_spec, spec_names
from elasticgnn.report import build_table, write_page
from elasticgnn.report.claims import load_claims


@pytest.fixture(scope="module")
def page_file(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page([build_table(load_spec(name), results) for name in spec_names()], path)
    return path


@pytest.fixture(params=[(1280, 900, "light"), (390, 844, "dark")], ids=["desktop", "phone"])
def page(browser, page_file, request):
    """The opened page; anything that goes wrong in it or leaves the machine fails the test."""
    with opened(browser, page_file, request.param) as page:
        yield page


def test_the_page_is_one_file_that_names_no_other(page_file):
    text = page_file.read_text("utf-8")
    assert not re.search(r'(src|href)="(?!#|data:,)', text)
    assert "/*STYLE*/" not in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert {study["name"] for study in json.loads(data[1])["studies"]} == set(spec_names())


def test_every_study_has_its_section_and_the_page_never_scrolls_sideways(page):
    assert page.locator("section").count() == len(spec_names()) + 1
    assert page.locator("#claims tbody tr").count() == len(load_claims())
    sizes = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert sizes[0] <= sizes[1]


def test_every_study_is_named_in_words(page):
    titles = page.locator("#nav a").all_inner_texts()
    assert {"Table 2, 16 units", "Table 1, divided rows", "Figure 3"} <= set(titles)
    assert not {title for title in titles if "-" in title}


def test_a_cell_opens_its_runs_and_their_curves(page):
    page.locator("#table2 td.number button").first.click()
    dialog = page.locator("dialog[open]")
    assert "table2 · Cora 0 % · GCN" in dialog.locator("h2").inner_text()
    assert dialog.locator("svg").count() == 0  # curves are drawn on demand
    dialog.get_by_role("button", name="validation accuracy").click()
    assert dialog.locator("svg path.line").count() == 10
    dialog.get_by_role("button", name="run 3").click()
    assert dialog.locator("svg path.line").count() == 9
    dialog.get_by_role("button", name="training loss").click()
    assert "training loss of each run" in dialog.inner_text()
    assert "selected setting" in dialog.inner_text()
    dialog.get_by_role("button", name="Close").click()
    assert page.locator("dialog[open]").count() == 0


def test_the_robustness_plot_changes_its_data_set_hides_models_and_reads_values(page):
    plot = page.locator("#table2 .robustness")
    assert plot.locator("path.line").count() == 14  # 7 models, ours and the paper's
    plot.get_by_role("button", name="Polblogs").click()
    assert "Polblogs" in plot.locator("figcaption").inner_text()
    plot.get_by_role("button", name="GAT").click()
    assert plot.locator("path.line").count() == 12
    plot.locator("svg").scroll_into_view_if_needed()
    plot.locator("svg").hover()
    assert "l21+l2" in plot.locator(".reading").inner_text()
    assert "GAT" not in plot.locator(".reading").inner_text()


def test_the_theme_follows_the_system_and_can_be_switched(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    theme = page.locator("html").get_attribute("data-theme")
    system = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert theme == ("dark" if system else "light")
    before = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != before


def test_table_1_says_how_elastic_compares_with_appnp_on_the_same_splits(page):
    table = page.locator("#table1 table")
    assert "ElasticGNN - APPNP, paired" in table.locator("th").all_inner_texts()
    cells = table.locator("tr", has_text="Cora").locator("td.contrast").inner_text().split()
    assert cells == ["+0.5", "±", "0.0", "higher"]


def test_figures_2_and_3_are_drawn(page):
    assert page.locator("#figure2 .steps path.line").count() >= 2
    assert page.locator("#figure3 path.line").count() == 2


def test_verdicts_are_counted_on_top(page):
    card = page.locator(".card", has=page.get_by_role("link", name="Table 2", exact=True))
    assert "75 within, 15 above, 15 below" in card.inner_text()


def test_data_cannot_break_out_of_the_page(results, tmp_path):
    from dataclasses import replace

    spec = replace(load_spec("table3"), title="</script><b>x</b>")
    write_page([build_table(spec, results)], tmp_path / "page.html")
    assert "</script><b>" not in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_without_results_says_so(tmp_path):
    write_page([build_table(load_spec("table3"), tmp_path)], tmp_path / "page.html")
    assert '"studies":[]}' in (tmp_path / "page.html").read_text("utf-8")
