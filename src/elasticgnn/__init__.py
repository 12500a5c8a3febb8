"""Learning on graphs whose edges cannot all be trusted.

Names are loaded at first use, so that `elasticgnn --help` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticgnn.graph import Graph as Graph
    from elasticgnn.operator import elastic_message_passing as elastic_message_passing
    from elasticgnn.problem import ElasticPenalty as ElasticPenalty

_HOME = {
    "Graph": "elasticgnn.graph",
    "ElasticPenalty": "elasticgnn.problem",
    "elastic_message_passing": "elasticgnn.operator",
}
_FOLDERS = (
    "attack",
    "data",
    "features",
    "graph",
    "nn",
    "operator",
    "problem",
    "solver",
    "training",
)

__all__ = ["ElasticPenalty", "Graph", "elastic_message_passing"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _FOLDERS:
        return import_module(f"elasticgnn.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("elasticgnn")
    raise AttributeError(f"module 'elasticgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_FOLDERS, "__version__"])
