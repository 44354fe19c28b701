"""Points of all cases on logarithmic axes: a colour per precision, a marker per family."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Sequence[dict[str, Any]]


def points(
    axes: "Axes", rows: Rows, keys: tuple[str, str], ends: tuple[float, float]
) -> tuple[float, float]:
    """Draw `rows` at the values of two keys; returns the ends of the x axis.

    Parameters
    ----------
    axes : Axes
    rows : sequence of dict
        With ``precision``, ``family`` and both keys.
    keys : (str, str)
        Of x and y.
    ends : (float, float)
        Ends of the y axis.
    """
    across = style.limits([row[keys[0]] for row in rows], style.FARTHEST)
    style.logarithmic(axes.xaxis, across)
    style.logarithmic(axes.yaxis, ends)
    for family, shape in families(rows).items():
        for precision, paint in precisions(rows).items():
            pairs = [
                (row[keys[0]], row[keys[1]])
                for row in rows
                if (row["family"], row["precision"]) == (family, precision)
            ]
            _group(axes, pairs, (across, ends), paint, shape)
    return across


def legend(axes: "Axes", rows: Rows, ends: tuple[float, float]) -> None:
    """The legend of colours and markers, right of the axes."""
    from matplotlib.lines import Line2D

    none: dict[str, Any] = {"linestyle": "none"}
    handles = [
        Line2D([], [], marker="o", color=paint, label=name, **none)
        for name, paint in precisions(rows).items()
    ]
    handles += [
        Line2D([], [], marker=shape, color=style.GREY, label=name, **none)
        for name, shape in families(rows).items()
    ]
    handles += style.edge_legend([row["error"] for row in rows], ends)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0))


def precisions(rows: Rows) -> dict[str, str]:
    """The colour of each precision."""
    names = dict.fromkeys(row["precision"] for row in rows)
    return {name: style.color(i) for i, name in enumerate(names)}


def families(rows: Rows) -> dict[str, str]:
    """The marker of each family."""
    names = dict.fromkeys(row["family"] for row in rows)
    return {name: style.marker(i) for i, name in enumerate(names)}


def _group(
    axes: "Axes",
    pairs: Sequence[tuple[float, float]],
    ends: tuple[tuple[float, float], tuple[float, float]],
    paint: str,
    shape: str,
) -> None:
    within = [p for p in pairs if all(e[0] <= v <= e[1] for v, e in zip(p, ends, strict=True))]
    if within:
        axes.plot(
            *zip(*within, strict=True), marker=shape, color=paint, linestyle="none", alpha=0.75
        )
    for x, y in set(pairs) - set(within):
        wide = not ends[0][0] <= x <= ends[0][1]
        tall = not ends[1][0] <= y <= ends[1][1]
        if wide:
            place = x, style.inside(y, ends[1])
            style.mark_edge(axes, place, ends[0], paint=paint, vertical=False)
        if tall:
            place = style.inside(x, ends[0]), y
            style.mark_edge(axes, place, ends[1], paint=paint)
