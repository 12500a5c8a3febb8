"""Processes that die, hosts that cannot be reached, and two hosts with a slow line between."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.distributed import HashStore

from distributed_work import small_task
from elasticgnn.distributed import write_partition
from elasticgnn.distributed.group import call_everyone
from elasticgnn.training.model_file import read_model_file
from ports import free_port
from processes import environment

TRAIN = ["-m", "elasticgnn", "train"]
DYING = ["-m", "dying", "train"]
EPOCHS = 8
PATIENCE = 500  # seconds: others may hold the processors
DEATH = 5  # the epoch in which a process is killed; checkpoints come after two epochs each


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults") / "parts"
    write_partition(small_task(), folder, parts=4)
    return folder


def dying(rank: int, folder: Path) -> dict[str, str]:
    """The environment in which process `rank` is killed, once."""
    once = str(folder / "killed")
    return {"DYING_RANK": str(rank), "DYING_EPOCH": str(DEATH), "DYING_ONCE": once}


def start(
    rank: int,
    count: int,
    arguments: list[str],
    *,
    port: int,
    address="127.0.0.1",
    inside=(),
    death: dict[str, str] | None = None,
):
    """One process of a group, without torchrun: what survives must speak for itself."""
    known = {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": address}
    command = [*inside, sys.executable, *(DYING if death else TRAIN), *arguments]
    more = {"MASTER_PORT": str(port), **known, **(death or {})}
    if inside:
        more["GLOO_SOCKET_IFNAME"] = "wire"
    return subprocess.Popen(
        command, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end_all(processes):
    for process in processes:
        process.kill()
        process.communicate()


def options(parts: Path, model: Path, epochs: int) -> list[str]:
    sizes = ["--epochs", str(epochs), "--hidden", "8", "--steps", "2"]
    return [str(parts), *sizes, "--checkpoint-every", "2", "-o", str(model)]


def train_together(parts, model, epochs, count=2):
    """The processes' outputs after an undisturbed run."""
    port = free_port()
    group = [start(rank, count, options(parts, model, epochs), port=port) for rank in range(count)]
    try:
        outputs = [process.communicate(timeout=PATIENCE) for process in group]
    finally:
        end_all(group)
    assert [process.returncode for process in group] == [0] * count, outputs
    return outputs


@pytest.fixture(scope="module")
def whole(parts):
    """The model of an undisturbed run of two processes."""
    model = parts.parent / "whole"
    train_together(parts, model, EPOCHS)
    return model


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_process_ends_the_others_and_a_restart_ends_like_the_undisturbed_run(
    parts, whole, tmp_path, victim
):
    broken, port, death = tmp_path / "broken", free_port(), dying(victim, tmp_path)
    group = [
        start(rank, 2, options(parts, broken, EPOCHS), port=port, death=death) for rank in range(2)
    ]
    try:
        survivor = group[1 - victim]
        _, error = survivor.communicate(timeout=PATIENCE)
        assert group[victim].wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        end_all(group)
    assert survivor.returncode == 2
    lines = [line for line in error.splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert f"process {1 - victim} of 2 lost contact with process {victim}" in lines[0]
    assert "Traceback" not in error
    assert (tmp_path / "broken.checkpoint").exists()
    assert not broken.exists()
    train_together(parts, broken, EPOCHS)
    assert_same_model(broken, whole)


def test_torchrun_restarts_a_killed_process_and_the_end_is_that_of_the_undisturbed_run(
    parts, whole, tmp_path
):
    model = tmp_path / "model"
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1"]
    launch += ["--master-port", str(free_port()), *DYING, *options(parts, model, EPOCHS)]
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
    assert_same_model(model, whole)


def assert_same_model(first, second):
    (about, state), (other_about, other) = read_model_file(first), read_model_file(second)
    assert about == other_about
    assert state.keys() == other.keys()
    assert all(torch.equal(state[name], other[name]) for name in state)


def test_process_that_does_not_appear_is_named(parts, tmp_path, monkeypatch):
    monkeypatch.setenv("ELASTICGNN_MEETING_SECONDS", "3")
    process = start(0, 2, options(parts, tmp_path / "model", 2), port=free_port())
    try:
        _, error = process.communicate(timeout=PATIENCE)
    finally:
        end_all([process])
    assert process.returncode == 2
    assert "process 1 of 2 did not appear within 3 s" in error


def can_make_hosts() -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        return False
    name = f"egnn-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode
    probe = ["ip", "netns", "exec", name, "true"]
    works = not made and not subprocess.run(probe, capture_output=True).returncode
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return works


@pytest.fixture(params=["plain line", "1 Gbit/s and 5 ms"])
def hosts(request):
    """Two network namespaces joined by a line, fast or slow; nothing else is reachable."""
    if not can_make_hosts():
        pytest.skip("needs root, iproute2 and network namespaces")
    names = [f"egnn-{os.getpid()}-{k}" for k in range(2)]
    delay = ["netem", "delay", "2500us", "rate", "1gbit"]  # each way
    queue = ["qdisc", "add", "dev", "wire", "root", *delay]
    try:
        for name in names:
            call("ip", "netns", "add", name)
        ends = [["name", "wire", "netns", name] for name in names]
        call("ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        for k, name in enumerate(names):
            call("ip", "-n", name, "addr", "add", f"10.99.0.{k + 1}/24", "dev", "wire")
            for device in ("lo", "wire"):
                call("ip", "-n", name, "link", "set", device, "up")
            if request.param != "plain line":
                call("ip", "netns", "exec", name, "tc", *queue)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "netem" in command:
        pytest.skip(f"the kernel has no netem: {done.stderr.strip()}")
    assert done.returncode == 0, (command, done.stderr)


def test_two_hosts_with_a_line_between_give_the_result_of_one(parts, tmp_path, hosts):
    one, two = tmp_path / "one", tmp_path / "two"
    train_together(parts, one, 4, count=1)
    group = [
        start(k, 2, options(parts, two, 4), port=29500, address="10.99.0.1",
              inside=("ip", "netns", "exec", name))
        for k, name in enumerate(hosts)
    ]  # fmt: skip
    try:
        outputs = [process.communicate(timeout=PATIENCE) for process in group]
    finally:
        end_all(group)
    assert [process.returncode for process in group] == [0, 0], outputs
    assert_same_model(one, two)


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
