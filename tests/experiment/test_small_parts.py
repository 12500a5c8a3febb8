"""Small parts of a study on their own: jobs, rests, times, remarks."""

import runpy
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from elasticgnn.experiment import cut_down, engine, environment, execute, jobs, load_spec, status
from elasticgnn.experiment.engine import Worker, cell_groups
from elasticgnn.experiment.environment import git_output
from elasticgnn.experiment.progress import duration
from elasticgnn.experiment.record import pack_curve, unpack_curve
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.spec import Remark
from elasticgnn.experiment.spec_file import check_names, parse_remark


class MadeUpContext:
    """Processes that are over at once, and the arguments that they were given."""

    def __init__(self):
        self.given = []

    def SimpleQueue(self):
        return SimpleNamespace(empty=lambda: True)

    def Process(self, target, args):
        self.given.append(args)
        asked = dict.fromkeys(("start", "terminate", "join"), lambda: None)
        return SimpleNamespace(**asked, exitcode=0, is_alive=lambda: False)


@pytest.mark.parametrize(("processors", "threads"), [(8, 2), (7, 2), (2, 1), (None, 1)])
def test_jobs_share_the_processors(monkeypatch, tmp_path, processors, threads):
    context = MadeUpContext()
    monkeypatch.setattr(jobs.multiprocessing, "get_context", lambda _: context)
    monkeypatch.setattr(jobs.os, "cpu_count", lambda: processors)
    jobs.run_jobs(load_spec("table1"), SimpleNamespace(results=tmp_path), 3, print)
    assert [given[2] for given in context.given] == [threads] * 3
    assert all(isinstance(given[2], int) for given in context.given)


def test_one_job_is_this_process(monkeypatch):
    seen = []
    monkeypatch.setattr(jobs, "run_study", lambda *given: seen.append(given))
    jobs.run_jobs("spec", "plan", 1, print)
    assert seen == [("spec", "plan", print)]
    with pytest.raises(ValueError, match="jobs must be >= 1, got 0"):
        jobs.run_jobs("spec", "plan", 0, print)


def test_a_worker_rests_only_while_others_hold_what_is_left(monkeypatch):
    rests, visits = [], iter([True, False, False, True])
    monkeypatch.setattr(engine.time, "sleep", rests.append)
    worker = Worker.__new__(Worker)
    worker.groups, worker.written = [("group", "ledger")], set()
    worker.plan = SimpleNamespace(poll=7.0)

    def visit(*_):
        worked = next(visits)
        if worked and rests:
            worker.written.add("group")
        return worked

    worker.visit = visit
    worker.work()
    assert rests == [7.0, 7.0]


def test_times_are_shown_in_the_largest_sensible_unit():
    assert [duration(s) for s in (89, 90, 5399, 5400)] == ["89 s", "2 min", "90 min", "1.5 h"]


def test_a_curve_is_cut_where_four_bytes_end():
    assert unpack_curve(pack_curve([1e9, -1e9, 0.5])) == [2147483.647, -2147483.648, 0.5]


def test_times_that_an_old_run_does_not_tell_count_as_none():
    spec = cut_down(load_spec("table1")).restricted(("cora",), ("gcn",))
    (group,) = cell_groups(spec)
    found = dict.fromkeys(("runs", "epochs", "seconds", "processor_hours", "left", "hours_left"), 0)
    runs = [
        {"epochs": 3, "seconds": 2.0},
        {"epochs": 3, "seconds": 2.0, "processor_seconds": 4.0},
    ]
    status.add_trainings(found | {"groups": (groups := [])}, runs, group)
    assert groups[0]["processor_seconds"] == 4


def test_what_git_says_is_text(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert git_output(tmp_path, "rev-parse", "--is-inside-work-tree") == "true"
    assert git_output(tmp_path / "absent", "status") == ""


def test_a_revision_tells_of_changes_anywhere_in_the_package(tmp_path):
    folder = tmp_path / "package" / "experiment"
    folder.mkdir(parents=True)
    copy = Path(shutil.copy(environment.__file__, folder))
    loops = folder.parent / "loops.cpp"
    loops.write_text("one")
    as_someone = ["-c", "user.name=n", "-c", "user.email=e"]
    for step in (["init"], ["add", "."], [*as_someone, "commit", "-m", "first"]):
        subprocess.run(["git", "-C", tmp_path, *step], check=True, capture_output=True)
    git_revision = runpy.run_path(str(copy))["git_revision"]
    assert len(git_revision()) == 12
    loops.write_text("two")
    assert git_revision().endswith("+")


def test_a_remark_keeps_its_levels_and_names_what_there_is():
    assert parse_remark({"text": "t", "levels": [0.1]}) == Remark("t", levels=(0.1,))
    assert parse_remark({"text": "t"}).levels == ()
    spec = load_spec("table1")
    with pytest.raises(ValueError, match="dataset"):
        check_names(replace(spec, remarks=(Remark("t", datasets=("nowhere",)),)))
    with pytest.raises(ValueError, match="levels of a remark"):
        check_names(replace(spec, remarks=(Remark("t", levels=(0.7,)),)))


def test_claims_are_alike_by_steps_and_norm():
    claims = [
        SimpleNamespace(setting=Setting(steps=steps, norm=norm))
        for steps, norm in [(3, "l1"), (3, "l21"), (5, "l1"), (3, "l1")]
    ]
    assert [len(batch) for batch in execute.alike(claims)] == [2, 1, 1]
    assert execute.alike(claims)[0] == [claims[0], claims[3]]


def test_averages_of_what_was_trained_and_of_nothing():
    trained = {"runs": 4, "epochs": 800, "seconds": 2.0}
    assert status.averages(trained) == {"epochs_per_run": 200.0, "seconds_per_epoch": 0.0025}
    nothing = {"runs": 0, "epochs": 0, "seconds": 0.0}
    assert status.averages(nothing) == {"epochs_per_run": None, "seconds_per_epoch": None}
