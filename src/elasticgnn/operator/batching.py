"""The batch rule of the registered operators: what vmap stacks are runs (n, R, d) of one call.

Members of a batch that share the weights of the graph, and whose gradients of weights are
not wanted, are runs side by side. The others are called one after the other.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Call = Callable[..., tuple[Tensor, ...]]
Dims = Sequence[Any]  # where each argument holds the batch; None: it has none
Batched = tuple[tuple[Tensor, ...], tuple[int | None, ...]]
WEIGHT, SCALE, SIZES = 1, 2, slice(6, 10)  # of the arguments of `propagate`


def propagate_batch(call: Call, size: int, dims: Dims, arguments: Sequence[Any]) -> Batched:
    """`call`, which is `propagate`, of all members, and where its results hold the batch."""
    if not _shares_graph(dims):
        return _one_by_one(call, size, dims, arguments)
    out, nodes, duals = call(*_as_runs(size, dims, arguments))
    return (_by_member(out, size), _in_shares(nodes, size), _in_shares(duals, size)), (1, 0, 0)


def adjoint_batch(call: Call, size: int, dims: Dims, arguments: Sequence[Any]) -> Batched:
    """The same of `propagate_backward`.

    What was saved can be read only in the order in which it was written: by the runs of this
    batch, or by single calls. Otherwise the adjoint gets nothing and replays the steps.
    """
    grad, out, nodes, duals, *given, wanted = arguments
    by_grad, by_out, by_nodes, by_duals, *by_given, by_wanted = dims
    nothing = (nodes.new_empty(0), duals.new_empty(0))
    saved_by_runs = _shares_graph(by_given) and by_nodes is not None
    if not _shares_graph(by_given) or wanted[0] or wanted[1]:
        saved, by_saved = (nodes, duals), (by_nodes, by_duals)
        if saved_by_runs:
            saved, by_saved = nothing, (None, None)
        dims = (by_grad, by_out, *by_saved, *by_given, by_wanted)
        return _one_by_one(call, size, dims, (grad, out, *saved, *given, wanted))
    saved = (_joined(nodes, by_nodes), _joined(duals, by_duals)) if saved_by_runs else nothing
    rows = _side_by_side(grad, by_grad, size)
    # no gradient of scales is wanted, so the result is not read: the cotangent stands for it
    found = call(rows, rows, *saved, *_as_runs(size, by_given, given), wanted)
    by_x, by_weight, by_scale, by_sizes = found
    sizes = by_sizes.view(4, size, -1) if wanted[2] else by_sizes
    moved = 1 if wanted[2] else None
    return (_by_member(by_x, size), by_weight, by_scale, sizes), (1, None, None, moved)


def _shares_graph(dims: Dims) -> bool:
    return dims[WEIGHT] is None and dims[SCALE] is None


def _as_runs(size: int, dims: Dims, arguments: Sequence[Any]) -> list[Any]:
    """The arguments of `propagate` with x (n, B R, d) and step sizes (B R,)."""
    runs = list(arguments)
    runs[0] = _side_by_side(arguments[0], dims[0], size)
    runs[SIZES] = [
        _in_front(value, dim, size).reshape(-1)
        for value, dim in zip(arguments[SIZES], dims[SIZES], strict=True)
    ]
    return runs


def _side_by_side(rows: Tensor, dim: int | None, size: int) -> Tensor:
    """Rows (n, R, d) of every member as (n, B R, d)."""
    return _in_front(rows, dim, size).movedim(0, 1).flatten(1, 2)


def _in_front(value: Tensor, dim: int | None, size: int) -> Tensor:
    """With the batch as first dimension; what all members share is repeated."""
    return value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)


def _by_member(rows: Tensor, size: int) -> Tensor:
    return rows.view(len(rows), size, rows.shape[1] // size, rows.shape[2])


def _in_shares(saved: Tensor, size: int) -> Tensor:
    """What was saved of all runs, a piece for each member: they make sense together only."""
    return saved.view(size, saved.numel() // size)


def _joined(saved: Tensor, dim: int | None) -> Tensor:
    return saved if dim is None else saved.movedim(dim, 0).reshape(-1)


def _one_by_one(call: Call, size: int, dims: Dims, arguments: Sequence[Any]) -> Batched:
    results = [call(*_member(dims, arguments, k)) for k in range(size)]
    stacked = tuple(torch.stack(parts) for parts in zip(*results, strict=True))
    return stacked, (0,) * len(stacked)


def _member(dims: Dims, arguments: Sequence[Any], k: int) -> list[Any]:
    return [
        value.select(dim, k) if isinstance(dim, int) else value
        for value, dim in zip(arguments, dims, strict=True)
    ]
