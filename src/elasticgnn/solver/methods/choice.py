"""Which method fits which problem, and why (docs/solver.md, "Methods")."""

from collections.abc import Callable
from dataclasses import dataclass

from elasticgnn.solver.ascent.ascend import ascend
from elasticgnn.solver.interior_point import precise
from elasticgnn.solver.interior_point.mehrotra import interior_point, precise_interior_point
from elasticgnn.solver.linear_algebra.fill import FactorTooLargeError
from elasticgnn.solver.methods import forest
from elasticgnn.solver.methods.forest import solve_forest
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.methods.papc import iterate
from elasticgnn.solver.methods.stopping import FINISHING_STEPS, TRIAL_STEPS, Stop
from elasticgnn.solver.pieces.flatten import flat_strength
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import NodeTerms

Method = Callable[[Instance, Stop, Array, Array], Outcome]
RUN: dict[str, Method] = {
    "forest": solve_forest,
    "interior": interior_point,
    "precise": precise_interior_point,
    "ascent": ascend,
    "papc": iterate,
}
METHODS = ("auto", *RUN)
ASKED = "asked for"
MOST_CHANNELS = 8  # that interact: the system has a block of their square per entry
MOST_WIDE_WORK = 1e8  # nodes times cubed channels, where there are more than those
MOST_UNKNOWNS = 3_000_000  # of a system without fill: forests
MOST_WITH_CYCLES = 120_000  # of a system that fills up


@dataclass(frozen=True)
class Choice:
    """A method and the reason for it; `steps` limits a trial before the next choice."""

    name: str
    reason: str
    steps: int | None = None


def choose(instance: Instance) -> list[Choice]:
    """The methods to try, first to last; each is the last resort of the one before."""
    if forest.refusal(instance) is None:
        exact = "the graph has no cycles and channels do not interact: exact"
        if instance.channel_strength is not None or not instance.has_node_weights:
            return [Choice("forest", exact)]
        rest = Choice("ascent", "a strength too small for the exact method's sums", FINISHING_STEPS)
        return [Choice("forest", exact), rest]
    if instance.terms is not None:
        return [Choice("interior", f"{in_words(instance.terms)}: Newton steps on it")]
    if instance.channel_strength is not None:
        return [Choice("interior", "channels have strengths of their own")]
    ascent = Choice("ascent", "order 0 on a graph with cycles: many cheap steps")
    if not _interior_serves(instance):
        if not instance.order and not len(instance.missing):
            return [ascent]
        return [Choice("ascent", "too large, or too many channels, for a factorisation")]
    reason = _interior_reason(instance)
    if reason is not None:
        rest = Choice("ascent", f"{reason}; the interior point left a rest", FINISHING_STEPS)
        return [Choice("interior", reason), rest]
    trial = Choice(ascent.name, f"order {instance.order}", TRIAL_STEPS.get(instance.order, 0))
    return [trial, Choice("interior", "the ascent stalled")]


def last_resort(instance: Instance, last: Choice) -> list[Choice]:
    """Twice the digits after float64 led to no certificate, if the system is small enough."""
    if precise.refusal(instance) is not None:
        return []
    return [Choice("precise", f"{last.reason}; float64 has too few digits for its systems")]


def in_words(terms: NodeTerms) -> str:
    """What a node pays, in a few words."""
    words = [f"{terms.loss.name} loss"]
    words += ["a lasso on the nodes"] if terms.sparsity > 0 else []
    words += ["bounds"] if terms.is_bounded else []
    return ", ".join(words)


def refusal(instance: Instance, method: str) -> str | None:
    """Why a method cannot serve this problem; None if it can."""
    if method == "forest":
        return forest.refusal(instance)
    if method == "precise":
        return precise.refusal(instance)
    if method == "interior" or (instance.terms is None and instance.channel_strength is None):
        return None
    return "only the interior point method takes other losses, bounds, a lasso or channel strengths"


def without_factor(instance: Instance, choice: Choice, error: FactorTooLargeError) -> Choice:
    """What to do instead of a factorisation that would not fit; refuses where nothing serves."""
    why_not = refusal(instance, "ascent")
    if choice.reason == ASKED or why_not is not None:
        words = f"; {why_not}" if why_not else " (method='auto' takes another)"
        raise ValueError(f"graph must have smaller factors for this problem: {error}{words}")
    return Choice("ascent", f"{choice.reason}, but {error}")


def _interior_reason(instance: Instance) -> str | None:
    """Why the interior point method is the first to try, if it is."""
    if len(instance.missing):
        return "values are missing"
    if instance.lambda1 == 0:
        return "lambda1 = 0: one linear system"
    if instance.geometry.boundary == "graph" and instance.lambda1 >= flat_strength(instance):
        return "lambda1 makes everything flat"
    if instance.geometry.is_forest:
        kind = f"order {instance.order}" if instance.order else "channels interact or lambda2 > 0"
        return f"{kind} on a graph without cycles"
    return "order 2: too ill-conditioned for the ascent" if instance.order == 2 else None


def _interior_serves(instance: Instance) -> bool:
    """Whether the system is small enough to be factorised some twenty times."""
    alone = instance.entrywise or instance.lambda1 == 0
    channels, nodes = 1 if alone else instance.x.shape[1], len(instance.x)
    most = MOST_UNKNOWNS if instance.geometry.is_forest else MOST_WITH_CYCLES
    narrow = channels <= MOST_CHANNELS or nodes * channels**3 <= MOST_WIDE_WORK
    return narrow and nodes * channels <= most
