"""What the digits cost: storage per worker and time of decoding against worst error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot
from stabbench.report.plots.scatter import panels, scatter
from stabbench.report.render import shown
from stabbench.report.selection import measured
from stabbench.report.table import Column, Table
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
COLUMNS = (Column("storage", "storage", "share"), Column("decode", "decode", "seconds"))


def cost(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all cases."""
    found = measured(entries(records))
    if found:
        title = "What the digits cost: storage and time of decoding"
        yield scatter((NAME, title, CAPTION), found, COLUMNS, _values, draw)


def _values(e: Entry) -> dict[str, Any]:
    return {"storage": e.value("storage"), "decode": e.value("seconds", "decode")}


def draw(data: Table) -> "Figure":
    """Draw both panels with a common error axis."""
    storage, decode = (
        style.limits(data.values(key), style.FARTHEST, least=1.1) for key in ("storage", "decode")
    )
    ends = style.limits(data.values("error"))
    figure, left, right = panels(data, ("storage", "decode"), (storage, decode), ends)
    _percent(left.xaxis)
    _seconds(right.xaxis)
    left.set_xlabel("storage per worker, part of the operand")
    right.set_xlabel("time to decode one survivor set")
    return figure


def _percent(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axis.set_minor_formatter(NullFormatter())


def _seconds(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, "seconds")))
