"""`elasticgnn inspect`: the edges of a graph, those that look wrong first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say
from elasticgnn.cli.task_files import as_attacked, read_for

if TYPE_CHECKING:
    from torch import Tensor

    from elasticgnn.attack import EdgeScores
    from elasticgnn.attack.number_suspicion import NumberEdgeScores
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import TrainedModel

MEASURES = {
    "class": ("score", "difference", "proposed", "disagreement", "saturation"),
    "value": ("score", "difference", "proposed", "saturation"),
}


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("inspect")(reads_tables(inspect))


def inspect(
    model: Annotated[Path, typer.Argument(help="model file from `elasticgnn train -o`")],
    edges: Annotated[
        str | None,
        typer.Argument(
            help="edge file, or the name of a data set (default: what it was trained on)"
        ),
    ] = None,
    features: Annotated[Path | None, typer.Option(help="features of the nodes")] = None,
    labels: Annotated[Path | None, typer.Option(help="known classes, trusted in the score")] = None,
    attack: Annotated[
        Path | None, typer.Option(help="inspect the graph after these flips, and grade the score")
    ] = None,
    drop: Annotated[int, typer.Option(help="also write the graph without the N worst edges")] = 0,
    cleaned: Annotated[
        Path | None, typer.Option(help="file for that graph (default: beside the output)")
    ] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Ranks every edge by how wrong it looks to the model: its difference, its ends' classes.

    An ElasticGNN also knows the dual of each edge; other models are asked for their outputs.
    A model of --target number ranks by how far the numbers of the two ends are apart.
    The CSV has a row for each edge, the most suspicious first.
    Example: elasticgnn inspect m.st edges.csv --features features.csv --drop 50 --cleaned clean.csv
    """
    from dataclasses import asdict

    from elasticgnn.attack import load_perturbation
    from elasticgnn.attack.grading import grade_scores
    from elasticgnn.training import TrainedModel

    beside = Path("edges.csv") if output is None else output
    target = cleaned or beside.with_name(f"{beside.stem}_cleaned.csv")
    if cleaned is not None and drop == 0:
        raise ValueError(f"--drop must be given with --cleaned, got {cleaned} alone")
    check_places(output, target if drop else None, (model, features, labels, attack), edges)
    trained = TrainedModel.load(model)
    flips = None if attack is None else load_perturbation(attack)
    clean = as_attacked(read_for(trained, edges, features, labels, data_root, layout), flips)
    task = clean if flips is None else flips.apply_to(clean)
    known = known_nodes(clean, own=labels is not None)
    known = known if flips is None or flips.split is None else flips.split.train
    task, scores, notes = scored(trained, task, known)
    scores.without_worst(drop)  # refuses more edges than there are, before anything is written
    facts: dict[str, Any] = {"data": task.name, "edges": task.graph.num_edges, "notes": notes}
    if flips is not None:
        facts |= asdict(grade_scores(scores, clean, task))
    if output is not None:
        write(output, kind_of(trained), ranking(scores, task, trained))
        facts["saved"] = str(output)
    if drop:
        facts |= clean_up(scores, task, drop, target)
    report(facts, scores, task, trained, as_json)


def check_places(
    output: Path | None, cleaned: Path | None, inputs: tuple[Path | None, ...], edges: str | None
) -> None:
    """Refuses files that could not be written; a cleaned graph may take the graph's place."""
    from elasticgnn.files import check_apart, check_output

    if output is not None:
        check_output(output, inputs=(*inputs, edges))
    if cleaned is not None:
        check_output(cleaned, "cleaned", inputs)
        check_apart(output, cleaned, ("output", "cleaned"))


def known_nodes(task: NodeTask, *, own: bool) -> Tensor | None:
    """The nodes whose class may be used: all those of one's own label file, or the training's."""
    if own:
        return task.labelled
    return None if task.split is None else task.split.train


def scored(
    trained: TrainedModel, task: NodeTask, known: Tensor | None
) -> tuple[NodeTask, EdgeScores | NumberEdgeScores, list[str]]:
    """The task and its edges as the model sees them, and notes on their order."""
    from elasticgnn.attack import score_edges
    from elasticgnn.attack.number_suspicion import score_number_edges
    from elasticgnn.report.model.findings import suspicion_notes
    from elasticgnn.report.model.number_findings import NOTE
    from elasticgnn.training.model.known_classes import with_known_classes

    if trained.unit is not None:
        read_so = trained.with_known_columns(task).notes
        return task, score_number_edges(trained, task), [*read_so, NOTE]
    if known is not None:  # their labels must mean the classes of the model
        task = with_known_classes(task, trained.class_names)
    task = trained.prepared(task)  # refuses a task that the model does not fit
    notes = [*task.notes, *suspicion_notes(trained, task)]
    return task, score_edges(trained.model, task, known), notes


