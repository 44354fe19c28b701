"""Cumulative distribution of the error over survivor sets, at the largest n of every code."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry
from stabbench.report.plots.base import Plot, pages, slug
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "distribution"
CAPTION = (
    "How many of the survivor sets (and trials) have at most this error; every code at its largest "
    "n. Filled markers: median; open markers: worst survivor set. Arrow heads at the right edge: "
    "the error is infinite (filled) or beyond the axis (open) from this share on."
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
    """A figure per setting and precision; panels per group of codes and number of stragglers."""
    for page in pages(records):
        rows = []
        for place, mine in page.lines():
            largest = {e.stragglers: e for e in mine}
            rows += [place | row for e in largest.values() for row in _rows(e)]
        title = page.title("Distribution of the error over survivor sets")
        name = slug(NAME, page.precision, page.setting, page.number)
        yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows), draw)


def _rows(e: Entry) -> Iterator[dict[str, Any]]:
    for share, error in quantiles(e):
        yield {"stragglers": e.stragglers, "n": e.n, "share": share, "error": error}


def quantiles(e: Entry) -> list[tuple[float, float]]:
    """Shares and the errors that they stay below, from least to worst."""
    found = e.record.measures.get("distribution")
    if found:
        last = max(len(found) - 1, 1)
        return [(i / last, float(error)) for i, error in enumerate(found)]
    known = e.record.measures["relative_error"]
    return [(0.5, known.median), (0.95, known.q95), (0.99, known.q99), (1.0, known.worst)]


def draw(data: Table) -> "Figure":
    """Draw the table: a row of panels per group, a column per number of stragglers."""
    from matplotlib.figure import Figure

    rows = data.records()
    parts = list(dict.fromkeys((row["panel"], row["families"]) for row in rows))
    columns = sorted({row["stragglers"] for row in rows})
    size = (style.across(len(columns)), 2.3 * len(parts) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(data.title)
    grid = figure.subplots(len(parts), len(columns), squeeze=False, sharey=True, sharex="row")
    for panels, (panel, families) in zip(grid, parts, strict=True):
        shown = [row for row in rows if row["panel"] == panel]
        ends = style.limits([row["error"] for row in shown])
        for axes, s in zip(panels, columns, strict=True):
            here = [row for row in shown if row["stragglers"] == s]
            _panel(axes, here, ends)
            axes.set_title(f"{families}, s = {s}{_sizes(here)}")
        panels[0].set_ylabel("share of survivor sets")
        _legend(panels[-1], shown, ends)
    for axes in grid[-1]:
        axes.set_xlabel("relative error")
    return figure


def _sizes(rows: Sequence[dict[str, Any]]) -> str:
    counts = sorted({row["n"] for row in rows})
    return f", n = {', '.join(str(n) for n in counts)}" if counts else ""


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


def _legend(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    names = dict(sorted((row["line"], row["code"]) for row in rows))
    handles = [
        Line2D([], [], color=style.color(i), marker=style.marker(i), label=name)
        for i, name in names.items()
    ]
    grey: dict[str, Any] = {"color": style.GREY, "marker": "o", "linestyle": "none"}
    handles.append(Line2D([], [], markerfacecolor="white", label="worst", **grey))
    handles += style.edge_legend([row["error"] for row in rows], ends)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0))
