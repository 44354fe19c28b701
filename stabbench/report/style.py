"""The look of all plots: fonts, colours for every kind of sight, axes with room for infinity."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
"""Okabe and Ito's colours without yellow, which is faint on white; then black and brown."""
MARKERS = ("o", "s", "d", "X", "P", "*", "p", "h", "8")
"""No triangles: those are the arrow heads of values beyond an axis."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
GREY = "#7A7A7A"
LEAST = 1e-40
"""Values below this, zero among them, are marked at the edge."""
LOST = 1e3
"""Relative errors beyond this are marked at the edge: nothing is left of the result."""
FARTHEST = 1e25
"""Condition numbers and amplifications beyond this are marked at the edge."""
PARAMETERS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.dpi": 140,
    "savefig.dpi": 140,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "svg.hashsalt": "stabbench",
    "svg.fonttype": "path",
}


@contextlib.contextmanager
def context() -> Iterator[None]:
    """Draw in our style, whatever the user's own settings; they are in force again afterwards."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(PARAMETERS)  # type: ignore[arg-type]
        yield


def color(index: int) -> str:
    """The colour of the line or group of this number."""
    return COLORS[index % len(COLORS)]


def marker(index: int) -> str:
    """The marker of the line or group of this number."""
    return MARKERS[index % len(MARKERS)]


def limits(
    values: Iterable[float | None], most: float = LOST, spare: float = 0.3, least: float = 2.1
) -> tuple[float, float]:
    """Ends of a logarithmic axis for values that may be zero, infinite or missing.

    Parameters
    ----------
    values : iterable of float or None
    most : float
        Values beyond it do not widen the axis; they are marked at its edge.
    spare : float
        Decades left free at both ends.
    least : float
        Decades that the axis has at least.

    Examples
    --------
    >>> low, high = limits([1e-6, 1e-3, float("inf")], spare=1.0)
    >>> round(math.log10(low)), round(math.log10(high))
    (-7, -2)
    """
    finite = [math.log10(v) for v in values if v is not None and LEAST <= v <= most]
    low, high = min(finite, default=-1.0) - spare, max(finite, default=0.0) + spare
    missing = max(least - (high - low), 0.0) / 2
    return 10 ** (low - missing), 10 ** (high + missing)


def logarithmic(axis: "Axis", ends: tuple[float, float]) -> None:
    """Give an axis a logarithmic scale with plain powers of ten.

    Parameters
    ----------
    axis : Axis
        ``axes.xaxis`` or ``axes.yaxis``.
    ends : (float, float)
        At least a decade apart, see `limits`.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    letter = "x" if axis is axis.axes.xaxis else "y"
    axis.axes.set(**{f"{letter}scale": "log", f"{letter}lim": ends})
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_formatter(NullFormatter())


def power(value: float) -> str:
    """A power of ten in letters.

    Examples
    --------
    >>> power(1e-7)
    '10⁻⁷'
    """
    return "10" + str(round(math.log10(value))).translate(RAISED)


def inside(value: float, ends: tuple[float, float]) -> float:
    """The value, or the end of the axis that it lies beyond."""
    return min(max(value, ends[0]), ends[1])


def mark_edge(
    axes: "Axes",
    point: tuple[float, float],
    ends: tuple[float, float],
    *,
    paint: str,
    vertical: bool = True,
) -> None:
    """Mark a value beyond the end of an axis by an arrow head at that end.

    The head is filled for infinity and for zero, open for finite values beyond the axis.

    Parameters
    ----------
    axes : Axes
    point : (float, float)
        Where the point would be; its other coordinate lies within the axes.
    ends : (float, float)
        Of the axis that it leaves.
    paint : str
        Colour.
    vertical : bool
        Whether it leaves the y axis, else the x axis.
    """
    x, y = point
    value = y if vertical else x
    high = value > ends[1]
    place = (x, inside(y, ends)) if vertical else (inside(x, ends), y)
    shape = ("^" if high else "v") if vertical else (">" if high else "<")
    full = value == 0 or math.isinf(value)
    face = paint if full else "white"
    axes.plot(
        *place,
        marker=shape,
        color=paint,
        markerfacecolor=face,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )


def edge_legend(beyond: Sequence[float]) -> "list[Line2D]":
    """Legend entries for the arrow heads that these values beyond an axis have at its edge."""
    from matplotlib.lines import Line2D

    found = [
        ("infinite (overflow)", GREY, any(math.isinf(value) for value in beyond)),
        ("beyond the axis", "white", any(math.isfinite(value) for value in beyond)),
    ]
    return [
        Line2D([], [], color=GREY, marker="^", markerfacecolor=face, linestyle="none", label=label)
        for label, face, present in found
        if present
    ]


def apart(values: Sequence[int], most: int = 8) -> list[int]:
    """Ticks of an axis: the values that occur, without some where they are many or close.

    Examples
    --------
    >>> apart([10, 20, 30]), apart([4, 5, 6, 8, 12, 16, 24, 32], most=4)
    ([10, 20, 30], [4, 16, 24, 32])
    """
    known = sorted(set(values))
    least = (known[-1] - known[0]) / most
    kept = [known[-1]]
    for value in reversed(known[:-1]):
        if kept[-1] - value >= least:
            kept.append(value)
    if kept[-1] != known[0] and len(kept) > 1:
        kept[-1] = known[0]
    return kept[::-1]


def spacing(values: Sequence[int]) -> float:
    """How far apart lines stand beside each other at the same value of a linear axis.

    Examples
    --------
    >>> spacing([6, 12]), spacing([10])
    (0.12, 0.02)
    """
    known = sorted(set(values))
    gap = min((b - a for a, b in itertools.pairwise(known)), default=1)
    return min(0.02 * max(known[-1] - known[0], 1), 0.12 * gap)
