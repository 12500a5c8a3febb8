"""The same things asked of torch_geometric's APPNP and of EMP: worked, refused in words, or wrong.

    python benchmarks/conformity.py [--write docs/conformity.md]

A thing that works gives the right numbers, which every question checks itself: against the layer's
own answer to the plain question (x, edge_index), finite differences or a known answer.
"""

import argparse
import copy
import io
import logging
import multiprocessing
import pickle
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import APPNP

from elasticgnn.nn import EMP
from elasticgnn.nn.explain import explainable

warnings.filterwarnings("ignore")
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "APPNP": lambda: APPNP(K=5, alpha=0.25),
    "EMP": lambda: EMP(K=5, lambda1=0.3, lambda2=3.0),
}
WORKED, REFUSED, WRONG = "worked", "refused", "wrong"


@dataclass(frozen=True)
class Answer:
    """How one layer met one question."""

    outcome: str
    words: str = ""


@dataclass(frozen=True)
class Setting:
    """One layer on one small graph, in float64 unless a question says otherwise."""

    make: Callable[[], nn.Module]
    x: Tensor
    index: Tensor
    weight: Tensor

    @property
    def layer(self) -> nn.Module:
        return self.make()

    @property
    def run(self) -> Callable[[Tensor], Tensor]:
        """The layer on this graph, a function of the signal alone; make_fx traces no method."""
        return lambda x: self.layer(x, self.index)

    @property
    def expected(self) -> Tensor:
        return self.layer(self.x, self.index)

    def close(self, found: Any, expected: Tensor | None = None, tolerance: float = 1e-6) -> bool:
        target = self.expected if expected is None else expected
        found = found.to_dense() if found.layout != torch.strided else found
        return found.shape == target.shape and torch.allclose(
            found.double(), target.double(), rtol=tolerance, atol=tolerance
        )


