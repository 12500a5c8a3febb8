"""The layer under torch's transforms: vmap, forward mode, compile, export, explainers."""

import math
import warnings

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer

from elasticgnn.features import SparseFeatures
from elasticgnn.nn import EMP, FeatureLinear
from elasticgnn.nn.explain import ExplainableEMP, explainable
from strategies import normal_rows, random_graph

GRAPH = random_graph(12, 30)
INDEX = GRAPH.to_edge_index()[0]
X = normal_rows(12, 3)
LAYER = EMP(K=5, lambda1=0.3)


def slope(run, x):
    step = 1e-6 * torch.ones_like(x)
    return (run(x + step) - run(x - step)) / 2e-6


@pytest.mark.parametrize("graph", [GRAPH, INDEX])
def test_forward_mode_gives_the_slope(graph):
    expected = slope(lambda x: LAYER(x, graph), X)
    _, pushed = torch.func.jvp(lambda x: LAYER(x, graph), (X,), (torch.ones_like(X),))
    torch.testing.assert_close(pushed, expected, rtol=1e-5, atol=1e-6)
    with forward_ad.dual_level():
        out = LAYER(forward_ad.make_dual(X, torch.ones_like(X)), graph)
        tangent = forward_ad.unpack_dual(out).tangent
    torch.testing.assert_close(tangent, expected, rtol=1e-5, atol=1e-6)


def test_jacobians_and_hessians_agree_with_each_other():
    def run(x):
        return LAYER(x, GRAPH)

    by_rows, by_columns = torch.func.jacrev(run)(X), torch.func.jacfwd(run)(X)
    torch.testing.assert_close(by_rows, by_columns)
    found = torch.func.hessian(lambda x: run(x).pow(3).sum())(X)
    exact = torch.autograd.functional.hessian(lambda x: run(x).pow(3).sum(), X)
    torch.testing.assert_close(found, exact)


def test_vmap_over_signals_equals_a_loop():
    several = normal_rows(4, 12, 3)
    together = torch.func.vmap(lambda x: LAYER(x, INDEX))(several)
    torch.testing.assert_close(together, torch.stack([LAYER(x, INDEX) for x in several]))


