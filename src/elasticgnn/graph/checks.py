"""Rules that every edge list must keep, checked before anything is built from it."""

import torch
from torch import Tensor

from elasticgnn.graph.once import all_numbers, is_compiling

INT32_LIMIT = 2**31 - 1
DIRECTED = ("error", "symmetrize")


def check_edge_index(edge_index: Tensor) -> None:
    """Refuses anything but an integer tensor (2, E)."""
    if not isinstance(edge_index, Tensor) or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        shape = tuple(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index)
        raise ValueError(f"edge_index must be an integer tensor of shape (2, E), got {shape}")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise ValueError(f"edge_index must hold integers, got {edge_index.dtype}")
    if edge_index.shape[1] > INT32_LIMIT:
        raise ValueError(f"edge_index must have at most {INT32_LIMIT} columns")


def check_directed(directed: str, undirected: bool) -> None:
    """Refuses an unknown way to read single directions, and two ways at once."""
    if directed not in DIRECTED:
        raise ValueError(f"directed must be one of {DIRECTED}, got {directed!r}")
    if undirected and directed != "error":
        raise ValueError(
            "undirected must be False with directed='symmetrize', got True: each column would be "
            "an edge of its own"
        )


def check_num_nodes(num_nodes: int | None, edge_index: Tensor) -> int:
    """The number of nodes: as given, or one more than the largest node named."""
    low, high = (0, -1) if edge_index.numel() == 0 else map(int, torch.aminmax(edge_index))
    if low < 0:
        raise ValueError(f"edge_index must hold node numbers >= 0, got {low}")
    if num_nodes is None:
        num_nodes = high + 1
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int) or num_nodes < 0:
        raise ValueError(f"num_nodes must be an integer >= 0, got {num_nodes!r}")
    if num_nodes > INT32_LIMIT:
        raise ValueError(f"num_nodes must be at most {INT32_LIMIT}, got {num_nodes}")
    if high >= num_nodes:
        raise ValueError(f"edge_index must name nodes below num_nodes = {num_nodes}, got {high}")
    return num_nodes


def check_weight(weight: Tensor, length: int, name: str = "edge_weight") -> None:
    """Refuses weights of another shape or type, negative or not finite ones."""
    if not isinstance(weight, Tensor) or tuple(weight.shape) != (length,):
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight)
        raise ValueError(f"{name} must have shape ({length},), one number per edge, got {shape}")
    if weight.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} must be float32 or float64, got {weight.dtype}")
    if length == 0:
        return
    numbers = all_numbers(weight)
    if is_compiling():  # asked when the code runs
        good = ((numbers >= 0) & torch.isfinite(numbers)).all()
        torch._assert_async(good, f"{name} must be finite and >= 0")
        return
    low, high = torch.stack(torch.aminmax(numbers)).tolist()  # one look: on a device it waits
    if not low >= 0 or high == float("inf"):  # NaN fails the first comparison
        bad = numbers[~((numbers >= 0) & torch.isfinite(numbers))]
        raise ValueError(f"{name} must be finite and >= 0, got {float(bad[0])}")
