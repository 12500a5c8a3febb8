"""The route of GPUs without a GPU: numerics in Triton's interpreter, compilation ahead of time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.operator import explain_route
from elasticgnn.operator.checkpoints import plan_device_checkpoints
from elasticgnn.operator.request import Options, make_request
from elasticgnn.operator.triton import route
from strategies import normal_rows, random_graph

triton = pytest.importorskip("triton", reason="the extra 'gpu' is not installed")

HERE = Path(__file__).parent
INT32 = ("order", "column", "edge", "hubs", "tail", "head")
NUMBERS = ("num_nodes", "num_edges", "runs", "width", "hub_programs", "steps")
STRIDES = ("node_stride", "u_stride", "edge_stride")


def test_the_kernels_in_the_interpreter_equal_the_plain_version():
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", str(HERE / "triton_numerics.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_tensors_on_the_cpu_do_not_take_the_route():
    found = explain_route(normal_rows(9, 3), random_graph(9, 16), ElasticPenalty())
    assert found.taken != "triton"
    plain = explain_route(
        normal_rows(9, 3), random_graph(9, 16), ElasticPenalty(), implementation="reference"
    )
    assert plain.refusals[-1] == ("triton", "the kernels of GPUs need x on one, it is on cpu")


@pytest.mark.parametrize(
    ("version", "refusal"),
    [("3.2.0", "triton 3.2.0 is too old, the kernels need 3.3"), ("3.3.0+git1", None)],
)
def test_a_triton_that_cannot_compile_the_kernels_is_refused(version, refusal, monkeypatch):
    monkeypatch.setattr(triton, "__version__", version)
    monkeypatch.setattr(route, "DEVICES", ("cpu",))
    monkeypatch.setattr(route, "refusal_of_triton", route.refusal_of_triton.__wrapped__)
    x, graph = normal_rows(9, 3), random_graph(9, 16)
    request = make_request(x, graph, ElasticPenalty(), 10, Options())
    assert route.refusal(request) == refusal


def source(kernel, meta):
    """What Triton compiles, with the types of a launch in float32 and a bfloat16 dual."""
    types, constants = {}, {}
    for parameter in kernel.params:
        name = parameter.name
        if parameter.is_constexpr:
            types[name], constants[name] = "constexpr", meta[name]
        elif name in NUMBERS:
            types[name] = "i32"
        elif name in STRIDES:
            types[name] = "i64"
        else:
            half = name in ("z", "z_next")
            types[name] = "*i32" if name in INT32 else "*bf16" if half else "*fp32"
            types[name] = "*i64" if name == "start" else types[name]
    return triton.compiler.ASTSource(kernel, types, constexprs=constants)


def spills(compiled, target, folder):
    """Vector registers and bytes of memory that a thread's numbers are spilled to."""
    if target.backend == "hip":
        found = re.findall(
            r"\.(?:vgpr_spill_count|private_segment_fixed_size):\s*(\d+)", compiled.asm["amdgcn"]
        )
    else:
        file = folder / "kernel.cubin"
        file.write_bytes(compiled.asm["cubin"])
        tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
        done = subprocess.run([tool, "-res-usage", file], capture_output=True, text=True)
        found = re.findall(r"(?:STACK|LOCAL):(\d+)", done.stdout)
    assert len(found) == 2
    return sum(map(int, found))


@pytest.mark.parametrize(
    "target", [("cuda", 80, 32), ("cuda", 90, 32), ("hip", "gfx942", 64)], ids=str
)
def test_the_kernels_compile_ahead_of_time_without_spills(target, tmp_path, monkeypatch):
    from elasticgnn.operator.triton import adjoint_kernels, forward_kernels
    from elasticgnn.operator.triton.tables import WARPS, tile_for
    from elasticgnn.problem.penalties.registry import FORMS

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    target, tile = triton.backends.compiler.GPUTarget(*target), tile_for(64)
    meta = {**tile.meta(), "E": tile.edges, "FORM": FORMS.index("ball"), "MOVES": True}
    meta |= {"FROM_ZERO": False, "ALL": True, "HALF": True}
    for module, names in (
        (forward_kernels, ("smooth_nodes", "ascend_edges", "replay_edges")),
        (adjoint_kernels, ("adjoint_edges", "adjoint_nodes")),
    ):
        for name in names:
            options = {"num_warps": WARPS, "enable_fp_fusion": True}
            kernel = source(getattr(module, name), meta)
            compiled = triton.compile(kernel, target=target, options=options)
            assert spills(compiled, target, tmp_path) == 0, name
            assert "atom" not in compiled.asm["ttgir"], name


def kept_by_the_plain_version(graph, width, steps, wanted):
    """Bytes that autograd keeps beyond the inputs."""
    x = normal_rows(graph.num_nodes, width, dtype=torch.float32).requires_grad_()
    weight = graph.weight.float().requires_grad_() if wanted == "all" else None
    strengths = [torch.tensor(value, requires_grad=wanted == "all") for value in (0.3, 1.2)]
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = elastic_message_passing(
            *(x, graph, ElasticPenalty(*strengths), steps),
            edge_weight=weight,
            implementation="reference",
        )
    assert out.requires_grad
    return sum(kept.values())


@pytest.mark.parametrize("wanted", ["x", "all"])
def test_what_is_kept_grows_a_quarter_as_fast_as_the_plain_versions(wanted):
    graph, width = random_graph(200, 1000, weighted=True), 16

    def planned(steps):
        plan = plan_device_checkpoints(steps, wanted, lean=False)
        rows = plan.num_nodes * graph.num_nodes
        rows += (plan.num_duals + plan.every) * graph.num_edges  # kept and replayed
        return 4 * width * rows

    growth = planned(40) - planned(10)
    plain = [kept_by_the_plain_version(graph, width, steps, wanted) for steps in (10, 40)]
    assert growth <= (plain[1] - plain[0]) / 4
