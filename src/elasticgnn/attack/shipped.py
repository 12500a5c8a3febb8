"""Flips that come with the package: Metattack on the largest component of the bundled Cora."""

from importlib.resources import as_file, files

from elasticgnn.attack.perturbation import Perturbation, load_perturbation

FOLDER = "flips"


def shipped_names() -> tuple[str, ...]:
    """What `shipped` knows, e.g. "cora-metattack-0": data, method, number (0 hurts most).

    >>> from elasticgnn.attack import shipped_names
    >>> shipped_names()[0]
    'cora-metattack-0'
    """
    folder = files("elasticgnn.attack") / FOLDER
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def shipped(name: str = "cora-metattack-0") -> Perturbation:
    """The perturbation `name`: 25 % of the edges, to be cut with `upto` of `apply_to`.

    >>> from elasticgnn.attack import shipped
    >>> shipped().task
    'cora'
    """
    if name not in shipped_names():
        raise ValueError(f"name must be one of {shipped_names()}, got {name!r}")
    with as_file(files("elasticgnn.attack") / FOLDER / f"{name}.json") as path:
        return load_perturbation(path)
