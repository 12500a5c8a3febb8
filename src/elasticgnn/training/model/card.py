"""A trained model as a folder that model hubs accept: the file, and a card that describes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticgnn.files import fill_folder, markdown_text
from elasticgnn.training.model.file import model_bytes
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.wrappers.ensemble import count_members

MODEL_FILE = "model.safetensors"
CARD_FILE = "README.md"
BULKY = (
    "split",
    "runs",
    "nodes",
    "leaderboard",
    "curves",
    "conformal",
)  # of the facts: long lists, which stay in the model file


def export_folder(trained: TrainedModel, folder: Path, *, licence: str) -> None:
    """Writes `folder` with the model and its card; nothing is sent anywhere.

    `licence` is what others may do with the model, as a short name ("mit", "cc-by-4.0").
    """
    if not licence.strip() or "\n" in licence:
        raise ValueError(f"licence must be one short name, got {licence!r}")
    card = model_card(trained, licence).encode()
    fill_folder(folder, {MODEL_FILE: model_bytes(trained), CARD_FILE: card}, "folder")


def model_card(trained: TrainedModel, licence: str) -> str:
    """The card in Markdown; its head is the YAML that hubs index."""
    name = trained.data.get("name", "unnamed data")
    return "\n".join(
        [
            "---",
            f"license: {json.dumps(licence)}",
            "library_name: elasticgnn",
            "pipeline_tag: graph-ml",
            f"tags: {json.dumps(['elasticgnn', trained.settings.name, task_tag(trained)])}",
            "---",
            "",
            f"# {markdown_text(f'{trained.family} on {name}')}",
            "",
            *table("What it is", settings_of(trained)),
            *table("Measured", measured(trained.facts)),
            "## How to load",
            "",
            "```python",
            "from elasticgnn.training import TrainedModel",
            "",
            f'trained = TrainedModel.load("{MODEL_FILE}")',
            "prediction = trained.predict(task)  # a NodeTask, from elasticgnn.data.read_task",
            "```",
            "",
        ]
    )


def settings_of(trained: TrainedModel) -> dict[str, Any]:
    """What a reader asks first: data, classes, inputs, and what its kind of model has."""
    settings, classes = trained.settings, ", ".join(trained.class_names)
    known = {
        "data": trained.data.get("name", "unknown"),
        "fingerprint of the data": trained.data.get("fingerprint", "unknown"),
        "classes": classes if trained.unit is None else "none: it predicts a number",
        "feature columns": trained.num_features,
    }
    if settings.name == "elastic":
        known["lambda1, lambda2, norm"] = f"{settings.lambda1}, {settings.lambda2}, {settings.norm}"
    if settings.name == "appnp":
        known["alpha"] = settings.alpha
    if settings.name in ("elastic", "appnp"):
        known["steps"] = settings.steps
    return {**known, "networks": count_members(trained.model)}


def measured(facts: dict[str, Any]) -> dict[str, Any]:
    """The stored facts that fit a line: accuracy, calibration, seed and the like."""
    simple = {name: value for name, value in facts.items() if name not in BULKY}
    return {name: v if isinstance(v, str) else json.dumps(v) for name, v in simple.items()}


def table(title: str, rows: dict[str, Any]) -> list[str]:
    """A heading and a table of two columns; nothing where there are no rows."""
    if not rows:
        return []
    lines = [f"| {markdown_text(name)} | {markdown_text(str(rows[name]))} |" for name in rows]
    return [f"## {title}", "", "| | |", "| --- | --- |", *lines, ""]


def task_tag(trained: TrainedModel) -> str:
    """What hubs call the task of the model."""
    return "node-classification" if trained.unit is None else "node-regression"
