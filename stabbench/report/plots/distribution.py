"""Cumulative distribution of the error over survivor sets, at the largest n of every code."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot, pages, panels_of, slug
from stabbench.report.plots.frame import beside, rows_of_panels
from stabbench.report.selection import fixed, measured, problems, usual
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

NAME = "distribution"
CAPTION = (
    "How many of all survivor sets (and trials) have at most this error; every code at its largest "
    "n. Filled markers: median; open markers: worst survivor set. Arrow heads at the right edge: "
    "the error is infinite (filled: overflow, or the others do not decode) or beyond the axis "
    "(open) from this share on."
)
COLUMNS = (
    Column("precision", "precision"),
    Column("stragglers", "s", "integer"),
    Column("panel", "panel", "integer"),
    Column("families", "families"),
    Column("line", "line", "integer"),
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("share", "share of survivor sets", "number"),
    Column("error", "error", "number"),
)


def distribution(records: Sequence[Record]) -> Iterator[Plot]:
    """Figures of all codes in the main setting, where several can be compared."""
    for problem, found in problems(entries(records)):
        for page in pages(_chosen(found)):
            rows = [place | row for place, mine in page.lines() for e in mine for row in _rows(e)]
            title = "Distribution of the error over survivor sets"
            title = ", ".join(filter(None, (title, page.words, problem)))
            name = slug(NAME, page.suffix, problem)
            notes = (fixed(page.shown, ("precision",)),)
            yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows, notes), draw)


def _chosen(found: Sequence[Entry]) -> list[Entry]:
    """Every code once per precision and stragglers, at its largest n; alone it is left out."""
    largest: dict[tuple[Any, ...], Entry] = {}
    for e in sorted(measured(usual(found)), key=lambda e: e.n):
        largest[e.key, e.precision, e.stragglers] = e
    codes: dict[str, set[str]] = {}
    for e in largest.values():
        codes.setdefault(e.precision, set()).add(e.record.case["code"])
    return [e for e in largest.values() if len(codes[e.precision]) > 1]


def _rows(e: Entry) -> Iterator[dict[str, Any]]:
    for share, error in quantiles(e):
        yield {"stragglers": e.stragglers, "n": e.n, "share": share, "error": error}


def quantiles(e: Entry) -> list[tuple[float, float]]:
    """Shares of all survivor sets and the errors that they stay below, from least to worst.

    Those that do not decode have an infinite one.
    """
    found = e.record.measures.get("distribution")
    if found:
        last = max(len(found) - 1, 1)
        points = [(i / last, float(error)) for i, error in enumerate(found)]
    else:
        known = e.record.measures["relative_error"]
        points = [(0.5, known.median), (0.95, known.q95), (0.99, known.q99), (1.0, known.worst)]
    if not e.undecodable:
        return points
    return [(share * (1 - e.undecodable), error) for share, error in points] + [(1.0, math.inf)]


def draw(data: Table) -> "Figure":
    """Draw the table: a row of panels per group, a panel per precision and stragglers."""
    rows = data.records()
    blocks = [[r for r in rows if r["panel"] == i] for i in sorted({r["panel"] for r in rows})]
    several = [key for key in ("precision", "stragglers", "n") if len({r[key] for r in rows}) > 1]
    columns = [panels_of(block) for block in blocks]
    counts = [len(panels) for panels in columns]
    space = rows_of_panels(data, 1.9, counts, blocks, titled=bool(several))
    for i, block in enumerate(blocks):
        first, beyond = None, list[float]()
        for j, (precision, s) in enumerate(columns[i]):
            axes = space.panel(i, j, first)
            first = first or axes
            ends = style.limits([r["error"] for r in block if r["precision"] == precision])
            here = [r for r in block if (r["precision"], r["stragglers"]) == (precision, s)]
            beyond += [r["error"] for r in here if r["error"] > ends[1]]
            _panel(axes, here, ends)
            words = {"precision": precision, "stragglers": f"s = {s}", "n": _sizes(here)}
            axes.set_title(", ".join(words[key] for key in several), loc="left")
            axes.set_xlabel("relative error")
        if first is not None:
            first.set_ylabel("share of survivor sets")
        beside(axes, _handles(block, beyond, explain=i == 0), block[0]["families"])
    return space.figure


def _sizes(rows: Sequence[dict[str, Any]]) -> str:
    counts = sorted({row["n"] for row in rows})
    return f"n = {', '.join(str(n) for n in counts)}"


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    style.logarithmic(axes.xaxis, ends)
    axes.set_ylim(-0.03, 1.05)
    for line in sorted({row["line"] for row in rows}):
        _line(axes, [row for row in rows if row["line"] == line], ends)


def _line(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    paint, shape = style.color(rows[0]["line"]), style.marker(rows[0]["line"])
    x = [style.inside(row["error"], ends) for row in rows]
    y = [row["share"] for row in rows]
    axes.plot(x, y, color=paint, drawstyle="steps-post", linewidth=1.3)
    middle = next(i for i, share in enumerate(y) if share >= 0.5)
    for i, face in ((middle, paint), (len(x) - 1, "white")):
        if ends[0] < x[i] < ends[1]:
            axes.plot(x[i], y[i], color=paint, marker=shape, markerfacecolor=face)
    leaves = next((i for i, row in enumerate(rows) if row["error"] > ends[1]), None)
    if leaves is not None:
        worst = rows[-1]["error"]
        value = worst if math.isinf(worst) else rows[leaves]["error"]
        style.mark_edge(axes, (value, y[leaves]), ends, paint=paint, vertical=False)


def _handles(
    rows: Sequence[dict[str, Any]], beyond: Sequence[float], *, explain: bool
) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    names = dict(sorted((row["line"], row["code"]) for row in rows))
    handles = [
        Line2D([], [], color=style.color(i), marker=style.marker(i), label=name)
        for i, name in names.items()
    ]
    if explain:
        grey: dict[str, Any] = {"color": style.GREY, "marker": "o", "linestyle": "none"}
        handles.append(Line2D([], [], label="median", **grey))
        handles.append(Line2D([], [], markerfacecolor="white", label="worst", **grey))
    return handles + style.edge_legend(beyond)
