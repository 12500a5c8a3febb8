"""`elasticgnn data`: every subcommand, by hand and by machine."""

import json
import shutil

import pytest
import typer
from typer.testing import CliRunner

from elasticgnn.cli.data import register
from elasticgnn.data import catalogue


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Calls the command with an empty data folder, unless it names another."""
    monkeypatch.setenv("ELASTICGNN_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("COLUMNS", "100")
    app = typer.Typer()
    register(app)
    return lambda *words: CliRunner().invoke(app, ["data", *words])


def test_list_names_every_data_set_and_where_it_is(run):
    rows = json.loads(run("list", "--json").stdout)["data_sets"]
    assert [row["name"] for row in rows] == list(catalogue())
    assert {row["name"] for row in rows if row["at"] == "package"} == {"cora"}
    table = run("list").stdout
    assert "coauthor-physics" in table
    assert "247,962" in table


def test_list_sees_files_in_the_folder(run, data_root):
    rows = json.loads(run("list", "--json", "--data-root", str(data_root)).stdout)["data_sets"]
    assert {row["at"] for row in rows} == {"package", "folder"}


def test_info_describes_bundled_cora(run):
    facts = json.loads(run("info", "cora", "--json").stdout)
    assert (facts["nodes"], facts["edges"], facts["components"]) == (2708, 5278, 78)
    assert facts["classes"]["Theory"] == 351
    assert facts["edges within a class"] == pytest.approx(0.81, abs=0.001)
    assert "Neural_Networks" in run("info", "cora").stdout


def test_info_of_an_unknown_name_is_an_error(run):
    result = run("info", "corra")
    assert isinstance(result.exception, ValueError)
    assert "name must be one of cora" in str(result.exception)


def test_verify_finds_good_changed_and_missing_files(run, data_root, tmp_path):
    copy = tmp_path / "copy"
    (copy / "nettack").mkdir(parents=True)
    (copy / "prognn-splits").mkdir()
    shutil.copy(data_root / "nettack" / "cora.npz", copy / "nettack")
    (copy / "prognn-splits" / "cora_prognn_splits.json").write_text("{}")
    result = run("verify", "cora-meta-0.05", "--json", "--data-root", str(copy))
    states = {row["file"]: row["state"] for row in json.loads(result.stdout)["files"]}
    assert result.exit_code == 1
    assert states == {
        "nettack/cora.npz": "ok",
        "prognn-splits/cora_prognn_splits.json": "different",
        "meta-attacked/cora_meta_adj_0.05.npz": "missing",
    }


def test_verify_of_bundled_cora_needs_no_folder(run):
    result = run("verify", "cora")
    assert result.exit_code == 0
    assert "1 of 1 files are right" in result.stdout


def test_fetch_asks_for_nothing_that_is_there(run, data_root):
    result = run("fetch", "polblogs", "--json", "--data-root", str(data_root))
    assert json.loads(result.stdout)["fetched"] == []


def test_fetch_without_a_network_says_so(run):
    result = run("fetch", "polblogs", "--mirror", "http://127.0.0.1:9")
    assert isinstance(result.exception, OSError)
    assert "no network?" in str(result.exception)


def test_fetch_downloads_from_a_mirror(run, data_root, tmp_path):
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(data_root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        mirror = f"http://127.0.0.1:{server.server_port}"
        folder = str(tmp_path / "fetched")
        fetched = run("fetch", "cora-meta-0.1", "--mirror", mirror, "--data-root", folder)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert "3 of 3 files fetched" in fetched.stdout
    assert run("verify", "cora-meta-0.1", "--data-root", folder).exit_code == 0
    facts = json.loads(run("info", "cora-meta-0.1", "--json", "--data-root", folder).stdout)
    assert facts["edges"] == 5567
    assert facts["fixed split"] == [247, 249, 1988]
