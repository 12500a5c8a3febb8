"""Tensors as the compiled loops want them: addresses, lanes of runs."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.kernels import native
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalties.registry import FORMS


def in_memory(x: Tensor) -> Tensor:
    """x with its own numbers one after the other, as data_ptr() shows them to the kernels.

    A negated view has the numbers of another tensor and a flag; contiguous() keeps the flag.
    """
    return x.contiguous().resolve_neg()


def as_lanes(x: Tensor) -> Tensor:
    """(n, R, d) as the kernels want it: runs innermost, contiguous."""
    return in_memory(x if x.shape[1] == 1 else x.transpose(1, 2))


def as_runs(rows: Tensor, like: Tensor) -> Tensor:
    """Back to the shape (n, R, d) of `like`."""
    n, runs, width = like.shape
    if runs == 1:
        return rows.view(n, runs, width)
    return rows.view(n, width, runs).transpose(1, 2).contiguous()


def lanes_for(out: Tensor, group: slice) -> Tensor:
    """Where the kernels write the rows of a group of runs of `out` (n, R, d)."""
    n, runs, width = out.shape
    return out if runs == 1 else out.new_empty(n, width, group.stop - group.start)


def hand_back(lanes: Tensor, out: Tensor, group: slice) -> None:
    """Copy what the kernels wrote to `lanes_for` into `out`, if it is not there already."""
    if lanes is not out:
        out[:, group] = as_runs(lanes, out[:, group])


def run_groups(x: Tensor) -> list[slice]:
    """The runs of x (n, R, d) in groups that fill a register: their rows stay in a near cache."""
    lanes, runs = 64 // x.element_size(), x.shape[1]
    return [slice(first, min(first + lanes, runs)) for first in range(0, runs, lanes)]


def share_of(saved: Tensor, group: slice, x: Tensor) -> Tensor:
    """The part of what was saved of all runs of x that belongs to a group: one after the other."""
    each = saved.numel() // x.shape[1]
    return saved[group.start * each : group.stop * each]


def address(tensor: Tensor | None) -> int:
    """Where the tensor lies in memory, 0 for none."""
    return 0 if tensor is None or tensor.numel() == 0 else tensor.data_ptr()


class Problem(NamedTuple):
    """The arguments that both kernels share, as addresses; `owners` keeps the memory alive."""

    arguments: tuple[Any, ...]
    owners: tuple[Tensor, ...]


def form_number(edge_penalty: EdgePenalty) -> int:
    """The kernels' Shape of a penalty's projection."""
    if edge_penalty.form is None:
        raise ValueError(f"norm must have compiled loops, got {edge_penalty.name!r}")
    return FORMS.index(edge_penalty.form)


def fading_line(edge_penalty: EdgePenalty, beta: Tensor) -> tuple[Tensor, ...]:
    """The four numbers (R,) of a projection that fades; empty where the loops read none."""
    if edge_penalty.form != "fading":
        return (beta.new_empty(0),) * 4
    return tuple(torch.as_tensor(part, dtype=beta.dtype) for part in edge_penalty.line(beta))


def problem(
    rows: Tensor, x: Tensor, tables: tuple[Tensor, ...], sizes: tuple[Tensor, ...], options: Any
) -> Problem:
    """The arguments of a call as the compiled loops take them."""
    edge_penalty, steps = options
    tables = tuple(in_memory(table) for table in tables)
    sizes = tuple(in_memory(size) for size in (*sizes, *fading_line(edge_penalty, sizes[2])))
    shape = (x.shape[0], tables[3].shape[0], x.shape[1], x.shape[2])
    arguments = (
        shape,
        tuple(table.data_ptr() for table in tables),
        tuple(address(size) for size in sizes),
        (form_number(edge_penalty), steps, torch.get_num_threads()),
        rows.data_ptr(),
    )
    return Problem(arguments, (rows, *tables, *sizes))


def kernel(name: str, dtype: torch.dtype) -> Any:
    """The compiled function of that name for float32 or float64."""
    return getattr(native, f"{name}_{'f32' if dtype == torch.float32 else 'f64'}")
