"""vmap of the compiled loops: members of a batch are runs, equal to a loop over them."""

import pytest
import torch
from torch.func import functional_call, grad, jacrev, stack_module_state, vjp, vmap

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.features.dropout import drop_threshold, hash_positions
from elasticgnn.nn import EMP, ElasticGNN, FeatureLinear
from elasticgnn.nn.attention import AttentionPattern, attend
from elasticgnn.operator import elastic_state, explain_route, fused_loops, fused_op
from marks import needs_kernels
from strategies import normal_rows, random_graph

pytestmark = needs_kernels

GRAPH = random_graph(12, 30, weighted=True)
WEIGHT = GRAPH.weight
SIGNALS = normal_rows(5, 12, 3)
LAMBDAS = torch.tensor([0.1, 0.3, 0.0, 1.0, 0.2], dtype=torch.float64)
WEIGHTS = torch.stack([WEIGHT * (1 + k) for k in range(5)])
NORMS = ("l21", "l1", "mcp", "scad")


def run(x, lambda1=0.3, lambda2=1.0, weight=None, *, norm="l21", steps=6, memory="fast"):
    penalty = ElasticPenalty(lambda1, lambda2, norm)
    options = {"edge_weight": weight, "memory": memory}
    return elastic_message_passing(x, GRAPH, penalty, steps, **options)


def loss(*arguments, **options):
    return run(*arguments, **options).pow(3).sum()


def assert_equals_loop(function, *batched):
    members = [function(*each) for each in zip(*batched, strict=True)]
    torch.testing.assert_close(vmap(function)(*batched), _stacked(members))


def _stacked(members):
    if isinstance(members[0], torch.Tensor):
        return torch.stack(members)
    return tuple(torch.stack(parts) for parts in zip(*members, strict=True))


def count_calls(monkeypatch):
    """The names of the compiled loops that are called, as they are."""
    names, kernel = [], fused_loops.kernel

    def counted(name, dtype):
        names.append(name)
        return kernel(name, dtype)

    monkeypatch.setattr(fused_loops, "kernel", counted)
    return names


def test_a_vmapped_call_takes_the_compiled_route():
    taken = []

    def look(x):
        taken.append(explain_route(x, GRAPH, ElasticPenalty(0.3, 1.0), 6).taken)
        return x

    vmap(look)(SIGNALS)
    grad(lambda x: look(x).sum())(SIGNALS[0])
    assert taken == ["general", "general"]


def test_all_members_are_runs_of_one_call(monkeypatch):
    calls = count_calls(monkeypatch)
    vmap(run)(SIGNALS)
    assert calls == ["emp_forward"]
    vmap(grad(loss))(SIGNALS)
    assert calls[1:] == ["emp_forward", "emp_backward"]


