"""EvA against PRBCD at equal budget on the Cora component (docs/robustness_details.md).

    python studies/eva.py results/attacks/eva.json [--models gcn,elastic] [--rates 0.05,0.1]
        [--setting all|few] [--methods prbcd,eva,eva-plain] [--generations 300] [--seeds 1]
        [--together 64]

all: one network on the fixed split, every test node is attacked, the budget is a share of all
edges. few: the published setting. A tenth of the nodes is attacked, training sees no edge of
theirs, the budget is a share of the edges at them. PRBCD has the schedule that
`studies/schedule.py` settled on; "eva-plain" is EvA without the rounds of local search, as long as
`--plain` generations say. `--together 1` is EvA that tries each pair on a graph of its own, 600
generations unless told otherwise. A row holds what each leaves of the attacked nodes, EvA's curve
over graphs judged, and seconds of processor time. A seed is that of the network's training and of
the attacks. Rows that the file has are not run again.
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn

from elasticgnn.attack import AttackBudget, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack import run as attack_run
from elasticgnn.attack.run import Settings
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, load
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.robustness.contest import without_nodes
from elasticgnn.training import TrainingPlan, fit, make_model

DATA = "cora-meta-0"
PRBCD = GradientSettings(epochs=250, fresh_epochs=200, block_size=50_000, restarts=2)
ALONE = EvolutionSettings(generations=600, screened=2000, screen_every=20, together=1)
POINTS = 40  # of the curve
KEY = ("seed", "model", "setting", "rate", "method")


def trained(task: NodeTask, name: str, seed: int) -> nn.Module:
    """The model with default settings after 200 epochs."""
    assert task.split is not None
    generator = torch.Generator().manual_seed(seed)
    model = make_model(name, task, generator)
    fit(model, task, task.split, TrainingPlan(epochs=200), generator)
    return model


class Counter:
    """A predictor that counts the graphs it judged, and a curve over them."""

    def __init__(self) -> None:
        self.judged = 0
        self.curve: list[tuple[int, float]] = []

    def counting(self, model: nn.Module, task: NodeTask) -> object:
        """What `predictor` makes, counted."""
        inner = PREDICTOR(model, task)

        def predict(flips: FlipLists) -> Tensor:
            self.judged += len(flips)
            return inner(flips)

        return predict

    def note(self, _: int, share: float) -> None:
        """A point of the curve: graphs judged, accuracy left."""
        self.curve.append((self.judged, round(1 - share, 4)))


PREDICTOR = attack_run.predictor


def aimed(task: NodeTask, setting: str, rate: float) -> tuple[NodeTask, Tensor, AttackBudget]:
    """What training sees, the nodes attacked, and the flips allowed."""
    assert task.split is not None
    test, graph = task.split.test, task.graph
    if setting == "all":
        return task, test, AttackBudget(rate=rate)
    drawn = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))
    nodes = test[drawn[: task.num_nodes // 10]].sort().values
    at_them = torch.isin(graph.tail, nodes) | torch.isin(graph.head, nodes)
    budget = AttackBudget(edges=int(rate * int(at_them.sum()) + 1e-9))
    return task.with_graph(without_nodes(graph, nodes)), nodes, budget


def measure(
    task: NodeTask, name: str, setting: str, rate: float, method: str, seed: int, given: Settings
) -> dict[str, object]:
    """One row of the record."""
    assert task.split is not None
    seen, nodes, budget = aimed(task, setting, rate)
    model, began, counter = trained(seen, name, seed), time.process_time(), Counter()
    attack_run.predictor = counter.counting  # counts what is judged
    draw = torch.Generator().manual_seed(seed)
    found = attack(
        task,
        task.split,
        budget,
        method.removesuffix("-plain"),
        model,
        draw,
        settings=given,
        targets=nodes,
        progress=counter.note,
    )
    victim = Victim(model, task, nodes)
    row: dict[str, object] = {"model": name, "setting": setting, "rate": rate, "method": method}
    row |= {
        "seed": seed,
        "nodes": len(nodes),
        "flips": len(found),
        "allowed": budget.flips(task.graph),
    }
    row |= {"clean": round(victim.accuracy(task.graph), 4)}
    row |= {"left": round(victim.accuracy(found.apply(task.graph)), 4)}
    row |= {"seconds": round(time.process_time() - began, 1)}
    if isinstance(given, EvolutionSettings):
        row |= {"generations": given.generations, "judged": counter.judged}
        every = max(1, len(counter.curve) // POINTS)
        row["curve"] = counter.curve[::every] + counter.curve[-1:]
    return row


def evolution(together: int, generations: int | None) -> EvolutionSettings:
    """The effort of EvA, as long as it usually is unless told otherwise."""
    usual = ALONE if together == 1 else EvolutionSettings(together=together)
    return replace(usual, generations=generations or usual.generations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--models", default="gcn,elastic")
    parser.add_argument("--rates", default="0.05,0.1")
    parser.add_argument("--setting", choices=("all", "few"), default="all")
    parser.add_argument("--methods", default="prbcd,eva")
    parser.add_argument("--generations", type=int)
    parser.add_argument("--together", type=int, default=EvolutionSettings.together)
    parser.add_argument("--plain", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    task = load(DATA)
    rows = json.loads(given.output.read_text()) if given.output.exists() else []
    done = [tuple(row[name] for name in KEY) for row in rows]
    methods: dict[str, Settings] = {
        "prbcd": PRBCD,
        "eva": evolution(given.together, given.generations),
        "eva-plain": EvolutionSettings(generations=given.plain, screened=0),
    }
    parts = (given.models.split(","), [given.setting], map(float, given.rates.split(",")))
    for key in product(range(given.seeds), *parts, given.methods.split(",")):
        seed, name, setting, rate, method = key
        if key not in done:
            rows.append(measure(task, name, setting, rate, method, seed, methods[method]))
            print({k: v for k, v in rows[-1].items() if k != "curve"}, flush=True)
            given.output.write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
