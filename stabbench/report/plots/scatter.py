"""All cases as points in panels: a colour per family, a marker per precision."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry
from stabbench.report.plots.base import Plot
from stabbench.report.plots.frame import beside, frame, legend_width
from stabbench.report.selection import fixed
from stabbench.report.table import Column, Table, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Rows = Sequence[dict[str, Any]]
Ends = tuple[float, float]
COLUMNS = (
    Column("precision", "precision"),
    Column("family", "family"),
    Column("code", "code"),
    Column("decoder", "decoder"),
    Column("data", "data"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
)
PAIR = 2
"""Panels of a row that are drawn large."""
ERROR = Column("error", "worst error", "number")
SCALES = {"*": 1.7, "d": 1.15}
"""Sizes of markers of which the outline leaves little."""


def scatter(
    words: tuple[str, str, str],
    found: Sequence[Entry],
    columns: Sequence[Column],
    values: Callable[[Entry], dict[str, Any]],
    draw: Callable[[Table], "Figure"],
) -> Plot:
    """The plot of all entries, coarsest precision first.

    Parameters
    ----------
    words : (str, str, str)
        Name, title and caption.
    found : sequence of Entry
        With an error.
    columns : sequence of Column
        Those between the identity of a case and its error.
    values : callable
        Of an entry, by the keys of `columns`.
    draw : callable
        See `Plot`.
    """
    name, title, caption = words
    rows = [
        {
            "precision": e.precision,
            "family": e.family,
            "code": e.code,
            "decoder": e.decoder,
            "data": e.data,
            "n": e.n,
            "stragglers": e.stragglers,
            **values(e),
            "error": e.value("relative_error"),
        }
        for e in sorted(found, key=lambda e: -e.unit)
    ]
    notes = (", ".join(filter(None, (f"{len(found)} cases", fixed(found)))),)
    data = table(name, title, (*COLUMNS, *columns, ERROR), rows, notes)
    return Plot(name, title, caption, data, draw)


def panels(
    data: Table, keys: Sequence[Sequence[str]], across: Mapping[str, Ends], ends: Ends
) -> "tuple[Figure, list[Axes]]":
    """Rows of panels of the error against one key each, with the legend at the right of the first.

    Parameters
    ----------
    data : Table
        Of `scatter`.
    keys : sequence of sequence of str
        Of the x axes, row by row.
    across : mapping
        Ends of the x axis of every key.
    ends : (float, float)
        Of the common y axis.
    """
    rows = data.records()
    names = [row[key] for row in rows for key in ("family", "precision")]
    room = legend_width([*names, "infinite (overflow)"])
    most = max(map(len, keys))
    width, height = (3.6, 3.6) if most <= PAIR else (2.6, 2.6)
    space = frame(data, [height] * len(keys), [width] * most, right=room, titled=False)
    made: list[Axes] = []
    for line, own in enumerate(keys):
        for column, key in enumerate(own):
            axes = space.panel(line, column, made[-1] if column else None)
            known = [row for row in rows if row[key] is not None]
            points(axes, known, (key, "error"), (across[key], ends), rows)
            made.append(axes)
        made[-len(own)].set_ylabel("worst relative error")
        if line == 0:
            beside(made[-1], handles(rows, ends))
    return space.figure, made


def points(
    axes: "Axes",
    rows: Rows,
    keys: tuple[str, str],
    ends: tuple[Ends, Ends],
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


def handles(rows: Rows, ends: Ends) -> "list[Line2D]":
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
    ends: tuple[Ends, Ends],
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
