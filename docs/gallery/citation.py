"""A citation graph's label signal: 20 known papers per class on Cora, spread by elasticity alone.

    python docs/gallery/citation.py

The signal is one channel per class, 1 at known papers of that class. All other papers are nearly
missing: a small data weight pulls them to "no class" where no citation says otherwise. No feature
is read and nothing is trained. Writes citation.png beside itself.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn.data import NodeTask, load
from elasticgnn.figures import new_figure
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Solution, minimise

PER_CLASS = 20
STRENGTHS = ((0.0, 10.0), (0.02, 10.0), (0.05, 2.0))
WEAK = 0.02  # data weight of a paper whose class is not known


def known_papers(task: NodeTask, generator: torch.Generator) -> Tensor:
    """PER_CLASS papers of every class, at random."""
    order = torch.randperm(task.num_nodes, generator=generator)
    rows = [order[task.labels[order] == k][:PER_CLASS] for k in range(task.num_classes)]
    return torch.cat(rows)


def spread(task: NodeTask, known: Tensor, penalty: ElasticPenalty) -> Solution:
    """The certified class signal (n, classes)."""
    signal = torch.zeros(task.num_nodes, task.num_classes, dtype=torch.float64)
    signal[known, task.labels[known]] = 1.0
    weight = torch.full((task.num_nodes,), WEAK, dtype=torch.float64)
    weight[known] = 1.0
    return minimise(signal, task.graph, penalty, data_weight=weight, rtol=1e-4)


def main(folder: Path) -> Path:
    """The path of the picture."""
    task = load("cora")
    known = known_papers(task, torch.Generator().manual_seed(0))
    hidden = torch.ones(task.num_nodes, dtype=torch.bool)
    hidden[known] = False
    figure = new_figure(len(STRENGTHS), panel=(3.67, 3.9))
    axes = figure.axes
    for axis, (lambda1, lambda2) in zip(axes, STRENGTHS, strict=True):
        solution = spread(task, known, ElasticPenalty(lambda1, lambda2))
        guess = solution.value.argmax(1)
        accuracy = float((guess == task.labels)[hidden].double().mean())
        print(
            f"lambda1 {lambda1}, lambda2 {lambda2}: accuracy {accuracy:.3f}; {solution.summary()}"
        )
        table = torch.zeros(task.num_classes, task.num_classes)
        table.index_put_(
            (task.labels[hidden], guess[hidden]), torch.ones(int(hidden.sum())), accumulate=True
        )
        axis.imshow((table / table.sum(1, keepdim=True)).numpy(), vmin=0, vmax=1, cmap="Blues")
        axis.set_title(f"lambda1 {lambda1}, lambda2 {lambda2}: {100 * accuracy:.1f} %")
        axis.set_xlabel("class by the signal")
        axis.set_ylabel("true class")
    figure.savefig(folder / "citation.png", dpi=110, bbox_inches="tight")
    return folder / "citation.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
