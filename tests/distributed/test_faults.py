"""Processes that die, and processes that cannot be reached."""

import socket
import subprocess
import sys

import pytest
from torch.distributed import HashStore

from elasticgnn.distributed.group import call_everyone
from ports import free_port
from processes import environment
from training_groups import (
    DYING,
    PATIENCE,
    assert_same_model,
    dying,
    end_all,
    options,
    start_group,
    train_together,
    train_until_one_is_killed,
)


@pytest.mark.parametrize(("victim", "moment"), [(0, "epoch"), (1, "epoch"), (0, "checkpoint")])
def test_killed_process_ends_the_others_and_a_restart_ends_like_the_undisturbed_run(
    parts, undisturbed, tmp_path, victim, moment
):
    broken = tmp_path / "broken"
    train_until_one_is_killed(parts, broken, victim, moment=moment)
    train_together(parts, broken)
    assert_same_model(broken, undisturbed)


def test_torchrun_restarts_a_killed_process_and_the_end_is_that_of_the_undisturbed_run(
    parts, undisturbed, tmp_path
):
    model = tmp_path / "model"
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1"]
    launch += ["--master-port", str(free_port()), *DYING, *options(parts, model)]
    known = environment(**dying(1, tmp_path))
    group = subprocess.Popen(
        [sys.executable, *launch], env=known, stderr=subprocess.PIPE, text=True
    )
    try:
        _, error = group.communicate(timeout=PATIENCE)
    finally:
        end_all([group])
    assert group.returncode == 0, error[-2000:]
    assert "exitcode: -9" in error  # the process was killed, and torchrun saw it
    assert_same_model(model, undisturbed)


def test_process_that_does_not_appear_is_named(parts, tmp_path, monkeypatch):
    monkeypatch.setenv("ELASTICGNN_MEETING_SECONDS", "3")
    (process,) = start_group(options(parts, tmp_path / "model", 2), 2, present=1)
    try:
        _, error = process.communicate(timeout=PATIENCE)
    finally:
        end_all([process])
    assert process.returncode == 2
    assert "process 1 of 2 did not appear within 3 s" in error


def test_process_that_cannot_be_reached_is_named_with_its_host(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    store = HashStore()
    with socket.socket() as unanswered:  # bound, so that nobody else is there, but not listening
        unanswered.bind(("127.0.0.1", 0))
        closed = unanswered.getsockname()[1]
        store.set("where/1", f"127.0.0.1 {closed} elsewhere")
        with pytest.raises(OSError, match=f"process 1 of 2 on elsewhere .*{closed}. cannot be"):
            call_everyone(store, 0, 2, 5.0)
