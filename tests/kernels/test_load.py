"""Loading of the extension: instruction sets agree, a wrong one is refused, its absence warns."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

from elasticgnn.kernels import MissingKernelsWarning, load, native
from marks import needs_kernels

PROGRAM = """
import sys, torch
from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.problem.penalties import PENALTIES
generator = torch.Generator().manual_seed(0)
index = torch.randint(0, 60, (2, 400), generator=generator)
graph = Graph.from_edge_index(index, 60, undirected=True)
results = [native.simd]
for dtype in (torch.float32, torch.float64):
    for shape in ((60, 1), (60, 3), (60, 7), (60, 16), (60, 40), (60, 75), (60, 5, 3), (60, 20, 7)):
        for norm, kind in PENALTIES.items():
            x = torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()
            concavity = None if kind.default_concavity is None else 8.0
            penalty = ElasticPenalty(0.3, 2.0, norm, concavity)
            out = elastic_message_passing(x, graph, penalty, 6, implementation=sys.argv[2])
            grad = torch.autograd.grad(out.square().sum(), x)[0]
            results.append((out.detach(), grad))
torch.save(results, sys.argv[1])
"""


def run_with(simd, path, implementation="fused"):
    environment = {**os.environ, "ELASTICGNN_SIMD": simd, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), implementation],
        env=environment,
        capture_output=True,
        text=True,
    )


@needs_kernels
def test_every_instruction_set_gives_the_result_of_the_plain_path(tmp_path):
    ways = [(native.simd, "reference"), *((name, "fused") for name in native.simd_sets)]
    results = []
    for name, implementation in ways:
        finished = run_with(name, tmp_path / name, implementation)
        assert finished.returncode == 0, finished.stderr
        results.append(torch.load(tmp_path / name))
        assert results[-1][0] == name
    for other in results[1:]:
        for (out, grad), (out2, grad2) in zip(results[0][1:], other[1:], strict=True):
            tolerance = 1e-11 if out.dtype == torch.float64 else 1e-5
            assert (out - out2).abs().max() < tolerance * out.abs().max()
            assert (grad - grad2).abs().max() < 30 * tolerance * grad.abs().max()


@needs_kernels
def test_an_unknown_instruction_set_is_refused(tmp_path):
    finished = run_with("mmx", tmp_path / "never")
    assert finished.returncode != 0
    sets = ", ".join(native.simd_sets)
    assert f"must be a set that this build and this CPU have ({sets}), got mmx" in finished.stderr


def test_missing_kernels_warn_once(monkeypatch):
    monkeypatch.setattr(load, "native", None)
    load.warn_once_if_missing.cache_clear()
    with pytest.warns(MissingKernelsWarning, match="plain torch path"):
        load.warn_once_if_missing()
    load.warn_once_if_missing()  # a second warning would be an error here


def test_the_loops_are_built_where_a_compiler_is():
    # The install falls back to plain torch when the build fails: without this, all tests of the
    # compiled loops would be left out in silence.
    assert native is not None or shutil.which("c++") is None