def setting(make: Callable[[], nn.Module]) -> Setting:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(0, 12, (2, 30), generator=generator)
    pairs = torch.unique(pairs.sort(0).values, dim=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    index = torch.cat([pairs, pairs.flip(0)], 1)
    weight = (0.5 + torch.rand(pairs.shape[1], generator=generator, dtype=torch.float64)).repeat(2)
    x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    return Setting(make, x, index, weight)


QUESTIONS: dict[str, Callable[[Setting], bool]] = {}


def question(name: str) -> Callable[[Callable[[Setting], bool]], Callable[[Setting], bool]]:
    def register(ask: Callable[[Setting], bool]) -> Callable[[Setting], bool]:
        QUESTIONS[name] = ask
        return ask

    return register


def adjacency(s: Setting, layout: torch.layout, weight: Tensor | None = None) -> Tensor:
    values = torch.ones(s.index.shape[1], dtype=torch.float64) if weight is None else weight
    matrix = torch.sparse_coo_tensor(s.index.flip(0), values, (12, 12)).coalesce()
    return matrix if layout == torch.sparse_coo else matrix.to_sparse(layout=layout)


for _layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
    _name = str(_layout).removeprefix("torch.sparse_").upper()
    QUESTIONS[f"sparse adjacency, {_name}"] = lambda s, layout=_layout: s.close(
        s.layer(s.x, adjacency(s, layout))
    )


@question("gradient of a sparse adjacency's values (COO)")
def gradient_of_coo(s: Setting) -> bool:
    weight, other = s.weight.clone().requires_grad_(), s.weight.clone().requires_grad_()
    s.layer(s.x, adjacency(s, torch.sparse_coo, weight)).pow(2).sum().backward()
    s.layer(s.x, s.index, other).pow(2).sum().backward()
    # a gradient that is missing is wrong, not refused
    return weight.grad is not None and torch.allclose(weight.grad, other.grad)


@question("edge_index as int32")
def int32(s: Setting) -> bool:
    return s.close(s.layer(s.x, s.index.int()))


@question("EdgeIndex of torch_geometric")
def edge_index_class(s: Setting) -> bool:
    from torch_geometric import EdgeIndex

    return s.close(s.layer(s.x, EdgeIndex(s.index, sparse_size=(12, 12), is_undirected=True)))


@question("edge_index that is no contiguous memory")
def strided(s: Setting) -> bool:
    return s.close(s.layer(s.x, s.index.T.contiguous().T))


@question("x that is no contiguous memory")
def strided_x(s: Setting) -> bool:
    return s.close(s.layer(s.x.T.contiguous().T, s.index))


@question("x as a negated view")
def negated(s: Setting) -> bool:
    return s.close(s.layer(torch._neg_view(-s.x), s.index))


@question("one graph without edges")
def no_edges(s: Setting) -> bool:
    return bool(s.layer(s.x, s.index[:, :0]).isfinite().all())


@question("a graph without nodes")
def no_nodes(s: Setting) -> bool:
    return s.layer(s.x[:0], s.index[:, :0]).shape == (0, 3)


@question("edge_index changed in place between calls")
def changed(s: Setting) -> bool:
    layer, index = s.layer, s.index.clone()
    layer(s.x, index)
    other = (index + 1) % 12
    index.copy_(other)
    return s.close(layer(s.x, index), s.layer(s.x, other.clone()))


@question("edge_index changed through .data between calls")
def changed_data(s: Setting) -> bool:
    layer, index = s.layer, s.index.clone()
    layer(s.x, index)
    other = (index + 1) % 12
    index.data[:] = other
    return s.close(layer(s.x, index), s.layer(s.x, other.clone()))


@question("edge weights")
def weights(s: Setting) -> bool:
    out = s.layer(s.x, s.index, s.weight)
    return not s.close(out) and s.close(s.layer(s.x, s.index, torch.ones_like(s.weight)))


@question("gradcheck of x and edge weights")
def gradcheck(s: Setting) -> bool:
    half = s.weight[: len(s.weight) // 2].clone().requires_grad_()
    return torch.autograd.gradcheck(
        lambda x, w: s.layer(x, s.index, w.repeat(2)), (s.x.clone().requires_grad_(), half)
    )


@question("gradgradcheck of x")
def gradgradcheck(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    return torch.autograd.gradgradcheck(lambda x: s.layer(x, s.index), (x,), fast_mode=True)


@question("static batch (B, N, F)")
def static_batch(s: Setting) -> bool:
    out = s.layer(torch.stack([s.x, 2 * s.x]), s.index)
    return s.close(out[0]) and s.close(out[1], s.layer(2 * s.x, s.index))


@question("mini-batch of disjoint graphs")
def disjoint(s: Setting) -> bool:
    out = s.layer(torch.cat([s.x, s.x]), torch.cat([s.index, s.index + 12], 1))
    return s.close(out[:12]) and s.close(out[12:])


for _dtype in (torch.float32, torch.float16, torch.bfloat16):
    QUESTIONS[f"x as {str(_dtype).removeprefix('torch.')}"] = lambda s, dtype=_dtype: (
        s.layer(s.x.to(dtype), s.index).dtype == dtype
        and s.close(s.layer(s.x.to(dtype), s.index), tolerance=8 * torch.finfo(dtype).eps)
    )


@question("autocast, bfloat16")
def autocast(s: Setting) -> bool:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return s.close(s.layer(s.x.float(), s.index), tolerance=0.05)


@question("torch.func.grad")
def func_grad(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    s.layer(x, s.index).pow(3).sum().backward()
    return s.close(torch.func.grad(lambda x: s.layer(x, s.index).pow(3).sum())(s.x), x.grad)


@question("torch.func.hessian")
def func_hessian(s: Setting) -> bool:
    found = torch.func.hessian(lambda x: s.layer(x, s.index).pow(3).sum())(s.x)
    exact = torch.autograd.functional.hessian(lambda x: s.layer(x, s.index).pow(3).sum(), s.x)
    return s.close(found, exact)


@question("torch.func.jvp")
def func_jvp(s: Setting) -> bool:
    step = 1e-6 * torch.ones_like(s.x)
    slope = (s.layer(s.x + step, s.index) - s.layer(s.x - step, s.index)) / 2e-6
    found = torch.func.jvp(lambda x: s.layer(x, s.index), (s.x,), (torch.ones_like(s.x),))[1]
    return s.close(found, slope, 1e-5)


@question("forward-mode automatic differentiation")
def forward_mode(s: Setting) -> bool:
    import torch.autograd.forward_ad as forward_ad

    step = 1e-6 * torch.ones_like(s.x)
    slope = (s.layer(s.x + step, s.index) - s.layer(s.x - step, s.index)) / 2e-6
    with forward_ad.dual_level():
        out = s.layer(forward_ad.make_dual(s.x, torch.ones_like(s.x)), s.index)
        tangent = forward_ad.unpack_dual(out).tangent
    return tangent is not None and s.close(tangent, slope, 1e-5)


@question("a gradient's cotangent in forward mode")
def pushed_cotangent(s: Setting) -> bool:
    import torch.autograd.forward_ad as forward_ad

    x, direction = s.x.clone().requires_grad_(), s.x.cos()
    out = s.layer(x, s.index)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones_like(out), direction)
        (grad,) = torch.autograd.grad(out, x, dual, retain_graph=True)
        tangent = forward_ad.unpack_dual(grad).tangent
    (exact,) = torch.autograd.grad(out, x, direction)
    return tangent is not None and s.close(tangent, exact)


@question("torch.func.functionalize")
def functionalized(s: Setting) -> bool:
    return s.close(torch.func.functionalize(lambda x: s.layer(x, s.index))(s.x))


@question("torch.func.linearize")
def linearized(s: Setting) -> bool:
    slope = torch.func.jvp(s.run, (s.x,), (s.x.cos(),))[1]
    return s.close(torch.func.linearize(s.run, s.x)[1](s.x.cos()), slope)


@question("make_fx, also of the gradient")
def made_fx(s: Setting) -> bool:
    from torch.fx.experimental.proxy_tensor import make_fx

    slope = torch.func.grad(lambda x: s.run(x).pow(3).sum())
    twice = 2 * s.x
    return s.close(make_fx(s.run)(s.x)(twice), s.run(twice)) and s.close(
        make_fx(slope)(s.x)(twice), slope(twice)
    )


@question("vmap over signals")
def vmapped(s: Setting) -> bool:
    out = torch.func.vmap(lambda x: s.layer(x, s.index))(torch.stack([s.x, 2 * s.x]))
    return s.close(out[0]) and s.close(out[1], s.layer(2 * s.x, s.index))


@question("jacrev and jacfwd agree")
def jacobians(s: Setting) -> bool:
    return s.close(torch.func.jacfwd(s.run)(s.x), torch.func.jacrev(s.run)(s.x))


@question("torch.compile, whole graph, on an edge_index")
def compiled(s: Setting) -> bool:
    torch._dynamo.reset()
    layer = torch.compile(s.layer, fullgraph=True, backend="aot_eager")
    return s.close(layer(s.x, s.index))


@question("torch.export on an edge_index")
def exported(s: Setting) -> bool:
    program = torch.export.export(s.layer, (s.x, s.index))
    return s.close(program.module()(s.x, s.index))


@question("torch.jit.trace")
def traced(s: Setting) -> bool:
    layer = torch.jit.trace(s.layer, (s.x, s.index))
    return s.close(layer(2 * s.x, s.index), s.layer(2 * s.x, s.index))


@question("torch.jit.script")
def scripted(s: Setting) -> bool:
    return s.close(torch.jit.script(s.layer)(s.x, s.index))


@question("inference mode, then training")
def inference(s: Setting) -> bool:
    layer, x = s.layer, s.x.clone().requires_grad_()
    with torch.inference_mode():
        layer(s.x, s.index)
    layer(x, s.index).sum().backward()
    return s.close(layer(s.x, s.index)) and x.grad is not None


@question("checkpointing (torch.utils.checkpoint)")
def checkpointed(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    x, y = s.x.clone().requires_grad_(), s.x.clone().requires_grad_()
    layer = s.layer
    checkpoint(layer, x, s.index, use_reentrant=False).pow(2).sum().backward()
    layer(y, s.index).pow(2).sum().backward()
    return s.close(x.grad, y.grad)


@question("reentrant checkpointing of a network with dropout")
def checkpointed_with_dropout(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    layer, found = s.layer, []

    def run(x: Tensor) -> Tensor:
        return layer(nn.functional.dropout(x, 0.5), s.index)

    for call in (run, lambda x: checkpoint(run, x, use_reentrant=True)):
        x = s.x.clone().requires_grad_()
        torch.manual_seed(0)
        call(x).pow(2).sum().backward()
        found.append(x.grad)
    return s.close(*found)


@question("second derivatives through a checkpoint")
def checkpointed_twice(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    layer, x = s.layer, s.x.clone().requires_grad_()

    def second(out: Tensor) -> Tensor:
        (grad,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(grad.pow(2).sum(), x)[0]

    through = second(checkpoint(layer, x, s.index, use_reentrant=False))
    return s.close(through, second(layer(x, s.index)))


@question("saved tensors moved by hooks (save_on_cpu)")
def offloaded(s: Setting) -> bool:
    x, layer = s.x.clone().requires_grad_(), s.layer
    with torch.autograd.graph.save_on_cpu():
        out = layer(x, s.index)
    (moved_there,) = torch.autograd.grad(out.pow(2).sum(), x)
    return s.close(moved_there, torch.autograd.grad(layer(x, s.index).pow(2).sum(), x)[0])


@question("a second backward pass is refused unless retain_graph=True")
def passed_twice(s: Setting) -> bool:
    loss = s.layer(s.x.clone().requires_grad_(), s.index).pow(2).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        return True
    return False


@question("gradcheck where all rows are zero")
def zeros(s: Setting) -> bool:
    layer = s.layer
    return torch.autograd.gradcheck(
        lambda x: layer(x, s.index), torch.zeros_like(s.x).requires_grad_()
    )


@question("a NaN reaches its neighbours and no node out of reach")
def not_a_number(s: Setting) -> bool:
    chain = torch.tensor([[0, 1, 3, 4], [1, 0, 4, 3]])
    x = s.x.clone()
    x[0] = torch.nan
    unknown = s.layer(x, chain).isnan().all(1)
    return bool(unknown[:2].all()) and not bool(unknown[2:].any())


@question("several threads on one layer")
def threads(s: Setting) -> bool:
    layer = s.layer

    def gradient(_: int) -> Tensor:
        x = s.x.clone().requires_grad_()
        return torch.autograd.grad(layer(x, s.index).pow(2).sum(), x)[0]

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(gradient, range(40))]
    return all(torch.equal(one, found[0]) for one in found)


@question("a forked process")
def forked(s: Setting) -> bool:
    layer, expected = s.layer, s.expected  # the threads of the parent exist by now
    child = multiprocessing.get_context("fork").Process(
        target=lambda: sys.exit(0 if s.close(layer(s.x, s.index), expected) else 1)
    )
    child.start()
    child.join(30)
    ended = child.exitcode == 0
    child.kill()
    return ended


@question("anomaly mode")
def anomalous(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    with torch.autograd.detect_anomaly():
        s.layer(x, s.index).sum().backward()
    return bool(x.grad is not None and x.grad.isfinite().all())


@question("pickle of the layer")
def pickled(s: Setting) -> bool:
    return s.close(pickle.loads(pickle.dumps(s.layer))(s.x, s.index))


@question("deepcopy of the layer")
def copied(s: Setting) -> bool:
    return s.close(copy.deepcopy(s.layer)(s.x, s.index))


@question("torch.save and load of the state_dict")
def saved(s: Setting) -> bool:
    file, target = io.BytesIO(), s.layer
    torch.save(s.layer.state_dict(), file)
    file.seek(0)
    target.load_state_dict(torch.load(file))
    return s.close(target(s.x, s.index))


@question("forward and backward hooks")
def hooks(s: Setting) -> bool:
    layer, seen, x = s.layer, [], s.x.clone().requires_grad_()
    layer.register_forward_hook(lambda *_: seen.append("forward"))
    layer.register_full_backward_hook(lambda *_: seen.append("backward"))
    layer(x, s.index).sum().backward()
    return seen == ["forward", "backward"]


@question("inside torch_geometric's Sequential")
def sequential(s: Setting) -> bool:
    from torch_geometric.nn import Sequential

    return s.close(Sequential("x, edge_index", [(s.layer, "x, edge_index -> x")])(s.x, s.index))


@question("moved with .to(), .double(), .eval()")
def moved(s: Setting) -> bool:
    return s.close(s.layer.to("cpu").double().eval()(s.x, s.index))


@question("PRBCD attack through edge weights")
def attacked(s: Setting) -> bool:
    from torch_geometric.contrib.nn import PRBCDAttack

    torch.manual_seed(0)
    labels = s.expected.argmax(1)
    attack = PRBCDAttack(s.layer, block_size=40, epochs=6, epochs_resampling=3, log=False)
    return attack.attack(s.x.float(), s.index, labels, budget=4)[1].shape[1] > 0


@question("GNNExplainer's edge mask")
def explained(s: Setting) -> bool:
    from torch_geometric.explain import Explainer, GNNExplainer

    explainer = Explainer(
        explainable(s.layer),
        GNNExplainer(epochs=5),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    mask = explainer(s.x.float(), s.index).edge_mask
    return bool(mask.isfinite().all()) and float(mask.max()) > 0


@question("CaptumExplainer's edge mask")
def attributed(s: Setting) -> bool:
    from torch_geometric.explain import CaptumExplainer, Explainer

    explainer = Explainer(
        explainable(s.layer),
        CaptumExplainer("IntegratedGradients", n_steps=5),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    mask = explainer(s.x[:, :1].float(), s.index, index=0).edge_mask
    return bool(mask.isfinite().all()) and float(mask.abs().max()) > 0


@question("Lightning, bf16-true")
def lightning(s: Setting) -> bool:
    import pytorch_lightning

    class Trained(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.layer, self.seen = nn.Linear(3, 2), s.layer, []

        def training_step(self, batch: Any, _: int) -> Tensor:
            out = self.layer(self.linear(batch[0][0]), s.index)
            self.seen.append(out.dtype)
            return nn.functional.cross_entropy(out, torch.arange(12) % 2)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    model = Trained()
    before = model.linear.weight.detach().clone()
    trainer = pytorch_lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        precision="bf16-true",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    rows = torch.utils.data.TensorDataset(s.x.float()[None])
    trainer.fit(model, torch.utils.data.DataLoader(rows))
    moved = not torch.equal(model.linear.weight.detach().float(), before)
    return set(model.seen) == {torch.bfloat16} and moved


@question("a recorded layer (torch.jit.trace) on a graph of another size")
def traced_elsewhere(s: Setting) -> bool:
    layer = torch.jit.trace(s.layer, (s.x, s.index))
    x, index = torch.cat([s.x, 2 * s.x]), torch.cat([s.index, s.index + 12], 1)
    return s.close(layer(x, index), s.layer(x, index))


@question("torch.compile, mode reduce-overhead, in training")
def compiled_for_small_work(s: Setting) -> bool:
    torch._dynamo.reset()
    found = []
    for layer in (s.layer, torch.compile(s.layer, mode="reduce-overhead", fullgraph=True)):
        x = s.x.clone().requires_grad_()
        layer(x, s.index).pow(2).sum().backward()
        found.append(x.grad)
    return s.close(*found)


@question("ensembles (stack_module_state and vmap)")
def ensemble(s: Setting) -> bool:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.layer = nn.Linear(3, 2).double(), s.layer

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(self.linear(x), s.index)

    models = [Network() for _ in range(3)]
    parameters = {
        name: torch.stack([dict(m.named_parameters())[name].detach() for m in models])
        for name, _ in models[0].named_parameters()
    }
    out = torch.func.vmap(lambda p: torch.func.functional_call(models[0], p, (s.x,)))(parameters)
    return s.close(out, torch.stack([model(s.x) for model in models]))


@question("torch.compile in training, with edge weights")
def compiled_training(s: Setting) -> bool:
    torch._dynamo.reset()
    gradients = []
    for layer in (s.layer, torch.compile(s.layer, fullgraph=True, backend="aot_eager")):
        inputs = [s.x.clone().requires_grad_(), s.weight.clone().requires_grad_()]
        layer(inputs[0], s.index, inputs[1]).pow(2).sum().backward()
        # the two directions of an edge are one weight: their sum counts
        gradients.append([inputs[0].grad, inputs[1].grad.view(2, -1).sum(0)])
    return all(s.close(a, b) for a, b in zip(*gradients, strict=True))


@question("distributed data parallel, one process")
def parallel(s: Setting) -> bool:
    import torch.distributed as distributed

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        model = nn.ModuleList([nn.Linear(3, 3).double(), s.layer])
        model.forward = lambda x, index: model[1](model[0](x), index)
        wrapped = nn.parallel.DistributedDataParallel(model)
        wrapped(s.x, s.index).sum().backward()
        return model[0].weight.grad is not None
    finally:
        distributed.destroy_process_group()


@question("vmap over edge lists")
def vmapped_lists(s: Setting) -> bool:
    renamed = torch.randperm(12, generator=torch.Generator().manual_seed(1))[s.index]
    out = torch.func.vmap(lambda index: s.layer(s.x, index))(torch.stack([s.index, renamed]))
    return s.close(out[0]) and s.close(out[1], s.layer(s.x, renamed))


@question("torch.compile on fifty graphs of different sizes, at most two compilations")
def compiled_for_many(s: Setting) -> bool:
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    counter, layer = CompileCounter(), s.layer
    run = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter)
    right = True
    for nodes in range(12, 62):
        ring = torch.stack([torch.arange(nodes), torch.arange(1, nodes + 1) % nodes])
        index = torch.cat([s.index, ring, ring.flip(0)], 1)
        x = torch.linspace(-1, 1, 3 * nodes, dtype=torch.float64).view(nodes, 3)
        right &= s.close(run(x, index), layer(x, index))
    return right and counter.frame_count <= 2


@question("gradient through a step of gradient descent (MAML)")
def meta_gradient(s: Setting) -> bool:
    def loss(weight: Tensor) -> Tensor:
        return s.layer(s.x @ weight, s.index).pow(2).sum()

    def after_a_step(weight: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(loss(weight), weight, create_graph=True)
        return loss(weight - 0.01 * slope)

    weight = torch.eye(3, dtype=torch.float64).requires_grad_()
    return torch.autograd.gradcheck(after_a_step, weight)


def taking_single_directions(s: Setting) -> nn.Module:
    layer = s.layer
    ours = isinstance(layer, EMP)
    return EMP(K=5, lambda1=0.3, lambda2=3.0, directed="symmetrize") if ours else layer


@question("sampled neighbours, single directions (gradcheck)")
def sampled(s: Setting) -> bool:
    from torch_geometric.utils import dropout_edge, k_hop_subgraph

    layer = taking_single_directions(s)
    reached, index, _, _ = k_hop_subgraph(0, 2, s.index, relabel_nodes=True, directed=True)
    torch.manual_seed(0)
    fewer, _ = dropout_edge(s.index, p=0.5)
    return all(
        torch.autograd.gradcheck(lambda x, of=of: layer(x, of), x.clone().requires_grad_())
        for x, of in ((s.x[reached], index), (s.x, fewer))
    )


@question("PRBCD attack with is_undirected=False")
def attacked_one_way(s: Setting) -> bool:
    from torch_geometric.contrib.nn import PRBCDAttack

    torch.manual_seed(0)
    labels, layer = s.expected.argmax(1), taking_single_directions(s)
    options = {"epochs": 6, "epochs_resampling": 3, "log": False, "is_undirected": False}
    attack = PRBCDAttack(layer, block_size=40, **options)
    return attack.attack(s.x.float(), s.index, labels, budget=4)[1].shape[1] > 0


@question("TensorBoard's add_graph")
def drawn(s: Setting) -> bool:
    from torch.utils.tensorboard import SummaryWriter

    with TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            writer.add_graph(s.layer, (s.x, s.index))
        return sum(path.stat().st_size for path in Path(folder).iterdir()) > 1000


@question("repr on the meta device")
def meta(s: Setting) -> bool:
    with torch.device("meta"):
        return len(repr(s.layer)) > 5


def ask(name: str, make: Callable[[], nn.Module]) -> Answer:
    """How a layer meets a question; an error is a refusal, whose first line is kept."""
    try:
        return Answer(WORKED if QUESTIONS[name](setting(make)) else WRONG)
    except Exception as error:  # whatever the layer says is its answer
        words = (str(error).strip().splitlines() or [""])[0]
        return Answer(REFUSED, f"{type(error).__name__}: {words}"[:110])


def ask_all() -> dict[str, dict[str, Answer]]:
    return {name: {layer: ask(name, make) for layer, make in LAYERS.items()} for name in QUESTIONS}


def page(answers: dict[str, dict[str, Answer]]) -> str:
    lines = [
        "# The same questions, asked of APPNP and of EMP",
        "",
        "Made by `python benchmarks/conformity.py --write docs/conformity.md`. *worked* means",
        "right numbers, which each question checks itself; *refused* is an error with its words;",
        "*wrong* is a wrong number without a word. Explainers are asked of",
        "`elasticgnn.nn.explain.explainable(EMP)`. TorchScript, which torch deprecates, is given",
        "the plain version; jit.script takes fixed strengths and the norms l21 and l1. Single",
        'directions are asked of `EMP(directed="symmetrize")`.',
        "",
        "| asked | APPNP | EMP | words of a refusal |",
        "| --- | --- | --- | --- |",
    ]
    for name, row in answers.items():
        words = "; ".join(
            f"{layer}: {answer.words}" for layer, answer in row.items() if answer.words
        ).replace("|", "\\|")
        lines.append(f"| {name} | {row['APPNP'].outcome} | {row['EMP'].outcome} | {words} |")
    counts = {
        layer: {
            outcome: sum(row[layer].outcome == outcome for row in answers.values())
            for outcome in (WORKED, REFUSED, WRONG)
        }
        for layer in LAYERS
    }
    lines += ["", *(f"{layer}: {counted(counts[layer])}." for layer in LAYERS), ""]
    return "\n".join(lines)


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="where the page goes")
    arguments = parser.parse_args()
    text = page(ask_all())
    if arguments.write:
        arguments.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
