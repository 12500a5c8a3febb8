"""Which study a command means: the options that all `elasticgnn study` commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from elasticgnn.experiment import StudySpec

Name = Annotated[str, typer.Argument(help="a name from `elasticgnn study list`, or a .toml file")]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="only this data set")]
Models = Annotated[list[str] | None, typer.Option("--model", help="only this model")]
Results = Annotated[Path, typer.Option(help="folder of the results")]
Quick = Annotated[bool, typer.Option("--quick", help="a toy graph and a few epochs: seconds")]
Attack = Annotated[
    Path | None, typer.Option(help="flipped edges from `elasticgnn attack`; results of their own")
]
Search = Annotated[
    str | None, typer.Option(help="grid, halving, or fixed: what an earlier search found")
]
Runs = Annotated[int | None, typer.Option(help="runs per setting, if not the study's")]
Epochs = Annotated[
    int | None, typer.Option(help="epochs, if not the study's; results of their own")
]
Seed = Annotated[
    int | None, typer.Option(help="seed of run 0, if not the study's; results of their own")
]
Hidden = Annotated[
    int | None,
    typer.Option("--hidden-channels", help="if not the study's; results of their own"),
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]

FOLDER = Path("results")


def chosen_study(
    name: str,
    dataset: list[str] | None = None,
    model: list[str] | None = None,
    *,
    quick: bool = False,
    search: str | None = None,
    runs: int | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    hidden: int | None = None,
    attack: Path | None = None,
) -> "StudySpec":
    """The study `name` as the options restrict it, on the graphs that an attack file changes."""
    from elasticgnn.experiment import cut_down, load_spec, with_protocol

    spec = load_spec(name)
    if search is not None:
        spec = spec.searched_by(search)
    spec = with_protocol(spec, runs=runs, epochs=epochs, seed=seed, hidden_channels=hidden)
    spec = spec.restricted(tuple(dataset or ()), tuple(model or ()))
    if quick:
        given = {"runs": runs, "epochs": epochs}
        spec = cut_down(spec, **{key: value for key, value in given.items() if value is not None})
    return _with_attack(spec, attack)


def _with_attack(spec: "StudySpec", attack: Path | None) -> "StudySpec":
    """The study, or the same on graphs that the flips of a file have changed."""
    from elasticgnn.experiment.flips import FlipFile, attacked_study

    return spec if attack is None else attacked_study(spec, FlipFile(attack))
