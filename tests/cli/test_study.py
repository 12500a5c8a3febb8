"""The study and report commands, from training to the page, on the toy graph."""

import json

import pytest
from typer import Typer
from typer.testing import CliRunner

from elasticgnn.cli import report, study
from elasticgnn.experiment import spec_names


@pytest.fixture(scope="module")
def app():
    built = Typer()
    study.register(built)
    report.register(built)
    return built


@pytest.fixture(scope="module")
def folder(app, tmp_path_factory):
    """Results of a quick run of table 3, trained through the command."""
    path = tmp_path_factory.mktemp("results")
    done = invoke(app, "study", "run", "table3", "--quick", "--results", path, "--json")
    assert json.loads(done.stdout)["study"] == "table3"
    assert "trainings" in done.stderr
    return path


def invoke(app, *arguments):
    done = CliRunner().invoke(app, [str(word) for word in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


def test_studies_are_listed(app):
    assert "table2" in invoke(app, "study", "list").stdout
    assert tuple(json.loads(invoke(app, "study", "list", "--json").stdout)) == spec_names()


def test_status_counts_cells_and_trainings(app, folder):
    answer = invoke(app, "study", "status", "table3", "--quick", "--results", folder, "--json")
    row = json.loads(answer.stdout)["studies"][0]
    assert (row["cells"], row["cells_complete"], row["runs"], row["running"]) == (4, 4, 8, 0)
    assert row["epochs"] == 8 * 4
    assert row["seconds"] > 0
    assert row["processor_hours"] > 0
    assert [group["runs"] for group in row["groups"]] == [2, 2, 2, 2]
    assert (row["left"], row["unmeasured"], row["cells_searched"]) == (0, 0, 4)
    printed = invoke(app, "study", "status", "table3", "--quick", "--results", folder).stdout
    assert "4/4 cells complete" in printed
    assert "8 trainings in 0 minutes (4 epochs each, " in printed


def test_status_of_an_untouched_folder_is_zero_and_leaves_it_untouched(app, tmp_path):
    invoke(app, "study", "status", "--results", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "csv"])
def test_the_table_is_printed_in_every_form(app, folder, form):
    options = ("--quick", "--results", folder, "--format", form)
    assert "1.57" in invoke(app, "study", "table", "table3", *options).stdout


def test_an_unknown_form_and_an_unknown_study_are_refused(app, folder):
    with pytest.raises(ValueError, match="format must be one of"):
        invoke(app, "study", "table", "table3", "--format", "html", "--results", folder)
    with pytest.raises(ValueError, match="study must be one of"):
        invoke(app, "study", "run", "table8")
    with pytest.raises(ValueError, match="search must be one of"):
        invoke(app, "study", "run", "table1", "--search", "luck")


@pytest.mark.parametrize(
    ("option", "value"), [("runs", "0"), ("epochs", "0"), ("seed", "-1"), ("width", "0")]
)
def test_nothing_is_started_for_numbers_that_make_no_sense(app, tmp_path, option, value):
    with pytest.raises(ValueError, match=f"{option} must be >= ., got {value}"):
        invoke(app, "study", "run", "table3", f"--{option}", value, "--results", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_seed_has_other_splits_and_results_of_its_own(app, folder, tmp_path):
    only = ("--model", "elastic", "--quick")
    run = ("study", "run", "table3", *only, "--results", tmp_path, "--json")
    other = json.loads(invoke(app, *run, "--seed", "7").stdout)["cells"][0]
    own = json.loads(invoke(app, *run).stdout)["cells"][0]
    assert own["mean"] != other["mean"]
    shown = ("study", "table", "table3", *only, "--results", tmp_path, "--json", "--seed", "7")
    assert json.loads(invoke(app, *shown).stdout)["cells"][0]["mean"] == other["mean"]
    seeds = [run["seed"] for path in tmp_path.glob("*seed-7*/*.json") for run in records(path)]
    assert seeds == [7, 8]


def test_another_width_has_results_of_its_own(app, tmp_path):
    wide = ("--model", "elastic", "--results", tmp_path, "--hidden-channels", "24", "--json")
    shown = json.loads(invoke(app, "study", "status", "table3", *wide[2:]).stdout)["studies"][0]
    assert (shown["cells_complete"], shown["cells_searched"], shown["left"]) == (0, 0, 120)
    assert shown["unmeasured"] == 120
    assert study.chosen_study("table3", hidden=24).pool == "smoothness-hidden-24"
    with pytest.raises(ValueError, match="hidden_channels must be >= 1, got 0"):
        invoke(app, "study", "run", "table3", "--hidden-channels", "0", "--results", tmp_path)


def records(path):
    return json.loads(path.read_text())["runs"]


def test_plot_export_and_report_write_their_files(app, folder, tmp_path):
    quick = ("--quick", "--results", folder)
    invoke(app, "study", "plot", "table3", *quick, "--output", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    answer = invoke(app, "study", "export", "table3", *quick, "--output", tmp_path / "e", "--json")
    assert "seeds.json" in json.loads(answer.stdout)["files"]
    page = tmp_path / "page.html"
    answer = invoke(app, "report", *quick, "--study", "table3", "--output", page, "--json")
    assert json.loads(answer.stdout)["bytes"] == page.stat().st_size


def test_several_jobs_share_the_work(app, folder, tmp_path):
    options = ("--quick", "--results", tmp_path, "--jobs", "2", "--json", "--model", "elastic")
    answer = json.loads(invoke(app, "study", "run", "table3", *options).stdout)
    alone = invoke(app, "study", "table", "table3", "--quick", "--results", folder, "--json")
    means = {cell["model"]: cell["mean"] for cell in json.loads(alone.stdout)["cells"]}
    assert answer["cells"][0]["mean"] == means["elastic"]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--search", "fixed"), "search must be grid or more, got 'fixed'"),
        (("--runs", "1"), "runs must be >= 2, got 1"),
        (("--runs", "1", "--jobs", "2"), "runs must be >= 2, got 1"),
    ],
)
def test_a_quicker_study_replaces_no_stored_result(app, folder, options, rule):
    before = {path: path.read_bytes() for path in folder.glob("*/*.json")}
    with pytest.raises(ValueError, match=rule):
        invoke(app, "study", "run", "table3", "--quick", "--results", folder, *options)
    assert {path: path.read_bytes() for path in folder.glob("*/*.json")} == before


def test_found_settings_are_trained_again_in_another_folder(app, folder, tmp_path):
    options = ("--quick", "--model", "elastic", "--search", "fixed", "--found", folder, "--json")
    again = invoke(app, "study", "run", "table3", "--results", tmp_path, *options).stdout
    stored = invoke(app, "study", "table", "table3", "--quick", "--results", folder, "--json")
    (cell,) = [c for c in json.loads(stored.stdout)["cells"] if c["model"] == "elastic"]
    (made,) = json.loads(again)["cells"]
    assert (made["mean"], made["search"]) == (cell["mean"], "fixed")


def test_complete_cells_without_their_storage_are_not_called_left(app, folder, tmp_path):
    options = ("--quick", "--results", folder, "--storage", tmp_path / "other.db")
    printed = invoke(app, "study", "status", "table3", *options).stdout
    assert "4/4 cells complete" in printed
    assert "8 trainings are not in this storage, and would be made again" in printed
    assert "left" not in printed


def test_status_of_a_greater_search_says_what_is_left_of_it(app, tmp_path):
    options = ("--quick", "--model", "sgc", "--results", tmp_path)
    invoke(app, "study", "run", "table1", *options, "--search", "fixed")

    def status(*more):
        return invoke(app, "study", "status", "table1", *options, *more).stdout

    (row,) = json.loads(status("--search", "grid", "--json"))["studies"]
    cells, settings = row["cells"], 4
    assert (row["cells_complete"], row["cells_by_search"]) == (cells, 0)
    assert row["left"] == cells * (settings - 1) * 2  # the runs of the fixed setting are there
    printed = status("--search", "grid")
    assert f"{cells}/{cells} cells complete, 0 of them searched, 0 by this search" in printed
    assert f"; {row['left']} trainings left" in printed
    assert "0 by this search" not in status("--search", "fixed")
    (fewer,) = json.loads(status("--search", "fixed", "--runs", "3", "--json"))["studies"]
    assert (fewer["cells_by_search"], fewer["left"]) == (0, cells)
