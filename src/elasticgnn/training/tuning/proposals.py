"""Which settings are tried next: such as the best ones found have, now and then any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.nn import ModelSettings
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from elasticgnn.training.plan import LOSSES
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.outcome import Outcome

Values = tuple[Any, ...]
STRENGTHS: Values = (0.0, 0.1, 0.3, 1.0, 3.0, 6.0)
COMMON: dict[str, Values] = {
    "dropout": (0.0, 0.2, 0.5, 0.8),
    "hidden_channels": (32, 64, 128),
    "weight_decay": (0.0, 5e-5, 5e-4, 5e-3),
    "learning_rate": (3e-3, 0.01),
}
OF_MODEL: dict[str, dict[str, Values]] = {
    "elastic": {
        "lambda1": STRENGTHS,
        "lambda2": STRENGTHS,
        "steps": (3, 5, 10),
        "norm": CONVEX_NORMS,
    },
    "appnp": {"alpha": (0.05, 0.1, 0.2, 0.5), "steps": (2, 5, 10)},
}
OF_SETTINGS = frozenset(field.name for field in fields(ModelSettings))
ENOUGH = 4  # outcomes from which on their settings say where to look
GOOD = 0.2  # share of outcomes that count as good, at least 2
FRESH = 0.15  # share of proposals that are drawn anywhere all the same
PRIOR = 1.0  # weight of "any value" beside each outcome's 1
NEXT = 0.4  # what a value adds to the values beside it
DRAWS = 24  # of which the likeliest to be good is proposed
TRIES = 30  # proposals drawn for each that is wanted, until a family counts as tried out


def space_of(candidate: Candidate, *, of_numbers: bool = False) -> dict[str, Values]:
    """The settings that are varied of the candidate's family, with their values in order."""
    loss: dict[str, Values] = {"loss": LOSSES} if of_numbers else {}
    return {**COMMON, **OF_MODEL.get(candidate.settings.name, {}), **loss}


def propose(
    found: Sequence[Outcome], rng: np.random.Generator, count: int, *, of_numbers: bool = False
) -> list[Candidate]:
    """`count` settings of one family that were not measured yet; fewer if none are left.

    Settings are drawn from how often each value stands among the best of `found`, and of several
    draws that one is proposed whose values are most frequent there and least among the others:
    the tree-structured Parzen estimator (Bergstra et al. 2011), with values that also speak for
    the values beside them. The order of `found` is of no importance: equal outcomes and an equal
    state of `rng` give equal proposals.
    """
    best = sorted(found, key=lambda o: (-len(o.scores), -o.mean, repr(o.candidate)))
    space = space_of(best[0].candidate, of_numbers=of_numbers)
    candidates = [outcome.candidate for outcome in best]
    good = max(2, math.ceil(GOOD * len(best)))
    among_good, among_others = (
        {name: shares_of(part, name, space[name]) for name in space}
        for part in (candidates[:good], candidates[good:])
    )
    seen, proposed = set(candidates), list[Candidate]()
    for _ in range(TRIES * count):
        if len(proposed) == count:
            break
        anywhere = len(best) < ENOUGH or rng.random() < FRESH
        if anywhere:
            values = any_values(space, rng)
        else:
            values = promising(space, among_good, among_others, rng)
        candidate = with_values(candidates[0], values)
        if candidate not in seen:
            seen.add(candidate)
            proposed.append(candidate)
    return proposed


def shares_of(candidates: Sequence[Candidate], name: str, values: Values) -> NDArray[np.float64]:
    """How often each value of a setting stands among candidates, smoothed; sums to 1."""
    weight = np.full(len(values), PRIOR / len(values))
    for candidate in candidates:
        weight += nearness(value_of(candidate, name), values)
    return weight / weight.sum()


def nearness(value: Any, values: Values) -> NDArray[np.float64]:
    """1 at a value, less at those beside it; words have none beside them."""
    if isinstance(value, str):
        return np.array([float(other == value) for other in values])
    place = float(np.interp(value, values, range(len(values))))
    away = np.abs(np.arange(len(values)) - place)
    return np.where(away < 1, 1 - (1 - NEXT) * away, np.where(away < 2, NEXT * (2 - away), 0.0))


Shares = Mapping[str, NDArray[np.float64]]


def promising(
    space: Mapping[str, Values], good: Shares, bad: Shares, rng: np.random.Generator
) -> dict[str, Any]:
    """Of DRAWS draws by the good shares the one with the largest good over bad."""
    names = list(space)
    places = np.stack([rng.choice(len(space[n]), DRAWS, p=good[n]) for n in names], axis=1)
    ratio = sum(np.log(good[n] / bad[n])[places[:, k]] for k, n in enumerate(names))
    best = places[int(np.argmax(ratio))]
    return {name: space[name][int(place)] for name, place in zip(names, best, strict=True)}


def any_values(space: Mapping[str, Values], rng: np.random.Generator) -> dict[str, Any]:
    """Each setting drawn alone, every value as often."""
    return {name: values[int(rng.integers(len(values)))] for name, values in space.items()}


def value_of(candidate: Candidate, name: str) -> Any:
    """A setting of the model or of its training."""
    return getattr(candidate.settings if name in OF_SETTINGS else candidate.plan, name)


def with_values(candidate: Candidate, values: Mapping[str, Any]) -> Candidate:
    """The candidate with other settings of the model and of its training."""
    settings = {name: value for name, value in values.items() if name in OF_SETTINGS}
    plan = {name: value for name, value in values.items() if name not in OF_SETTINGS}
    return replace(
        candidate,
        settings=replace(candidate.settings, **settings),
        plan=replace(candidate.plan, **plan),
    )
