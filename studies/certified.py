"""Certified accuracy over the radius beside attacked accuracy of the same smoothed network.

    python studies/certified.py results/attacks/certified.json docs/figures/certified.png
        [--samples 10000] [--targets 40] [--votes 500]

ElasticGNN on the Cora component, smoothed over noisy graphs. Certified: all test nodes, each with
its own radius of additions. Attacked: `--targets` of them, each alone; it is joined to as many
nodes of the class that comes second in its votes, those of which the backbone is surest, and the
smoothed class is voted anew by `--votes` noisy graphs. A certified node that changes its class
counts as `broken`: there must be none. An existing record is drawn again, not measured.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from elasticgnn.attack.many_graphs import predictor
from elasticgnn.certify import Certificate, SparseNoise, certify, count_votes
from elasticgnn.data import NodeTask, load
from elasticgnn.figures import new_figure
from elasticgnn.nn import ElasticGNN
from elasticgnn.training import TrainingPlan, fit, make_model

DATA, RADII, SEED = "cora-meta-0", (0, 1, 2, 3, 4), 0
NOISE = SparseNoise()


def trained(task: NodeTask) -> ElasticGNN:
    """ElasticGNN (3, 3) after 200 epochs on the fixed split."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(SEED)
    model = make_model("elastic", task, generator)
    fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    assert isinstance(model, ElasticGNN)
    return model.eval()


def helpers(task: NodeTask, model: ElasticGNN, node: int, kind: int, count: int) -> torch.Tensor:
    """Pairs (count, 2) of `node` with strangers of which the backbone is surest that they are
    `kind`."""
    chance = model.logits(task.features).detach().softmax(1)[:, kind].clone()
    near = (task.graph.tail == node) | (task.graph.head == node)
    chance[torch.cat((task.graph.tail[near], task.graph.head[near], torch.tensor([node])))] = -1
    ends = chance.topk(count).indices
    own = torch.full_like(ends, node)
    return torch.stack((torch.minimum(own, ends), torch.maximum(own, ends)), 1)


def voted(task: NodeTask, model: nn.Module, node: int, votes: int) -> int:
    """The class that most noisy graphs give the node."""
    random = np.random.default_rng([SEED, node])
    return int(count_votes(predictor(model, task), task, NOISE, votes, random)[node].argmax())


def attack_all(
    task: NodeTask, model: ElasticGNN, known: Certificate, second: dict[int, int], votes: int
) -> tuple[list[float], int]:
    """The share of the nodes that is right at each radius, and how many certificates broke.

    `second` has the class of each node that has the second most votes.
    """
    labels, broken = task.labels.numpy(), 0
    right = {node: bool(known.label[node] == labels[node]) for node in second}
    attacked = [float(np.mean(list(right.values())))]
    for radius in RADII[1:]:
        holds = known.holds(radius, 0)
        for node in right:
            pairs = helpers(task, model, node, second[node], radius)
            other = task.with_graph(task.graph.with_edges_flipped(pairs))
            kind = voted(other, model, node, votes)
            broken += bool(holds[node] and kind != known.label[node])
            right[node] &= kind == labels[node]
        attacked.append(float(np.mean(list(right.values()))))
    return attacked, broken


def measure(samples: int, targets: int, votes: int) -> dict[str, Any]:
    task = load(DATA)
    assert task.split is not None
    model, test, labels = trained(task), task.split.test.numpy(), task.labels.numpy()
    began, clock = time.process_time(), time.perf_counter()
    counted = count_votes(predictor(model, task), task, NOISE, samples, np.random.default_rng(SEED))
    known = certify(counted, NOISE)
    seconds = {"processor": round(time.process_time() - began, 1)}
    seconds |= {"clock": round(time.perf_counter() - clock, 1)}
    nodes = np.random.default_rng(SEED).permutation(test)[:targets]
    second = np.argsort(-counted, axis=1, kind="stable")[:, 1]
    attacked, broken = attack_all(
        task, model, known, {int(n): int(second[n]) for n in nodes}, votes
    )
    return {
        "data": DATA,
        "samples": samples,
        "nodes": len(test),
        "targets": targets,
        "votes": votes,
        "radii": list(RADII),
        "certified": [known.accuracy(labels, test, radius, 0) for radius in RADII],
        "certified, targets": [known.accuracy(labels, nodes, radius, 0) for radius in RADII],
        "attacked, targets": attacked,
        "broken": broken,
        "seconds": seconds,
        "threads": torch.get_num_threads(),
    }


def draw(record: dict[str, Any], output: Path) -> None:
    figure = new_figure(panel=(5.0, 3.6))
    (axes,) = figure.axes
    lines = {"attacked, targets": "s-", "certified, targets": "o-", "certified": "o:"}
    for name, style in lines.items():
        axes.plot(record["radii"], [100 * value for value in record[name]], style, label=name)
    axes.set(xlabel="edges added at a node", ylabel="accuracy (%)", xticks=record["radii"])
    axes.set_title(f"Smoothed ElasticGNN, Cora component, {record['samples']:,} graphs")
    axes.legend()
    figure.savefig(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=40)
    parser.add_argument("--votes", type=int, default=500)
    given = parser.parse_args()
    if not given.output.exists():
        record = measure(given.samples, given.targets, given.votes)
        given.output.write_text(json.dumps(record) + "\n")
        print(record)
    draw(json.loads(given.output.read_text()), given.picture)


if __name__ == "__main__":
    main()
