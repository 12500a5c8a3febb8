"""The comparison itself: trains the models of each seed and attacks them by the plan's protocol."""

import time
from dataclasses import replace
from functools import partial

from elasticgnn.attack import AttackBudget, Perturbation, attack
from elasticgnn.attack.methods import SHARED_METHODS
from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.data import NodeTask
from elasticgnn.robustness.contest import UNAFFECTED, Contest, Say
from elasticgnn.robustness.contestant import Contestant
from elasticgnn.robustness.feasible import check_feasible, split_of
from elasticgnn.robustness.local import attack_targets
from elasticgnn.robustness.other_kinds import flip_kind
from elasticgnn.robustness.plan import SHIPPED, RobustnessPlan
from elasticgnn.robustness.routes import poisoning_routes
from elasticgnn.robustness.shipped_graphs import shipped_for
from elasticgnn.robustness.store import OTHER_KINDS, Row, Rows

ATTACKER = 1000  # added to the seed of a poisoner's own network


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
    check_feasible(task, plan)
    rows = Rows() if rows is None else rows
    for seed in plan.seeds:
        contest = Contest(task, split_of(task, plan, seed), plan, seed, rows, say)
        if contest.row(0.0, "none").key not in rows:
            _ = contest.trained  # a row of clean accuracies comes with it
        {"poisoning": poison, "local": attack_locally}.get(plan.protocol, evade)(contest)
    return rows


def evade(contest: Contest) -> None:
    """Every model under the flips found through every model: the transfer matrix."""
    for rate in contest.plan.budgets:
        for method in contest.plan.attacks:
            if method == SHIPPED:
                transfer_shipped(contest, rate)
                continue
            if method in OTHER_KINDS:
                flip_kind(contest, method, rate)
                continue
            for empty in contest.missing(rate, method):
                _, began = contest.trained, time.process_time()
                found = search(contest, method, rate, empty)
                if found is None:
                    contest.put_none(empty)
                    continue
                changed = contest.task.with_graph(found.apply(contest.task.graph))
                contest.put(empty, found, began, contest.accuracies(changed))


def transfer_shipped(contest: Contest, rate: float) -> None:
    """Every model on the attacked graphs that come with the package."""
    for name, found in shipped_for(contest.task, contest.split, rate).items():
        empty = contest.row(rate, SHIPPED, "", name)
        if empty.key not in contest.rows:
            changed = contest.task.with_graph(found.apply(contest.task.graph))
            _, began = contest.trained, time.process_time()
            contest.put(empty, len(found), began, contest.accuracies(changed))


def search(contest: Contest, method: str, rate: float, empty: Row) -> Perturbation | None:
    """The flips, or None where the model hands back no gradient."""
    victim, blamed = contest.victim(empty.source, empty.route), contest.blamed(empty.source)
    try:
        return blamed(lambda: contest.find(method, rate, victim))
    except NoEdgeGradientError:
        return None


def poison(contest: Contest) -> None:
    """Every model is trained anew on graphs changed beforehand, by itself and for all."""
    plan = contest.plan
    for method in plan.attacks:
        for rate in plan.budgets:
            if method in OTHER_KINDS:
                flip_kind(contest, method, rate)
            elif method in SHARED_METHODS:
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
    routes = poisoning_routes(each, untrained)
    if not routes:
        put_unaffected(contest, rate, method, each.name)
    for route, model in routes.items():
        empty, began = contest.row(rate, method, each.name, route), time.process_time()
        if empty.key in contest.rows:
            continue
        budget, draw = AttackBudget(rate=rate), contest.generator(ATTACKER)
        try:
            searched = (contest.task, contest.split, budget, method, model, draw)
            found = each.blamed(partial(attack, *searched, settings=settings))
        except NoEdgeGradientError:
            contest.put_none(empty)
            continue
        task = contest.task.with_graph(found.apply(contest.task.graph))
        contest.put(empty, found, began, {each.name: accuracy_after(contest, each, task)})


def accuracy_after(contest: Contest, each: Contestant, task: NodeTask) -> float:
    """Test accuracy after training on the task's graph."""
    model = each.train(task, contest.split, contest.plan.training, contest.seed)
    return Victim(model, task, contest.split.test).accuracy(task.graph)


def put_unaffected(contest: Contest, rate: float, method: str, name: str) -> None:
    """The row of a model that uses no edge: what it has on the clean graph, for any attacker."""
    empty = contest.row(rate, method, name, UNAFFECTED)
    if empty.key not in contest.rows:
        clean = contest.rows.known[contest.row(0.0, "none").key]
        contest.put(empty, 0, time.process_time(), {name: clean.accuracy[name]})


def attack_locally(contest: Contest) -> None:
    """Each target alone, through the model itself; a rate is a share of its degree."""
    for rate in contest.plan.budgets:
        for method in contest.plan.attacks:
            for name in (name for name, routes in contest.routes.items() if not routes):
                put_unaffected(contest, rate, method, name)
            for empty in contest.missing(rate, method):
                victim = contest.victim(empty.source, empty.route)
                assert victim is not None  # `check_protocol` has refused attacks without one
                model, began = contest.trained[empty.source], time.process_time()
                given = contest.settings(method)
                task, nodes, seed = contest.task, contest.nodes, contest.seed
                searched = (task, nodes, rate, method, victim, model, given, seed)
                left, flips = contest.blamed(empty.source)(partial(attack_targets, *searched))
                if left is None:
                    contest.put_none(empty)
                else:
                    contest.put(empty, flips, began, {empty.source: left})