def lists_of_equal_length(count, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    ends = torch.stack([torch.randperm(9, generator=generator) for _ in range(count)])
    ends = torch.stack([ends, ends.roll(1, -1)], 1)  # rings through all nodes
    weight = 0.5 + torch.rand(count, 9, generator=generator, dtype=dtype)
    return torch.cat([ends, ends.flip(1)], 2), torch.cat([weight, weight], 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_vmap_over_edge_lists_equals_a_loop(dtype):
    index, weight = lists_of_equal_length(4, dtype)
    x = normal_rows(9, 3).to(dtype)
    layer = EMP(5, lambda1=0.3)
    together = torch.func.vmap(lambda i, w: layer(x, i, w))(index, weight)
    alone = torch.stack([layer(x, *given) for given in zip(index, weight, strict=True)])
    torch.testing.assert_close(together, alone)
    several = torch.stack([x, -2 * x, x.flip(0), x])
    together = torch.func.vmap(lambda x, i, w: layer(x, i, edge_strength=w))(several, index, weight)
    given = zip(several, index, weight, strict=True)
    alone = torch.stack([layer(x, i, edge_strength=w) for x, i, w in given])
    torch.testing.assert_close(together, alone)

    def loss(x, i):
        return layer(x, i).square().sum()

    slopes = torch.func.vmap(torch.func.grad(loss))(several, index)
    alone = [torch.func.grad(loss)(*given) for given in zip(several, index, strict=True)]
    torch.testing.assert_close(slopes, torch.stack(alone))


def test_vmap_over_wrong_edge_lists_is_refused_in_words():
    index, _ = lists_of_equal_length(4)
    x = normal_rows(9, 3)
    single = index.clone()
    single[2, :, 9:] = index[2, :, :9]
    for wrong, rows, message in (
        (single, x, "edge_index must hold both directions"),
        (index, x[:8], "edge_index must name nodes below num_nodes = 8"),
        (index.double(), x, "edge_index must hold integers"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            torch.func.vmap(lambda i, rows=rows: LAYER(rows, i))(wrong)
    with pytest.raises(ValueError, match=r"one list for all members of torch\.vmap here"):
        torch.func.vmap(lambda i: LAYER(x, i, return_dual=True).signal)(index)
    with pytest.raises(NotImplementedError, match=r"where torch\.vmap batches the edges"):
        torch.func.vmap(lambda i: EMP(2, normalization="none")(x, i))(index)


def test_an_ensemble_of_sparse_linear_layers_runs_in_vmap():
    dense = normal_rows(12, 6, dtype=torch.float32)
    features = SparseFeatures.from_dense(dense * (dense > 0))
    models = [FeatureLinear(6, 2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)

    def logits(parameters, buffers):
        return torch.func.functional_call(models[0], (parameters, buffers), (features,))

    together = torch.func.vmap(logits)(parameters, buffers)
    torch.testing.assert_close(together, torch.stack([model(features) for model in models]))


def random_index(nodes, seed):
    return random_graph(nodes, 3 * nodes, seed=seed).to_edge_index()[0]


def test_fifty_graphs_of_different_sizes_compile_at_most_twice():
    compilations = []

    def backend(module, inputs):
        compilations.append(module)
        return module.forward

    torch._dynamo.reset()
    layer = torch.compile(LAYER, fullgraph=True, dynamic=True, backend=backend)
    for seed in range(50):
        index, x = random_index(10 + seed, seed), normal_rows(10 + seed, 3)
        torch.testing.assert_close(layer(x, index), LAYER(x, index))
    assert len(compilations) <= 2


def test_a_compiled_layer_gives_the_gradients_of_x_and_weights():
    torch._dynamo.reset()
    compiled = torch.compile(LAYER, fullgraph=True, backend="aot_eager")
    weight = torch.linspace(0.5, 1.5, GRAPH.num_edges, dtype=torch.float64).repeat(2)
    gradients = []
    for layer in (LAYER, compiled):
        inputs = [X.clone().requires_grad_(), weight.clone().requires_grad_()]
        layer(inputs[0], INDEX, inputs[1]).pow(2).sum().backward()
        gradients.append([entry.grad for entry in inputs])
    torch.testing.assert_close(gradients[1][0], gradients[0][0])
    # what the two directions get may be split in any way: their weights are one number
    sums = [grad.view(2, -1).sum(0) for _, grad in gradients]
    torch.testing.assert_close(sums[1], sums[0])


def test_self_loops_and_parallel_edges_are_read_alike_when_compiled():
    torch._dynamo.reset()
    loops = torch.arange(12).expand(2, -1)
    index = torch.cat([INDEX, loops, INDEX[:, :1], INDEX.flip(0)[:, :1]], 1)
    compiled = torch.compile(LAYER, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(X, index), LAYER(X, index))


def test_a_compiled_layer_refuses_single_directions_when_it_runs():
    torch._dynamo.reset()
    compiled = torch.compile(LAYER, fullgraph=True, backend="eager")
    with pytest.raises(RuntimeError, match="edge_index must hold both directions"):
        compiled(X, INDEX[:, : INDEX.shape[1] // 2])


def test_an_exported_layer_serves_graphs_of_other_sizes():
    nodes, columns = torch.export.Dim("nodes", min=3), torch.export.Dim("columns", min=3)
    shapes = ({0: nodes}, {1: columns})
    program = torch.export.export(LAYER, (X, INDEX), dynamic_shapes=shapes)
    other, x = random_index(25, 7), normal_rows(25, 3)
    torch.testing.assert_close(program.module()(x, other), LAYER(x, other))


class Smoother(nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth = EMP(K=5, lambda1=0.01, lambda2=3.0)

    def forward(self, x, edge_index):
        return self.smooth(x, edge_index)


# integrated gradients go from no edges to all; a gradient at all edges alone would name (2, 3),
# whose loss matters as much: it leads the signal away
EXPLAINERS = {
    "GNNExplainer": lambda: GNNExplainer(epochs=100, lr=0.1, edge_ent=0.0),
    "IntegratedGradients": lambda: CaptumExplainer("IntegratedGradients", n_steps=10),
}


@pytest.mark.parametrize("name", EXPLAINERS)
def test_an_explainer_finds_the_edges_that_bring_the_signal(name):
    # two edges bring node 0 its signal, a third joins their ends, a long path brings nothing
    pairs = torch.tensor([(0, 1), (0, 2), (1, 2)] + [(k, k + 1) for k in range(2, 14)]).T
    index = torch.cat([pairs, pairs.flip(0)], 1)
    x = torch.zeros(15, 1)
    x[1:3] = 100.0
    network = explainable(Smoother())
    assert isinstance(network.smooth, ExplainableEMP)
    torch.testing.assert_close(network(x, index), Smoother()(x, index))
    torch.manual_seed(0)
    explainer = Explainer(
        network,
        EXPLAINERS[name](),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    mask = explainer(x, index, index=0).edge_mask
    both = mask.view(2, -1).abs().sum(0)
    assert set(both.topk(2).indices.tolist()) == {0, 1}
    torch.testing.assert_close(network(x, index), Smoother()(x, index))  # and lets go of it


@pytest.mark.parametrize("precision", ["bf16-true", "bf16-mixed"])
def test_lightning_trains_the_layer(precision, tmp_path):
    with warnings.catch_warnings(action="ignore"):
        # in the extra dev, and it asks for packages that a bare install has not
        lightning = pytest.importorskip(
            "pytorch_lightning", reason="needs pytorch-lightning", exc_type=ImportError
        )

    class Trained(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear, self.smooth = nn.Linear(3, 2), EMP(K=3, lambda1=0.1, learnable=True)
            self.losses = []

        def training_step(self, batch, _):
            x, target = batch
            out = self.smooth(self.linear(x[0]), INDEX)
            loss = nn.functional.cross_entropy(out.float(), target[0])
            self.losses.append(float(loss.detach()))
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    model, x = Trained(), X.float()[None]
    data = torch.utils.data.TensorDataset(x, torch.arange(12)[None] % 2)
    with warnings.catch_warnings(action="ignore"):
        trainer = lightning.Trainer(
            max_epochs=12,
            accelerator="cpu",
            precision=precision,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(model, torch.utils.data.DataLoader(data))
    assert model.losses[-1] < 0.95 * model.losses[0]
    assert float(model.smooth.log_lambda.detach()[0]) != pytest.approx(math.log(0.1), abs=1e-3)
    kind = torch.bfloat16 if precision == "bf16-true" else torch.float32
    assert model.linear.weight.dtype == kind
