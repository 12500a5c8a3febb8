"""`elasticgnn robustness`: every model under everybody's attacks, resumable."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.given import check_one_graph
from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_notes

if TYPE_CHECKING:
    from elasticgnn.attack import EvolutionSettings
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.nn import ModelSettings
    from elasticgnn.robustness import Contestant, RobustnessPlan
    from elasticgnn.robustness.store import Row, Rows


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("robustness")(reads_tables(robustness))


def robustness(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="a name from `elasticgnn data list`")] = "cora",
    models: Annotated[
        str,
        typer.Option(
            "--models",
            "--defences",
            help="comma-separated: gcn, mlp, ...; elastic:mcp:3:0:2.5 (norm, lambda1, lambda2, "
            "concavity), elastic+mcp, elastic+none, elastic+trust:0.8 at prediction; rung, "
            "rung-root, rung:3, rung-l1, jaccard, gnnguard, softmedian, gprgnn+adversarial",
        ),
    ] = "elastic,elastic+none,appnp,gcn,rung,mlp",
    defence: Annotated[
        list[str] | None,
        typer.Option(help="own torch module, my_module:MyModel, built as (in, out channels)"),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="evasion, inductive, poisoning or local")
    ] = "evasion",
    attacks: Annotated[
        str,
        typer.Option(
            help="of prbcd, grbcd, pgd, lrbcd, eva, metattack, random, dice; features, labels: "
            "flips of words (--binary) and of training labels (poisoning); shipped: the attacked "
            "graphs of the package (cora --binary, rates 0.05 and 0.25, seeds 0 and 1)"
        ),
    ] = "prbcd",
    rates: Annotated[str, typer.Option(help="shares of the edges, degree, words or labels")] = (
        "0.05,0.1,0.15,0.25"
    ),
    seeds: Annotated[int, typer.Option(help="splits, trainings and attacks")] = 3,
    seed: Annotated[int, typer.Option(help="the first of them")] = 0,
    epochs: Annotated[int, typer.Option(help="of training")] = 200,
    attack_epochs: Annotated[int, typer.Option(help="steps of gradient attacks")] = 250,
    block: Annotated[int, typer.Option(help="pairs that they look at together")] = 50_000,
    restarts: Annotated[int, typer.Option(help="of gradient attacks")] = 1,
    generations: Annotated[int, typer.Option(help="of eva, 32 children each")] = 300,
    screened: Annotated[int, typer.Option(help="of eva: pairs tried per round")] = 1000,
    screen_every: Annotated[int, typer.Option(help="of eva: generations between rounds")] = 5,
    together: Annotated[
        int,
        typer.Option(help="of eva: pairs that share a graph first; 1: none, nor are any merged"),
    ] = 64,
    targets: Annotated[int | None, typer.Option(help="local: attacked nodes (default: 30)")] = None,
    public_targets: Annotated[
        bool,
        typer.Option(
            "--public-targets",
            help="local: the splits and 120 targets of Mujkanovic et al. 2022 instead "
            "(cora-meta-0, citeseer-meta-0; --seeds 5 is all of them)",
        ),
    ] = False,
    flips_per_step: Annotated[int, typer.Option(help="metattack: flips per gradient")] = 1,
    lambda1: Annotated[
        float | None, typer.Option(help="of elastic models (default: 3; own files: 1)")
    ] = None,
    lambda2: Annotated[
        float | None, typer.Option(help="of elastic models (default: 3; own files: 1)")
    ] = None,
    dropout: Annotated[
        str, typer.Option(help="of all models; of several each takes its best in validation")
    ] = "0.5",
    binary: Annotated[bool, typer.Option(help="features 0 or 1: a word is there or not")] = False,
    edges: Annotated[Path | None, typer.Option(help="own edges instead of a data set")] = None,
    features: Annotated[Path | None, typer.Option(help="own features")] = None,
    labels: Annotated[Path | None, typer.Option(help="own labels; may be partial")] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    rows: Annotated[
        Path | None, typer.Option(help="folder of rows: what is there is not measured again")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="picture file (PNG, SVG, PDF)")] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help="HTML page: picture, tables, transfer matrix")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Attacks each model through itself and through all others; "worst" is the row to believe.

    The table has a row for each attack, mode (adaptive: through itself; worst: of all) and model,
    a column for each rate, and the processor seconds of the attacks of a seed. Own graphs go in as
    for `train`: --edges, --features, --labels. `elasticgnn report --rows` shows stored rows.
    Example: elasticgnn robustness cora --models elastic,gcn --rates 0.1 --seeds 1 --rows rows/
    """
    from elasticgnn.attack import EvolutionSettings
    from elasticgnn.cli.attacked_graph import attacked_graph
    from elasticgnn.cli.robustness_options import check_options
    from elasticgnn.cli.task_files import read, usual_settings
    from elasticgnn.robustness import RobustnessPlan, measure_robustness
    from elasticgnn.robustness.page import write_page
    from elasticgnn.robustness.plan import quick
    from elasticgnn.robustness.shortfall import shortfalls
    from elasticgnn.training import TrainingPlan

    check_places(plot, page, rows, (edges, features, labels))
    check_one_graph(context, edges)
    check_counts(seeds, targets, protocol, public_targets=public_targets)
    base = usual_settings("elastic", edges, lambda1, lambda2)
    dropouts = [number(rate, "dropout") for rate in words(dropout)]
    plan = RobustnessPlan(
        models=contestants(models, defence or [], base, dropouts),
        attacks=tuple(words(attacks)),
        rates=tuple(number(rate) for rate in words(rates)),
        seeds=tuple(range(seed, seed + seeds)),
        protocol=protocol,
        training=TrainingPlan(epochs=epochs),
        targets=30 if targets is None else targets,
        public_targets=public_targets,
    )
    evolution = EvolutionSettings(
        generations=generations, screened=screened, screen_every=screen_every, together=together
    )
    plan = quick(with_efforts(plan, restarts, block, evolution, flips_per_step), attack_epochs)
    check_options(context, plan, defence or [])
    given = read(data, edges, features, labels, data_root, layout=layout)
    task = attacked_graph(given, own=edges is not None, binary=binary)
    found = measure_robustness(task, plan, stored(plan, task, rows), say_aside)
    asked = [row for row in found.rows() if plan.asks_for(row)]
    say_notes([*shortfalls(asked, task, plan), *left_out(len(found.rows()) - len(asked))])
    if page is not None:
        write_page([(task.name, asked)], page)
    report(asked, task, plot, as_json)


