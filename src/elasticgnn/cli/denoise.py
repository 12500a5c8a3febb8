"""elasticgnn denoise: smooth a signal on a graph, or an image, and certify the answer."""

import json
import math
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.norms import NormOption
from elasticgnn.cli.say import say

if TYPE_CHECKING:
    from elasticgnn.data.signal_files import SignalFile
    from elasticgnn.graph import Graph
    from elasticgnn.solver import Extras, Selection, Solution, Verdict


class Criterion(StrEnum):
    """What `--criterion` may be."""

    cv = "cv"
    sure = "sure"


class Boundary(StrEnum):
    """What `--boundary` may be."""

    graph = "graph"
    free = "free"


class Normalization(StrEnum):
    """What `--normalization` may be."""

    none = "none"
    degree = "degree"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(denoise)


def denoise(
    signal: Annotated[Path, typer.Argument(help="a table (id, values…), NPY (n, d), or an image")],
    edges: Annotated[
        Path | None,
        typer.Argument(help="a table or NPY: id, id[, weight], or a graph file; none for images"),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where to write")] = None,
    lambda1: Annotated[
        float | None, typer.Option(help="weight of the jumps; chosen by --select if not given")
    ] = None,
    select: Annotated[Criterion | None, typer.Option(help="choose lambda1: cv or sure")] = None,
    lambda2: Annotated[float, typer.Option(help="weight of the squared differences")] = 0.0,
    norm: NormOption = "l21",
    order: Annotated[int, typer.Option(help="0 pieces, 1 and 2 trends")] = 0,
    boundary: Annotated[
        Boundary, typer.Option(help="of trends: the graph's, or free on a chain (any order)")
    ] = Boundary.graph,
    sigma: Annotated[
        float | None, typer.Option(help="noise level for --select; estimated if not given")
    ] = None,
    loss: Annotated[
        str, typer.Option(help="squared, huber:1.5, quantile:0.9, logistic or poisson")
    ] = "squared",
    lower: Annotated[float | None, typer.Option(help="least value of the answer")] = None,
    upper: Annotated[float | None, typer.Option(help="largest value of the answer")] = None,
    sparsity: Annotated[float, typer.Option(help="weight of a lasso on the values")] = 0.0,
    rtol: Annotated[float, typer.Option(help="stop at this relative gap")] = 1e-6,
    normalization: Annotated[
        Normalization, typer.Option(help="scale nodes by their degree, or not")
    ] = Normalization.none,
    plot: Annotated[Path | None, typer.Option(help="picture of before and after")] = None,
    seed: Annotated[int, typer.Option(help="of the folds of --select cv")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="summary as one JSON object")] = False,
) -> None:
    """Smooths a signal on a graph and says how far from optimal the answer can be.

    The signal is a table with an id and one or more values in each row, the edges are a table
    source,target[,weight] of such ids; of arrays (NPY) the row numbers are the ids. An image needs
    no edges: neighbouring pixels are joined. The answer has the layout of the signal.
    Exit code 0: certified, 1: not certified, 3: as good as rounding lets it be shown.
    Example: elasticgnn denoise signal.csv edges.csv --select cv -o smooth.csv --plot smooth.png
    """
    from elasticgnn.data.signal_files import check_signal_output, read_signal
    from elasticgnn.data.signal_plot import check_plot
    from elasticgnn.files import check_output
    from elasticgnn.solver import Extras
    from elasticgnn.solver.losses import as_loss

    if lambda1 is not None and select is not None:
        raise ValueError("lambda1 must be left out when --select chooses it, got both")
    source = read_signal(signal)
    graph = _graph(source, edges, normalization.value)
    target = output or _beside(signal)
    check_signal_output(target, source)
    check_output(target, inputs=(edges,))  # the signal itself may be replaced
    if plot is not None:
        check_plot(plot, source, graph)
    extras = Extras(as_loss(loss), lower, upper, sparsity)
    request = DenoiseRequest(lambda1, lambda2, norm, order, boundary.value, rtol, sigma, extras)
    if lambda1 is None:
        usual = Criterion.sure if extras.is_plain else Criterion.cv
        selection = _selected(source, graph, request, (select or usual).value, seed)
        solution, why = selection.solution, selection.summary()
    else:
        solution, why = _solved(source, graph, request), f"lambda1 {lambda1:.6g}, as asked"
    if solution.interrupted:  # the point at which the solver was stopped was not asked for
        raise KeyboardInterrupt
    _write(target, source, solution, plot, graph)
    _report(solution, why, lambda2, target, as_json)
    raise typer.Exit(exit_code(solution.verdict))


def exit_code(verdict: "Verdict") -> int:
    """0 certified, 1 not, 3 as good as rounding lets it be shown."""
    from elasticgnn.solver import Verdict

    return {Verdict.CERTIFIED: 0, Verdict.UNCERTIFIED: 1, Verdict.ROUNDING_FLOOR: 3}[verdict]


