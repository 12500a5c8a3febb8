"""How many rows of the dual are active for what a trained ElasticGNN propagates.

The lazy dual of the wide loops (kernels/emp/wide/lazy.h) pays where few are.
    python benchmarks/active_rows.py [cora amazon-computers coauthor-physics] [--epochs 30]
Prints the share of the edges in each step, and writes results/active_rows.json.
"""

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.data import Split, load
from elasticgnn.nn import EMP
from elasticgnn.operator import elastic_state
from elasticgnn.training import TrainingPlan, fit, make_model

STEPS, PENALTY = 10, ElasticPenalty(3.0, 3.0)
OUTPUT = Path(__file__).resolve().parent / "results" / "active_rows.json"


def trained_signal(name: str, epochs: int) -> tuple[Tensor, Graph]:
    """What the perceptron hands to the propagation after training on a tenth of the nodes."""
    task, generator = load(name), torch.Generator().manual_seed(0)
    order = torch.randperm(task.graph.num_nodes, generator=generator)
    tenth = len(order) // 10
    split = Split(order[:tenth], order[tenth : 2 * tenth], order[2 * tenth :])
    model = make_model("elastic", task, generator)
    fit(model, task, split, TrainingPlan(epochs=epochs), generator)
    seen: list[Tensor] = []
    (layer,) = [module for module in model.modules() if isinstance(module, EMP)]
    layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    with torch.no_grad():
        model.eval()(task.features, task.graph)
    return seen[-1], task.graph


def active_shares(x: Tensor, graph: Graph) -> list[float]:
    """The share of rows on the border of the ball after each step."""
    shares = []
    for steps in range(1, STEPS + 1):
        dual = elastic_state(x.double(), graph, PENALTY, steps).dual
        border = dual.norm(dim=-1) >= (1 - 1e-9) * PENALTY.lambda1
        shares.append(round(float(border.double().mean()), 4))
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["cora", "amazon-computers"])
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args()
    found = {name: active_shares(*trained_signal(name, options.epochs)) for name in options.names}
    for name, shares in found.items():
        print(f"{name:>18} " + " ".join(f"{100 * share:5.1f} %" for share in shares))
    OUTPUT.write_text(json.dumps({"epochs": options.epochs, "shares": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
