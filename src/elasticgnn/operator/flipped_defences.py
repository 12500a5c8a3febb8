"""RUNG, GPRGNN and two-layer defences on many graphs that differ by flipped pairs: no gradient."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.operator.flipped import (
    FlipLists,
    FlippedOutput,
    FlipTables,
    empty_output,
    loops,
    pad_columns,
)

NORMS = ("mcp", "l1", "l2")  # in the loops' order
MIXINGS = ("mean", "guard", "median")


@dataclass(frozen=True)
class Reweighting:
    """RUNG's settings: W = max(0, 1/(2z) - cut) for "mcp", z^2 (or z^4) = square + smallest."""

    norm: str
    fidelity: float
    cut: float
    smallest: float
    double_root: bool
    steps: int


def reweighted_on_flipped(
    x: Tensor, tables: FlipTables, settings: Reweighting, flips: FlipLists, *, rows: bool = False
) -> FlippedOutput:
    """RUNG's steps on rows x (n, d), d <= 16, on every flipped graph."""
    padded = pad_columns(x)
    norm = NORMS.index(settings.norm)
    options = (padded.shape[1], norm, int(settings.double_root), settings.steps)
    numbers = (settings.fidelity, settings.cut, settings.smallest)
    output, result = empty_output(len(flips), len(x), x.shape[1], rows)
    loops.flipped_reweighted(*tables.arguments(flips), padded.data_ptr(), options, numbers, result)
    return output


def polynomial_on_flipped(
    x: Tensor, tables: FlipTables, mix: Tensor, flips: FlipLists, *, rows: bool = False
) -> FlippedOutput:
    """sum_k mix_k S^k x (n, d), d <= 16, S = D^-1/2 (A + I) D^-1/2 of every flipped graph."""
    padded, mix = pad_columns(x), mix.detach().float().contiguous()
    arrays, shape = (padded.data_ptr(), mix.data_ptr()), (padded.shape[1], len(mix) - 1)
    output, result = empty_output(len(flips), len(x), x.shape[1], rows)
    loops.flipped_polynomial(*tables.arguments(flips), arrays, shape, result)
    return output


@dataclass(frozen=True, eq=False)
class MixedLayers:
    """mix(relu(mix(x)) weight2 + bias2); how rows are mixed is one of MIXINGS.

    mean: a GCN's. guard: by the cosine of rows where it reaches `parameter`. median: by nearness to
    the weighted median, `parameter` the temperature.
    """

    x: Tensor  # (n, h): features times the first weights
    weight2: Tensor  # (h, d)
    bias2: Tensor
    mixing: str
    parameter: float


def layers_on_flipped(
    layers: MixedLayers, tables: FlipTables, flips: FlipLists, *, rows: bool = False
) -> FlippedOutput:
    """The logits (n, d), d <= 16, of two mixing layers on every flipped graph."""
    width = layers.weight2.shape[1]
    x, weight2 = pad_columns(layers.x), pad_columns(layers.weight2)
    bias2 = pad_columns(layers.bias2[None])
    arrays = tuple(part.data_ptr() for part in (x, weight2, bias2))
    shape = (x.shape[1], layers.x.shape[1], weight2.shape[1], MIXINGS.index(layers.mixing))
    output, result = empty_output(len(flips), len(x), width, rows)
    loops.flipped_layers(*tables.arguments(flips), arrays, shape, layers.parameter, result)
    return output


def among(flips: FlipLists, allowed: Tensor) -> FlipLists:
    """The lists without the pairs that `allowed` (n, n) does not have."""
    kept = allowed[flips.pairs[:, 0].long(), flips.pairs[:, 1].long()]
    counted = torch.cat((flips.first.new_zeros(1), kept.long().cumsum(0)))
    return FlipLists(flips.pairs[kept].contiguous(), counted[flips.first].contiguous())
