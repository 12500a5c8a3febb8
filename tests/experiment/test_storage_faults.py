"""A storage that fails in the middle of `study run`: one line, nothing lost, the same end."""

import os
import subprocess
import time

import pytest

from elasticgnn.cli.__main__ import main
from elasticgnn.experiment import cells, cut_down, load_spec
from elasticgnn.experiment.liveness import beating
from elasticgnn.experiment.results import read_result
from elasticgnn.report import build_table
from elasticgnn.report.render import to_csv

STUDY = """title = "t"
datasets = ["cora"]
[protocol]
runs = 4
[models.gcn]
family = "gcn"
space = [{dropout = [0.3, 0.5, 0.8]}]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def run(study, folder, storage, capfd) -> tuple[int, str]:
    """Exit code and standard error of `study run`."""
    words = ["study", "run", study, "--quick", "--storage", storage, "--results", folder]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code or 0, capfd.readouterr().err


def outcome(study, folder) -> str:
    return to_csv(build_table(cut_down(load_spec(str(study))), folder))


def runs_in(study, folder) -> int:
    spec = cut_down(load_spec(str(study)))
    return sum(len(read_result(folder, spec, cell).runs) for cell in cells(spec))


def is_one_line(err: str) -> bool:
    """Whether all that is said beside the progress is one line without a traceback."""
    errors = [line for line in err.splitlines() if "trainings" not in line and "runs" not in line]
    return len(errors) == 1 and errors[0].startswith("error: storage ")


@pytest.fixture
def after_two_runs(monkeypatch):
    """Lets something happen when the second training is told of; the study then goes on."""

    def arrange(fault) -> None:
        lines = []

        def show(line) -> None:
            lines.append(line)
            if len(lines) == 2:
                fault()

        monkeypatch.setattr("elasticgnn.cli.study.show_progress", show)

    return arrange


def test_a_server_that_stops_in_the_middle(tmp_path, study, postgresql, capfd, after_two_runs):
    address = postgresql.url.replace("tester@", "tester:secret@")
    after_two_runs(postgresql.stop)
    code, err = run(study, tmp_path / "stopped", address, capfd)
    try:
        assert code == 2
        assert is_one_line(err), err
        assert "secret" not in err
        code, err = run(study, tmp_path / "stopped", address, capfd)  # still stopped
        assert code == 2
        assert is_one_line(err), err
        assert "secret" not in err
    finally:
        postgresql.start()
    assert run(study, tmp_path / "stopped", address, capfd)[0] == 0
    assert run(study, tmp_path / "calm", tmp_path / "calm.db", capfd)[0] == 0
    assert outcome(study, tmp_path / "stopped") == outcome(study, tmp_path / "calm")
    assert runs_in(study, tmp_path / "stopped") > 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return


def test_sqlite_on_a_disk_that_fills_up(tmp_path, study, small_disk, capfd, after_two_runs):
    after_two_runs(lambda: fill(small_disk))
    code, err = run(study, small_disk, small_disk / "trials.db", capfd)
    assert code == 2
    assert is_one_line(err), err
    assert "trials.db failed: database or disk is full" in err
    (small_disk / "filler").unlink()
    assert run(study, small_disk, small_disk / "trials.db", capfd)[0] == 0
    assert run(study, tmp_path / "calm", tmp_path / "calm.db", capfd)[0] == 0
    assert outcome(study, small_disk) == outcome(study, tmp_path / "calm")


@pytest.mark.parametrize(
    "storage",
    [
        "folder",
        "sqlite:///folder",
        "postgresql://me:secret@127.0.0.1:1/db",
        "mysql://me:secret@h/d",
    ],
)
def test_a_storage_that_cannot_be_used_is_refused_in_a_line(
    tmp_path, study, monkeypatch, capfd, storage
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    code, err = run(study, tmp_path / "results", storage, capfd)
    assert code == 2
    assert is_one_line(err), err
    assert "secret" not in err


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_sign_of_life_that_cannot_be_given_is_tried_again(capfd):
    tried = []

    def beat(count: int) -> None:
        tried.append(count)
        raise ConnectionError("the server is gone")

    end = time.monotonic() + 30
    with beating(beat, interval=0.001):
        while len(tried) < 3 and time.monotonic() < end:
            time.sleep(0.001)
    assert tried[:3] == [1, 2, 3]
    assert capfd.readouterr().err == ""
