"""Another penalty at prediction time: same weights, other propagation, original untouched."""

import pytest
import torch

from attack.small_task import planted_task
from elasticgnn.attack import HARDENED, with_penalty
from elasticgnn.operator import elastic_message_passing
from elasticgnn.training import make_model


def model_and_task():
    task = planted_task()
    return make_model("elastic", task, torch.Generator().manual_seed(0)).eval(), task


def test_copy_propagates_with_the_new_penalty_and_the_old_weights():
    model, task = model_and_task()
    before = model(task.features, task.graph)
    changed = with_penalty(model)(task.features, task.graph)
    expected = elastic_message_passing(model.logits(task.features), task.graph, HARDENED, model.K)
    torch.testing.assert_close(changed, expected)
    assert torch.equal(model(task.features, task.graph), before)


def test_other_models_are_refused():
    _, task = model_and_task()
    gcn = make_model("gcn", task, torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="model must be an ElasticGNN"):
        with_penalty(gcn)


def test_concave_penalties_are_attacked_through_convex_neighbours_too():
    from elasticgnn.attack.hardening import routes

    task = planted_task()
    model = make_model("elastic", task, torch.Generator().manual_seed(0))
    assert routes(model) == [model]
    hardened = with_penalty(model)
    ways = routes(hardened)
    assert ways[0] is hardened
    assert [way.penalty.norm for way in ways] == ["mcp", "l21", "mcp"]
    assert ways[2].penalty.concavity > hardened.penalty.concavity
