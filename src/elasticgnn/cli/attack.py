"""`elasticgnn attack`: edge flips that hurt models on a data set, saved for later use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticgnn.cli.attacked_graph import attacked_graph
from elasticgnn.cli.given import check_one_graph
from elasticgnn.cli.own_files import reads_tables
from elasticgnn.cli.say import say, say_notes
from elasticgnn.cli.task_files import read, usual_settings

if TYPE_CHECKING:
    from torch import Tensor

    from elasticgnn.attack import Constraints, Perturbation
    from elasticgnn.attack.run import Settings
    from elasticgnn.data import NodeTask
    from elasticgnn.data.own.layout import TableLayout
    from elasticgnn.training import TrainedModel


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("attack")(reads_tables(attack_command))


def attack_command(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="a name from `elasticgnn data list`")] = "cora",
    method: Annotated[
        str, typer.Option(help="metattack, prbcd, grbcd, pgd, lrbcd, eva, random, dice")
    ] = ("metattack"),
    rate: Annotated[float | None, typer.Option(help="share of the edges to flip")] = None,
    count: Annotated[int | None, typer.Option("--flips", help="number of flips instead")] = None,
    victim: Annotated[
        str, typer.Option(help="model attacked by all but metattack, random, dice: a name or file")
    ] = "gcn",
    objective: Annotated[str, typer.Option(help="metattack: self, train or both")] = "self",
    approximate: Annotated[bool, typer.Option(help="metattack: first-order gradient")] = False,
    flips_per_step: Annotated[int, typer.Option(help="metattack: flips per gradient")] = 1,
    loss: Annotated[
        str | None, typer.Option(help="tanh_margin, masked_cross_entropy or cross_entropy")
    ] = None,
    block: Annotated[int, typer.Option(help="prbcd, grbcd, lrbcd: pairs together")] = 50_000,
    attack_epochs: Annotated[int, typer.Option(help="prbcd, grbcd, pgd, lrbcd: steps")] = 125,
    restarts: Annotated[int, typer.Option(help="of these: searches, the best is kept")] = 1,
    generations: Annotated[int, typer.Option(help="eva: of 32 children each")] = 300,
    degree_test: Annotated[
        float | None, typer.Option(help="largest likelihood ratio of the degrees, e.g. 0.004")
    ] = None,
    keep_last_edge: Annotated[bool, typer.Option(help="isolate no node")] = True,
    targets: Annotated[
        str | None,
        typer.Option(help="all that have a victim: nodes to attack: 3,17, or ids of own ones"),
    ] = None,
    around: Annotated[bool, typer.Option(help="flip only pairs with a target at one end")] = False,
    poison: Annotated[bool, typer.Option(help="gradient attacks: the victim trains on")] = False,
    component: Annotated[bool, typer.Option(help="attack the largest component only")] = True,
    seed: Annotated[int, typer.Option(help="fixes the split and the attack")] = 0,
    edges: Annotated[Path | None, typer.Option(help="own edges instead of a data set")] = None,
    features: Annotated[Path | None, typer.Option(help="own features")] = None,
    labels: Annotated[Path | None, typer.Option(help="own labels; may be partial")] = None,
    data_root: Annotated[Path | None, typer.Option(help="folder of data files")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="JSON file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    *,
    layout: TableLayout,
) -> None:
    """Finds the edges whose flipping hurts most; `train --attack` uses the file it writes.

    Own graphs go in as for `train`: --edges with source,target[,weight], --features with id and
    numbers, --labels with id,label. The file names the pairs that were flipped, their order and
    the split they were made for.
    Example: elasticgnn attack cora --method metattack --rate 0.1 -o flips.json
    """
    import torch

    from elasticgnn.attack import AttackBudget, Constraints, attack
    from elasticgnn.attack.evaluation import fixed_or_drawn, trained_victim
    from elasticgnn.cli.attack_options import check_concerned, with_effort
    from elasticgnn.files import check_output
    from elasticgnn.robustness.routes import uses_graph

    check_concerned(context, method)
    check_one_graph(context, edges)
    if output is not None:
        check_output(output, inputs=(edges, features, labels))
    given = read(data, edges, features, labels, data_root, layout=layout)
    known = victim_file(method, victim)
    task = attacked_graph(given, known, own=edges is not None, component=component)
    limits = Constraints(keep_last_edge=keep_last_edge, degree_test=degree_test)
    aim = read_targets(targets, task, method, by_id=edges is not None)
    options = settings_for(method, limits, loss, objective, approximate, flips_per_step, block)
    options = with_gradient_options(options, around=around, poison=poison)
    options = with_effort(options, attack_epochs, restarts, generations)
    generator = torch.Generator().manual_seed(seed)
    split = fixed_or_drawn(task, generator)
    model = known.model if known else None
    if known is None and has_victim(method):
        model = trained_victim(usual_settings(victim, edges), task, split, generator)
    if model is not None and not uses_graph(model):
        raise ValueError(f"victim must use the edges to be attacked by flips, got {victim}")
    budget = AttackBudget(rate=0.05 if rate is None and count is None else rate, edges=count)
    shown = progress_line(budget.flips(task.graph), shown=not as_json)
    searched = (task, split, budget, method, model, generator)
    found = attack(*searched, settings=options, targets=aim, progress=shown)
    if output is not None:
        found.save(output)
    report(found, task, output, as_json, budget.flips(task.graph))


def settings_for(
    method: str,
    limits: Constraints,
    loss: str | None,
    objective: str,
    approximate: bool,
    flips_per_step: int,
    block: int,
) -> Settings | None:
    """The options that concern `method`, in the settings that it takes."""
    from elasticgnn.attack import (
        Constraints,
        EvolutionSettings,
        GradientSettings,
        MetattackSettings,
    )
    from elasticgnn.attack.run import SETTINGS

    kind = SETTINGS.get(method)
    if kind is MetattackSettings:
        return MetattackSettings(
            objective=objective,
            loss=loss or "cross_entropy",
            approximate=approximate,
            flips_per_step=flips_per_step,
            constraints=limits,
        )
    if kind is Constraints:
        return limits
    if kind is EvolutionSettings:
        return EvolutionSettings(constraints=limits)
    if kind is GradientSettings:
        return GradientSettings(loss=loss or "tanh_margin", block_size=block, constraints=limits)
    return None  # `attack` names the methods


def has_victim(method: str) -> bool:
    """Whether the method attacks a trained model."""
    from elasticgnn.attack.methods import VICTIM_METHODS

    return method in VICTIM_METHODS


def victim_file(method: str, victim: str) -> TrainedModel | None:
    """The model of the file that the victim names; None where it names a kind of model."""
    from elasticgnn.training import TrainedModel

    return TrainedModel.load(victim) if has_victim(method) and Path(victim).is_file() else None


def read_targets(text: str | None, task: NodeTask, method: str, *, by_id: bool) -> Tensor | None:
    """The nodes of "3,17": numbers of a data set's nodes, ids of own ones."""
    import torch

    from elasticgnn.attack.methods import VICTIM_METHODS
    from elasticgnn.training.model.known_columns import node_names

    if text is None:
        return None
    if method not in VICTIM_METHODS:
        raise ValueError(f"targets must be given to {VICTIM_METHODS} only, got {method!r}")
    names = node_names(task) if by_id else map(str, range(task.num_nodes))
    place = {name: number for number, name in enumerate(names)}
    asked = [part.strip() for part in text.split(",")]
    unknown = [name for name in asked if name not in place]
    if unknown:
        rule = "ids of nodes that are attacked" if by_id else f"numbers in 0..{task.num_nodes - 1}"
        raise ValueError(f"targets must be {rule}, such as 3,17, got {unknown[0]!r}")
    return torch.tensor([place[name] for name in asked])


