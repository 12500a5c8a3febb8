"""What `elasticgnn train` says of models trained with given settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.cli.say import say

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.training import TrainedModel


@dataclass(frozen=True)
class Places:
    """Where a training writes its model and the page about it, and how it prints."""

    output: Path | None
    page: Path | None
    as_json: bool

    def check(self, inputs: tuple[Path | None, ...]) -> None:
        """Refuses places that could not be written, before the work."""
        from elasticgnn.files import check_apart, check_output

        check_apart(self.output, self.page, ("output", "report"))
        for path, name in ((self.output, "output"), (self.page, "report")):
            if path is not None:
                check_output(path, name, inputs)

    def write(self, trained: TrainedModel, task: NodeTask) -> dict[str, str]:
        """Writes the model and the page, as far as they are wanted; where they are."""
        from elasticgnn.cli.report import write_page_of

        facts = {}
        if self.output is not None:
            trained.save(self.output)
            facts["saved"] = str(self.output)
        if self.page is not None:
            write_page_of(trained, task, self.page)
            facts["report"] = str(self.page)
        return facts


def report(facts: dict[str, Any], as_json: bool) -> None:
    """Prints accuracies and notes, as text or as one JSON object."""
    if as_json:
        say(json.dumps(none_for_nan(facts)))
        return
    for note in facts["notes"]:
        say(f"note: {note}")
    count = facts["splits"]
    say(
        f"{facts['settings']['name']} on {facts['data']}: test accuracy {measured(facts['test'])} "
        f"over {count} split{'s' * (count > 1)}, validation {measured(facts['validation'])}, "
        f"{facts['seconds']:.1f} s"
    )
    say(beside_majority(facts))
    if "saved" in facts:
        say(f"saved the best model in validation as {facts['saved']}")
    if "report" in facts:
        say(f"wrote the page about it to {facts['report']}")


def measured(summary: dict[str, Any]) -> str:
    """Mean and deviation in percent; unknown without a test node."""
    if summary["mean"] != summary["mean"]:
        return "unknown"
    spread = f" ± {100 * summary['deviation']:.1f}" if summary["count"] > 1 else ""
    return f"{100 * summary['mean']:.1f}{spread} %"


def beside_majority(facts: dict[str, Any]) -> str:
    """What the accuracy is worth beside always naming the most frequent class."""
    name, share = facts["majority"]["class"], facts["majority"]["accuracy"]
    if share != share:
        return (
            "WARNING: no labelled node is left to test on (4 of a class are needed): "
            "how good this model is, is unknown"
        )
    baseline = f"always saying {name!r} is right for {100 * share:.1f} %"
    if facts["beats_majority"]:
        return baseline
    return f"WARNING: this model has learned nothing of use: {baseline}, no less than the model"


def none_for_nan(value: Any) -> Any:
    """JSON has no nan."""
    if isinstance(value, dict):
        return {key: none_for_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [none_for_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value
