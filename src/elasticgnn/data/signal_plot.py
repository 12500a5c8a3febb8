"""Before and after of a signal, side by side: an image, or nodes at their coordinates."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.signal_files import SignalFile
from elasticgnn.extras import optional_imports
from elasticgnn.figures import literal, new_figure, save_figure
from elasticgnn.files import check_picture
from elasticgnn.graph import Graph
from elasticgnn.graph.chains import chain_order, is_chain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_EDGES = 20_000  # more are a grey mass, and slow


def plot_signal(path: Path, source: SignalFile, value: NDArray[np.float64], graph: Graph) -> None:
    """Writes the picture: an image, nodes at their coordinates, or values along a chain."""
    check_plot(path, source, graph)
    if source.image_shape is None and source.positions is None:
        figure = new_figure(panel=(10, 4.6))
        _draw_chains(figure.axes[0], source, value, graph)
    else:
        figure = new_figure(2, panel=(5, 4.6))
        _draw_pair(figure.axes, source, value, graph)
    save_figure(figure, path)


def check_plot(path: Path, source: SignalFile, graph: Graph) -> None:
    """Refuses a picture that cannot be drawn or written, before the work."""
    check_picture(path, "plot")
    if source.image_shape is None and source.positions is None and not is_chain(graph):
        raise ValueError(
            "plot must have coordinates unless the graph is a chain: "
            "columns x and y, or lon and lat, in the signal"
        )


def _draw_chains(
    axes: "Axes", source: SignalFile, value: NDArray[np.float64], graph: Graph
) -> None:
    """Values in the order of the chain: dots as given, a line as denoised, one colour a column."""
    order = np.concatenate(chain_order(graph))
    for k, name in enumerate(source.columns):
        dots = axes.plot(source.values[order, k], ".", markersize=3, alpha=0.5)
        axes.plot(value[order, k], color=dots[0].get_color(), label=literal(name))
    axes.set_xlabel("place along the chain")
    axes.legend()


def _draw_pair(
    panels: "list[Axes]", source: SignalFile, value: NDArray[np.float64], graph: Graph
) -> None:
    """Before and after side by side."""
    for axes, rows, title in zip(
        panels, (source.values, value), ("given", "denoised"), strict=True
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
    with optional_imports():
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
