"""A study killed at random moments, and one shared by processes: always the same table."""

import json
import multiprocessing
import os
import random
import signal
import time

import pytest

from elasticgnn.experiment import cells, run_study
from elasticgnn.experiment.results import read_result, result_path
from elasticgnn.experiment.status import study_status
from elasticgnn.report import build_table
from elasticgnn.report.render import to_csv
from small_study import plan_in, small_study, work


@pytest.fixture(scope="module")
def processes():
    """Real processes that start quickly: they are forked from one that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["small_study", "optuna", "torch_geometric.nn"])
    return context


def stored_runs(folder):
    """Everything of every cell but how long it took and who did it."""
    spec = small_study()
    tables = [read_result(folder, spec, cell).to_json() for cell in cells(spec)]
    for table in tables:
        del table["environments"]
        for candidate in table["candidates"]:
            del candidate["processor_seconds"]
        for run in table["runs"]:
            del run["seconds"], run["processor_seconds"]
    return json.dumps(tables)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    began = time.monotonic()
    run_study(small_study(), plan_in(folder))
    return folder, time.monotonic() - began


@pytest.mark.slow
def test_killed_at_ten_random_moments_it_ends_in_the_same_table(tmp_path, processes, undisturbed):
    reference, seconds = undisturbed  # by halving: the harder search to resume
    chance = random.Random(3)
    kills = 0
    while kills < 10:
        process = processes.Process(target=work, args=(tmp_path, None))
        process.start()
        process.join(timeout=chance.uniform(0.1, min(2.5, 0.3 * seconds)))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        if process.exitcode == 0 and kills < 10:  # done too soon: go on with a fresh folder
            assert stored_runs(tmp_path) == stored_runs(reference)
            tmp_path = tmp_path / "again"
            tmp_path.mkdir()
    run_study(small_study(), plan_in(tmp_path))
    assert stored_runs(tmp_path) == stored_runs(reference)
    spec = small_study()
    assert to_csv(build_table(spec, tmp_path)) == to_csv(build_table(spec, reference))


def test_two_processes_on_one_file_train_every_run_once(tmp_path, processes, undisturbed):
    share(processes, tmp_path, None)
    assert stored_runs(tmp_path) == stored_runs(undisturbed[0])
    assert trainings(tmp_path) == trainings(undisturbed[0])


def test_two_processes_on_one_postgresql_server_end_in_the_same_table(
    tmp_path, processes, postgresql_url, undisturbed
):
    folders = [tmp_path / "one", tmp_path / "two"]  # as on two machines
    workers = [processes.Process(target=work, args=(f, postgresql_url, 60.0)) for f in folders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=300)
    assert [worker.exitcode for worker in workers] == [0, 0]
    for folder in folders:
        assert stored_runs(folder) == stored_runs(undisturbed[0])
    assert trainings(folders[0], postgresql_url) == trainings(undisturbed[0])


def share(processes, folder, url):
    workers = [processes.Process(target=work, args=(folder, url, 60.0)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=300)
    assert [worker.exitcode for worker in workers] == [0, 0]


def trainings(folder, url=None):
    """Runs in the storage when all is done: equal numbers mean that none was trained twice."""
    status = study_status(small_study(), url or plan_in(folder).storage, folder)
    assert status["running"] == status["waiting"] == 0
    return status["runs"]


def test_a_finished_study_is_not_trained_again(undisturbed):
    folder, _ = undisturbed
    spec = small_study()
    before = {cell: result_path(folder, spec, cell).read_bytes() for cell in cells(spec)}
    lines = []
    run_study(spec, plan_in(folder), lines.append)
    assert lines == []
    assert {cell: result_path(folder, spec, cell).read_bytes() for cell in cells(spec)} == before
