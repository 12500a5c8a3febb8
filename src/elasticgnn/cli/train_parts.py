"""`elasticgnn train FOLDER`: training on a partition folder, alone or under torchrun."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.cli.given import flag
from elasticgnn.cli.say import say

if TYPE_CHECKING:
    from elasticgnn.cli.train_report import Places
    from elasticgnn.distributed.fit import PartedTraining
    from elasticgnn.distributed.folder import PartitionFolder
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan

# options of `train` that mean something on a partition folder
OPTIONS = (
    *("data", "model", "seed", "lambda1", "lambda2", "norm", "concavity", "steps", "alpha"),
    *("hidden", "dropout", "learning_rate", "weight_decay", "epochs", "patience"),
    *("output", "checkpoint", "checkpoint_every", "as_json"),
)


@dataclass(frozen=True)
class PartsRequest:
    """What the options say of a training over parts."""

    seed: int
    checkpoint: Path | None  # None: beside the output, if there is one
    every: int  # epochs between two checkpoints


def train_parts(
    path: Path, settings: ModelSettings, plan: TrainingPlan, asked: PartsRequest, places: Places
) -> None:
    """Every process runs this; the first one speaks and writes."""
    from elasticgnn.distributed import Checkpoints, PartitionFolder, fit_parts
    from elasticgnn.distributed.group import process_group
    from elasticgnn.distributed.stages import check_settings
    from elasticgnn.files import check_output

    check_settings(settings)
    folder = PartitionFolder(path)
    checkpoint, output, seed = asked.checkpoint, places.output, asked.seed
    if output is not None and checkpoint is None:
        checkpoint = output.with_name(f"{output.name}.checkpoint")
    if checkpoint is not None:
        check_output(checkpoint, "checkpoint")
    written = None if checkpoint is None else Checkpoints(checkpoint, asked.every)
    with process_group() as (rank, processes):
        tick = progress_line(plan.epochs) if rank == 0 and not places.as_json else None
        trained = fit_parts(folder, settings, plan, seed=seed, checkpoints=written, progress=tick)
        if rank == 0:
            facts = describe(folder, trained, seed, processes)
            if output is not None:
                trained.with_facts().save(output)
                facts["saved"] = str(output)
            report(facts, places.as_json)
            if checkpoint is not None:
                checkpoint.unlink(missing_ok=True)


def refuse_options(given: Sequence[str]) -> None:
    """Refuses options of `train` that would have no effect on a partition folder."""
    for option in given:
        if option == "page":
            raise ValueError("--report must be asked of `elasticgnn report` for a partition folder")
        if option not in OPTIONS:
            raise ValueError(f"{flag(option)} must be left out for a partition folder, got it")


def check_alone(data: str, options: Sequence[str]) -> None:
    """Refuses several processes, and a checkpoint, for what is not a partition folder."""
    from elasticgnn.distributed.launch import is_launched

    if is_launched():  # each would train all of it, and all would write the same file
        raise ValueError(f"data must be a partition folder for several processes, got {data}")
    for option in options:
        if option in ("checkpoint", "checkpoint_every"):
            raise ValueError(f"{flag(option)} must be given with a partition folder, got {data}")


def progress_line(epochs: int) -> Any:
    """A line every tenth of the way, for logs of several machines."""
    stride = max(1, epochs // 10)

    def tick(done: int) -> None:
        if done % stride == 0:
            say(f"epoch {done} of {epochs}", file=sys.stderr)

    return tick


def describe(
    folder: PartitionFolder, trained: PartedTraining, seed: int, processes: int
) -> dict[str, Any]:
    """What is printed about a training over parts, as values for JSON."""
    from dataclasses import asdict

    history = trained.history
    return {
        "data": folder.manifest.name,
        "folder": str(folder.path),
        "nodes": folder.manifest.num_nodes,
        "edges": folder.manifest.num_edges,
        "parts": len(folder.manifest.parts),
        "processes": processes,
        "settings": asdict(trained.settings),
        "seed": seed,
        "test": history.test_accuracy,
        "validation": history.val_accuracy,
        "selected_epoch": history.selected_epoch,
        "epochs": history.epochs,
        "loss": list(history.loss),
        "val_loss": list(history.val_loss),
        "seconds": history.seconds,
    }


def report(facts: dict[str, Any], as_json: bool) -> None:
    """Prints the facts, as text or as one JSON object."""
    if as_json:
        say(json.dumps({k: None if v != v else v for k, v in facts.items()}))
        return
    say(
        f"{facts['settings']['name']} on {facts['data']}: "
        f"test accuracy {100 * facts['test']:.1f} %, "
        f"validation {100 * facts['validation']:.1f} %, {facts['epochs']} epochs, "
        f"{facts['processes']} processes, {facts['seconds']:.1f} s"
    )
    if "saved" in facts:
        say(f"saved the model as {facts['saved']}")
