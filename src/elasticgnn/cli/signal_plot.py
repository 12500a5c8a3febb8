"""Before and after of a signal, side by side: an image, or nodes at their coordinates."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.cli.signal_files import SignalFile
from elasticgnn.graph import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_EDGES = 20_000  # more are a grey mass, and slow


def plot_signal(path: Path, source: SignalFile, value: NDArray[np.float64], graph: Graph) -> None:
    """Writes the picture; nodes need coordinates (columns x, y or lon, lat)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if source.image_shape is None and source.positions is None:
        raise ValueError(
            "plot must have coordinates: columns x and y, or lon and lat, in the signal"
        )
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, rows, title in zip(
        figure.subplots(1, 2), (source.values, value), ("given", "denoised"), strict=True
    ):
        axes.set_title(title)
        axes.set_axis_off()
        axes.set_aspect("equal")
        limits = np.nanmin(source.values[:, 0]), np.nanmax(source.values[:, 0])
        if source.image_shape is not None:
            _draw_image(axes, rows, source.image_shape)
        else:
            assert source.positions is not None
            draw_nodes(axes, source.positions, rows[:, 0], graph, limits)
    figure.savefig(path, dpi=110)


def _draw_image(axes: "Axes", rows: NDArray[np.float64], shape: tuple[int, int]) -> None:
    pixels = np.clip(rows, 0, 1).reshape(*shape, -1)
    axes.imshow(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels, cmap="gray", vmin=0, vmax=1)


def draw_nodes(
    axes: "Axes",
    positions: NDArray[np.float64],
    values: NDArray[np.float64],
    graph: Graph,
    limits: tuple[Any, Any],
) -> None:
    """Edges in grey, nodes coloured by value, nodes without one as small rings."""
    from matplotlib.collections import LineCollection

    if graph.num_edges <= MOST_EDGES:
        ends = np.stack([graph.tail.numpy(), graph.head.numpy()], 1)
        axes.add_collection(LineCollection(list(positions[ends]), colors="0.8", linewidths=0.6))
    here = ~np.isnan(values)
    size = float(np.clip(20_000 / max(len(values), 1), 3, 30))
    low, high = limits
    x, y = positions.T
    axes.scatter(
        x[here], y[here], c=values[here], s=size, cmap="viridis", vmin=low, vmax=high, zorder=2
    )
    axes.scatter(
        x[~here], y[~here], s=size / 2, facecolors="none", edgecolors="0.5", linewidths=0.5
    )
