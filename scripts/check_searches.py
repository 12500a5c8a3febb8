"""Part of check_results.py: whether a search tried the settings that its rule draws.

Shares no line with the package: a study's space is read from its TOML, settings are drawn anew.
"""

import random
from itertools import product

# a setting where its study says nothing
DEFAULTS = {
    "steps": 10,
    "norm": "l21",
    "learning_rate": 0.01,
    "weight_decay": 5e-4,
    "dropout": 0.5,
    "lambda1": 3.0,
    "lambda2": 3.0,
    "attention_dropout": 0.0,
}


def setting(values):
    """A setting by its own names: alpha is APPNP's, and without lambda1 both norms are one."""
    row = {**DEFAULTS, **values}
    if "alpha" in row:
        alpha = row.pop("alpha")
        row |= {"lambda1": 0.0, "lambda2": round(1 / alpha - 1, 12) if alpha else "inf"}
    return {**row, "norm": "l21"} if row["lambda1"] == 0 else row


def space_of(table, model):
    """Every setting of a model's space once, in the order of its grids."""
    found = []
    for grid in table["models"][model].get("space", [{}]):
        lists = [value if isinstance(value, list) else [value] for value in grid.values()]
        for values in product(*lists):
            row = setting({**table.get("defaults", {}), **dict(zip(grid, values, strict=True))})
            if row not in found:
                found.append(row)
    return found


def drawn(space, count, seed):
    """The settings with the lowest numbers of Python's generator, one per setting."""
    lots = random.Random(seed)
    numbers = [lots.random() for _ in space]
    below = sorted(numbers)[count] if count < len(space) else 1.0
    return [row for row, number in zip(space, numbers, strict=True) if number < below]


def rule_of(table, dataset):
    """The study's rule on a data set."""
    search = table.get("search", {})
    own = [part for part in search.get("on", []) if dataset in part["datasets"]]
    return {"seed": 0, **(own[0] if own else search)}


def is_shared(table, model):
    """Whether other models may bring more runs to the same settings."""
    groups = [other.get("group", name) for name, other in table["models"].items()]
    return groups.count(table["models"][model].get("group", model)) > 1


def problems_of(table, key, cell):
    """What is wrong with the search of a cell that names its rule."""
    dataset, _, model = key
    rule, wanted = cell["rule"], rule_of(table, dataset)
    if rule != {name: wanted[name] for name in ("seed", "rungs")}:
        return [f"{key} search: the cell's rule is {rule}, the study's {wanted}"]
    chosen = drawn(space_of(table, model), rule["rungs"][0]["keep"], rule["seed"])
    tried = [{n: row.get(n, value) for n, value in DEFAULTS.items()} for row in cell["candidates"]]
    if tried != chosen:
        return [f"{key} search: the settings tried are not those that the rule draws"]
    counts = [row["runs"] for row in cell["candidates"]]
    reached = [sum(count >= rung["runs"] for count in counts) for rung in rule["rungs"]]
    most = [min(rung["keep"], len(chosen)) for rung in rule["rungs"]]
    if reached != most and not is_shared(table, model):
        return [f"{key} search: {reached} settings reached the rungs, the rule says {most}"]
    return []
