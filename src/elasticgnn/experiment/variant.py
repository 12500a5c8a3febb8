"""A study under another seed, length or width: kept apart from the study's own results."""

from __future__ import annotations

from dataclasses import replace

from elasticgnn.experiment.spec import StudySpec


def with_protocol(
    spec: StudySpec,
    *,
    runs: int | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    hidden_channels: int | None = None,
) -> StudySpec:
    """`spec` with what is given changed; another seed, length or width has a pool of its own.

    Fewer runs are the first of the study's own: they share its pool, and tables count them.

    >>> from elasticgnn.experiment import load_spec, with_protocol
    >>> with_protocol(load_spec("table1"), runs=3).protocol.runs
    3
    """
    own = spec.protocol
    changed = replace(
        own,
        runs=own.runs if runs is None else runs,
        epochs=own.epochs if epochs is None else epochs,
        seed=own.seed if seed is None else seed,
        hidden_channels=own.hidden_channels if hidden_channels is None else hidden_channels,
    )
    marks = [f"-epochs-{changed.epochs}"] if changed.epochs != own.epochs else []
    marks += [f"-seed-{changed.seed}"] if changed.seed != own.seed else []
    if changed.hidden_channels != own.hidden_channels:
        marks.append(f"-hidden-{changed.hidden_channels}")
    return replace(spec, pool=spec.pool + "".join(marks), protocol=changed)
