"""How a layer reads the edges that it is handed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The scaling of nodes, and what becomes of single directions."""

    normalization: str = "degree"
    directed: str = "error"
