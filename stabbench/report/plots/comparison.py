"""Decoders, data and other settings compared: median and worst digits per code and value."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import SETTINGS, Entry, entries
from stabbench.report.plots.base import Plot, slug
from stabbench.report.plots.frame import EDGE, Frame, frame, text_width
from stabbench.report.selection import (
    differing,
    fixed,
    further_draws,
    main_decoder,
    main_setting,
    measured,
)
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = (
    "Correct decimal digits over the survivor sets that decode: filled markers are the median, "
    "open ones the worst. Arrow heads at the left edge: overflow (filled) or fewer digits than the "
    "axis shows (open)."
)
COLUMNS = (
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("precision", "precision"),
    Column("value", "value"),
    Column("line", "line", "integer"),
    Column("median", "median digits", "digits"),
    Column("worst", "worst digits", "digits"),
)
TITLES = {
    "decoder": "Decoders compared",
    "data": "Data compared",
    "spare": "Replies beyond the threshold, used or dropped",
}
NAMES = {"decoder": "decoders", "spare": "spare-replies"}
LINES = 40
ROW = 0.19
LOST = -3.0


def comparisons(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure for the decoder and every setting that differs between otherwise equal cases."""
    found = measured(entries(records))
    further = further_draws(found)
    known = [e for e in found if e.record.case["code"] not in further]
    for key in ("decoder", *SETTINGS):
        base = known if key == "decoder" else main_decoder(known)
        alike = _others_main(base, key)
        shown = _largest([e for group in differing(alike, key) for e in group])
        for number, part in enumerate(_parts(shown, key), start=1):
            title = TITLES.get(key, f"Values of {key} compared")
            count = str(number) if len(shown) > len(part) else ""
            title += f", part {count}" if count else ""
            name = slug(NAMES.get(key, key), count)
            notes = (fixed(part, (key,)),)
            rows = list(_rows(part, key))
            yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows, notes), draw)


def _others_main(found: Sequence[Entry], key: str) -> list[Entry]:
    """The entries whose settings other than `key` are those of most entries."""
    chosen = main_setting(found)
    if not chosen or key not in SETTINGS:
        return chosen
    first = chosen[0].record.case
    others = [name for name in SETTINGS if name != key]
    return [e for e in found if all(e.record.case.get(o) == first.get(o) for o in others)]


def _largest(found: Sequence[Entry]) -> list[Entry]:
    """The entries of the largest n of each code and number of stragglers."""
    largest: dict[tuple[str, int], int] = {}
    for e in found:
        where = e.key[0], e.stragglers
        largest[where] = max(e.n, largest.get(where, 0))
    return [e for e in found if e.n == largest[e.key[0], e.stragglers]]


def _parts(found: Sequence[Entry], key: str) -> Iterator[list[Entry]]:
    """Entries divided by groups into figures of at most `LINES` lines."""
    part: list[Entry] = []
    lines = 0
    for group in dict.fromkeys(_group(e) for e in found):
        mine = [e for e in found if _group(e) == group]
        count = len({_value(key)(e) for e in mine})
        if part and lines + count > LINES:
            yield part
            part, lines = [], 0
        part += mine
        lines += count
    if part:
        yield part


def _rows(found: Sequence[Entry], key: str) -> Iterator[dict[str, Any]]:
    value = _value(key)
    values = list(dict.fromkeys(value(e) for e in found))
    for group in dict.fromkeys(_group(e) for e in found):
        for e in sorted(found, key=lambda e: (-e.unit, values.index(value(e)))):
            if _group(e) == group:
                yield {
                    "code": e.code,
                    "n": e.n,
                    "stragglers": e.stragglers,
                    "precision": e.precision,
                    "value": value(e),
                    "line": values.index(value(e)),
                    "median": e.digits("median"),
                    "worst": e.digits(),
                }


def _group(e: Entry) -> tuple[str, int, int]:
    return e.key[0], e.n, e.stragglers