def with_gradient_options(
    options: Settings | None, *, around: bool, poison: bool
) -> Settings | None:
    """The options with those of gradient attacks, which are refused elsewhere."""
    from elasticgnn.attack import GradientSettings, Retraining
    from elasticgnn.attack.methods import GRADIENT_METHODS

    if not (around or poison):
        return options
    if not isinstance(options, GradientSettings):
        raise ValueError(f"--around and --poison must be given to {GRADIENT_METHODS} only")
    return replace(options, around_targets=around, poisoning=Retraining() if poison else None)


def progress_line(total: int, *, shown: bool) -> Any:
    """A function that rewrites one line on stderr."""
    import sys

    def show(step: int, loss: float) -> None:
        if shown and sys.stderr.isatty():
            say(f"step {step} (of {total} flips), loss {loss:.4f}", end="\r", file=sys.stderr)

    return show


def report(
    found: Perturbation, task: NodeTask, output: Path | None, as_json: bool, allowed: int
) -> None:
    """Prints what the attack changed, as text or as one JSON object."""
    attacked = found.apply(task.graph)
    inserted = int(found.inserted(task.graph).sum())
    facts = {
        "data": task.name,
        "method": found.method,
        "flips": len(found),
        "allowed": allowed,
        "inserted": inserted,
        "removed": len(found) - inserted,
        "edges_before": task.graph.num_edges,
        "edges_after": attacked.num_edges,
        "loss_before": found.loss[0] if found.loss else None,
        "loss_after": found.loss[-1] if found.loss else None,
        "seed": found.seed,
        "saved": None if output is None else str(output),
    }
    if len(found) < allowed or allowed == 0:
        say_notes([f"{len(found)} flips were made of {allowed} that the budget allows"])
    if as_json:
        say(json.dumps(facts))
        return
    say(
        f"{found.method} on {task.name}: {len(found)} flips ({inserted} inserted, "
        f"{facts['removed']} removed), {task.graph.num_edges} -> {attacked.num_edges} edges"
    )
    if output is not None:
        say(f"saved as {output}")
