"""How little harm a model can do, clean and under attack (docs/robustness_details.md).

    python studies/harmless.py results/attacks/harmless.json docs/figures/harmless.png

ElasticGNN (3, 3) on the Cora component. protocol: "evasion", trained on the clean graph;
"inductive", training sees no edge of a test node. Two dials at prediction, both computed without
the graph, so that no flip moves them. share: that part of all nodes, the least sure by `backbone`,
uses the graph, the others keep its class. plausible: a node that uses the graph may only become a
class that the backbone gives at least this part of its largest chance. backbone: "own", the
ElasticGNN's; "distilled", a perceptron fitted to what the ElasticGNN says of all nodes on the graph
that training sees. Every setting is attacked through itself (PRBCD, 40 epochs on 20,000 pairs, at
RATES) and judged under everybody's flips; "worst" counts smaller budgets too. The settings that
come nearest to the aim (NEAREST) are also attacked by EvA with its default effort, at 5 %. Rows of
a group that the file has are not run again.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.attack import AttackBudget, GradientSettings, attack
from elasticgnn.attack.many_graphs import Predictor, fast_smoother
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, load
from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.figures import COLOURS, legend_below, new_figure
from elasticgnn.graph import Graph
from elasticgnn.nn import MLP, ElasticGNN, ModelSettings
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.robustness.contest import without_nodes
from elasticgnn.training import TrainingPlan, fit, make_model

DATA, RATES = "cora-meta-0", (0.05, 0.25)
SHARES, PLAUSIBLE = (0.2, 0.4, 0.6, 1.0), (0.0, 0.1)
PRBCD = GradientSettings(epochs=40, fresh_epochs=32, block_size=20_000)
GROUPS = (  # protocol, dropout, backbone
    ("evasion", 0.8, "own"),
    ("evasion", 0.8, "distilled"),
    ("inductive", 0.8, "own"),
    ("inductive", 0.8, "distilled"),
    ("evasion", 0.5, "own"),
)
NEAREST = (("evasion", 0.8, "own", 0.2, 0.0), ("evasion", 0.8, "own", 0.4, 0.1))
EVA_RATE = 0.05
NEVER = -1e4  # logit of a class that is not plausible


@dataclass(frozen=True)
class Dials:
    """Which nodes use the graph, and what it may make of them."""

    share: float
    plausible: float


class UncertainOnGraph(nn.Module):
    """An ElasticGNN's logits where a backbone is unsure, the backbone's own elsewhere."""

    def __init__(self, model: ElasticGNN, alone: Tensor, dials: Dials) -> None:
        super().__init__()
        self.model, self.alone = model, alone
        chance = alone.softmax(1)
        best = chance.amax(1)
        last = round(dials.share * len(best))
        self.on_graph = torch.zeros(len(best), dtype=torch.bool)
        self.on_graph[best.argsort()[:last]] = True
        self.impossible = chance < dials.plausible * best[:, None]

    def forward(self, x: Tensor | SparseFeatures, graph: Graph, *, noise: None = None) -> Tensor:
        logits = self.model(x, graph, noise=noise).masked_fill(self.impossible, NEVER)
        return torch.where(self.on_graph[:, None], logits, self.alone)

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor:
        """Labels on many flipped graphs by the ElasticGNN's own loops."""
        fast, fixed = fast_smoother(self.model, task, rows=True), self.alone.argmax(1).byte()
        assert fast is not None  # an unweighted graph and the compiled loops

        def predict(flips: FlipLists) -> Tensor:
            rows = fast(flips).rows
            assert rows is not None
            label = rows.masked_fill(self.impossible, NEVER).argmax(2).byte()
            return torch.where(self.on_graph, label, fixed)

        return predict