def left_out(count: int) -> list[str]:
    """A note on stored rows that were not asked for."""
    if count == 0:
        return []
    return [
        f"{count} stored rows of other seeds, attacks or rates are left out "
        "(elasticgnn report --rows shows them)"
    ]


def check_counts(seeds: int, targets: int | None, protocol: str, *, public_targets: bool) -> None:
    """Refuses no seed, and a number of targets where there is no choice of them."""
    if targets is not None and protocol != "local":
        raise ValueError(f"targets must be given with --protocol local only, got {targets}")
    if public_targets and targets is not None:
        raise ValueError(f"targets must not be given with --public-targets, got {targets}")
    if seeds < 1:
        raise ValueError(f"seeds must be >= 1, got {seeds}")


def with_efforts(
    plan: RobustnessPlan,
    restarts: int,
    block: int,
    evolution: EvolutionSettings,
    flips_per_step: int,
) -> RobustnessPlan:
    """The plan with how long each attack searches."""
    return replace(
        plan,
        gradient=replace(plan.gradient, restarts=restarts, block_size=block),
        evolution=evolution,
        metattack=replace(plan.metattack, flips_per_step=flips_per_step),
    )


def contestants(
    models: str, foreign: list[str], base: ModelSettings, dropouts: list[float]
) -> tuple[Contestant, ...]:
    """The named models, and those of others."""
    from elasticgnn.robustness.contestant import with_dropouts
    from elasticgnn.robustness.foreign import read_foreign

    if not dropouts:
        raise ValueError("dropout must be a number or several, got none")
    named = [with_dropouts(name, base, dropouts) for name in words(models)]
    if foreign and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a module beside the caller, as with python -m
    return (*named, *(read_foreign(spec) for spec in foreign))


def check_places(
    plot: Path | None, page: Path | None, rows: Path | None, inputs: tuple[Path | None, ...]
) -> None:
    """Refuses files and folders that could not be written, before the work."""
    from elasticgnn.files import check_apart, check_folder, check_output, check_picture

    if plot is not None:
        check_picture(plot, "plot")
    if page is not None:
        check_output(page, "report", inputs)
        check_apart(plot, page, ("plot", "report"))
    if rows is not None:
        check_folder(rows, "rows")


def stored(plan: RobustnessPlan, task: NodeTask, folder: Path | None) -> Rows:
    """The rows of this very plan in `folder`, or none."""
    from elasticgnn.robustness.store import Rows

    if folder is None:
        return Rows()
    folder.mkdir(parents=True, exist_ok=True)
    return Rows(folder / f"{plan.protocol}-{plan.digest(task)}.jsonl")


def report(rows: Sequence[Row], task: NodeTask, plot: Path | None, as_json: bool) -> None:
    """Prints the table of accuracies, or one JSON object; draws the picture if asked."""
    from elasticgnn.robustness import outcomes, table
    from elasticgnn.robustness.matrix import transfer_matrix

    found = outcomes(rows)
    if plot is not None:
        from elasticgnn.robustness.plot import plot_robustness

        local = any(row.protocol == "local" for row in rows)
        plot_robustness(found, plot, task.name, local=local)
    if as_json:
        facts: dict[str, Any] = {"data": task.name, "outcomes": [asdict(one) for one in found]}
        facts["transfer_matrix"] = [asdict(one) for one in transfer_matrix(rows)]
        say(json.dumps(facts))
        return
    say("\n".join(table(found)))


def words(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def number(text: str, name: str = "rates") -> float:
    """The number that `text` spells; ValueError if it spells none."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} must be numbers, got {text!r}") from None


def say_aside(line: str) -> None:
    """Prints a line on the error stream."""
    say(line, file=sys.stderr)