def test_nothing_is_kept_where_no_gradient_is_wanted(monkeypatch):
    saved, propagate = [], fused_op.propagate

    def looked_at(*arguments):
        saved.append(arguments[13])
        return propagate(*arguments)

    monkeypatch.setattr(fused_op, "propagate", looked_at)
    vmap(run)(SIGNALS)
    vmap(run)(SIGNALS.clone().requires_grad_())
    vmap(grad(loss))(SIGNALS)
    # by both levels of every call: within vmap, and below it
    assert saved == ["none", "none", "x", "x", "x", "x"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("memory", ["fast", "lean"])
def test_signals_and_their_gradients_equal_a_loop(norm, memory):
    options = {"norm": norm, "memory": memory}
    assert_equals_loop(lambda x: run(x, **options), SIGNALS)
    assert_equals_loop(grad(lambda x: loss(x, **options)), SIGNALS)
    x = SIGNALS.clone().requires_grad_()
    (outside,) = torch.autograd.grad(vmap(lambda x: loss(x, **options))(x).sum(), x)
    torch.testing.assert_close(outside, vmap(grad(lambda x: loss(x, **options)))(SIGNALS))


@pytest.mark.parametrize("norm", NORMS)
def test_strengths_and_their_gradients_equal_a_loop(norm):
    one = SIGNALS[0]
    assert_equals_loop(lambda l1: run(one, l1, norm=norm), LAMBDAS)
    assert_equals_loop(lambda l2: run(one, 0.3, l2, norm=norm), LAMBDAS)
    both = grad(lambda x, l1, l2: loss(x, l1, l2, norm=norm), argnums=(0, 1, 2))
    assert_equals_loop(both, SIGNALS, LAMBDAS + 0.1, LAMBDAS)


def test_weights_and_their_gradients_equal_a_loop():
    def of_weight(x, weight):
        return loss(x, 0.3, 1.0, weight)

    assert_equals_loop(lambda weight: run(SIGNALS[0], weight=weight), WEIGHTS)
    assert_equals_loop(grad(of_weight, argnums=(0, 1)), SIGNALS, WEIGHTS)
    # one weight for all: each member has its own gradient of it
    assert_equals_loop(lambda x: grad(of_weight, argnums=1)(x, WEIGHT), SIGNALS)


def test_runs_of_a_member_stay_its_own():
    several = normal_rows(4, 12, 2, 3)
    strengths = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert_equals_loop(run, several, strengths)
    assert_equals_loop(grad(loss, argnums=(0, 1)), several, strengths)


def test_a_batch_within_a_batch_equals_two_loops():
    several = normal_rows(3, 4, 12, 2)
    inner = vmap(grad(loss, argnums=(0, 1)), in_dims=(0, None))
    assert_equals_loop(inner, several, LAMBDAS[:3])


@pytest.mark.parametrize("arguments", [0, 1, 2, 3])
def test_jacobians_push_many_cotangents_through_one_call(arguments):
    inputs = (SIGNALS[0], LAMBDAS[0], LAMBDAS[1], WEIGHT)
    plain = torch.autograd.functional.jacobian(
        lambda value: run(*inputs[:arguments], value, *inputs[arguments + 1 :]), inputs[arguments]
    )
    torch.testing.assert_close(jacrev(run, argnums=arguments)(*inputs), plain)


def test_jacobians_of_a_batch_equal_a_loop():
    assert_equals_loop(jacrev(run), SIGNALS)


def assert_takes_batched_cotangents(out, inputs, cotangents):
    """autograd.grad(is_grads_batched=True) has a vmap of its own, an older one."""
    ways = [torch.autograd.grad(out, inputs, each, retain_graph=True) for each in cotangents]
    for create_graph in (True, False):
        options = {"is_grads_batched": True, "create_graph": create_graph, "retain_graph": True}
        found = torch.autograd.grad(out, inputs, cotangents, **options)
        torch.testing.assert_close(found, _stacked(ways))
        assert found[0].requires_grad == create_graph


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", NORMS)
def test_batched_cotangents_reach_every_route(norm, dtype):
    cotangents = normal_rows(4, 12, 3).to(dtype)
    x = SIGNALS[0].to(dtype).requires_grad_()
    assert_takes_batched_cotangents(run(x, norm=norm).pow(2), (x,), cotangents)
    strength = torch.tensor(0.3, dtype=dtype, requires_grad=True)
    out = run(x, strength, norm=norm).pow(2)
    assert_takes_batched_cotangents(out, (x, strength), cotangents)


def test_batched_cotangents_reach_sparse_products_and_attention():
    cotangents = normal_rows(4, 12, 2).float()
    linear = FeatureLinear(3, 2)
    out = linear(SparseFeatures.from_dense(SIGNALS[0].float())).pow(2)
    assert_takes_batched_cotangents(out, (linear.weight,), cotangents)
    rows = normal_rows(12, 2).float().requires_grad_()
    scores = [normal_rows(12, 1, seed=k).float().requires_grad_() for k in (1, 2)]
    out = attend(rows, *scores, AttentionPattern.of(GRAPH)).pow(2)
    assert_takes_batched_cotangents(out, (rows, *scores), cotangents)


def test_pulled_back_cotangents_in_a_batch_equal_a_loop():
    cotangents = normal_rows(4, 12, 3)
    pull_back = vjp(run, SIGNALS[0])[1]
    torch.testing.assert_close(
        vmap(pull_back)(cotangents)[0], _stacked([*map(_first(pull_back), cotangents)])
    )


def _first(pull_back):
    return lambda cotangent: pull_back(cotangent)[0]


def test_second_derivatives_in_a_batch_equal_a_loop():
    def norm_of_gradient(x, lambda1):
        return grad(loss, argnums=(0, 1))(x, lambda1)[0].pow(2).sum()

    assert_equals_loop(grad(norm_of_gradient, argnums=(0, 1)), SIGNALS, LAMBDAS + 0.1)


@pytest.mark.parametrize("steps", [0, 1, 5, 9])
@pytest.mark.parametrize("size", [1, 3, 17])  # 17 members are three groups of lanes
def test_any_number_of_members_and_steps(size, steps):
    several = normal_rows(size, 12, 3)
    assert_equals_loop(lambda x: run(x, steps=steps), several)
    assert_equals_loop(grad(lambda x: loss(x, steps=steps)), several)


def test_where_the_batch_lies_does_not_matter():
    several = normal_rows(12, 3, 5)
    found = vmap(run, in_dims=2, out_dims=2)(several)
    torch.testing.assert_close(found, torch.stack([run(x) for x in several.unbind(2)], 2))


def test_the_dual_of_a_batch_equals_a_loop():
    assert_equals_loop(lambda x: elastic_state(x, GRAPH, ElasticPenalty(0.3, 1.0)).dual, SIGNALS)


def test_bad_values_in_one_member_are_refused_by_name():
    with pytest.raises(ValueError, match=r"lambda1 must be a number >= 0, got -1\.0"):
        vmap(lambda l1: run(SIGNALS[0], l1))(torch.tensor([0.1, -1.0]))
    with pytest.raises(ValueError, match="weight must be finite and >= 0, got nan"):
        vmap(lambda weight: run(SIGNALS[0], weight=weight))(WEIGHTS * float("nan"))
    index = GRAPH.to_edge_index()[0]
    lopsided = torch.stack([WEIGHT.repeat(2), torch.cat([WEIGHT, 2 * WEIGHT])])
    with pytest.raises(ValueError, match=r"both directions .* in some member of the batch"):
        vmap(lambda weight: EMP(3)(SIGNALS[0], index, weight))(lopsided)


@pytest.mark.parametrize("learnable", ["scalar", "channel"])
def test_an_ensemble_of_networks_is_trained_at_once(learnable):
    options = {"learnable": learnable, "dropout": 0.0}
    models = [ElasticGNN(3, 4, 2, lambda1=0.1 * (k + 1), **options).double() for k in range(3)]
    parameters, buffers = stack_module_state(models)
    x, target = SIGNALS[0], torch.arange(12) % 2

    def of(parameters, buffers):
        logits = functional_call(models[0], (parameters, buffers), (x, GRAPH))
        return torch.nn.functional.cross_entropy(logits, target)

    found = vmap(grad(of))(parameters, buffers)
    for k, model in enumerate(models):
        value = torch.nn.functional.cross_entropy(model(x, GRAPH), target)
        exact = torch.autograd.grad(value, list(model.parameters()))
        for (name, _), one in zip(model.named_parameters(), exact, strict=True):
            torch.testing.assert_close(found[name][k], one)


def test_edges_dropped_differently_in_each_member_are_seen():
    torch.manual_seed(0)
    layer, same = EMP(4, dropout=0.5), SIGNALS[:1].repeat(4, 1, 1)
    out = vmap(lambda x: layer(x, GRAPH), randomness="different")(same)
    assert len({tuple(each.flatten().tolist()) for each in out}) == 4
    together = vmap(lambda x: layer(x, GRAPH), randomness="same")(same)
    torch.testing.assert_close(together, together[:1].repeat(4, 1, 1))


@pytest.mark.parametrize("sparse", [False, True])
def test_members_of_an_ensemble_drop_their_own_values(sparse):
    models = [ElasticGNN(3, 4, 2, dropout=0.5) for _ in range(2)]
    state = stack_module_state([models[0], models[0]])  # two equal members
    x = SIGNALS[0].float()
    features = SparseFeatures.from_dense(x) if sparse else x

    def of(parameters, buffers):
        return functional_call(models[0], (parameters, buffers), (features, GRAPH))

    torch.manual_seed(0)
    first, second = vmap(of, randomness="different")(*state)
    assert not torch.equal(first, second)
    first, second = vmap(of, randomness="same")(*state)
    torch.testing.assert_close(first, second)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(of)(*state)


def test_masks_on_another_device_are_those_of_the_cpu():
    noise = DropoutNoise(seed=3, epoch=1)
    elsewhere = hash_positions(1000, noise.key(2), "cpu") >= drop_threshold(0.3)
    assert torch.equal(noise.keep(1000, 0.3, 2), elsewhere)
    assert noise.keep(1000, 0.3, 2, "meta").is_meta  # made there, not copied
