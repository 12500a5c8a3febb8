"""What no budget or data allow, refused before anything is trained: hours might be lost."""

import torch

from elasticgnn.attack import AttackBudget
from elasticgnn.attack.evaluation import fixed_or_drawn
from elasticgnn.attack.other_flips import check_presence
from elasticgnn.attack.run import check_all_pairs
from elasticgnn.data import NodeTask, Split
from elasticgnn.robustness.local import degrees, flips_at, pick_targets
from elasticgnn.robustness.plan import SHIPPED, RobustnessPlan
from elasticgnn.robustness.public_targets import public_targets
from elasticgnn.robustness.shipped_graphs import shipped_for
from elasticgnn.robustness.store import OTHER_KINDS


def check_feasible(task: NodeTask, plan: RobustnessPlan) -> None:
    """Refuses attacks, rates and seeds of the plan that this task has no place for."""
    if "features" in plan.attacks:
        check_presence(task)
    if "labels" in plan.attacks and task.num_classes < 2:
        raise ValueError(f"labels must be of two classes to be flipped, got {task.num_classes}")
    if "pgd" in plan.attacks:
        check_all_pairs(task.num_nodes)
    for seed in plan.seeds:
        split = split_of(task, plan, seed)
        if plan.protocol == "local":
            check_targets(task, plan, nodes_of(task, plan, split, seed))
        elif SHIPPED in plan.attacks:
            for rate in plan.budgets:
                shipped_for(task, split, rate)
    if plan.protocol != "local" and set(plan.attacks) - set(OTHER_KINDS):
        check_rates(task, plan)


def split_of(task: NodeTask, plan: RobustnessPlan, seed: int) -> Split:
    """The published split that goes with public targets, else the task's own or a drawn one."""
    if plan.public_targets:
        return public_targets(task, seed).split
    return fixed_or_drawn(task, torch.Generator().manual_seed(seed))


def nodes_of(task: NodeTask, plan: RobustnessPlan, split: Split, seed: int) -> torch.Tensor:
    """The nodes that accuracies are of: the targets where each is attacked alone."""
    if plan.protocol != "local":
        return split.test
    if plan.public_targets:
        return public_targets(task, seed).nodes
    draw = torch.Generator().manual_seed(seed)
    return pick_targets(task, split.test, plan.targets, draw)


def check_rates(task: NodeTask, plan: RobustnessPlan) -> None:
    """Refuses more flips than there are pairs."""
    pairs = task.num_nodes * (task.num_nodes - 1) // 2
    for rate in plan.budgets:
        flips = AttackBudget(rate=rate).flips(task.graph)
        if flips > pairs:
            raise ValueError(
                f"rates must stand for at most the {pairs} pairs of nodes, "
                f"got {rate:g} of {task.graph.num_edges} edges"
            )


def check_targets(task: NodeTask, plan: RobustnessPlan, nodes: torch.Tensor) -> None:
    """Refuses more flips at a target than there are other nodes."""
    largest = int(degrees(task)[nodes].max())
    for rate in plan.budgets:
        if flips_at(largest, rate) >= task.num_nodes:
            raise ValueError(
                f"rates must stand for fewer flips at a target than the {task.num_nodes} nodes, "
                f"got {rate:g} of degree {largest}"
            )
