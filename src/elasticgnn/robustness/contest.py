"""One seed of a comparison: its models, trained when first asked for, and what is known of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import torch
from torch import Tensor, nn

from elasticgnn.attack import AttackBudget, Perturbation, attack
from elasticgnn.attack.methods import GRADIENT_METHODS, SHARED_METHODS
from elasticgnn.attack.run import Settings
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.graph import Graph
from elasticgnn.robustness.feasible import nodes_of
from elasticgnn.robustness.plan import RobustnessPlan
from elasticgnn.robustness.routes import gradient_routes, uses_graph
from elasticgnn.robustness.store import Row, Rows

Found = TypeVar("Found")
Say = Callable[[str], None]
UNAFFECTED = "no edges used"  # the route of a model that no flip can reach


@dataclass(frozen=True, eq=False)
class Contest:
    """One seed of a plan: the task, its split, and the rows that are known."""

    task: NodeTask
    split: Split
    plan: RobustnessPlan
    seed: int
    rows: Rows
    say: Say

    @cached_property
    def trained(self) -> dict[str, nn.Module]:
        """The models by name on the graph that training sees; a row of their clean accuracy."""
        task, plan, models, cost = self.task, self.plan, dict[str, nn.Module](), dict[str, float]()
        if plan.protocol == "inductive":
            task = task.with_graph(without_nodes(task.graph, self.split.test))
        for each in plan.models:
            self.say(f"seed {self.seed}: training {each.name}")
            began = time.process_time()
            models[each.name] = each.train(task, self.split, plan.training, self.seed)
            cost[each.name] = round(time.process_time() - began, 2)
        clean, began = replace(self.row(0.0, "none"), training=cost), time.process_time()
        accuracy = self.accuracies(self.task, models)
        if clean.key in self.rows:
            self.compare(self.rows.known[clean.key].accuracy, accuracy)
        else:
            self.put(clean, 0, began, accuracy)
        return models

    def compare(self, stored: dict[str, float], now: dict[str, float]) -> None:
        """Tells of models that training has made otherwise than for the stored rows."""
        changed = [
            f"{name} {100 * now[name]:.2f} % instead of {100 * before:.2f}"
            for name, before in stored.items()
            if now[name] != before
        ]
        if changed:
            self.say(
                f"note: seed {self.seed}: on the clean graph {', '.join(changed)}: the stored rows "
                "are of networks that another machine or version trained"
            )

    @cached_property
    def nodes(self) -> Tensor:
        """The nodes that accuracies are of, the clean ones too: the targets where each is alone."""
        return nodes_of(self.task, self.plan, self.split, self.seed)

    def accuracies(
        self, task: NodeTask, models: dict[str, nn.Module] | None = None
    ) -> dict[str, float]:
        """Accuracy of every trained model on `task`, of the attacked nodes."""
        models = self.trained if models is None else models
        return {
            name: Victim(model, task, self.nodes).accuracy(task.graph)
            for name, model in models.items()
        }

    @cached_property
    def routes(self) -> dict[str, tuple[str, ...]]:
        """By model the routes of a gradient attack that use the graph: settings alone tell."""
        found = {}
        for each in self.plan.models:
            model = each.finished(each.untrained(self.task, self.generator()))
            every = gradient_routes(model).items()
            found[each.name] = tuple(name for name, model in every if uses_graph(model))
        return found

    def sources(self, method: str) -> Iterator[tuple[str, str]]:
        """Model and route of everything that `method` goes through, "" where that is no model."""
        if method in SHARED_METHODS:
            yield "", ""
            return
        for name, routes in self.routes.items():
            itself = routes[:1]  # what an attack without a gradient sees
            for route in routes if method in GRADIENT_METHODS else itself:
                yield name, route

    def victim(self, source: str, route: str) -> nn.Module | None:
        """The trained network of a source, None for none."""
        return gradient_routes(self.trained[source])[route] if source else None

    def blamed(self, source: str) -> Callable[[Callable[[], Found]], Found]:
        """How an attack through a model of this name is run, so that its errors name it."""
        return next((each.blamed for each in self.plan.models if each.name == source), call)

    def generator(self, offset: int = 0) -> torch.Generator:
        """A generator of the seed, moved on by `offset`."""
        return torch.Generator().manual_seed(self.seed + offset)

    def settings(self, method: str) -> Settings | None:
        """How hard `method` tries."""
        if method in GRADIENT_METHODS:
            return self.plan.gradient
        if method == "eva":
            return self.plan.evolution
        return self.plan.metattack if method == "metattack" else None

    def find(self, method: str, rate: float, victim: nn.Module | None) -> Perturbation:
        """The flips of one attack."""
        budget, given = AttackBudget(rate=rate), self.settings(method)
        draw = self.generator()
        return attack(self.task, self.split, budget, method, victim, draw, settings=given)

    def put(
        self, empty: Row, flips: Perturbation | int, began: float, accuracy: dict[str, float]
    ) -> None:
        """Stores a row, with its flips where they are one list, and tells of it."""
        seconds = round(time.process_time() - began, 2)
        found, count = (None, flips) if isinstance(flips, int) else (flips, len(flips))
        row = replace(empty, accuracy=accuracy, flips=count, seconds=seconds)
        self.rows.add(row, found)
        worst = ", ".join(f"{name} {100 * value:.1f}" for name, value in accuracy.items())
        source = f" through {row.source} ({row.route})" if row.source else ""
        self.say(f"seed {row.seed}, {row.attack} {100 * row.rate:g} %{source}: {worst}")

    def row(self, rate: float, method: str, source: str = "", route: str = "") -> Row:
        """An empty row of the results of this seed."""
        return Row(self.plan.protocol, self.seed, rate, method, source, route, {})

    def missing(self, rate: float, method: str) -> Iterator[Row]:
        """Empty rows of all sources of an attack that are not known yet."""
        rows = (self.row(rate, method, *source) for source in self.sources(method))
        return (row for row in rows if row.key not in self.rows)

    def put_none(self, empty: Row, of: str = "edges") -> None:
        """Stores that a model hands back no gradient, so that nobody asks it again."""
        self.rows.add(empty)
        self.say(
            f"seed {empty.seed}, {empty.attack}: {empty.source} hands back no gradient of the "
            f"{of}; it is attacked by others' flips{' and by eva' * (of == 'edges')}"
        )


def call(work: Callable[[], Found]) -> Found:
    """What `work` gives."""
    return work()


def without_nodes(graph: Graph, nodes: Tensor) -> Graph:
    """The graph without the edges of these nodes: they are there, without neighbours."""
    hidden = torch.zeros(graph.num_nodes, dtype=torch.bool)
    hidden[nodes] = True
    gone = hidden[graph.tail] | hidden[graph.head]
    return graph.with_edges_flipped(torch.stack((graph.tail[gone], graph.head[gone]), 1))