def ranking(
    scores: EdgeScores | NumberEdgeScores, task: NodeTask, trained: TrainedModel
) -> list[dict[str, object]]:
    """One row per edge, the most suspicious first."""
    ids = task.ids
    order, kind = scores.order(), kind_of(trained)
    tail, head = scores.graph.tail[order].tolist(), scores.graph.head[order].tolist()
    columns = [getattr(scores, name)[order].tolist() for name in MEASURES[kind]]
    predicted = predictions_of(scores, trained)
    return [
        {
            "source": ids[i],
            "target": ids[j],
            **{name: rounded(x, kind) for name, x in zip(MEASURES[kind], values, strict=True)},
            f"source_{kind}": predicted[i],
            f"target_{kind}": predicted[j],
        }
        for i, j, *values in zip(tail, head, *columns, strict=True)
    ]


def kind_of(trained: TrainedModel) -> str:
    """What a model says of a node: its class, or the value of a number."""
    return "class" if trained.unit is None else "value"


def predictions_of(
    scores: EdgeScores | NumberEdgeScores, trained: TrainedModel
) -> list[str] | list[float]:
    """The class or the number of each node that its edges are compared by."""
    from elasticgnn.attack.number_suspicion import NumberEdgeScores
    from elasticgnn.files import significant

    if isinstance(scores, NumberEdgeScores):
        spread = 0.0 if trained.unit is None else trained.unit[1]
        return [float(significant(value, 7, spread)) for value in scores.value.tolist()]
    return [trained.class_names[k] for k in scores.label.tolist()]


def rounded(value: float, kind: str) -> float:
    """Shares and logits to six places; numbers, of any size, to seven digits."""
    return round(value, 6) if kind == "class" else float(f"{value:.7g}")


def write(path: Path, kind: str, rows: list[dict[str, object]]) -> None:
    """Writes the ranking as CSV, whole or not at all."""
    from elasticgnn.files import csv_text, write_whole

    columns = ("source", "target", *MEASURES[kind], f"source_{kind}", f"target_{kind}")
    write_whole(path, csv_text(columns, ([row[name] for name in columns] for row in rows)))


def clean_up(
    scores: EdgeScores | NumberEdgeScores, task: NodeTask, drop: int, path: Path
) -> dict[str, Any]:
    """Writes the graph without its worst edges, and measures a GCN on both graphs."""
    from elasticgnn.attack.evaluation import accuracy_of
    from elasticgnn.attack.grading import can_be_split
    from elasticgnn.data.own.edge_writer import write_edges

    graph = scores.without_worst(drop)
    write_edges(path, graph, task.ids)
    facts: dict[str, Any] = {"dropped": drop, "cleaned": str(path)}
    if can_be_split(task):
        facts["gcn_before"] = accuracy_of("gcn", task)
        facts["gcn_after"] = accuracy_of("gcn", task.with_graph(graph))
    return facts


def report(
    facts: dict[str, Any],
    scores: EdgeScores | NumberEdgeScores,
    task: NodeTask,
    trained: TrainedModel,
    as_json: bool,
) -> None:
    """Prints the most suspicious edges, as text or as one JSON object."""
    worst = ranking(scores, task, trained)[:10]
    places = "3f" if trained.unit is None else "6g"
    if as_json:
        say(json.dumps({**facts, "worst": worst}))
        return
    for note in facts["notes"]:
        say(f"note: {note}")
    say(f"{facts['edges']} edges of {facts['data']}; the most suspicious:")
    for row in worst:
        *_, one, other = row.values()
        say(
            f"  {row['source']} - {row['target']}: score {row['score']:.3f}, difference "
            f"{row['difference']:.{places}}, {one} / {other}"
        )
    if "roc_area" in facts:
        say(
            f"inserted edges: {facts['inserted']}, area under ROC {facts['roc_area']:.3f}, "
            f"precision at that number {facts['precision_at_inserted']:.3f}"
        )
    if "cleaned" in facts:
        say(f"without the {facts['dropped']} worst: {facts['cleaned']}")
    if "gcn_after" in facts:
        say(
            f"GCN without the {facts['dropped']} worst: {100 * facts['gcn_before']:.1f} % -> "
            f"{100 * facts['gcn_after']:.1f} %"
        )
