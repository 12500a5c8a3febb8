"""Studies from TOML files: every name and number in them is checked."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import Rung, SearchPlan, expand
from elasticgnn.experiment.spec import (
    AXES,
    METRICS,
    ModelSpec,
    Protocol,
    Published,
    Remark,
    StudySpec,
    Tolerance,
)
from elasticgnn.experiment.spec_values import (
    checked_name,
    names,
    number,
    numbers,
    study_errors,
    texts,
)

SPECS = resources.files("elasticgnn.experiment") / "specs"
KEYS = {
    *("title", "metric", "unit", "pool", "protocol", "datasets", "axis", "levels", "models"),
    *("search", "baseline", "tolerance", "paper", "notes", "found", "defaults", "remarks"),
    "compare",
}


def spec_names() -> tuple[str, ...]:
    """The studies that come with the package.

    >>> from elasticgnn.experiment import spec_names
    >>> "table1" in spec_names()
    True
    """
    names = (entry.name for entry in SPECS.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_spec(name: str) -> StudySpec:
    """The study `name` of the package, or the one in the TOML file at that path.

    >>> from elasticgnn.experiment import load_spec
    >>> load_spec("table1").name
    'table1'
    """
    if name in spec_names():
        return parse_spec(name, tomllib.loads((SPECS / f"{name}.toml").read_text("utf-8")))
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        with study_errors(name):
            return parse_spec(path.stem, tomllib.loads(path.read_text("utf-8")))
    raise ValueError(f"study must be one of {spec_names()} or a .toml file, got {name!r}")


def parse_spec(name: str, table: dict[str, Any]) -> StudySpec:
    """The study in `table`; every name in it is checked."""
    check_keys(name, table, KEYS)
    axis = str(table.get("axis", "none"))
    metric = str(table.get("metric", "accuracy"))
    if axis not in AXES or metric not in METRICS:
        raise ValueError(f"axis, metric must be of {AXES}, {METRICS}, got {axis!r}, {metric!r}")
    defaults = Setting.from_json(table.get("defaults", {}))
    spec = StudySpec(
        name=checked_name(name, "name of the study"),
        title=str(table["title"]),
        metric=metric,
        unit=str(table.get("unit", "%")),
        pool=checked_name(table.get("pool", name), "pool"),
        protocol=Protocol(**table.get("protocol", {})),
        datasets=names(table, "datasets"),
        axis=axis,
        levels=numbers(table, "levels", [0.0]),
        models=tuple(parse_model(k, v, defaults) for k, v in table["models"].items()),
        search=parse_search("search", table.get("search", {}), {"on"}),
        baseline=table.get("baseline"),
        compare=table.get("compare"),
        tolerance=Tolerance(**table.get("tolerance", {})),
        notes=texts(table, "notes"),
        remarks=tuple(parse_remark(remark) for remark in table.get("remarks", [])),
    )
    spec = replace(spec, paper=parse_paper(spec, table.get("paper", {})))
    spec = replace(spec, searches=parse_searches(spec, table.get("search", {}).get("on", [])))
    return check_names(replace(spec, found=parse_found(spec, table.get("found", {}))))


def check_keys(where: str, table: dict[str, Any], allowed: set[str]) -> None:
    """Refuses keys that nothing reads."""
    if unknown := sorted(set(table) - allowed):
        raise ValueError(f"{where} must have keys of {sorted(allowed)}, got {unknown}")


def parse_model(name: str, table: dict[str, Any], defaults: Setting) -> ModelSpec:
    """One `[models.name]` table: `space` is a list of grids, `fixed` one setting."""
    check_keys(f"models.{name}", table, {"title", "family", "space", "fixed", "group", "epoch"})
    base = defaults.to_json()
    settings = tuple(expand(base, table.get("space", [{}])))
    if not settings:
        raise ValueError(f"models.{name} must have a space of settings, got none")
    fixed = Setting.from_json({**base, **table["fixed"]}) if "fixed" in table else settings[0]
    return ModelSpec(
        name=checked_name(name, "name of a model"),
        title=str(table.get("title", name)),
        family=str(table["family"]),
        settings=settings,
        fixed=fixed.canonical(),
        group=checked_name(table.get("group", name), "group"),
        epoch=str(table.get("epoch", "selected")),
    )


def parse_remark(table: dict[str, Any]) -> Remark:
    """A remark from its table; ValueError for unknown keys."""
    if unknown := sorted(set(table) - {"text", "datasets", "models", "levels"}):
        raise ValueError(f"a remark must have text, datasets, models, levels, got {unknown}")
    levels = numbers(table, "levels", []) if "levels" in table else ()
    return Remark(str(table["text"]), texts(table, "datasets"), texts(table, "models"), levels)


def parse_search(name: str, table: dict[str, Any], more: set[str]) -> SearchPlan:
    """The search from its table; a grid unless it says otherwise."""
    check_keys(name, table, {"method", "rungs", "seed"} | more)
    rungs = tuple(Rung(**rung) for rung in table.get("rungs", []))
    return SearchPlan(str(table.get("method", "grid")), rungs, table.get("seed", 0))


def parse_searches(spec: StudySpec, tables: list[dict[str, Any]]) -> dict[str, SearchPlan]:
    """`[[search.on]]`: data sets with a search of their own, by the study's method if none."""
    found: dict[str, SearchPlan] = {}
    for table in tables:
        own = names(table, "datasets")
        spec.restricted(own)
        if twice := sorted(set(own) & set(found)):
            raise ValueError(f"search.on must name a data set once, got {twice} twice")
        plan = parse_search("search.on", {"method": spec.search.method, **table}, {"datasets"})
        found |= dict.fromkeys(own, plan)
    return found


def parse_paper(spec: StudySpec, table: dict[str, Any]) -> dict[tuple[str, str, float], Published]:
    """`[paper.dataset] model = [[mean, std], ...]`, one pair per level; [] where it has none."""
    found = {}
    for dataset, columns in table.items():
        for model, pairs in columns.items():
            if dataset not in spec.datasets or len(pairs) != len(spec.levels):
                raise ValueError(
                    f"paper.{dataset}.{model} must have {len(spec.levels)} entries "
                    f"for a data set of the study, got {len(pairs)}"
                )
            spec.model(model)
            for level, pair in zip(spec.levels, pairs, strict=True):
                if pair:
                    found[dataset, model, level] = Published(*(number(v, "paper") for v in pair))
    return found


def parse_found(spec: StudySpec, table: dict[str, Any]) -> dict[tuple[str, str, float], Setting]:
    """`[found.dataset.model]`: settings that an earlier search selected, for `--search fixed`."""
    found: dict[tuple[str, str, float], Setting] = {}
    for dataset, columns in table.items():
        for name, values in columns.items():
            base = spec.model(name).fixed.to_json()
            setting = Setting.from_json({**base, **values}).canonical()
            found |= {(dataset, name, level): setting for level in spec.levels}
    return found


def check_names(spec: StudySpec) -> StudySpec:
    """`spec` itself, if its baseline and its remarks name what it has."""
    for name in (spec.baseline, spec.compare):
        if name is not None:
            spec.model(name)
    for remark in spec.remarks:
        spec.restricted(remark.datasets, remark.models)
        if unknown := sorted(set(remark.levels) - set(spec.levels)):
            raise ValueError(f"levels of a remark must be of {spec.levels}, got {unknown}")
    if spec.axis == "none" and spec.levels != (0.0,):
        raise ValueError(f"levels must be absent without an axis, got {spec.levels}")
    return spec
