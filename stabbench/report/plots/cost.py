"""What the digits cost: storage per worker and time of decoding against worst error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot
from stabbench.report.plots.frame import beside, frame, legend_width
from stabbench.report.plots.scatter import handles, points
from stabbench.report.render import shown
from stabbench.report.selection import fixed, measured
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
    Column("data", "data"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("storage", "storage", "share"),
    Column("decode", "decode", "seconds"),
    Column("error", "worst error", "number"),
)


def cost(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all cases."""
    found = measured(entries(records))
    if found:
        title = "What the digits cost: storage and time of decoding"
        notes = (", ".join(filter(None, (f"{len(found)} cases", fixed(found)))),)
        rows = [_row(e) for e in sorted(found, key=lambda e: -e.unit)]
        yield Plot(NAME, title, CAPTION, table(NAME, title, COLUMNS, rows, notes), draw)


def _row(e: Entry) -> dict[str, Any]:
    return {
        "precision": e.precision,
        "family": e.family,
        "code": e.code,
        "decoder": e.decoder,
        "data": e.data,
        "n": e.n,
        "stragglers": e.stragglers,
        "storage": e.value("storage"),
        "decode": e.value("seconds", "decode"),
        "error": e.value("relative_error"),
    }


def draw(data: Table) -> "Figure":
    """Draw both panels with a common error axis."""
    rows = data.records()
    names = [row[key] for row in rows for key in ("family", "precision")]
    room = legend_width([*names, "infinite (overflow)"])
    space = frame(data, [3.6], [3.6, 3.6], right=room, titled=False)
    left = space.panel(0, 0)
    right = space.panel(0, 1, left)
    ends = style.limits([row["error"] for row in rows])
    for axes, key in ((left, "storage"), (right, "decode")):
        known = [row for row in rows if row[key] is not None]
        across = style.limits([row[key] for row in known], style.FARTHEST, least=1.1)
        points(axes, known, (key, "error"), (across, ends), rows)
    _percent(left.xaxis)
    _seconds(right.xaxis)
    left.set_xlabel("storage per worker, part of the operand")
    right.set_xlabel("time to decode one survivor set")
    left.set_ylabel("worst relative error")
    beside(right, handles(rows, ends))
    return space.figure


def _percent(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axis.set_minor_formatter(NullFormatter())


def _seconds(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, "seconds")))
