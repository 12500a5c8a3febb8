"""Positions of nodes in the plane: neighbours near each other, everybody else apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.graph import Graph

EPOCHS = 120
APART = 4  # random nodes that each end of an edge keeps away from, per epoch
SEED = 0  # of the pairs that are compared: the same graph always gets the same picture
Array = NDArray[Any]


def layout(graph: Graph) -> Array:
    """Positions (n, 2) in 0..1; a function of the graph alone.

    Starts from two slowly varying signals of the graph; then neighbours attract, and random pairs
    repel each other, as in LargeVis (Tang et al. 2016). Nodes without an edge stand below.
    """
    place = np.zeros((graph.num_nodes, 2))
    tail, head = graph.tail.numpy(), graph.head.numpy()
    joined = np.zeros(graph.num_nodes, dtype=bool)
    joined[tail] = joined[head] = True
    if joined.any():
        place[joined] = to_square(on_disc(moved_apart(slow_signals(graph), tail, head)[joined]))
    alone = np.flatnonzero(~joined)
    wide = max(int(np.ceil(3 * np.sqrt(len(alone)))), 30)
    place[alone] = np.stack([np.arange(len(alone)) % wide, np.arange(len(alone)) // wide], 1)
    place[alone] = place[alone] / wide * (1, -1) - (0, 0.06)
    return to_square(place)


def slow_signals(graph: Graph, rounds: int = 60) -> Array:
    """Two signals (n, 2) that differ little along edges: smoothed noise, made orthogonal."""
    generator = torch.Generator().manual_seed(SEED)
    if graph.num_nodes < 3:  # fewer nodes than signals
        return np.arange(2.0 * graph.num_nodes).reshape(-1, 2)
    signal = torch.randn(graph.num_nodes, 3, generator=generator, dtype=torch.float64)
    signal[:, 0] = graph.degree.double().sqrt()
    for _ in range(rounds):
        signal = torch.linalg.qr(graph.smooth(signal))[0]
    spread = signal[:, 1:] * graph.degree.double().rsqrt().unsqueeze(1)
    return (spread / spread.std(0, correction=0).clamp(min=1e-12)).clamp(-3, 3).numpy()


def moved_apart(start: Array, tail: Array, head: Array) -> Array:
    """The positions after EPOCHS rounds of attraction along edges and sampled repulsion."""
    rng, count = np.random.default_rng(SEED), len(start)
    place = 5 * start + rng.normal(size=start.shape) * 0.5
    ends = np.concatenate([tail, head])
    degree = np.maximum(np.bincount(ends, minlength=count), 1)[:, None]
    for epoch in range(EPOCHS):
        rate = 1 - epoch / EPOCHS
        apart = place[tail] - place[head]
        attraction = -2 * apart / (1 + (apart**2).sum(1, keepdims=True))
        force = gathered(attraction, tail, count) - gathered(attraction, head, count)
        other = rng.integers(0, count, (APART, count))
        for k in range(APART):
            away = place - place[other[k]]
            square = (away**2).sum(1, keepdims=True)
            push = 2 * away / ((0.05 + square) * (1 + square))
            force += degree**0.5 * np.clip(push, -4, 4)
        place += rate * np.clip(force / degree**0.5, -4, 4) - 0.002 * rate * place
    return place


def gathered(rows: Array, nodes: Array, count: int) -> Array:
    """The sum of the rows of each node."""
    return np.stack([np.bincount(nodes, rows[:, k], count) for k in range(2)], 1)


def on_disc(place: Array) -> Array:
    """Positions with their directions kept and distances evened out: no part is crowded."""
    place = place - np.median(place, axis=0)
    radius = np.hypot(*place.T)
    rank = np.argsort(np.argsort(radius, kind="stable")) + 0.5
    even: Array = place / np.maximum(radius, 1e-12)[:, None] * np.sqrt(rank / len(rank))[:, None]
    return even


def to_square(place: Array) -> Array:
    """Positions moved and scaled into 0..1, their proportions kept."""
    low = place.min(0, initial=np.inf) if len(place) else np.zeros(2)
    size = float((place - low).max(initial=0.0))
    square: Array = (place - low) / (size or 1.0)
    return square
