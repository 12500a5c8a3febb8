"""All penalties by name: who needs a list of them takes this one."""

from collections.abc import Mapping
from types import MappingProxyType

from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalties.l1 import L1
from elasticgnn.problem.penalties.l21 import L21
from elasticgnn.problem.penalties.mcp import MCP
from elasticgnn.problem.penalties.scad import SCAD

PENALTIES: Mapping[str, type[EdgePenalty]] = MappingProxyType(
    {penalty.name: penalty for penalty in (L21, L1, MCP, SCAD)}
)
NORMS = tuple(PENALTIES)
CONVEX_NORMS = tuple(name for name, kind in PENALTIES.items() if kind.default_concavity is None)
FORMS = ("ball", "box", "fading")  # of the projection, in the order of the kernels' Shape


def penalty_by_name(name: str, concavity: float | None = None) -> EdgePenalty:
    """The penalty called `name`; `concavity` is its default where None or 0."""
    if name not in PENALTIES:
        raise ValueError(f"norm must be one of {NORMS}, got {name!r}")
    kind = PENALTIES[name]
    if kind.default_concavity is None:
        return kind()
    make: type = kind  # the classes that have a default take it
    penalty: EdgePenalty = make(concavity or kind.default_concavity)
    return penalty
