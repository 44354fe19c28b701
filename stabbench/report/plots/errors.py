"""Error against n: median and worst error of every code, with the bound."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot, pages, panels_of, slug
from stabbench.report.plots.frame import beside, rows_of_panels
from stabbench.report.selection import fixed, further_draws, main_setting, measured, problems
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

NAME = "error-against-n"
CAPTION = (
    "Over the survivor sets that decode. Filled markers and lines: median. Open markers: worst. "
    "Dashed: the bound at its worst, rounding grown by the amplification in every stage. Filled "
    "arrow heads at the edge: infinite error (overflow); open ones: beyond the axis."
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
    Column("bound", "bound", "number"),
    Column("status", "status"),
)


def error_against_n(records: Sequence[Record]) -> Iterator[Plot]:
    """Figures of all codes that were measured at several n, in the main setting."""
    for problem, found in problems(entries(records)):
        for page in pages(_series(main_setting(found))):
            rows = [place | _row(e) for place, mine in page.lines() for e in mine]
            title = ", ".join(filter(None, ("Relative error against n", page.words, problem)))
            name = slug(NAME, page.suffix, problem)
            notes = (fixed(page.shown, ("n", "precision")),)
            yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows, notes), draw)


def _series(found: Sequence[Entry]) -> list[Entry]:
    """Measured entries of lines with at least two values of n; of a random code one draw."""
    sizes: dict[tuple[Any, ...], set[int]] = {}
    further = further_draws(found)
    known = [e for e in measured(found) if e.record.case["code"] not in further]
    for e in known:
        sizes.setdefault((e.key, e.precision), set()).add(e.n)
    return [e for e in known if len(sizes[e.key, e.precision]) > 1]


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
    """Draw the table: a row of panels per group, a panel per precision and stragglers."""
    rows = data.records()
    blocks = [[r for r in rows if r["panel"] == i] for i in sorted({r["panel"] for r in rows})]
    several = [key for key in ("precision", "stragglers") if len({r[key] for r in rows}) > 1]
    columns = [panels_of(block) for block in blocks]
    counts = [len(panels) for panels in columns]
    space = rows_of_panels(data, 2.2, counts, blocks, titled=bool(several))
    for i, block in enumerate(blocks):
        ends = style.limits([r[key] for r in block for key in ("median", "worst", "bound")])
        first = None
        for j, (precision, s) in enumerate(columns[i]):
            axes = space.panel(i, j, first)
            first = first or axes
            here = [r for r in block if (r["precision"], r["stragglers"]) == (precision, s)]
            _panel(axes, here, ends)
            words = {"precision": precision, "stragglers": f"s = {s}"}
            axes.set_title(", ".join(words[key] for key in several), loc="left")
            axes.set_xlabel("workers n")
        if first is not None:
            first.set_ylabel("relative error")
        beside(axes, _handles(block, ends, explain=i == 0), block[0]["families"])
    return space.figure


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]], ends: tuple[float, float]) -> None:
    style.logarithmic(axes.yaxis, ends)
    counts = sorted({row["n"] for row in rows})
    axes.set_xticks(style.apart(counts))
    total = max(row["line"] for row in rows) + 1
    margin = max(0.05 * (counts[-1] - counts[0]), 0.3) + total / 2 * style.spacing(counts)
    axes.set_xlim(counts[0] - margin, counts[-1] + margin)
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
        dashed: dict[str, Any] = {"linestyle": "--", "linewidth": 0.9, "alpha": 0.7}
        axes.plot(*zip(*bounds, strict=True), color=paint, zorder=1.5, **dashed)
    for a, row in zip(x, rows, strict=True):
        if not ends[0] <= row["worst"] <= ends[1]:
            style.mark_edge(axes, (a, row["worst"]), ends, paint=paint)


def _handles(
    rows: Sequence[dict[str, Any]], ends: tuple[float, float], *, explain: bool
) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    names = dict(sorted((row["line"], row["code"]) for row in rows))
    handles = [
        Line2D([], [], color=style.color(i), marker=style.marker(i), label=name)
        for i, name in names.items()
    ]
    if explain:
        open_style: dict[str, Any] = {"marker": "o", "markerfacecolor": "white"}
        dashed: dict[str, Any] = {"linestyle": "--", "linewidth": 0.9}
        handles += [
            Line2D([], [], color=style.GREY, marker="o", label="median"),
            Line2D([], [], color=style.GREY, linestyle="none", label="worst", **open_style),
            Line2D([], [], color=style.GREY, label="bound", **dashed),
        ]
    return handles + style.edge_legend([row["worst"] for row in rows if row["worst"] > ends[1]])
