"""Learning on graphs whose edges cannot all be trusted.

    graph        Graph: undirected, weighted edges, from and to other libraries
    problem      ElasticPenalty, the objective and its certificate
    operator     elastic_message_passing: the steps, differentiable, compiled
    nn           EMP, a layer for torch_geometric; ElasticGNN and its rivals
    solver       minimise: a signal denoised, with a proof of how well
    data         load, read_task: data sets and your own files
    training     fit, predict, tune; ElasticGNNClassifier for scikit-learn
    attack       attack, score_edges: hostile edges, and which look wrong
    defence      other people's robust networks
    certify      how many flips a prediction survives
    robustness   models under everybody's attacks
    distributed  several processes and machines
    experiment   the paper's studies; report: their tables and page
    features     sparse features
    tracking     callbacks; writers for TensorBoard and MLflow

Begin with `help(elasticgnn.Graph)`, `help(elasticgnn.solver.minimise)` or `elasticgnn demo` in a
shell. Names are loaded at first use, so that `elasticgnn --help` does not wait for torch.
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
    "certify",
    "data",
    "defence",
    "distributed",
    "experiment",
    "features",
    "graph",
    "nn",
    "operator",
    "problem",
    "report",
    "robustness",
    "solver",
    "tracking",
    "training",
)

__all__ = ["ElasticPenalty", "Graph", "elastic_message_passing"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _FOLDERS:
        return import_module(f"elasticgnn.{name}")
    if name == "__version__":
        from elasticgnn.versions import package_version

        return package_version("elasticgnn")
    raise AttributeError(f"module 'elasticgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_FOLDERS, "__version__"])
