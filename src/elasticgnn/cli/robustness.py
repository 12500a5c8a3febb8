"""`elasticgnn robustness`: accuracy of models under transferred and adaptive attacks."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("robustness")(robustness)


def robustness(
    data: Annotated[str, typer.Argument(help="a name from `elasticgnn data list`")] = "cora",
    models: Annotated[
        str,
        typer.Option(
            help="comma-separated; elastic:mcp:3:0:2.5 trains with norm, lambda1, lambda2 and "
            "concavity, elastic+mcp only predicts with MCP"
        ),
    ] = "elastic,appnp,gcn,mlp",
    attacks: Annotated[
        str, typer.Option(help="of metattack, prbcd, grbcd, pgd, random, dice")
    ] = "metattack,prbcd",
    rates: Annotated[str, typer.Option(help="shares of the edges")] = "0,0.05,0.1,0.15,0.2,0.25",
    seeds: Annotated[int, typer.Option(help="splits, trainings and attacks")] = 3,
    seed: Annotated[int, typer.Option(help="the first of them")] = 0,
    epochs: Annotated[int, typer.Option(help="of training")] = 200,
    attack_epochs: Annotated[int, typer.Option(help="steps of prbcd, grbcd and pgd")] = 125,
    flips_per_step: Annotated[int, typer.Option(help="metattack: flips per gradient")] = 1,
    lambda1: Annotated[float, typer.Option(help="of elastic models")] = 3.0,
    lambda2: Annotated[float, typer.Option(help="of elastic models")] = 3.0,
    dropout: Annotated[float, typer.Option(help="of all models")] = 0.5,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    plot: Annotated[Path | None, typer.Option(help="picture file (PNG, SVG, PDF)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Attacks each model by transfer and through itself; the MLP shows where the graph hurts."""
    from elasticgnn.attack.contestant import read_contestant
    from elasticgnn.attack.meta import MetattackSettings
    from elasticgnn.attack.perturbation import component_task
    from elasticgnn.attack.robustness import RobustnessPlan, measure_robustness, quick, table
    from elasticgnn.data import load
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan

    base = ModelSettings(dropout=dropout, lambda1=lambda1, lambda2=lambda2)
    plan = RobustnessPlan(
        models=tuple(read_contestant(name, base) for name in words(models)),
        attacks=tuple(words(attacks)),
        rates=tuple(number(rate) for rate in words(rates)),
        seeds=seeds,
        training=TrainingPlan(epochs=epochs),
        metattack=MetattackSettings(flips_per_step=flips_per_step),
    )
    task = component_task(load(data, root=data_root))
    outcomes = measure_robustness(task, quick(plan, attack_epochs), seed, say)
    if plot is not None:
        from elasticgnn.attack.robustness_plot import plot_robustness

        plot_robustness(outcomes, plot, task.name)
    if as_json:
        print(json.dumps({"data": task.name, "outcomes": [asdict(o) for o in outcomes]}))
        return
    print("\n".join(table(outcomes)))


def words(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"rates must be numbers, got {text!r}") from None


def say(line: str) -> None:
    print(line, file=sys.stderr)
