"""Figures laid out in inches: a headline, then panels of known size with room for their words."""

import dataclasses
import functools
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

HEADLINE = 11.0
SMALL = 8.5
EDGE = 0.15
LINE = 0.17
LEAST = 5.6


@dataclasses.dataclass(frozen=True)
class Frame:
    """A figure and the places of its panels.

    Attributes
    ----------
    figure : Figure
    lefts, widths, tops, heights : tuple of float
        Places and sizes of columns and rows of panels, in inches from the upper left corner.
    """

    figure: "Figure"
    lefts: tuple[float, ...]
    widths: tuple[float, ...]
    tops: tuple[float, ...]
    heights: tuple[float, ...]

    def panel(self, row: int, column: int, share_y: "Axes | None" = None) -> "Axes":
        """The axes at a place; a panel that nobody asks for is not drawn."""
        across, down = self.figure.get_size_inches()
        left, top = self.lefts[column], self.tops[row]
        width, height = self.widths[column], self.heights[row]
        axes = self.figure.add_axes(
            (left / across, 1 - (top + height) / down, width / across, height / down),
            sharey=share_y,
        )
        if share_y is not None:
            axes.tick_params(labelleft=False)
        return axes


def frame(
    data: Table,
    heights: Sequence[float],
    widths: Sequence[float],
    *,
    left: float = 0.75,
    right: float = EDGE,
    bottom: float = 0.55,
    gaps: tuple[float, float] = (0.2, 0.75),
    titled: bool = True,
) -> Frame:
    """A figure with the title and the first note of a table above rows and columns of panels.

    Parameters
    ----------
    data : Table
    heights, widths : sequence of float
        Of the rows and columns of panels, in inches.
    left, right, bottom : float
        Room for words beside and below the panels.
    gaps : (float, float)
        Room between columns and between rows.
    titled : bool
        Whether the panels of the first row have titles.
    """
    from matplotlib.figure import Figure

    wanted = left + sum(widths) + gaps[0] * (len(widths) - 1) + right
    across = max(wanted, text_width(data.title, HEADLINE, bold=True) + 2 * EDGE, LEAST)
    lines = _wrapped(data.notes[0], across - 2 * EDGE) if data.notes else []
    top = EDGE + 0.2 + LINE * len(lines) + (0.36 if titled else 0.15)
    lefts = [left + sum(widths[:j]) + gaps[0] * j for j in range(len(widths))]
    tops = [top + sum(heights[:i]) + gaps[1] * i for i in range(len(heights))]
    down = tops[-1] + heights[-1] + bottom
    figure = Figure(figsize=(across, down))
    x = EDGE / across
    figure.text(
        x, 1 - EDGE / down, data.title, fontsize=HEADLINE, fontweight="bold", va="top", color="#111"
    )
    for number, line in enumerate(lines):
        y = 1 - (EDGE + 0.24 + LINE * number) / down
        figure.text(x, y, line, fontsize=SMALL, va="top", color="#555555")
    return Frame(figure, tuple(lefts), tuple(widths), tuple(tops), tuple(heights))


def rows_of_panels(
    data: Table,
    height: float,
    counts: Sequence[int],
    blocks: Sequence[Sequence[dict[str, Any]]],
    *,
    titled: bool = True,
) -> Frame:
    """A frame for rows of panels with a legend of codes at the right of each row.

    Parameters
    ----------
    data : Table
    height : float
        Of every panel, in inches.
    counts : sequence of int
        Panels of every row.
    blocks : sequence of sequence of dict
        What each row shows, with ``code`` and ``families``.
    titled : bool
        Whether the panels have titles.
    """
    most = max(counts)
    width = {1: 3.6, 2: 3.0}.get(most, 2.3)
    right = EDGE
    for count, block in zip(counts, blocks, strict=True):
        title = text_width(block[0]["families"], SMALL, bold=True) + 0.25
        legend = legend_width([*(row["code"] for row in block), "infinite (overflow)"])
        right = max(right, max(title, legend) - (most - count) * (width + 0.2))
    gaps = (0.2, 0.75 if titled else 0.6)
    heights, widths = [height] * len(blocks), [width] * most
    return frame(data, heights, widths, right=right, gaps=gaps, titled=titled)


def beside(axes: "Axes", handles: "Sequence[Line2D]", title: str = "") -> "Legend":
    """A legend at the right of a panel, under the words of the panel's row."""
    legend = axes.legend(
        handles=handles,
        title=title or None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.03),
        borderaxespad=0.6,
        alignment="left",
        labelspacing=0.35,
    )
    legend.get_title().set(fontsize=SMALL, fontweight="bold")
    return legend


def legend_width(names: Sequence[str], size: float = 8.0) -> float:
    """Inches that a legend of these names takes beside a panel."""
    return max((text_width(name, size) for name in names), default=0.0) + 0.65


@functools.lru_cache(maxsize=2048)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Inches that a text takes in the font of the plots, at a size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72


def _wrapped(text: str, room: float) -> list[str]:
    letters = max(int(len(text) * room / max(text_width(text, SMALL), room) * 0.97), 20)
    return textwrap.wrap(text, letters) if text_width(text, SMALL) > room else [text]
