"""Groups that do not come together, and errors that are not the group's."""

import os
import socket
import subprocess
import sys

import pytest
import torch.distributed as dist
from torch.distributed import HashStore

from elasticgnn.distributed.group import call_everyone, process_group
from elasticgnn.distributed.launch import is_launched, meeting_seconds, read_launch
from ports import free_port
from processes import environment
from training_groups import PATIENCE, TRAIN, options

SECOND = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("variables", "rule"),
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE must be a whole number of at least 1, got 'two'"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE must be a whole number of at least 1, got '0'"),
        ({"RANK": None}, "RANK must be set where WORLD_SIZE is, got none"),
        ({"RANK": "2"}, "RANK must be a whole number from 0 to 1, got '2'"),
        ({"MASTER_ADDR": None}, "MASTER_ADDR must be set where WORLD_SIZE is, got none"),
        ({"MASTER_PORT": "door"}, "MASTER_PORT must be a whole number from 1 to 65535, got 'door'"),
        ({"MASTER_PORT": "65536"}, "MASTER_PORT must be a whole number from 1 to 65535"),
    ],
)
def test_variables_of_the_launch_are_named(monkeypatch, variables, rule):
    for name, value in {**SECOND, **variables}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=rule):
        read_launch()


@pytest.mark.parametrize("value", ["soon", "0", "-3", "nan", "inf"])
def test_the_time_to_meet_must_be_seconds(monkeypatch, value):
    monkeypatch.setenv("ELASTICGNN_MEETING_SECONDS", value)
    with pytest.raises(ValueError, match="ELASTICGNN_MEETING_SECONDS must be a number of seconds"):
        meeting_seconds()


@pytest.mark.parametrize("value", [0.0, -3.0, float("nan"), float("inf")])
def test_a_timeout_must_be_seconds(value):
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0, got"):
        process_group(value).__enter__()


@pytest.mark.parametrize("size", [None, "", "1"])
def test_a_process_alone_needs_no_variables(monkeypatch, size):
    for name in SECOND:
        monkeypatch.delenv(name, raising=False)
    if size is not None:
        monkeypatch.setenv("WORLD_SIZE", size)
    assert not is_launched()
    with process_group() as place:
        assert place == (0, 1)


def test_a_launch_without_its_variables_is_refused_in_one_line(parts, tmp_path):
    known = environment(WORLD_SIZE="2")
    known.pop("RANK", None)
    printed = train(parts, tmp_path, known)
    assert printed.returncode == 2
    assert printed.stderr.startswith("error: RANK must be set where WORLD_SIZE is")


def test_a_meeting_point_that_does_not_answer_is_reported_in_one_line(parts, tmp_path):
    at = {**SECOND, "MASTER_PORT": str(free_port()), "ELASTICGNN_MEETING_SECONDS": "2"}
    printed = train(parts, tmp_path, environment(**at))
    assert printed.returncode == 2
    (line,) = printed.stderr.splitlines()  # nothing of torch's stack
    assert line.startswith("error: process 1 of 2 cannot reach the meeting point 127.0.0.1:")


def train(parts, folder, known):
    command = [sys.executable, *TRAIN, *options(parts, folder / "model")]
    return subprocess.run(command, env=known, capture_output=True, text=True, timeout=PATIENCE)


def test_a_process_that_leaves_before_it_has_called_is_named(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    store = HashStore()
    with socket.create_server(("127.0.0.1", 0)) as door:  # it answers, and cannot call back
        store.set("where/1", f"127.0.0.1 {door.getsockname()[1]} elsewhere")
        with pytest.raises(OSError, match="process 1 of 2 left the group"):
            call_everyone(store, 0, 2, 1.0)


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_processes_call_each_other_by_the_kind_of_address_of_the_meeting_point(
    monkeypatch, address
):
    if address == "::1" and not has_ipv6():
        pytest.skip("needs IPv6")
    monkeypatch.setenv("MASTER_ADDR", address)
    monkeypatch.setenv("MASTER_PORT", "29500")
    store = HashStore()
    call_everyone(store, 0, 1, 1.0)  # each process calls itself too
    assert store.get("where/0").decode().split()[0] == address


@pytest.fixture
def meeting(monkeypatch):
    """The variables of a group whose other process is this test's."""
    port = free_port()
    for name, value in {**SECOND, "RANK": "0", "MASTER_PORT": str(port)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    yield port
    if dist.is_initialized():
        dist.destroy_process_group()


OTHER = """
from elasticgnn.distributed.group import process_group
with process_group():
    input()
"""


def test_an_error_that_speaks_of_connections_stays_what_it_is(meeting):
    known = {**os.environ, **environment(RANK="1")}
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", OTHER], env=known, **pipes) as other:
        with pytest.raises(RuntimeError, match="socket of the printer") as found, process_group():
            raise RuntimeError("socket of the printer: connection closed")
        assert type(found.value) is RuntimeError
        other.kill()
