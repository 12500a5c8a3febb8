"""The denoise command: files in, files out, what it says and how it leaves."""

import itertools
import json
from functools import partial

import numpy as np
import pandas
import pytest
from PIL import Image

import command_calls

run = partial(command_calls.run, "denoise")


@pytest.fixture
def files(tmp_path):
    """A noisy step on a chain of ten stations with names, out of order in the edge list."""
    rng = np.random.default_rng(0)
    names = [f"s{k}" for k in range(10)]
    value = np.repeat([0.0, 3.0], 5) + 0.1 * rng.normal(size=10)
    table = pandas.DataFrame({"station": names, "x": np.arange(10.0), "y": 0.0, "level": value})
    table.to_csv(tmp_path / "signal.csv", index=False)
    edges = pandas.DataFrame({"from": names[:0:-1], "to": names[-2::-1]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    return tmp_path


def test_csv_keeps_its_columns_and_order(files, capsys):
    out = files / "out.csv"
    assert run(files / "signal.csv", files / "edges.csv", "-o", out, "--lambda1", 0.5) == 0
    table = pandas.read_csv(out)
    assert list(table.columns) == ["station", "x", "y", "level"]
    assert list(table.station) == [f"s{k}" for k in range(10)]
    assert table.level[:5].std() < 1e-3 < 2 < table.level[9] - table.level[0]
    assert capsys.readouterr().out.startswith("certified")


def test_json_is_the_only_output(files, capsys):
    code = run(files / "signal.csv", files / "edges.csv", "--lambda1", 0.5, "--json")
    facts = json.loads(capsys.readouterr().out)
    assert code == 0
    assert facts["certified"] is True
    assert facts["relative_gap"] <= 1e-6
    assert facts["pieces"] == 2
    assert (files / "signal-denoised.csv").exists()


@pytest.mark.parametrize("criterion", ["cv", "sure"])
def test_select_finds_a_strength(files, capsys, criterion):
    code = run(files / "signal.csv", files / "edges.csv", "--select", criterion, "--json")
    assert code == 0
    assert json.loads(capsys.readouterr().out)["lambda1"] > 0


def test_counts_become_rates_and_labels_beyond_a_loss_are_refused(files, capsys):
    table = pandas.read_csv(files / "signal.csv")
    table["level"] = [1, 0, 2, 1, 1, 9, 8, 10, 9, 9]
    table.to_csv(files / "counts.csv", index=False)
    arguments = (files / "counts.csv", files / "edges.csv", "-o", files / "out.csv")
    assert run(*arguments, "--loss", "poisson", "--lambda1", 1.0, "--json") == 0
    assert json.loads(capsys.readouterr().out)["loss"] == "Poisson()"
    rates = pandas.read_csv(files / "out.csv").level
    assert rates.sum() == pytest.approx(50, rel=1e-3)  # a penalty of differences keeps the sum
    assert (
        run(*arguments, "--loss", "quantile:0.5") == 0
    )  # the strength is chosen by held-out nodes
    assert "held-out nodes" in capsys.readouterr().out
    assert run(*arguments, "--loss", "logistic", "--lambda1", 1.0) == 2
    assert "x must lie in [0, 1]" in capsys.readouterr().err
    assert run(*arguments, "--loss", "cubic", "--lambda1", 1.0) == 2
    assert "loss must be one of" in capsys.readouterr().err


def test_answer_that_is_not_certified_leaves_with_one(files, monkeypatch):
    from elasticgnn.solver.methods import choice, stopping

    monkeypatch.setattr(choice.forest, "refusal", lambda instance: "not today")
    monkeypatch.setattr(
        stopping.Stop, "max_steps", property(lambda stop: 0, lambda stop, v: None), raising=False
    )
    options = ("--lambda1", 0.5, "--rtol", 1e-9, "--json")
    assert run(files / "signal.csv", files / "edges.csv", *options) == 1


def test_first_unknown_node_is_named(files, capsys):
    (files / "edges.csv").write_text("a,b\ns1,s2\ns2,s99\n")
    assert run(files / "signal.csv", files / "edges.csv", "--lambda1", 1) == 2
    printed = capsys.readouterr().err
    assert "'s99' in row 3" in printed
    assert "Traceback" not in printed


def test_numbers_and_text_name_the_same_node(files):
    pandas.DataFrame({"id": [1, 2, 3], "v": [0.0, 1.0, 5.0]}).to_parquet(files / "s.parquet")
    pandas.DataFrame({"a": ["1", "2"], "b": ["2", "3"], "w": [1.0, 0.5]}).to_parquet(
        files / "e.parquet"
    )
    out = files / "o.parquet"
    assert run(files / "s.parquet", files / "e.parquet", "-o", out, "--lambda1", 0.5) == 0
    # node 3 gives up half of lambda1, its only edge has weight 0.5
    assert pandas.read_parquet(out).v[2] == pytest.approx(4.75, abs=1e-3)


def test_empty_cells_are_interpolated(files):
    table = pandas.read_csv(files / "signal.csv")
    table.loc[2, "level"] = np.nan
    table.to_csv(files / "signal.csv", index=False)
    out = files / "out.csv"
    assert run(files / "signal.csv", files / "edges.csv", "-o", out, "--lambda1", 0.2) == 0
    assert abs(pandas.read_csv(out).level[2]) < 0.3


@pytest.mark.parametrize("ending", [".tsv", ".txt", ".xlsx", ".parquet"])
def test_tables_of_every_kind_go_in_and_out(files, ending):
    read = {".xlsx": pandas.read_excel, ".parquet": pandas.read_parquet}
    table = pandas.read_csv(files / "signal.csv")
    given, out = files / f"given{ending}", files / f"out{ending}"
    write = {
        ".xlsx": lambda: table.to_excel(given, index=False),
        ".parquet": lambda: table.to_parquet(given, index=False),
    }
    write.get(ending, lambda: table.to_csv(given, sep="\t", index=False))()
    assert run(given, files / "edges.csv", "-o", out, "--lambda1", 0.5) == 0
    found = read.get(ending, lambda path: pandas.read_csv(path, sep="\t"))(out)
    assert list(found.columns) == list(table.columns)
    assert found.level[:5].std() < 1e-3 < 2 < found.level[9] - found.level[0]


def test_edges_come_from_graph_files_and_packed_tables_too(files):
    names = [f"s{k}" for k in range(10)]
    links = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in itertools.pairwise(names))
    nodes = "".join(f'<node id="{name}"/>' for name in names)
    (files / "g.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'<graph edgedefault="undirected">{nodes}{links}</graph></graphml>'
    )
    table = pandas.read_csv(files / "signal.csv")
    table.to_csv(files / "signal.csv.gz", index=False)
    out = files / "out.csv"
    given = (files / "signal.csv.gz", files / "g.graphml", "-o", out)
    assert run(*given, "--lambda1", 0.5) == 0
    assert pandas.read_csv(out).level[:5].std() < 1e-3


def test_arrays_in_and_out(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.save(tmp_path / "e.npy", np.array([[0, 1]]))
    out = tmp_path / "o.npy"
    assert run(tmp_path / "x.npy", tmp_path / "e.npy", "-o", out, "--lambda1", 1.0) == 0
    # both rows move by lambda1 along the line between them
    np.testing.assert_allclose(np.load(out), [[0.6, 0.8], [2.4, 3.2]], atol=1e-5)


def test_image_is_signal_and_grid_in_one(tmp_path, capsys):
    pixels = np.full((12, 16, 3), 40, dtype=np.uint8)
    pixels[:, 8:] = 200
    noisy = pixels + np.random.default_rng(0).integers(0, 20, pixels.shape)
    Image.fromarray(noisy.astype(np.uint8)).save(tmp_path / "photo.png")
    plot = tmp_path / "both.png"
    assert run(tmp_path / "photo.png", "--lambda1", 0.3, "--plot", plot) == 0
    with Image.open(tmp_path / "photo-denoised.png") as image:
        smooth = np.asarray(image).astype(float)
    assert smooth.shape == (12, 16, 3)
    assert smooth[:, :8].std() < noisy[:, :8].std() / 5
    assert smooth[:, 8:].mean() - smooth[:, :8].mean() > 100
    assert plot.stat().st_size > 1000


def test_plot_of_coordinates_is_drawn(files):
    plot = files / "plot.png"
    options = ("--lambda1", 0.5, "--plot", plot)
    assert run(files / "signal.csv", files / "edges.csv", *options) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("signal.csv",), "edges must be given"),
        (("nothing.csv", "edges.csv"), "nothing.csv"),
        (("signal.csv", "edges.csv", "--lambda1", "1", "--select", "cv"), "lambda1 must be left"),
        (("signal.csv", "edges.csv", "--order", 3), "order must be one of (0, 1, 2)"),
        (("signal.csv", "edges.csv", "--lambda1", "-1"), "lambda1 must be a number >= 0"),
        (("signal.doc", "edges.csv"), "file must end in"),
        (("edges.csv", "edges.csv"), "must hold numbers in column 'to', got text"),
        (("signal.csv", "edges.csv", "-o", "out.png", "--lambda1", "1"), "output must be a table"),
    ],
)
def test_bad_input_leaves_with_two_and_one_line(files, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(files)
    assert run(*arguments) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_a_row_with_an_empty_cell_keeps_the_others_and_is_filled(files, capsys):
    (files / "two.csv").write_text("id,a,b\n0,1.0,5.0\n1,,5.1\n2,1.1,5.2\n3,9.0,\n")
    (files / "e.csv").write_text("p,q\n0,1\n1,2\n2,3\n")
    out = files / "o.csv"
    assert run(files / "two.csv", files / "e.csv", "-o", out, "--lambda1", 0.01) == 0
    table = pandas.read_csv(out)
    assert table.b[1] == pytest.approx(5.1, abs=0.05)
    assert 0.9 < table.a[1] < 1.2
    assert not table.isna().any().any()


def test_a_component_without_values_stays_empty_and_is_mentioned(files, capsys):
    (files / "s.csv").write_text("id,v\na,1.0\nb,2.0\nc,\nd,\n")
    (files / "e.csv").write_text("p,q\na,b\nc,d\n")
    out = files / "o.csv"
    assert run(files / "s.csv", files / "e.csv", "-o", out, "--lambda1", 0.1) == 0
    assert list(pandas.read_csv(out).v.isna()) == [False, False, True, True]
    assert "2 nodes lie in components without any value" in capsys.readouterr().out


def test_it_says_in_words_what_it_did(files, capsys):
    assert run(files / "signal.csv", files / "edges.csv", "--select", "cv") == 0
    printed = capsys.readouterr().out
    assert "forest (the graph has no cycles" in printed
    assert "by held-out nodes and the lowest score; noise level" in printed
    assert "10 nodes in " in printed
    assert " constant pieces, " in printed


def test_an_answer_at_the_rounding_floor_leaves_with_three(files, capsys):
    table = pandas.read_csv(files / "signal.csv")
    table["level"] += 1e15
    table.to_csv(files / "far.csv", index=False)
    assert run(files / "far.csv", files / "edges.csv", "--lambda1", 0.3) == 3
    assert capsys.readouterr().out.startswith("at the rounding floor")


def test_rounded_data_are_smoothed(files, capsys):
    rng = np.random.default_rng(0)
    value = np.round(np.repeat([0.0, 8.0], 100) + 0.6 * rng.normal(size=200))
    pandas.DataFrame({"id": range(200), "v": value}).to_csv(files / "r.csv", index=False)
    pandas.DataFrame({"a": range(199), "b": range(1, 200)}).to_csv(files / "e.csv", index=False)
    out = files / "o.csv"
    assert run(files / "r.csv", files / "e.csv", "-o", out) == 0
    assert pandas.read_csv(out).v[:100].std() < 0.3


def test_a_line_is_left_alone_by_a_free_trend_and_drawn_along_its_chain(files):
    pandas.DataFrame({"id": range(11), "v": np.arange(11.0)}).to_csv(files / "l.csv", index=False)
    pandas.DataFrame({"a": range(10), "b": range(1, 11)}).to_csv(files / "e.csv", index=False)
    out, picture = files / "o.csv", files / "p.png"
    options = ("--lambda1", 5, "--order", 1, "--boundary", "free", "--plot", picture)
    assert run(files / "l.csv", files / "e.csv", "-o", out, *options) == 0
    np.testing.assert_allclose(pandas.read_csv(out).v, np.arange(11.0), atol=1e-12)
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize("strength", [("--lambda1", 0.5), ("--select", "sure")])
def test_an_interrupted_solve_leaves_with_130_and_the_old_file(
    files, capsys, monkeypatch, strength
):
    def stopped(*_):
        raise KeyboardInterrupt

    # a cycle, so that steps are taken
    with (files / "edges.csv").open("a") as edges:
        edges.write("s0,s9\n")
    monkeypatch.setattr("elasticgnn.solver.methods.progress.GapProgress.show", stopped)
    out = files / "out.csv"
    out.write_text("the old file")
    assert run(files / "signal.csv", files / "edges.csv", "-o", out, *strength) == 130
    assert out.read_text() == "the old file"
    printed = capsys.readouterr()
    assert printed.err == "interrupted\n"
    assert printed.out == ""
