"""The networks that an attacker of a model goes through: false safety is a gradient cut off."""

import copy

from torch import nn

from elasticgnn.attack.hardening import routes as elastic_routes
from elasticgnn.defence import RUNG, ConfidenceGated
from elasticgnn.nn import MLP, ElasticGNN
from elasticgnn.robustness.contestant import Contestant


def gradient_routes(model: nn.Module) -> dict[str, nn.Module]:
    """Networks with the weights of `model`, itself first, to take the edge gradient of.

    A penalty that tears edges has no gradient on them: it is attacked through its convex and less
    concave neighbours too (RUNG: through its l1 form). `ConfidenceGated` is attacked through the
    network it holds as well.
    """
    if isinstance(model, ConfidenceGated):
        return {"itself": model, "all nodes": model.model}
    if isinstance(model, ElasticGNN):
        names = ("itself", "convex", "less concave")
        return dict(zip(names, elastic_routes(model), strict=False))
    if isinstance(model, RUNG) and model.norm == "mcp":
        convex = copy.deepcopy(model)
        convex.norm, convex.double_root, convex.detached = "l1", False, False
        return {"itself": model, "convex": convex}
    return {"itself": model}


def poisoning_routes(each: Contestant, untrained: nn.Module) -> dict[str, nn.Module]:
    """Untrained networks that an attacker trains while it attacks.

    Besides the model as it trains: the neighbours of the penalty it trains with, and those of what
    it predicts with, each trained from the same start.
    """
    found = dict(gradient_routes(untrained))
    predicting = each.finished(untrained)
    if isinstance(predicting, ElasticGNN) and predicting is not untrained:
        found |= {
            f"predicting, {name}": model for name, model in gradient_routes(predicting).items()
        }
    return {name: copy.deepcopy(model) for name, model in found.items() if uses_graph(model)}


def uses_graph(model: nn.Module) -> bool:
    """Whether edges can change the model's outputs, as far as its settings tell.

    They say nothing of a module that is made from one of these classes.
    """
    if type(model) is ElasticGNN:
        return any(float(part) > 0 for part in model.penalty.strengths)
    if isinstance(model, ConfidenceGated):
        return model.threshold > 0 and uses_graph(model.model)
    return type(model) is not MLP
