"""The denoise command: files in, files out, what it says and how it leaves."""

import json

import numpy as np
import pandas
import pytest
from PIL import Image

from elasticgnn.cli.__main__ import main


def run(*arguments):
    """The exit code of one call."""
    with pytest.raises(SystemExit) as leaving:
        main(["denoise", *map(str, arguments)])
    return leaving.value.code


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


def test_answer_that_is_not_certified_leaves_with_one(files, monkeypatch):
    from elasticgnn.solver import ascend

    monkeypatch.setattr(
        ascend.Stop, "max_steps", property(lambda stop: 0, lambda stop, v: None), raising=False
    )
    options = ("--lambda1", 0.5, "--rtol", 1e-9, "--json")
    assert run(files / "signal.csv", files / "edges.csv", *options) == 1


def test_first_unknown_node_is_named(files, capsys):
    (files / "edges.csv").write_text("a,b\ns1,s2\ns2,s99\n")
    assert run(files / "signal.csv", files / "edges.csv", "--lambda1", 1) == 2
    said = capsys.readouterr().err
    assert "'s99' in row 2" in said
    assert "Traceback" not in said


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
        (("signal.csv", "edges.csv", "--order", "1"), "lambda1 must be given for order 1"),
        (("signal.csv", "edges.csv", "--lambda1", "-1"), "lambda1 must be a number >= 0"),
        (("signal.txt", "edges.csv"), "file must end in"),
        (("edges.csv", "edges.csv"), "must hold numbers in column 'to', got text"),
        (("signal.csv", "edges.csv", "-o", "out.png", "--lambda1", "1"), "output must be a table"),
    ],
)
def test_bad_input_leaves_with_two_and_one_line(files, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(files)
    assert run(*arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