def trained(task: NodeTask, dropout: float) -> ElasticGNN:
    """ElasticGNN (3, 3) after 200 epochs on the fixed split."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(0)
    model = make_model(ModelSettings("elastic", dropout=dropout), task, generator)
    fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    assert isinstance(model, ElasticGNN)
    return model.eval()


def distilled(task: NodeTask, model: ElasticGNN, epochs: int = 300) -> Tensor:
    """Logits (n, c) of a perceptron that has learned what `model` says on the task's graph."""
    clean = model(task.features, task.graph).detach().softmax(1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        student = MLP(task.num_features, 64, task.num_classes, dropout=0.5)
    adam = torch.optim.Adam(student.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(epochs):
        student.train()
        adam.zero_grad()
        guess = student(task.features, noise=DropoutNoise(0, epoch))
        torch.autograd.backward(cross_entropy(guess, clean))
        adam.step()
    return student.eval()(task.features).detach()


def settings() -> list[Dials]:
    """No node uses the graph, then more and more."""
    return [Dials(0.0, 0.0), *(Dials(share, least) for share in SHARES for least in PLAUSIBLE)]


def measure(task: NodeTask, protocol: str, dropout: float, backbone: str) -> list[dict[str, Any]]:
    """The frontier of one group."""
    assert task.split is not None
    began, seen = time.process_time(), task
    if protocol == "inductive":
        seen = task.with_graph(without_nodes(task.graph, task.split.test))
    model = trained(seen, dropout)
    own = model.logits(task.features).detach()
    alone = own if backbone == "own" else distilled(seen, model)
    ways = {dials: UncertainOnGraph(model, alone, dials).eval() for dials in settings()}
    worst = {dials: 1.0 for dials in ways}
    rows = {
        dials: {"protocol": protocol, "dropout": dropout, "backbone": backbone} for dials in ways
    }
    for rate in (0.0, *RATES):
        graphs = [task.graph] if rate == 0 else attacked(task, model, ways, rate)
        for dials, way in ways.items():
            victim = Victim(way, task, task.split.test)
            worst[dials] = min(worst[dials], *(victim.accuracy(graph) for graph in graphs))
            name = "clean" if rate == 0 else f"worst {rate:g}"
            rows[dials] |= {"share": dials.share, "plausible": dials.plausible}
            rows[dials][name] = round(worst[dials], 4)
    found: list[dict[str, Any]] = list(rows.values())
    found[-1]["seconds"] = round(time.process_time() - began, 1)
    return found


def attacked(
    task: NodeTask, model: ElasticGNN, ways: dict[Dials, UncertainOnGraph], rate: float
) -> list[Graph]:
    """What PRBCD leaves through the ElasticGNN and through every setting that uses the graph."""
    assert task.split is not None
    graphs = []
    for way in (model, *(way for dials, way in ways.items() if dials.share)):
        draw, budget = torch.Generator().manual_seed(0), AttackBudget(rate=rate)
        found = attack(task, task.split, budget, "prbcd", way, draw, settings=PRBCD)
        graphs.append(found.apply(task.graph))
    return graphs


def ask_black_box(task: NodeTask, row: dict[str, Any]) -> None:
    """Adds what EvA leaves through the setting of an evasion row with the backbone of its own."""
    assert task.split is not None
    began = time.process_time()
    model = trained(task, row["dropout"])
    dials = Dials(row["share"], row["plausible"])
    way = UncertainOnGraph(model, model.logits(task.features).detach(), dials).eval()
    draw, budget = torch.Generator().manual_seed(0), AttackBudget(rate=EVA_RATE)
    graph = attack(task, task.split, budget, "eva", way, draw).apply(task.graph)
    victim = Victim(way, task, task.split.test)
    row[f"eva {EVA_RATE:g}"] = round(victim.accuracy(graph), 4)
    row["eva clean"] = round(victim.accuracy(task.graph), 4)
    row["eva seconds"] = round(time.process_time() - began, 1)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Clean accuracy against the worst at 25 %, a curve per group and `plausible`."""
    protocols = list(dict.fromkeys(row["protocol"] for row in rows))
    figure = new_figure(len(protocols), sharey=True)
    for axis, protocol in zip(figure.axes, protocols, strict=True):
        mine = [row for row in rows if row["protocol"] == protocol]
        draw_groups(axis, mine)
        axis.set_title(protocol)
        axis.set_xlabel("clean accuracy (%)")
    figure.axes[0].set_ylabel("worst at 25 % (%)")
    legend_below(figure, 2)
    figure.savefig(path)


def draw_groups(axis: Any, rows: list[dict[str, Any]]) -> None:
    """The curves of one protocol, and the corner that the aim leaves."""
    groups = list(dict.fromkeys((row["backbone"], row["dropout"]) for row in rows))
    for number, (backbone, dropout) in enumerate(groups):
        mine = [r for r in rows if (r["backbone"], r["dropout"]) == (backbone, dropout)]
        for least, line in zip(PLAUSIBLE, ("-", ":"), strict=True):
            part = [row for row in mine if row["plausible"] == least or row["share"] == 0]
            part.sort(key=lambda row: row["share"])
            places = [[100 * row[name] for row in part] for name in ("clean", "worst 0.25")]
            label = f"{backbone}, dropout {dropout:g}" + (f", plausible {least:g}" if least else "")
            axis.plot(*places, line, marker="o", color=COLOURS[number], markersize=3, label=label)
    own = [row for row in rows if row["backbone"] == "own" and row["dropout"] == 0.8]
    whole = next(row for row in own if row["share"] == 1 and not row["plausible"])
    none = next(row for row in own if row["share"] == 0)
    reach = 100 * max(none["worst 0.25"], whole["worst 0.25"]) - 1
    axis.axvline(100 * whole["clean"] - 1, color="0.6", linewidth=0.8, label="aim")
    axis.axhline(reach, color="0.6", linewidth=0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("figure", type=Path)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    for group in GROUPS:
        if group not in [(row["protocol"], row["dropout"], row["backbone"]) for row in rows]:
            rows += measure(task, *group)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")
            print(*rows[-9:], sep="\n", flush=True)
        plot(rows, given.figure)
    for row in rows:
        names = ("protocol", "dropout", "backbone", "share", "plausible")
        if tuple(row[name] for name in names) in NEAREST and f"eva {EVA_RATE:g}" not in row:
            ask_black_box(task, row)
            given.output.write_text(json.dumps(rows, indent=1) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