def _value(key: str) -> Callable[[Entry], str]:
    own: dict[str, Callable[[Entry], str]] = {
        "decoder": lambda e: e.decoder,
        "data": lambda e: e.data,
        "spare": lambda e: {"use": "used", "drop": "dropped"}[e.record.case["spare"]],
    }
    return own.get(key, lambda e: f"{key} {e.record.case.get(key)}")


def draw(data: Table) -> "Figure":
    """Draw the table: a line per code and value, a panel per precision."""
    rows = data.records()
    lines: list[tuple[str, str | None]] = []
    for row in rows:
        for line in ((_name(row, rows), None), (_name(row, rows), row["value"])):
            if line not in lines:
                last = max((i for i, x in enumerate(lines) if x[0] == line[0]), default=len(lines))
                lines.insert(last + 1, line)
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    left = max(
        text_width(name if value is None else value, 8.0, bold=value is None)
        for name, value in lines
    )
    width = {1: 5.0, 2: 3.4}.get(len(precisions), 2.6)
    space = frame(
        data,
        [ROW * len(lines)],
        [width] * len(precisions),
        left=left + 0.3,
        bottom=0.8,
        titled=len(precisions) > 1,
    )
    for j, precision in enumerate(precisions):
        axes = space.panel(0, j)
        _panel(axes, [row for row in rows if row["precision"] == precision], rows, lines)
        _names(axes, lines, first=j == 0)
        axes.set_title(precision if len(precisions) > 1 else "", loc="left")
    _legend(space)
    return space.figure


def _name(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    words = [row["code"]]
    if len({r["n"] for r in rows}) > 1:
        words.append(f"n = {row['n']}")
    if len({r["stragglers"] for r in rows}) > 1:
        words.append(f"s = {row['stragglers']}")
    return ", ".join(words)


def _panel(
    axes: "Axes",
    mine: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    lines: Sequence[tuple[str, str | None]],
) -> None:
    from matplotlib.ticker import MaxNLocator

    known = [v for r in mine for v in (r["median"], r["worst"]) if v is not None]
    finite = [v for v in known if math.isfinite(v)] or [0.0]
    ends = max(min(finite), LOST) - 0.3, max(*finite, LOST) + 0.3
    axes.set_xlim(*ends)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("correct digits")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    for row in mine:
        y = lines.index((_name(row, rows), row["value"]))
        paint = style.color(row["line"])
        worst, median = (min(max(row[key], ends[0]), ends[1]) for key in ("worst", "median"))
        axes.plot([worst, median], [y, y], color=paint, linewidth=1.2, alpha=0.6)
        if ends[0] < median < ends[1]:
            axes.plot(median, y, color=paint, marker="o")
        if ends[0] <= row["worst"] <= ends[1]:
            axes.plot(worst, y, color=paint, marker="o", markerfacecolor="white")
        else:
            style.mark_edge(axes, (row["worst"], y), ends, paint=paint, vertical=False)


def _names(axes: "Axes", lines: Sequence[tuple[str, str | None]], *, first: bool) -> None:
    axes.set_yticks(
        range(len(lines)), [v or name for name, v in lines] if first else [""] * len(lines)
    )
    for y, (label, (_, value)) in enumerate(zip(axes.get_yticklabels(), lines, strict=True)):
        if value is None:
            label.set_fontweight("bold")
            axes.axhline(y - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)


def _legend(space: Frame) -> None:
    from matplotlib.lines import Line2D

    grey: dict[str, Any] = {"color": style.GREY, "marker": "o", "linestyle": "none"}
    handles = [
        Line2D([], [], label="median", **grey),
        Line2D([], [], label="worst survivor set", markerfacecolor="white", **grey),
    ]
    across, down = space.figure.get_size_inches()
    space.figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(space.lefts[0] / across, EDGE / 2 / down),
        ncols=2,
        borderaxespad=0.0,
        borderpad=0.0,
    )
