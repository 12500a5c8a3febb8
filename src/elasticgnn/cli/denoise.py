"""elasticgnn denoise: smooth a signal on a graph, or an image, and certify the answer."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from elasticgnn.cli.signal_files import SignalFile
    from elasticgnn.graph import Graph
    from elasticgnn.solver import Solution


class EdgeNorm(StrEnum):
    l1 = "l1"
    l21 = "l21"


class Criterion(StrEnum):
    cv = "cv"
    sure = "sure"


class Normalization(StrEnum):
    none = "none"
    degree = "degree"


def register(app: typer.Typer) -> None:
    app.command()(denoise)


def denoise(
    signal: Annotated[
        Path, typer.Argument(help="CSV or Parquet (id, values…), NPY (n, d), or an image")
    ],
    edges: Annotated[
        Path | None, typer.Argument(help="CSV, Parquet or NPY: id, id[, weight]; none for images")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where to write")] = None,
    lambda1: Annotated[
        float | None, typer.Option(help="weight of the jumps; chosen by --select if not given")
    ] = None,
    select: Annotated[Criterion | None, typer.Option(help="choose lambda1: cv or sure")] = None,
    lambda2: Annotated[float, typer.Option(help="weight of the squared differences")] = 0.0,
    norm: Annotated[EdgeNorm, typer.Option(help="of a difference")] = EdgeNorm.l21,
    order: Annotated[int, typer.Option(help="0 pieces, 1 and 2 trends")] = 0,
    rtol: Annotated[float, typer.Option(help="stop at this relative gap")] = 1e-6,
    normalization: Annotated[
        Normalization, typer.Option(help="scale nodes by their degree, or not")
    ] = Normalization.none,
    plot: Annotated[Path | None, typer.Option(help="picture of before and after")] = None,
    seed: Annotated[int, typer.Option(help="of the folds of --select cv")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="summary as one JSON object")] = False,
) -> None:
    """Smooth a signal on a graph; exit code 1 if the answer could not be certified."""
    from elasticgnn.cli.signal_files import read_signal

    if lambda1 is not None and select is not None:
        raise ValueError("lambda1 must be left out when --select chooses it, got both")
    source = read_signal(signal)
    graph = _graph(source, edges, normalization.value)
    target = output or signal.with_name(f"{signal.stem}-denoised{signal.suffix}")
    strengths = (lambda1, lambda2, norm.value)
    solution, chosen = _solve(source, graph, strengths, (order, rtol), select, seed)
    _write(target, source, solution, plot, graph)
    _tell(solution, chosen, lambda2, target, as_json)
    raise typer.Exit(0 if solution.certified else 1)


def _graph(source: "SignalFile", edges: Path | None, normalization: str) -> "Graph":
    from elasticgnn.cli.signal_files import read_edges
    from elasticgnn.graph import grid_graph

    if source.image_shape is not None:
        if edges is not None:
            raise ValueError(f"edges must be left out for an image, got {edges}")
        return grid_graph(*source.image_shape, normalization=normalization)
    if edges is None:
        raise ValueError("edges must be given for a signal that is not an image")
    return read_edges(edges, source, normalization)


def _solve(
    source: "SignalFile",
    graph: "Graph",
    strengths: tuple[float | None, float, str],
    target: tuple[int, float],
    select: Criterion | None,
    seed: int,
) -> tuple["Solution", float]:
    """The solution and the lambda1 it belongs to."""
    import torch

    from elasticgnn.problem import ElasticPenalty
    from elasticgnn.solver import minimise

    (lambda1, lambda2, norm), (order, rtol) = strengths, target
    missing = torch.from_numpy(source.is_missing)
    x = torch.tensor(source.values)
    x = torch.where(missing[:, None], 0.0, x)
    weight = (~missing).double()
    if lambda1 is None:
        if order != 0:
            raise ValueError(f"lambda1 must be given for order {order}: --select knows order 0")
        criterion = (select or Criterion.sure).value
        lambda1 = _selected(x, graph, weight, (lambda2, norm), criterion, seed)
    penalty = ElasticPenalty(lambda1, lambda2, norm)
    given = weight if bool(missing.any()) else None
    return minimise(x, graph, penalty, data_weight=given, order=order, rtol=rtol), lambda1


def _selected(
    x: "Tensor",
    graph: "Graph",
    weight: "Tensor",
    fixed: tuple[float, str],
    criterion: str,
    seed: int,
) -> float:
    import torch

    from elasticgnn.solver import cross_validate, noise_grid

    lambda2, norm = fixed
    found = cross_validate(
        x,
        graph,
        noise_grid(x, graph, weight),
        (lambda2,),
        norm=norm,
        criterion=criterion,
        data_weight=weight,
        generator=torch.Generator().manual_seed(seed),
    )
    return found.lambda1


def _write(
    target: Path, source: "SignalFile", solution: "Solution", plot: Path | None, graph: "Graph"
) -> None:
    from elasticgnn.cli.signal_files import write_signal

    value = solution.value.numpy()
    write_signal(target, source, value)
    if plot is not None:
        from elasticgnn.cli.signal_plot import plot_signal

        plot_signal(plot, source, value, graph)


def _tell(
    solution: "Solution", lambda1: float, lambda2: float, target: Path, as_json: bool
) -> None:
    if not as_json:
        print(solution.summary())
        print(f"lambda1 {lambda1:.6g}, lambda2 {lambda2:.6g}, written to {target}")
        return
    facts: dict[str, Any] = {
        "certified": solution.certified,
        "objective": solution.objective,
        "gap": solution.gap,
        "relative_gap": solution.relative_gap,
        "distance_bound": solution.distance_bound,
        "steps": solution.steps,
        "seconds": solution.seconds,
        "lambda1": lambda1,
        "lambda2": lambda2,
        "pieces": int(solution.pieces().max()) + 1 if len(solution.value) else 0,
        "nodes": solution.graph.num_nodes,
        "edges": solution.graph.num_edges,
        "output": str(target),
    }
    json.dump(facts, sys.stdout)
    print()
