"""One style for all pictures: size, fonts, and colours that colour-blind people can distinguish."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from elasticgnn.extras import optional_imports
from elasticgnn.files import whole_file

# Okabe and Ito's palette; yellow, faint on white, comes last. Lines also differ by their marker.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PANEL = (4.0, 3.6)  # inches
DPI = 120
PADDING = 0.08  # inches around each panel: a title at the very edge would be cut


def new_figure(
    columns: int = 1,
    *,
    panel: tuple[float, float] = PANEL,
    sharey: bool = False,
    widths: Sequence[float] | None = None,
) -> Any:
    """A figure with a row of panels (`figure.axes`) that touches no global state of matplotlib.

    `widths` says how wide the panels are, compared with each other.
    """
    with optional_imports():
        from cycler import cycler
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

    size = (columns * panel[0], panel[1])
    style: dict[Any, Any] = {"font.size": 9, "axes.prop_cycle": cycler(color=list(COLOURS))}
    with rc_context(style):
        engine = ConstrainedLayoutEngine(w_pad=PADDING, h_pad=PADDING)
        figure = Figure(figsize=size, dpi=DPI, layout=engine)
        FigureCanvasAgg(figure)
        kind: dict[str, Any] = {"subplot_kw": {"axes_class": styled_axes()}}
        figure.subplots(1, columns, sharey=sharey, squeeze=False, width_ratios=widths, **kind)
    return figure


@cache
def styled_axes() -> Any:
    """Axes whose titles and legends have the style: matplotlib asks for it when they are made."""
    with optional_imports():
        from matplotlib.axes import Axes

    class StyledAxes(Axes):
        def set_title(self, label: str, *args: Any, **style: Any) -> Any:
            return super().set_title(label, *args, **{"fontsize": 10, **style})

        def legend(self, *args: Any, **style: Any) -> Any:
            return super().legend(*args, **{"fontsize": 8, "frameon": False, **style})

    return StyledAxes


def save_figure(figure: Any, path: Path, *, make_folder: bool = False) -> None:
    """Writes the picture, whole or not at all; its ending says the format."""
    with whole_file(path, make_folder=make_folder) as file:
        write_figure(figure, file, path.suffix.removeprefix("."))


def write_figure(figure: Any, file: BinaryIO, kind: str) -> None:
    """Writes the picture; the same figure gives the same bytes."""
    with optional_imports():
        import matplotlib as mpl

    dated = {"Date": None} if kind == "svg" else None
    with mpl.rc_context({"svg.hashsalt": "elasticgnn"}):
        figure.savefig(file, format=kind, metadata=dated)


def literal(text: str) -> str:
    """Text of a file with no sign that matplotlib would take for a formula."""
    return text.replace("$", r"\$")


def legend_below(figure: Any, columns: int, title: str = "") -> None:
    """One legend for all panels, under them, where it hides no line; a label is listed once."""
    pairs = [axis.get_legend_handles_labels() for axis in figure.axes]
    known = {
        label: handle
        for handles, labels in pairs
        for handle, label in zip(handles, labels, strict=True)
    }
    figure.legend(
        known.values(),
        known.keys(),
        loc="outside lower center",
        ncols=columns,
        title=title,
        frameon=False,
        fontsize=8,
        title_fontsize=8,
    )
