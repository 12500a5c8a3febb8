"""What trainings on several splits are worth, and the best model with what its file says."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from elasticgnn.data import NodeTask, Split
from elasticgnn.training.model.trained_model import TrainedModel, trained_on
from elasticgnn.training.repeats.majority import majority_class
from elasticgnn.training.repeats.repeat import Repeated
from elasticgnn.training.repeats.summary import summarize


def describe(task: NodeTask, repeated: Repeated, seed: int, *, by_id: bool) -> dict[str, Any]:
    """What came out of the trainings, as plain values for JSON."""
    histories = repeated.histories
    test = summarize([history.test_accuracy for history in histories])
    majority = asdict(majority_class(task, repeated.splits))
    return {
        "data": task.name,
        "nodes": task.num_nodes,
        "edges": task.graph.num_edges,
        "classes": list(task.class_names),
        "notes": list(task.notes),
        "settings": asdict(repeated.settings),
        "splits": len(histories),
        "split_by_id": by_id and task.node_ids is not None,
        "test": asdict(test),
        "majority": {"class": majority["name"], "accuracy": majority["accuracy"]},
        "beats_majority": test.mean > majority["accuracy"],
        "validation": asdict(summarize([history.val_accuracy for history in histories])),
        "runs": [
            {
                "seed": seed + number,
                "test": history.test_accuracy,
                "validation": history.val_accuracy,
                "selected_epoch": history.selected_epoch,
                "epochs": history.epochs,
                "seconds": history.seconds,
                "split": split_lists(repeated.splits[number], task, by_id),
            }
            for number, history in enumerate(histories)
        ],
        "seconds": sum(history.seconds for history in histories),
    }


def split_lists(split: Split, task: NodeTask, by_id: bool) -> dict[str, list[Any]]:
    """The nodes of each part: by their ids in one's own files, else by their numbers."""
    lists = split.to_lists()
    ids = task.node_ids
    if not by_id or ids is None:
        return dict(lists)
    return {name: [ids[node] for node in nodes] for name, nodes in lists.items()}


def best_model(task: NodeTask, repeated: Repeated, facts: dict[str, Any]) -> TrainedModel:
    """The model that did best in validation, with its seed, split and curves."""
    best = facts["runs"][repeated.best]
    known = {
        "seed": best["seed"],
        "split": best["split"],
        "split_by_id": facts["split_by_id"],
        "test_accuracy": facts["test"]["mean"],
        "test": facts["test"],
        "majority": facts["majority"],
        "curves": [history.curves() for history in repeated.histories],
    }
    model = repeated.model(task, repeated.best)
    return trained_on(task, model, repeated.settings, known)
