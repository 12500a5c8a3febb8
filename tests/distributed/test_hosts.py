"""Two hosts, over a plain line and over one of 1 Gbit/s and 5 ms: the results of one process."""

import subprocess
import sys

import pytest
import torch

from distributed_work import every_case
from hosts import ADDRESSES, inside, reason_against_hosts, two_hosts
from processes import run_together
from slow_line import DELAY, RATE
from training_groups import assert_same_model, train_together, train_until_one_is_killed

SIZE = 4_000_000  # bytes, more than the buffers of a connection take at once
ANSWER = """
import socket
with socket.create_server(("", 5000)) as door:
    print("ready", flush=True)
    caller, _ = door.accept()
    while caller.recv(1 << 20):
        pass
    caller.send(b"x")
"""
CALL = f"""
import socket, time
began = time.monotonic()
line = socket.create_connection(("{ADDRESSES[0]}", 5000))
print(time.monotonic() - began)
began = time.monotonic()
line.sendall(bytes({SIZE}))
line.shutdown(socket.SHUT_WR)
line.recv(1)
print(time.monotonic() - began)
"""


@pytest.fixture(scope="module", params=["plain line", "1 Gbit/s and 5 ms"])
def hosts(request):
    slow = request.param != "plain line"
    if reason := reason_against_hosts(slow):
        pytest.skip(reason)
    with two_hosts(slow) as names:
        yield names


def test_two_hosts_give_the_model_of_one_process(parts, undisturbed, tmp_path, hosts):
    train_together(parts, tmp_path / "two", hosts=hosts)
    assert_same_model(undisturbed, tmp_path / "two")


def test_two_hosts_give_the_bits_of_one_process(tmp_path, hosts):
    alone = every_case(tmp_path)
    shares = run_together("every_case", 2, tmp_path / "group", hosts=hosts)
    for case, expected in alone.items():
        row = expected["nodes"].argsort()  # rows by global id
        for share in shares:
            mine = row[share[case]["nodes"]]
            for name in ("signal", "dx", "dx_alone"):
                assert torch.equal(share[case][name], expected[name][mine]), (case, name)


def test_process_killed_on_one_host_ends_that_on_the_other(parts, undisturbed, tmp_path, hosts):
    train_until_one_is_killed(parts, tmp_path / "model", victim=1, hosts=hosts)
    train_together(parts, tmp_path / "model", hosts=hosts)
    assert_same_model(undisturbed, tmp_path / "model")


def test_the_slow_line_is_slow():
    if reason := reason_against_hosts(slow=True):
        pytest.skip(reason)
    with two_hosts(slow=True) as (near, far):
        there, back = ([*inside(host), sys.executable, "-c"] for host in (near, far))
        with subprocess.Popen([*there, ANSWER], stdout=subprocess.PIPE, text=True) as answer:
            assert answer.stdout.readline() == "ready\n"
            printed = subprocess.run([*back, CALL], capture_output=True, text=True, check=True)
    greeting, sending = map(float, printed.stdout.split())
    assert greeting >= 2 * DELAY
    assert sending >= SIZE / RATE + 2 * DELAY
