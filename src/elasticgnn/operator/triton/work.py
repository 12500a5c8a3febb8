"""The launches of one call: which kernel, on what grid, with which tensors."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.operator.triton import adjoint_kernels, forward_kernels
from elasticgnn.operator.triton.tables import WARPS, Tables, Tile


def launch(kernel: Any, grid: tuple[int, int], *arguments: Any, **meta: Any) -> None:
    """One launch on the device of the first argument."""
    with torch.cuda.device_of(arguments[0]):  # type: ignore[no-untyped-call] # torch has no types
        # fused multiply-add: both ends of an edge do the same with the same numbers
        kernel[grid](*arguments, **meta, num_warps=WARPS, enable_fp_fusion=True)


class State(NamedTuple):
    """Scaled rows G and V (n, R, d) and the dual Z (m, R, d) between two steps."""

    g: Tensor
    v: Tensor
    z: Tensor


class Cotangents(NamedTuple):
    """The rows that an adjoint carries from step to step, and what it sums on the way."""

    h: Tensor  # (n, R, d), as q, a, p and by_x
    q: Tensor
    a: Tensor
    p: Tensor
    by_x: Tensor
    sums: Tensor  # (5, n, R): lambda1, gamma, beta, V's share of the scale, smoothing
    by_weight: Tensor  # (m, R)


@dataclass(frozen=True)
class Work:
    """Graph, step sizes and shape of one call."""

    tables: Tables
    weight: Tensor  # (m,)
    scale: Tensor  # (n,)
    sizes: Tensor  # (8, R): lambda1, gamma, beta, smoothing, and the four of `Line`
    x: Tensor  # (n, R, d), contiguous
    form: int  # of the projection
    tile: Tile
    half: bool  # the dual is held in bfloat16

    @property
    def num_edges(self) -> int:
        """m, the rows of a dual."""
        return len(self.weight)

    @property
    def dual_dtype(self) -> torch.dtype:
        """How the dual is held."""
        return torch.bfloat16 if self.half else self.x.dtype

    def edge_rows(self, *leading: int, dtype: torch.dtype | None = None) -> Tensor:
        """Zeros (*leading, m, R, d)."""
        shape = (*leading, self.num_edges, *self.x.shape[1:])
        return self.x.new_zeros(shape, dtype=dtype or self.x.dtype)

    def start_state(self) -> State:
        """G = s x, V = 0, Z = 0."""
        g = self.scale[:, None, None] * self.x
        return State(g, torch.zeros_like(g), self.edge_rows(dtype=self.dual_dtype))

    def _over_nodes(self, kernel: Any, *rows: Any, **meta: Any) -> None:
        n, runs, width = self.x.shape
        hubs = self.tables.most_hubs
        grid = (hubs + -(-n // self.tile.nodes), runs)
        fixed = (*self.tables.slots, self.weight, self.scale, self.sizes)
        tensors = [entry for entry in rows if isinstance(entry, Tensor)]
        numbers = [entry for entry in rows if not isinstance(entry, Tensor)]
        shape = (n, runs, width, hubs, *numbers)
        launch(kernel, grid, *fixed, *tensors, *shape, **meta, **self.tile.meta())

    def step(self, state: State, after: State, u: Tensor) -> None:
        """`after` from `state` by one step; rows of nodes may be written over, the dual not."""
        self._over_nodes(forward_kernels.smooth_nodes, self.x, state.g, state.v, u)
        self._ascend(state, after, u, moves=True)

    def restore_v(self, z: Tensor, v: Tensor) -> None:
        """V of a dual that was saved."""
        self._ascend(State(v, v, z), State(v, v, z), v, moves=False)

    def _ascend(self, state: State, after: State, u: Tensor, *, moves: bool) -> None:
        rows = (u, state.v, state.z, after.v, after.g, after.z)
        meta = {"FORM": self.form, "MOVES": moves}
        self._over_nodes(forward_kernels.ascend_edges, *rows, **meta)

    def replay(self, u: Tensor, z: Tensor | None, out: Tensor) -> None:
        """Dual rows before their projection, of the steps whose U (steps, n, R, d) is given."""
        _, runs, width = self.x.shape
        start = self.edge_rows(dtype=self.dual_dtype)[:0] if z is None else z
        strides = (len(u), u.stride(0), out.stride(0))
        launch(
            forward_kernels.replay_edges,
            (-(-self.num_edges // self.tile.edges), runs),
            *(self.tables.tail, self.tables.head, self.sizes, u, start, out),
            *(self.num_edges, runs, width, *strides),
            FORM=self.form,
            FROM_ZERO=z is None,
            E=self.tile.edges,
            D=self.tile.width,
        )

    def step_back(
        self,
        cotangents: Cotangents,
        duals: tuple[Tensor, Tensor, Tensor],
        nodes: tuple[Tensor, ...] | None,
    ) -> None:
        """Cotangents through one step; `duals` are T before, T after and the ascended rows.

        `nodes` are G, U, V before and V after the step where all gradients are wanted.
        """
        h, q, a, p, by_x, sums, by_weight = cotangents
        before, after, ascended = duals
        g, u, v, v_next = (self.x,) * 4 if nodes is None else nodes
        stride = self.x.shape[0] * self.x.shape[1]
        rows = (q, h, before, ascended, after, a, p, by_x, self.x, g, u, v, v_next)
        meta: dict[str, Any] = {"FORM": self.form, "ALL": nodes is not None}
        kernel = adjoint_kernels.adjoint_edges
        self._over_nodes(kernel, *rows, sums, by_weight, stride, **meta, HALF=self.half)
        rest = (p, a, h, q, g, sums[4], by_weight)
        self._over_nodes(adjoint_kernels.adjoint_nodes, *rest, ALL=nodes is not None)
