"""What the digits cost: storage per worker and time of decoding against worst error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, by_setting, entries
from stabbench.report.plots.base import Plot, slug
from stabbench.report.plots.scatter import legend, points
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NAME = "cost"
CAPTION = (
    "Every point is a case. Left: the part of the coded operand that one worker holds. Right: mean "
    "seconds to decode one survivor set, planning included, on the machine named below. Arrow "
    "heads at an edge: infinite error (filled) or beyond the axis (open)."
)
COLUMNS = (
    Column("precision", "precision"),
    Column("family", "family"),
    Column("code", "code"),
    Column("decoder", "decoder"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("storage", "storage", "share"),
    Column("decode", "decode", "seconds"),
    Column("error", "worst error", "number"),
)


def cost(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per setting with two panels."""
    for setting, found in by_setting(entries(records)).items():
        rows = [_row(e) for e in found if e.value("relative_error") is not None]
        if rows:
            title = "Storage and time of decoding against worst error"
            title += f" ({setting})" if setting else ""
            name = slug(NAME, setting)
            yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows), draw)


def _row(e: Entry) -> dict[str, Any]:
    return {
        "precision": e.precision,
        "family": e.family,
        "code": e.code,
        "decoder": e.decoder,
        "n": e.n,
        "stragglers": e.stragglers,
        "storage": e.value("storage"),
        "decode": e.value("seconds", "decode"),
        "error": e.value("relative_error"),
    }


def draw(data: Table) -> "Figure":
    """Draw both panels with a common error axis."""
    from matplotlib.figure import Figure

    rows = data.records()
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    figure.suptitle(data.title)
    left, right = figure.subplots(1, 2, sharey=True)
    ends = style.limits([row["error"] for row in rows])
    for axes, key in ((left, "storage"), (right, "decode")):
        points(axes, [row for row in rows if row[key] is not None], (key, "error"), ends)
    _percent(left.xaxis)
    left.set_xlabel("storage per worker, part of the operand")
    right.set_xlabel("time to decode one survivor set (s)")
    left.set_ylabel("worst relative error")
    legend(right, rows, ends)
    return figure


def _percent(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axis.set_minor_formatter(NullFormatter())
