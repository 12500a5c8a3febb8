"""`elasticgnn inspect`: the edges of a graph, those that look wrong first."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from elasticgnn.attack import EdgeScores
    from elasticgnn.data import NodeTask
    from elasticgnn.graph import Graph
    from elasticgnn.training import TrainedModel

COLUMNS = (
    "source",
    "target",
    "score",
    "difference",
    "proposed",
    "disagreement",
    "saturation",
    "source_class",
    "target_class",
)


def register(app: typer.Typer) -> None:
    app.command("inspect")(inspect)


def inspect(
    model: Annotated[Path, typer.Argument(help="ElasticGNN file from `elasticgnn train -o`")],
    edges: Annotated[
        str | None,
        typer.Argument(
            help="edge file, or the name of a data set [default: what it was trained on]"
        ),
    ] = None,
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    labels: Annotated[Path | None, typer.Option(help="known classes, trusted in the score")] = None,
    attack: Annotated[
        Path | None, typer.Option(help="inspect the graph after these flips, and grade the score")
    ] = None,
    drop: Annotated[int, typer.Option(help="also write the graph without the N worst edges")] = 0,
    cleaned: Annotated[
        Path | None, typer.Option(help="file for that graph [default: beside the output]")
    ] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ranks every edge by how wrong it looks to the model: its difference, its ends' classes."""
    from elasticgnn.attack import load_perturbation, score_edges
    from elasticgnn.training import TrainedModel

    trained = TrainedModel.load(model)
    clean, known = read(edges or data_of(trained), features, labels, data_root)
    flips = None if attack is None else load_perturbation(attack)
    task = clean if flips is None else flips.apply_to(clean)
    known = known if flips is None or flips.split is None else flips.split.train
    trained.predict(task)  # refuses a task that the model does not fit
    scores = score_edges(trained.model, task, known)
    facts: dict[str, Any] = {"data": task.name, "edges": task.graph.num_edges}
    if flips is not None:
        facts |= grade(scores, clean, task)
    if output is not None:
        write(output, ranking(scores, task, trained))
        facts["saved"] = str(output)
    if drop:
        beside = Path("edges.csv") if output is None else output
        path = cleaned or beside.with_name(f"{beside.stem}_cleaned.csv")
        facts |= clean_up(scores, task, drop, path)
    report(facts, scores, task, trained, as_json)


def data_of(trained: TrainedModel) -> str:
    """The name of the data set that the model was trained on."""
    from elasticgnn.data import catalogue

    name = trained.data.get("name", "")
    if name not in catalogue():
        raise ValueError("edges must be given for a model that was trained on own files, got none")
    return name


def read(
    edges: str, features: Path | None, labels: Path | None, data_root: Path | None
) -> tuple[NodeTask, Tensor | None]:
    """The task, and the nodes whose class may be used: all those of one's own label file."""
    from elasticgnn.data import catalogue, load, read_task

    if not Path(edges).exists() and edges in catalogue():
        task = load(edges, root=data_root)
        return task, task.split.train if task.split is not None else None
    task = read_task(Path(edges), features, labels)
    return task, task.labelled if labels is not None else None


def grade(scores: EdgeScores, clean: NodeTask, attacked: NodeTask) -> dict[str, float | int]:
    """How well the score finds the inserted edges."""
    import torch

    from elasticgnn.attack import precision_at, roc_area
    from elasticgnn.attack.perturbation import component_task
    from elasticgnn.attack.relaxed import edge_keys

    part = clean if clean.num_nodes == attacked.num_nodes else component_task(clean)
    inserted = ~torch.isin(edge_keys(attacked.graph), edge_keys(part.graph))
    count = int(inserted.sum())
    return {
        "inserted": count,
        "roc_area": roc_area(scores.score, inserted),
        "precision_at_inserted": precision_at(scores.score, inserted, count),
    }


def ranking(scores: EdgeScores, task: NodeTask, trained: TrainedModel) -> list[dict[str, object]]:
    """One row per edge, the most suspicious first."""
    ids = list(range(task.num_nodes)) if task.node_ids is None else list(task.node_ids)
    order = scores.order()
    tail, head = scores.graph.tail[order].tolist(), scores.graph.head[order].tolist()
    measures = ("score", "difference", "proposed", "disagreement", "saturation")
    columns = [getattr(scores, name)[order].tolist() for name in measures]
    classes = [trained.class_names[k] for k in scores.label.tolist()]
    return [
        {
            "source": ids[i],
            "target": ids[j],
            **{name: round(x, 6) for name, x in zip(measures, values, strict=True)},
            "source_class": classes[i],
            "target_class": classes[j],
        }
        for i, j, *values in zip(tail, head, *columns, strict=True)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    from elasticgnn.training.model_file import write_whole

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())


def clean_up(scores: EdgeScores, task: NodeTask, drop: int, path: Path) -> dict[str, Any]:
    """Writes the graph without its worst edges, and measures a GCN on both graphs."""
    from elasticgnn.attack.evaluation import accuracy_of

    graph = scores.without_worst(drop)
    write_graph(path, graph, task)
    facts: dict[str, Any] = {"dropped": drop, "cleaned": str(path)}
    if len(task.labelled) >= 2 * task.num_classes:
        facts["gcn_before"] = accuracy_of("gcn", task)
        facts["gcn_after"] = accuracy_of("gcn", task.with_graph(graph))
    return facts


def write_graph(path: Path, graph: Graph, task: NodeTask) -> None:
    """The edges as CSV, by the names of their nodes."""
    from elasticgnn.training.model_file import write_whole

    ids = list(range(task.num_nodes)) if task.node_ids is None else list(task.node_ids)
    pairs = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
    lines = ["source,target", *(f"{ids[i]},{ids[j]}" for i, j in pairs)]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def report(
    facts: dict[str, Any],
    scores: EdgeScores,
    task: NodeTask,
    trained: TrainedModel,
    as_json: bool,
) -> None:
    worst = ranking(scores, task, trained)[:10]
    if as_json:
        print(json.dumps({**facts, "worst": worst}))
        return
    print(f"{facts['edges']} edges of {facts['data']}; the most suspicious:")
    for row in worst:
        print(
            f"  {row['source']} - {row['target']}: score {row['score']:.3f}, difference "
            f"{row['difference']:.3f}, {row['source_class']} / {row['target_class']}"
        )
    if "roc_area" in facts:
        print(
            f"inserted edges: {facts['inserted']}, area under ROC {facts['roc_area']:.3f}, "
            f"precision at that number {facts['precision_at_inserted']:.3f}"
        )
    if "cleaned" in facts:
        print(f"without the {facts['dropped']} worst: {facts['cleaned']}")
    if "gcn_after" in facts:
        print(
            f"GCN without the {facts['dropped']} worst: {100 * facts['gcn_before']:.1f} % -> "
            f"{100 * facts['gcn_after']:.1f} %"
        )
