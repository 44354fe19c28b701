"""Points of all cases on logarithmic axes: a colour per family, a marker per precision."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Rows = Sequence[dict[str, Any]]
SCALES = {"*": 1.7, "d": 1.15}
"""Sizes of markers of which the outline leaves little."""


def points(
    axes: "Axes",
    rows: Rows,
    keys: tuple[str, str],
    ends: tuple[tuple[float, float], tuple[float, float]],
    every: Rows,
) -> None:
    """Draw `rows` at the values of two keys, those beyond an axis at its edge.

    Parameters
    ----------
    axes : Axes
    rows : sequence of dict
        With ``precision``, ``family`` and both keys.
    keys : (str, str)
        Of x and y.
    ends : ((float, float), (float, float))
        Of the x axis and of the y axis.
    every : sequence of dict
        All rows of the figure: they decide colours and markers.
    """
    style.logarithmic(axes.xaxis, ends[0])
    style.logarithmic(axes.yaxis, ends[1])
    paints, shapes = families(every), precisions(every)
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        pairs = groups.setdefault((row["family"], row["precision"]), [])
        pairs.append((row[keys[0]], row[keys[1]]))
    for (family, precision), pairs in groups.items():
        _group(axes, pairs, ends, paints[family], shapes[precision])


def handles(rows: Rows, ends: tuple[float, float]) -> "list[Line2D]":
    """The legend entries of colours and markers."""
    from matplotlib.lines import Line2D

    none: dict[str, Any] = {"linestyle": "none", "markeredgecolor": "white"}
    made = [
        Line2D([], [], marker="o", color=paint, label=name, markersize=7, **none)
        for name, paint in families(rows).items()
    ]
    made += [
        Line2D([], [], marker=shape, color=style.GREY, label=name, markersize=size, **none)
        for name, shape in precisions(rows).items()
        for size in [6 * SCALES.get(shape, 1.0)]
    ]
    return made + style.edge_legend([row["error"] for row in rows if row["error"] > ends[1]])


def precisions(rows: Rows) -> dict[str, str]:
    """The marker of each precision."""
    names = dict.fromkeys(row["precision"] for row in rows)
    return {name: style.marker(i) for i, name in enumerate(names)}


def families(rows: Rows) -> dict[str, str]:
    """The colour of each family."""
    names = dict.fromkeys(row["family"] for row in rows)
    return {name: style.color(i) for i, name in enumerate(names)}


def _group(
    axes: "Axes",
    pairs: Sequence[tuple[float, float]],
    ends: tuple[tuple[float, float], tuple[float, float]],
    paint: str,
    shape: str,
) -> None:
    within = [p for p in pairs if all(e[0] <= v <= e[1] for v, e in zip(p, ends, strict=True))]
    if within:
        outline: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.5}
        outline |= {"linestyle": "none", "markersize": 5.5 * SCALES.get(shape, 1.0)}
        axes.plot(*zip(*within, strict=True), marker=shape, color=paint, **outline)
    for x, y in sorted(set(pairs) - set(within)):
        if ends[1][0] <= y <= ends[1][1]:
            style.mark_edge(axes, (x, y), ends[0], paint=paint, vertical=False)
        else:
            style.mark_edge(axes, (style.inside(x, ends[0]), y), ends[1], paint=paint)
