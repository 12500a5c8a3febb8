"""A study cut down to seconds: the same path on a toy graph, two runs, a few epochs."""

from __future__ import annotations

from dataclasses import replace

from elasticgnn.experiment.search import drawn
from elasticgnn.experiment.space import Rung, SearchPlan
from elasticgnn.experiment.spec import ModelSpec, StudySpec

METHOD_RUNGS = (Rung(keep=4, runs=1), Rung(keep=2, runs=2))


def cut_down(spec: StudySpec, *, epochs: int = 4, runs: int = 2, settings: int = 4) -> StudySpec:
    """`spec` on the toy graph: one data set, at most two levels, `settings` points per model.

    >>> from elasticgnn.experiment import cells, cut_down, load_spec
    >>> len(cells(cut_down(load_spec("table1")))) < len(cells(load_spec("table1")))
    True
    """
    protocol = replace(
        spec.protocol, data="toy", hidden_channels=8, epochs=epochs, patience=None, runs=runs
    )
    return replace(
        spec,
        pool=f"{spec.pool}-quick",
        protocol=protocol,
        datasets=spec.datasets[:1],
        levels=spec.levels[:2],
        models=tuple(with_fewer(model, settings) for model in spec.models),
        search=SearchPlan(spec.search.method, METHOD_RUNGS if spec.search.rungs else ()),
        searches={},
        paper={key: value for key, value in spec.paper.items() if key[0] == spec.datasets[0]},
    )


def with_fewer(model: ModelSpec, count: int) -> ModelSpec:
    """The model with `count` of its settings, drawn from its grid."""
    return replace(model, settings=tuple(drawn(model.settings, count, seed=0)))
