"""The graph that an attack works on: features as models get them, edges of weight 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elasticgnn.cli.say import say_notes

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.training import TrainedModel


def attacked_graph(
    given: NodeTask,
    known: TrainedModel | None = None,
    *,
    own: bool,
    component: bool = True,
    binary: bool = False,
) -> NodeTask:
    """The task as it is attacked, after notes on what was left out of it.

    known: a trained victim, which gets features and weights as in its training; own: whether the
    files are one's own; component: the largest one alone; binary: features that are 0 or 1.
    """
    from elasticgnn.attack.perturbation import component_task
    from elasticgnn.data.unweighted import without_weights
    from elasticgnn.robustness.presence import as_presence
    from elasticgnn.training.model.known_classes import as_fed

    given = given if known else without_weights(given)
    whole = as_presence(given) if binary else as_fed(given, known, own=own)
    task = component_task(whole) if component else whole
    say_notes([*whole.notes, *left_out(whole, task)])
    return task


def left_out(whole: NodeTask, part: NodeTask) -> list[str]:
    """A note on nodes beside the largest component."""
    if part.num_nodes == whole.num_nodes:
        return []
    rest = f"{part.num_nodes} of {whole.num_nodes} nodes"
    return [f"only the largest component is attacked: {rest}"]
