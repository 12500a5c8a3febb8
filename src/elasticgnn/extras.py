"""Optional libraries: which extra of the package brings each, and what to say without it."""

from collections.abc import Iterator
from contextlib import contextmanager

EXTRA_OF = {
    "typer": "cli",
    "rich": "cli",
    "safetensors": "models",
    "torch_geometric": "models",
    "optuna": "study",
    "psycopg": "study",
    "matplotlib": "plot",
    "PIL": "plot",
    "networkx": "data",
    "pandas": "data",
    "polars": "data",
    "openpyxl": "data",
    "pyarrow": "data",
    "sklearn": "sklearn",
    "qdldl": "solver",
    "triton": "gpu",
    "pymetis": "distributed",
    "mlflow": "tracking",
    "tensorboard": "tracking",
}


class MissingExtraError(ModuleNotFoundError):
    """An optional library is not installed; the message says which extra brings it."""


@contextmanager
def optional_imports() -> Iterator[None]:
    """A block of imports that, where a library is missing, names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA_OF:
            raise
        extra = EXTRA_OF[library]
        raise MissingExtraError(
            f"{library} is needed here and not installed: pip install 'elasticgnn[{extra}]'",
            name=library,
        ) from error
