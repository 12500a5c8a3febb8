"""Other libraries, and models in which the layer is one part."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from conformity_setting import Setting, question
from torch import Tensor, nn

from elasticgnn.nn import EMP
from elasticgnn.nn.explain import explainable


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
