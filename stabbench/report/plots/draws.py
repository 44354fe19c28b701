"""Random draws of the same code: spread of the worst digits, and the draw that `select` keeps."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot
from stabbench.report.plots.frame import beside, frame, legend_width, text_width
from stabbench.report.selection import draws, fixed, select_count
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "draws"
CAPTION = (
    "Worst digits, over the survivor sets that decode, of single random draws of a code (circles) "
    "and of the draw chosen among several by its least singular value (diamonds, with their "
    "number). Arrow heads at the left edge: overflow, or no survivor set decodes."
)
COLUMNS = (
    Column("group", "group"),
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("precision", "precision"),
    Column("select", "chosen among", "integer"),
    Column("digits", "worst digits", "digits"),
    Column("kappa", "worst κ₂", "number"),
)


def spread(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all random codes that were drawn several times."""
    groups = draws(entries(records))
    found = [e for _, single, chosen in groups for e in (*single, *chosen)]
    if not found:
        return
    values: dict[str, set[int] | set[str]] = {
        "n": {e.n for e in found},
        "stragglers": {e.stragglers for e in found},
        "precision": {e.precision for e in found},
        "decoder": {e.decoder for e in found},
        "data": {e.data for e in found},
    }
    differs = [key for key, several in values.items() if len(several) > 1]
    rows = []
    for code, single, chosen in groups:
        name = ", ".join(filter(None, (code, _words(single[0], differs))))
        rows += [_row(name, e) for e in (*single, *chosen)]
    title = "Random draws of the same code"
    notes = (fixed(found),)
    yield Plot(NAME, title, CAPTION, table(NAME, title, COLUMNS, rows, notes), draw)


def _words(e: Entry, differs: Sequence[str]) -> str:
    words = {"n": f"n = {e.n}", "stragglers": f"s = {e.stragglers}", "precision": e.precision}
    words |= {"decoder": e.decoder, "data": e.data}
    return ", ".join(words[key] for key in differs)


def _row(group: str, e: Entry) -> dict[str, Any]:
    return {
        "group": group,
        "code": e.code,
        "n": e.n,
        "stragglers": e.stragglers,
        "precision": e.precision,
        "select": select_count(e),
        "digits": e.kept(),
        "kappa": e.value("condition_number"),
    }


def draw(data: Table) -> "Figure":
    """Draw the table: a line per code, a marker per draw."""
    from matplotlib.lines import Line2D

    rows = data.records()
    names = list(dict.fromkeys(row["group"] for row in rows))
    handles = [
        Line2D([], [], color=style.color(0), marker="o", linestyle="none", label="one draw"),
        Line2D([], [], color=style.color(1), marker="D", linestyle="none", label="best of N draws"),
    ]
    space = frame(
        data,
        [max(0.5 * len(names), 0.9)],
        [4.4],
        left=max(text_width(name, 8.0) for name in names) + 0.3,
        right=legend_width(["best of N draws"]),
        titled=False,
    )
    axes = space.panel(0, 0)
    finite = [row["digits"] for row in rows if math.isfinite(row["digits"])] or [0.0]
    ends = min(finite) - 0.3, max(finite) + 0.3
    for row in rows:
        chosen = row["select"] > 1
        y = names.index(row["group"]) - 0.3 * chosen
        paint = style.color(int(chosen))
        if not ends[0] <= row["digits"] <= ends[1]:
            style.mark_edge(axes, (row["digits"], y), ends, paint=paint, vertical=False)
            continue
        shape = "D" if chosen else "o"
        axes.plot(row["digits"], y, color=paint, marker=shape, alpha=0.8, zorder=2 + chosen)
        if chosen:
            axes.annotate(
                f"best of {row['select']}",
                (row["digits"], y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=paint,
            )
    axes.set(xlim=ends, ylim=(len(names) - 0.6, -0.7), xlabel="worst digits")
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    beside(axes, handles)
    return space.figure
