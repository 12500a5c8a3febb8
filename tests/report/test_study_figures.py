"""Figures of studies: every cell drawn, room for the panels, the same bytes again."""

from dataclasses import replace
from itertools import combinations

import pytest

from elasticgnn.experiment import cells, load_spec, read_result, spec_names
from elasticgnn.experiment.results import write_result
from elasticgnn.report import build_table
from elasticgnn.report.plot import drawn, save_plot
from elasticgnn.report.render import to_rows


@pytest.mark.parametrize("name", spec_names())
def test_every_study_has_a_row_per_cell_and_a_figure(name, results, tmp_path):
    table = build_table(load_spec(name), results)
    assert len(to_rows(table)) == len(table.entries)
    for suffix in (".svg", ".png"):
        path = tmp_path / f"figure{suffix}"
        save_plot(table, path)
        assert path.stat().st_size > 5000
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["table1", "table2"])  # in rows, and along an axis
def test_more_models_than_colours_are_all_drawn(name, results, tmp_path):
    spec = load_spec(name).restricted(("cora",), ("gcn",))
    for cell in cells(spec):
        for k in range(10):
            known = read_result(results, spec, cell)
            write_result(tmp_path, spec, replace(known, cell=replace(cell, model=f"m{k}")))
    models = tuple(replace(spec.models[0], name=f"m{k}") for k in range(10))
    (axes,) = drawn(build_table(replace(spec, models=models, paper={}), tmp_path)).axes
    styles = {
        (line.get_color(), line.get_marker()) for line in axes.lines if line.get_label()[0] != "_"
    }
    assert len(axes.collections) == 10  # an interval each
    assert name == "table1" or len(styles) == 10  # rows have names of their own


@pytest.mark.parametrize("name", spec_names())
def test_names_and_legends_leave_the_panels_most_of_the_room(name, results):
    figure = drawn(build_table(load_spec(name), results))
    figure.draw_without_rendering()  # which lays the parts out
    assert all(axes.get_position().height > 0.6 for axes in figure.axes)
    for axes in figure.axes:
        assert axes.get_position().width * len(figure.axes) > 0.6


@pytest.mark.parametrize("name", spec_names())
def test_legend_title_and_panels_hide_nothing_of_each_other(name, results):
    figure = drawn(build_table(load_spec(name), results))
    figure.draw_without_rendering()
    ((legend,), (title,)) = figure.legends, figure.texts
    parts = [part.get_window_extent() for part in (legend, title)]
    parts += [axes.get_tightbbox() for axes in figure.axes]
    assert all(
        figure.bbox.contains(*part.min) and figure.bbox.contains(*part.max) for part in parts
    )
    assert not any(one.overlaps(other) for one, other in combinations(parts, 2))


def test_the_same_results_give_the_same_svg(results, tmp_path):
    table = build_table(load_spec("figure3"), results)
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        save_plot(table, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_figure_needs_results_and_a_known_format(results, tmp_path):
    with pytest.raises(ValueError, match="must have results to be plotted"):
        save_plot(build_table(load_spec("table3"), tmp_path), tmp_path / "a.svg")
    with pytest.raises(ValueError, match="output must end in one of"):
        save_plot(build_table(load_spec("table3"), results), tmp_path / "a.gif")
