"""Signals as statisticians have them: gaps beside knots, days as ids, packed tables, odd images."""

import json
from functools import partial

import numpy as np
import pandas
import pytest
from PIL import Image

import command_calls

run = partial(command_calls.run, "denoise")


@pytest.fixture
def days(tmp_path):
    """Prices of 200 days, 30 of them missing, each day joined to the next."""
    rng = np.random.default_rng(1)
    day = pandas.date_range("2024-01-01", periods=200)
    price = np.repeat([3.0, 7.0, 5.0, 5.5], 50) + 0.5 * rng.normal(size=200)
    price[rng.choice(200, 30, replace=False)] = np.nan
    table = pandas.DataFrame({"day": day, "price": price})
    table.to_csv(tmp_path / "prices.csv", index=False)
    pandas.DataFrame({"a": day[:-1], "b": day[1:]}).to_csv(tmp_path / "edges.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("trend", [(), ("--boundary", "free")])
def test_a_trend_with_gaps_chooses_its_strength(days, trend, capsys):
    out = days / "out.csv"
    assert (
        run(days / "prices.csv", days / "edges.csv", "-o", out, "--order", 1, *trend, "--json") == 0
    )
    assert json.loads(capsys.readouterr().out)["lambda1"] > 0
    assert pandas.read_csv(out).price.notna().all()


def test_infinity_is_no_number_and_is_named(days, capsys):
    table = pandas.read_csv(days / "prices.csv")
    table.loc[5, "price"] = np.inf
    table.to_csv(days / "prices.csv", index=False)
    assert run(days / "prices.csv", days / "edges.csv", "--lambda1", 1) == 2
    assert "column 'price', got inf at node 2024-01-06" in capsys.readouterr().err


def test_a_choice_without_any_value_is_refused(days, capsys):
    table = pandas.read_csv(days / "prices.csv").assign(price=np.nan)
    table.to_csv(days / "prices.csv", index=False)
    assert run(days / "prices.csv", days / "edges.csv") == 2
    assert "must have a value for a choice of lambda1" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_days_are_the_same_in_every_format(days, ending):
    table = pandas.read_csv(days / "prices.csv", parse_dates=["day"])
    signal = days / f"prices.{ending}"
    table.to_parquet(signal) if ending == "parquet" else table.to_excel(signal, index=False)
    assert run(signal, days / "edges.csv", "--lambda1", 1) == 0


def test_a_packed_table_is_written_beside_its_source(days):
    pandas.read_csv(days / "prices.csv").to_csv(days / "prices.csv.gz", index=False)
    assert run(days / "prices.csv.gz", days / "edges.csv", "--lambda1", 1) == 0
    assert run(days / "prices.csv", days / "edges.csv", "--lambda1", 1) == 0
    packed, plain = (pandas.read_csv(days / f"prices-denoised.csv{end}") for end in (".gz", ""))
    pandas.testing.assert_frame_equal(packed, plain)


def test_json_has_no_infinity(days, capsys):
    options = ("--loss", "huber:1", "--lambda1", 1, "--json")
    assert run(days / "prices.csv", days / "edges.csv", *options) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed, parse_constant=pytest.fail)["distance_bound"] is None


def test_sixteen_bits_of_gray_stay_sixteen(tmp_path):
    gray = np.full((20, 30), 9000, dtype=np.uint16)
    gray[5:15, 5:20] = 40000
    Image.fromarray(gray).save(tmp_path / "gray.png")
    assert run(tmp_path / "gray.png", "--lambda1", 1e-6, "-o", tmp_path / "out.png") == 0
    with Image.open(tmp_path / "out.png") as image:
        assert np.abs(np.asarray(image).astype(int) - gray).max() <= 1


def test_transparent_pixels_are_refused(tmp_path, capsys):
    pixels = np.full((4, 5, 4), 200, dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "glass.png")
    assert run(tmp_path / "glass.png", "--lambda1", 0.1) == 2
    assert "glass.png must have no transparent pixels" in capsys.readouterr().err
    pixels[..., 3] = 255
    Image.fromarray(pixels).save(tmp_path / "glass.png")
    assert run(tmp_path / "glass.png", "--lambda1", 0.1) == 0