@dataclass(frozen=True)
class DenoiseRequest:
    """What the options say of the problem."""

    lambda1: float | None
    lambda2: float
    norm: str
    order: int
    boundary: str
    rtol: float
    sigma: float | None
    extras: "Extras"


def _beside(signal: Path) -> Path:
    """Where the answer goes that has no place: prices.csv.gz to prices-denoised.csv.gz."""
    ending = "".join(signal.suffixes[-2:]) if signal.suffix.lower() == ".gz" else signal.suffix
    return signal.with_name(f"{signal.name.removesuffix(ending)}-denoised{ending}")


def _graph(source: "SignalFile", edges: Path | None, normalization: str) -> "Graph":
    from elasticgnn.data.signal_files import read_edges
    from elasticgnn.graph import grid_graph

    if source.image_shape is not None:
        if edges is not None:
            raise ValueError(f"edges must be left out for an image, got {edges}")
        return grid_graph(*source.image_shape, normalization=normalization)
    if edges is None:
        raise ValueError("edges must be given for a signal that is not an image")
    return read_edges(edges, source, normalization)


def _solved(source: "SignalFile", graph: "Graph", request: DenoiseRequest) -> "Solution":
    import torch

    from elasticgnn.problem import ElasticPenalty
    from elasticgnn.solver import minimise
    from elasticgnn.solver.observed import observed

    x, weight = observed(torch.tensor(source.values))
    assert request.lambda1 is not None
    return minimise(
        x,
        graph,
        ElasticPenalty(request.lambda1, request.lambda2, request.norm),
        data_weight=weight,
        order=request.order,
        boundary=request.boundary,
        rtol=request.rtol,
        **request.extras.options,
    )


def _selected(
    source: "SignalFile", graph: "Graph", request: DenoiseRequest, criterion: str, seed: int
) -> "Selection":
    import torch

    from elasticgnn.solver import cross_validate, noise_grid
    from elasticgnn.solver.losses import as_loss
    from elasticgnn.solver.observed import observed

    x, weight = observed(torch.tensor(source.values))
    return cross_validate(
        x,
        graph,
        noise_grid(
            *(x, graph, weight),
            order=request.order,
            sigma=request.sigma,
            loss=as_loss(request.extras.loss),
        ),
        (request.lambda2,),
        norm=request.norm,
        criterion=criterion,
        data_weight=weight,
        order=request.order,
        boundary=request.boundary,
        sigma=request.sigma,
        rtol=request.rtol,
        extras=request.extras,
        generator=torch.Generator().manual_seed(seed),
    )


def _write(
    target: Path, source: "SignalFile", solution: "Solution", plot: Path | None, graph: "Graph"
) -> None:
    from elasticgnn.data.signal_files import write_signal

    value = solution.mean.numpy()  # rates and probabilities, not their logarithms
    write_signal(target, source, value)
    if plot is not None:
        from elasticgnn.data.signal_plot import plot_signal

        plot_signal(plot, source, value, graph)


def _report(solution: "Solution", why: str, lambda2: float, target: Path, as_json: bool) -> None:
    if as_json:
        facts = _facts(solution, why, lambda2) | {"output": str(target)}
        json.dump({name: _in_json(fact) for name, fact in facts.items()}, sys.stdout)
        say()
        return
    say(solution.summary())
    say(f"{why}; lambda2 {lambda2:.6g}")
    say(_shape_in_words(solution, solution.num_pieces()))
    if solution.num_empty:
        say(f"{solution.num_empty} nodes lie in components without any value and stay empty")
    say(f"written to {target}")


def _facts(solution: "Solution", why: str, lambda2: float) -> dict[str, Any]:
    return {
        "certified": solution.certified,
        "verdict": str(solution.verdict),
        "method": solution.method,
        "reason": solution.reason,
        "objective": _held(solution.objective, solution),
        "gap": _held(solution.gap, solution),
        "relative_gap": solution.relative_gap,
        "distance_bound": solution.distance_bound,
        "steps": solution.steps,
        "seconds": solution.seconds,
        "lambda1": solution.lambda1,
        "lambda1_because": why,
        "lambda2": lambda2,
        "loss": repr(solution.loss),
        "pieces": solution.num_pieces(),
        "nodes": solution.graph.num_nodes,
        "edges": solution.graph.num_edges,
        "nodes_left_empty": solution.num_empty,
    }


def _held(value: float, solution: "Solution") -> float:
    """The number; infinite, that is null, also where it is too small for float64 and not 0."""
    return math.inf if solution.is_too_small(value) else value


def _in_json(fact: Any) -> Any:
    """JSON has no infinity: what is not bounded, or beyond float64, is null."""
    return None if isinstance(fact, float) and not math.isfinite(fact) else fact


def _shape_in_words(solution: "Solution", pieces: int) -> str:
    nodes = solution.graph.num_nodes
    if solution.order > 0:
        return f"{nodes} nodes, trend of order {solution.order}, {len(solution.knots())} knots"
    return f"{nodes} nodes in {pieces} constant pieces, {len(solution.boundary())} edges between"
