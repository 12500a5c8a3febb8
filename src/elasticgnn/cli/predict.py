"""`elasticgnn predict`: what a saved model says of every node."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask
    from elasticgnn.training import Prediction, TrainedModel


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    model: Annotated[Path, typer.Argument(help="model file from `elasticgnn train -o`")],
    edges: Annotated[str, typer.Argument(help="edge file, or the name of a data set")],
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Writes node, class, probability, and how far its neighbours moved it (0 to 1)."""
    from elasticgnn.training import TrainedModel

    trained = TrainedModel.load(model)
    task = read(edges, features, data_root)
    prediction = trained.predict(task)
    rows = table(task, trained, prediction)
    if as_json:
        print(json.dumps({"model": str(model), "predictions": rows}))
        if output is None:
            return
    text = as_csv(rows)
    if output is None:
        print(text, end="")
        return
    from elasticgnn.training.model_file import write_whole

    write_whole(output, text.encode())
    if not as_json:
        moved = int((prediction.moved > 0.5).sum())
        print(f"{len(rows)} nodes written to {output}; {moved} were mostly moved by neighbours")


def read(edges: str, features: Path | None, data_root: Path | None) -> NodeTask:
    """The nodes to speak about, from files or by the name of a data set."""
    from elasticgnn.data import catalogue, load, read_task

    if not Path(edges).exists() and edges in catalogue():
        return load(edges, root=data_root)
    return read_task(Path(edges), features)


def table(task: NodeTask, trained: TrainedModel, prediction: Prediction) -> list[dict[str, object]]:
    """One row per node."""
    ids = range(task.num_nodes) if task.node_ids is None else task.node_ids
    columns = (prediction.label, prediction.confidence, prediction.moved)
    rows = zip(ids, *(column.tolist() for column in columns), strict=True)
    return [
        {
            "node": node,
            "class": trained.class_names[label],
            "probability": round(probability, 6),
            "moved": round(moved, 6),
        }
        for node, label, probability, moved in rows
    ]


def as_csv(rows: list[dict[str, object]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, ["node", "class", "probability", "moved"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
