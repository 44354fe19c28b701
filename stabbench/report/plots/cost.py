"""What the digits cost: numbers held and sent, operations and times against worst error."""

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
    "Every point is a case, its error the worst over the survivor sets that decode. Above: real "
    "numbers that the worker with most of them holds, as a part of the coded operands, and sends, "
    "as a part of the answer; real operations of decoding one survivor set. Below, in median "
    "processor time on the machine named below: planning of one survivor set and its decoding, "
    "alone; its share of decoding a batch. Arrow heads at an edge: infinite error (filled) or "
    "beyond the axis (open)."
)
COLUMNS = (
    Column("storage", "storage", "share"),
    Column("sent", "sent", "share"),
    Column("operations", "operations", "number"),
    Column("plan_single", "plan one set", "seconds"),
    Column("decode_single", "decode one set", "seconds"),
    Column("decode_batch", "decode in a batch", "seconds"),
)
WIDE = 30
"""Ratio of the ends of an axis of shares beyond which fewer of them are labelled."""
SHARES = {"storage": "held by a worker / operand", "sent": "sent by a worker / answer"}
TIMES = {
    "plan_single": "time to plan one set alone",
    "decode_single": "time to decode one set alone",
    "decode_batch": "time to decode a set in a batch",
}


def cost(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all cases."""
    found = measured(entries(records))
    if found:
        title = "What the digits cost: storage, traffic, operations and time"
        yield scatter((NAME, title, CAPTION), found, COLUMNS, _values, draw)


def _values(e: Entry) -> dict[str, Any]:
    return (
        {key: e.value(key) for key in SHARES}
        | {"operations": e.value("operations", "decode_mean")}
        | {key: e.seconds(key) for key in TIMES}
    )


def draw(data: Table) -> "Figure":
    """Draw all panels with a common error axis."""
    keys = [(*SHARES, "operations"), tuple(TIMES)]
    across = {
        key: style.limits(data.values(key), style.FARTHEST, least=1.1)
        for row in keys
        for key in row
    }
    figure, made = panels(data, keys, across, style.limits(data.values("error")))
    above, below = made[: len(keys[0])], made[len(keys[0]) :]
    for axes, words in zip(above, SHARES.values(), strict=False):
        axes.set_xlabel(words)
        _percent(axes.xaxis)
    above[-1].set_xlabel("operations to decode one set")
    for axes, words in zip(below, TIMES.values(), strict=True):
        axes.set_xlabel(words)
        _seconds(axes.xaxis)
    return figure


def _percent(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < WIDE * low else (1.0, 3.0)  # labels need room
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axis.set_minor_formatter(NullFormatter())


def _seconds(axis: "Axis") -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, "seconds")))
