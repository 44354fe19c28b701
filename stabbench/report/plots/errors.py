"""Error against n: median and worst error of every code, with the bound u a(F)."""

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

NAME = "error-against-n"
CAPTION = (
    "Filled markers and lines: median over survivor sets. Open markers: worst survivor set. "
    "Dashed: the bound u a(F) at its worst. Filled arrow heads at the edge: infinite error "
    "(overflow); open ones: beyond the axis."
)
COLUMNS = (
    Column("precision", "precision"),
    Column("stragglers", "s", "integer"),
    Column("panel", "panel", "integer"),
    Column("families", "families"),
    Column("line", "line", "integer"),
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("median", "median error", "number"),
    Column("worst", "worst error", "number"),
    Column("bound", "u a(F)", "number"),
    Column("status", "status"),
)


def error_against_n(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per setting and precision; panels per group of codes and number of stragglers."""
    for page in pages(records):
        rows = [place | _row(e) for place, mine in page.lines() for e in mine]
        title = page.title("Relative error against n")
        name = slug(NAME, page.precision, page.setting, page.number)
        yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows), draw)


def _row(e: Entry) -> dict[str, Any]:
    return {
        "stragglers": e.stragglers,
        "n": e.n,
        "median": e.value("relative_error", "median"),
        "worst": e.value("relative_error"),
        "bound": e.value("predicted_error"),
        "status": e.record.status,
    }


def draw(data: Table) -> "Figure":
    """Draw the table: a row of panels per group, a column per number of stragglers."""
    from matplotlib.figure import Figure

    rows = data.records()
    parts = list(dict.fromkeys((row["panel"], row["families"]) for row in rows))
    columns = sorted({row["stragglers"] for row in rows})
    size = (style.across(len(columns)), 2.5 * len(parts) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(data.title)
    grid = figure.subplots(len(parts), len(columns), squeeze=False, sharey="row", sharex=True)
    for panels, (panel, families) in zip(grid, parts, strict=True):
        shown = [row for row in rows if row["panel"] == panel]
        ends = style.limits([row[key] for row in shown for key in ("median", "worst", "bound")])
        for axes, s in zip(panels, columns, strict=True):
            _panel(axes, [row for row in shown if row["stragglers"] == s], ends)
            axes.set_title(f"{families}, s = {s}")
        panels[0].set_ylabel("relative error")
        _legend(panels[-1], shown, ends)
    for axes in grid[-1]:
        axes.set_xlabel("workers n")
    return figure


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    style.logarithmic(axes.yaxis, ends)
    counts = sorted({row["n"] for row in rows})
    if not counts:
        return
    axes.set_xticks(counts)
    total = max((row["line"] for row in rows), default=0) + 1
    for line in sorted({row["line"] for row in rows}):
        mine = [row for row in rows if row["line"] == line]
        shift = (line - (total - 1) / 2) * style.spacing(counts)
        _line(axes, mine, shift, ends)


def _line(
    axes: "Axes", rows: Sequence[dict[str, Any]], shift: float, ends: tuple[float, float]
) -> None:
    paint, shape = style.color(rows[0]["line"]), style.marker(rows[0]["line"])
    x = [row["n"] + shift for row in rows]
    median = [style.inside(row["median"], ends) for row in rows]
    worst = [style.inside(row["worst"], ends) for row in rows]
    axes.vlines(x, median, worst, color=paint, linewidth=1, alpha=0.6)
    axes.plot(x, median, color=paint, marker=shape)
    open_style: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "none"}
    within = [(a, b) for a, b in zip(x, worst, strict=True) if ends[0] < b < ends[1]]
    if within:
        axes.plot(*zip(*within, strict=True), color=paint, marker=shape, **open_style)
    pairs = [(a, row["bound"]) for a, row in zip(x, rows, strict=True)]
    bounds = [(a, bound) for a, bound in pairs if bound and math.isfinite(bound)]
    if bounds:
        dashed: dict[str, Any] = {"linestyle": "--", "linewidth": 1, "alpha": 0.8, "marker": "_"}
        axes.plot(*zip(*bounds, strict=True), color=paint, **dashed)
    for a, row in zip(x, rows, strict=True):
        if not ends[0] <= row["worst"] <= ends[1]:
            style.mark_edge(axes, (a, row["worst"]), ends, paint=paint)


def _legend(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    names = dict(sorted((row["line"], row["code"]) for row in rows))
    handles = [
        Line2D([], [], color=style.color(i), marker=style.marker(i), label=name)
        for i, name in names.items()
    ]
    grey: dict[str, Any] = {"color": style.GREY}
    handles += [
        Line2D(
            [], [], marker="o", markerfacecolor="white", linestyle="none", label="worst", **grey
        ),
        Line2D([], [], linestyle="--", marker="_", linewidth=1, label="bound u a(F)", **grey),
    ]
    handles += style.edge_legend([row["worst"] for row in rows], ends)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0))
