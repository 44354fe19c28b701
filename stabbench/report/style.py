"""The look of all plots: fonts, colours for every kind of sight, axes with room for infinity."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
"""Okabe and Ito's colours without yellow, which is faint on white; then black and brown."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
GREY = "#7A7A7A"
FARTHEST = 24
"""Decades that an axis spans at most; what lies beyond is marked at its edge."""
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
    "figure.dpi": 150,
    "savefig.dpi": 150,
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


def limits(values: Iterable[float | None], spare: float = 0.3) -> tuple[float, float]:
    """Ends of a logarithmic axis for values that may be zero, infinite or missing.

    Parameters
    ----------
    values : iterable of float or None
    spare : float
        Decades left free at both ends, where infinite and zero values are marked.

    Examples
    --------
    >>> low, high = limits([1e-6, 1e-3, float("inf")], spare=1.0)
    >>> round(math.log10(low)), round(math.log10(high))
    (-7, -2)
    """
    finite = [math.log10(v) for v in values if v is not None and 0 < v < math.inf]
    if not finite:
        return 0.1, 10.0
    low = min(finite)
    high = min(max(finite), low + FARTHEST)
    return 10 ** (low - spare), 10 ** (high + spare)


def inside(value: float, ends: tuple[float, float]) -> float:
    """The value, or the end of the axis that it lies beyond."""
    return min(max(value, ends[0]), ends[1])


def beyond(value: float) -> str:
    """What is written beside a value at the edge of its axis."""
    return "∞" if math.isinf(value) else f"1e{round(math.log10(value))}"


def mark_edge(
    axes: "Axes",
    x: float,
    y: float,
    ends: tuple[float, float],
    *,
    paint: str,
    vertical: bool = True,
) -> None:
    """Mark a value beyond the end of an axis by an arrow head at the edge and its size in words."""
    value = y if vertical else x
    top = value > ends[1]
    place = (x, inside(y, ends)) if vertical else (inside(x, ends), y)
    shape = ("^" if top else "v") if vertical else (">" if top else "<")
    axes.plot(*place, marker=shape, color=paint, linestyle="none", clip_on=False, zorder=5)
    axes.annotate(
        beyond(value) if top else "0",
        place,
        xytext=(4, -3 if top else 2) if vertical else (-4, 5),
        textcoords="offset points",
        fontsize=7,
        color=paint,
        ha="left" if vertical else "right",
        annotation_clip=False,
    )


def steps(values: Sequence[int]) -> float:
    """The least distance between different values, 1 if there is only one."""
    known = sorted(set(values))
    return min((b - a for a, b in itertools.pairwise(known)), default=1)
