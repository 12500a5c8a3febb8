"""The comparison itself: trains the models of each seed and attacks them by the plan's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from elasticgnn.attack import AttackBudget, Perturbation, attack
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.methods import GRADIENT_METHODS, SHARED_METHODS
from elasticgnn.attack.run import Settings
from elasticgnn.attack.victim import Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.graph import Graph
from elasticgnn.robustness.contestant import Contestant
from elasticgnn.robustness.local import attack_targets, pick_targets
from elasticgnn.robustness.plan import SHIPPED, RobustnessPlan
from elasticgnn.robustness.routes import gradient_routes, hears_graph, poisoning_routes
from elasticgnn.robustness.shipped_graphs import shipped_for
from elasticgnn.robustness.store import Row, Rows

ATTACKER = 1000  # added to the seed of a poisoner's own network
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Contest:
    """One seed of a plan: the task, its split, and the rows that are known."""

    task: NodeTask
    split: Split
    plan: RobustnessPlan
    seed: int
    rows: Rows
    say: Say

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


def measure_robustness(
    task: NodeTask, plan: RobustnessPlan, rows: Rows | None = None, say: Say = lambda line: None
) -> Rows:
    """All rows of the plan; those already in `rows` are not measured again.

    >>> from elasticgnn.attack import GradientSettings
    >>> from elasticgnn.robustness import RobustnessPlan, measure_robustness
    >>> from elasticgnn.robustness import outcomes, read_contestant
    >>> few = GradientSettings(block_size=200, epochs=3, fresh_epochs=2)
    >>> plan = RobustnessPlan(
    ...     (read_contestant("gcn", ModelSettings()),),
    ...     rates=(0.05,), seeds=(0,), training=TrainingPlan(epochs=3), gradient=few)
    >>> sorted({one.mode for one in outcomes(measure_robustness(task, plan).rows())})
    ['adaptive', 'clean', 'worst']
    """
    rows = Rows() if rows is None else rows
    for seed in plan.seeds:
        contest = Contest(task, fixed_or_drawn(task, seed), plan, seed, rows, say)
        {"poisoning": poison, "local": attack_locally}.get(plan.protocol, evade)(contest)
    return rows


def trained_models(contest: Contest) -> dict[Contestant, nn.Module]:
    """The models on the graph that training sees, and a row of their clean accuracy."""
    task = contest.task
    if contest.plan.protocol == "inductive":
        task = task.with_graph(without_nodes(task.graph, contest.split.test))
    plan = contest.plan
    trained = {}
    for each in plan.models:
        contest.say(f"seed {contest.seed}: training {each.name}")
        trained[each] = each.train(task, contest.split, plan.training, contest.seed)
    clean, began = contest.row(0.0, "none"), time.process_time()
    if clean.key not in contest.rows:
        contest.put(clean, 0, began, accuracies(contest, trained, contest.task.graph))
    return trained


def attacked_nodes(contest: Contest) -> Tensor:
    """The nodes that accuracies are of, the clean ones too: the targets where each is alone."""
    test, plan = contest.split.test, contest.plan
    if plan.protocol != "local":
        return test
    return pick_targets(contest.task, test, plan.targets, contest.generator())


def without_nodes(graph: Graph, nodes: Tensor) -> Graph:
    """The graph without the edges of these nodes: they are there, without neighbours."""
    hidden = torch.zeros(graph.num_nodes, dtype=torch.bool)
    hidden[nodes] = True
    gone = hidden[graph.tail] | hidden[graph.head]
    return graph.with_edges_flipped(torch.stack((graph.tail[gone], graph.head[gone]), 1))


def accuracies(
    contest: Contest, trained: dict[Contestant, nn.Module], graph: Graph
) -> dict[str, float]:
    """Accuracy of every model on `graph`, of the attacked nodes."""
    nodes = attacked_nodes(contest)
    return {
        each.name: Victim(model, contest.task, nodes).accuracy(graph)
        for each, model in trained.items()
    }


def evade(contest: Contest) -> None:
    """Every model under the flips found through every model: the transfer matrix."""
    trained = trained_models(contest)
    for rate in contest.plan.budgets:
        for method in contest.plan.attacks:
            if method == SHIPPED:
                transfer_shipped(contest, rate, trained)
                continue
            for source, route, victim in sources(method, trained):
                empty, began = contest.row(rate, method, source, route), time.process_time()
                if empty.key in contest.rows:
                    continue
                found = search(contest, method, rate, victim)
                if found is not None:
                    graph = found.apply(contest.task.graph)
                    contest.put(empty, found, began, accuracies(contest, trained, graph))


def transfer_shipped(contest: Contest, rate: float, trained: dict[Contestant, nn.Module]) -> None:
    """Every model on the attacked graphs that come with the package."""
    for name, found in shipped_for(contest.task, contest.split, rate).items():
        empty, began = contest.row(rate, SHIPPED, "", name), time.process_time()
        if empty.key not in contest.rows:
            graph = found.apply(contest.task.graph)
            contest.put(empty, len(found), began, accuracies(contest, trained, graph))


def sources(
    method: str, trained: dict[Contestant, nn.Module]
) -> Iterator[tuple[str, str, nn.Module | None]]:
    """Name, route and network of everything that `method` goes through."""
    if method in SHARED_METHODS:
        yield "", "", None
        return
    for each, model in trained.items():
        ways = gradient_routes(model) if method in GRADIENT_METHODS else {"itself": model}
        for route, way in ways.items():
            if hears_graph(way):
                yield each.name, route, way


def search(
    contest: Contest, method: str, rate: float, victim: nn.Module | None
) -> Perturbation | None:
    """The flips, or None where the model does not hear the graph or hands back no gradient."""
    try:
        return contest.find(method, rate, victim)
    except ValueError as error:
        if "victim must depend on the graph" not in str(error):
            raise
        return None


def poison(contest: Contest) -> None:
    """Every model is trained anew on graphs changed beforehand, by itself and for all."""
    plan = contest.plan
    trained_models(contest)
    for method in plan.attacks:
        for rate in plan.budgets:
            if method in SHARED_METHODS:
                poison_all(contest, method, rate)
            else:
                for each in plan.models:
                    poison_one(contest, method, rate, each)


def poison_all(contest: Contest, method: str, rate: float) -> None:
    """One list of flips for all models."""
    empty, began = contest.row(rate, method), time.process_time()
    if empty.key in contest.rows:
        return
    found = contest.find(method, rate, None)
    task = contest.task.with_graph(found.apply(contest.task.graph))
    after = {each.name: accuracy_after(contest, each, task) for each in contest.plan.models}
    contest.put(empty, found, began, after)


def poison_one(contest: Contest, method: str, rate: float, each: Contestant) -> None:
    """PRBCD through the model and its neighbours as they train, then a new training."""
    untrained = each.untrained(contest.task, contest.generator(ATTACKER))
    settings = replace(contest.plan.gradient, poisoning=contest.plan.poisoning)
    for route, way in poisoning_routes(each, untrained).items():
        empty, began = contest.row(rate, method, each.name, route), time.process_time()
        if empty.key in contest.rows:
            continue
        budget, draw = AttackBudget(rate=rate), contest.generator(ATTACKER)
        try:
            found = attack(
                contest.task, contest.split, budget, method, way, draw, settings=settings
            )
        except ValueError as error:
            if "victim must depend on the graph" not in str(error):
                raise
            return
        task = contest.task.with_graph(found.apply(contest.task.graph))
        contest.put(empty, found, began, {each.name: accuracy_after(contest, each, task)})


def accuracy_after(contest: Contest, each: Contestant, task: NodeTask) -> float:
    """Test accuracy after training on the task's graph."""
    model = each.train(task, contest.split, contest.plan.training, contest.seed)
    return Victim(model, task, contest.split.test).accuracy(task.graph)


def attack_locally(contest: Contest) -> None:
    """Each target alone, through the model itself; a rate is a share of its degree."""
    trained, plan = trained_models(contest), contest.plan
    nodes = attacked_nodes(contest)
    for rate in plan.budgets:
        for method in plan.attacks:
            for source, route, victim in sources(method, trained):
                empty, began = contest.row(rate, method, source, route), time.process_time()
                if empty.key in contest.rows or victim is None:
                    continue
                model = next(model for each, model in trained.items() if each.name == source)
                given = contest.settings(method)
                left, flips = attack_targets(
                    contest.task, nodes, rate, method, victim, model, given, contest.seed
                )
                if left is not None:
                    contest.put(empty, flips, began, {source: left})
