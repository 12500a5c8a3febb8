"""Ctrl-C ends every compiled loop: a real SIGINT, in a process of its own."""

import json
import subprocess
import sys

import pytest

from marks import needs_kernels

# Each case would go on for minutes. A thread sends the signal while the main one is in the loops.
PROGRAM = """
import json, os, signal, sys, threading, time
import numpy as np, torch
from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.solver import minimise

torch.set_num_threads(2)
generator = torch.Generator().manual_seed(0)
index = torch.randint(0, 3000, (2, 40000), generator=generator)
graph = Graph.from_edge_index(index, 3000, undirected=True)
penalty = ElasticPenalty(0.3, 2.0)

def rows(*shape, dtype=torch.float32):
    return torch.randn(3000, *shape, generator=generator, dtype=dtype)

def forward(x, penalty=penalty):
    def run(steps):
        with torch.no_grad():
            elastic_message_passing(x, graph, penalty, steps)
    return run

def backward(x, memory="fast"):
    def run(steps):
        for _ in range(1 + steps // 10):
            elastic_message_passing(x, graph, penalty, 10, memory=memory).sum().backward()
    x.requires_grad_()
    return run

def short_calls(x):
    def run(steps):
        for _ in range(steps):
            forward(x)(1)
    return run

CASES = {
    "packed": forward(rows(7)),
    "packed without a dual": forward(rows(7), ElasticPenalty(0.0, 2.0)),
    "population": forward(rows(32, 5)),
    "population on threads that share it": forward(rows(8, 5)),
    "wide": forward(rows(64)),
    "wide without a dual": forward(rows(64), ElasticPenalty(0.0, 2.0)),
    "float64": forward(rows(7, dtype=torch.float64)),
    "l1": forward(rows(20), ElasticPenalty(0.3, 2.0, "l1")),
    "packed gradients": backward(rows(7)),
    "wide gradients": backward(rows(64)),
    "lean gradients": backward(rows(64, dtype=torch.float64), "lean"),
    "short wide calls": short_calls(rows(64)),
    "short packed calls": short_calls(rows(7)),
}

# a shell that runs tests in the background has told its children to ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupted(run):
    # whether the signal, sent a moment after `run` calls what it is given, ends it
    began = threading.Event()
    def send():
        began.wait()
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        run(began.set)
        thread.join()  # it went to its end: the signal is of no use any more
    except KeyboardInterrupt:
        return began.is_set()
    return False

def many(run):
    def begin_and_run(begin):
        begin()
        run(3_000_000)
    return begin_and_run

for name, run in CASES.items():
    run(1)  # what the graph makes once is made before the signal
    print(json.dumps([name, interrupted(many(run))]), flush=True)

# thousands of steps to its end, whatever the machine; the signal follows the first check
side = 300
cells = torch.arange(side * side).reshape(side, side)
pairs = torch.cat([torch.stack([cells[:, :-1].flatten(), cells[:, 1:].flatten()]),
                   torch.stack([cells[:-1].flatten(), cells[1:].flatten()])], 1)
grid = Graph.from_edge_index(pairs, side * side, undirected=True)
walk = torch.cumsum(torch.randn(side * side, 2, generator=generator, dtype=torch.float64), 0)
found = []
def solve(begin):
    first_check = lambda *_: begin()
    found.append(minimise(walk, grid, ElasticPenalty(1e3, 0.0), rtol=1e-15, method="ascent",
                          callback=first_check))
    if not found[0].certified:
        raise KeyboardInterrupt
print(json.dumps(["solver", interrupted(solve) and len(found) == 1]), flush=True)
"""
PATIENCE = 500  # seconds for all cases on a busy machine


@needs_kernels
def test_one_interrupt_ends_every_loop():
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, errors = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        out, _ = child.communicate()
        pytest.fail(f"a loop did not end; those before it: {out}")
    assert child.returncode == 0, errors
    ended = dict(json.loads(line) for line in out.splitlines())
    assert len(ended) == 14
    assert set(ended.values()) == {True}, ended
