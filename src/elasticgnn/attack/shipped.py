"""Flips that come with the package, for the largest component of the bundled Cora.

Metattack's are for training on; those of EvA and PRBCD were found through a trained GCN or
ElasticGNN on 0/1 features and are for prediction. Every file is checked against its checksum.
"""

import hashlib
from importlib.resources import as_file, files

from elasticgnn.attack.perturbation import Perturbation, load_perturbation

FOLDER = "flips"
SUMS = "sha256sums"


def shipped_names() -> tuple[str, ...]:
    """What `shipped` knows: "cora-metattack-0" (0 hurts most), "cora-eva-gcn-5-0" and the like.

    The latter name data, method, victim, per cent of the edges, seed of split and training.

    >>> from elasticgnn.attack import shipped_names
    >>> "cora-metattack-0" in shipped_names(), "cora-eva-gcn-5-0" in shipped_names()
    (True, True)
    """
    folder = files("elasticgnn.attack") / FOLDER
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def shipped(name: str = "cora-metattack-0") -> Perturbation:
    """The perturbation `name`; Metattack's 25 % are to be cut with `upto` of `apply_to`.

    >>> from elasticgnn.attack import shipped
    >>> shipped().task
    'cora'
    """
    if name not in shipped_names():
        raise ValueError(f"name must be one of {shipped_names()}, got {name!r}")
    folder = files("elasticgnn.attack") / FOLDER
    found = hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest()
    if f"{found}  {name}.json" not in (folder / SUMS).read_text("ascii").splitlines():
        raise ValueError(f"{name}.json of the package must be as shipped, got another checksum")
    with as_file(folder / f"{name}.json") as path:
        return load_perturbation(path)
