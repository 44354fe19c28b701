"""Shift-and-add codes: error against block length and storage, and growth along one decoding.

All are of sweeps over the block length; other sweeps have none of these plots.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.codes.registry import code as build_code
from stabbench.errors import InputError
from stabbench.files.inputs import written
from stabbench.grammar import parse
from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot, slug
from stabbench.report.plots.frame import beside, frame, legend_width
from stabbench.report.selection import fixed
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

OTHERS = ("polynomial", "chebyshev-basis", "gaussian")
"""Codes that combine whole blocks, for comparison."""
COMMON = (
    Column("precision", "precision"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("code", "code"),
    Column("decoder", "decoder"),
)
LENGTH = (
    *COMMON,
    Column("units", "block length in shifts L/c", "integer"),
    Column("median", "median error", "number"),
    Column("worst", "worst error", "number"),
    Column("predicted", "bound", "number"),
    Column("growth", "growth per row by the symbol", "number"),
    Column("status", "status"),
)
STORAGE = (
    *COMMON,
    Column("storage", "storage of a worker in data blocks", "number"),
    Column("median", "median error", "number"),
    Column("worst", "worst error", "number"),
)
KEYS = {
    "median": "median",
    "worst": "worst",
    "predicted": "bound",
    "error": "error",
    "size": "intermediate result",
}
"""What a legend calls the values of a line."""
STEPS = (
    *COMMON,
    Column("units", "block length in shifts L/c", "integer"),
    Column("resolved", "share of the samples resolved", "number"),
    Column("size", "largest intermediate result", "number"),
    Column("error", "largest error so far", "number"),
)


def shift_add(records: Sequence[Record]) -> Iterator[Plot]:
    """Three figures per precision, of records that differ in block length."""
    found = [e for e in entries(records) if e.value("relative_error") is not None]
    for precision in dict.fromkeys(e.precision for e in found):
        here = [e for e in found if e.precision == precision and _problem(e) == "matvec"]
        mine = [e for e in here if "block_length" in e.record.measures]
        if len({e.record.block_length for e in mine}) < 2:
            continue
        sizes = {(e.n, e.stragglers) for e in mine}
        beside = [
            e
            for e in here
            if _name(e) in OTHERS and (e.n, e.stragglers) in sizes and "seed=" not in e.code
        ]
        yield _length(mine, precision)
        yield _storage([*mine, *beside], precision)
        yield _steps(mine, precision)


def _length(found: Sequence[Entry], precision: str) -> Plot:
    title = f"Error of shift-and-add codes against block length, {precision}"
    caption = (
        "Filled: median over survivor sets; open: worst. Dotted: the bound of the "
        "decoder's own operator at its worst. Solid lines: from both ends; dash-dotted: forward; "
        "dashed: least squares. Open arrow heads: beyond the axis."
    )
    rows = [
        _place(e)
        | {
            "units": e.record.units,
            "median": e.value("relative_error", "median"),
            "worst": e.value("relative_error"),
            "predicted": e.value("predicted_error"),
            "growth": e.value("growth_forward"),
            "status": e.record.status,
        }
        for e in found
    ]
    name = slug("shift-add-length", precision)
    data = table(name, title, LENGTH, _sorted(rows, "units"), _notes(found))
    return Plot(name, title, caption, data, _by_units)


def _storage(found: Sequence[Entry], precision: str) -> Plot:
    title = f"Error against storage of a worker, {precision}"
    caption = (
        "Worst error against what the worker with the longest shift stores, in data blocks; the "
        "points of a line are block lengths. Codes that combine whole blocks store one block."
    )
    stored = [e for e in found if e.value("storage") is not None]
    rows = [
        _place(e)
        | {
            "storage": e.record.storage * blocks,
            "median": e.value("relative_error", "median"),
            "worst": e.value("relative_error"),
        }
        for e in stored
        if (blocks := _blocks(e))
    ]
    name = slug("shift-add-storage", precision)
    notes = _notes(found)
    if empty := dict.fromkeys(e.code for e in found if e not in stored):
        notes += (f"left out, as no share could be stored: {', '.join(empty)}",)
    found = stored
    if len(rows) < len(found):
        lost = dict.fromkeys(e.code for e in found if not _blocks(e))
        notes += (f"left out, as their files are not those of the sweep: {', '.join(lost)}",)
    data = table(name, title, STORAGE, _sorted(rows, "storage"), notes)
    return Plot(name, title, caption, data, _by_storage)


def _steps(found: Sequence[Entry], precision: str) -> Plot:
    title = f"Growth along one decoding, {precision}"
    caption = (
        "The worst survivor set at the longest block, samples in the order in which the zigzag "
        "resolves them. Solid (from both ends) and dash-dotted (forward): largest error in a "
        "stretch; dotted: largest intermediate result; "
        "both relative to the root mean square of the exact result."
    )
    longest: dict[tuple[int, int], int] = {}
    for e in found:
        size = e.n, e.stragglers
        longest[size] = max(longest.get(size, 0), e.record.units)
    rows = []
    for e in found:
        steps = e.record.measures.get("intermediates")
        far = e.record.units == longest[e.n, e.stragglers]
        if steps is None or not far or not steps["resolved"]:
            continue
        for at, size, error in zip(steps["resolved"], steps["size"], steps["error"], strict=True):
            share = at / steps["resolved"][-1]
            rows.append(
                _place(e)
                | {"units": e.record.units, "resolved": share, "size": size, "error": error}
            )
    name = slug("shift-add-steps", precision)
    return Plot(name, title, caption, table(name, title, STEPS, rows, _notes(found)), _by_steps)


def _notes(found: Sequence[Entry]) -> tuple[str, ...]:
    words = fixed(found, ("n", "stragglers", "precision"))
    return (words,) if words else ()


def _place(e: Entry) -> dict[str, Any]:
    return {
        "precision": e.precision,
        "n": e.n,
        "stragglers": e.stragglers,
        "code": e.code,
        "decoder": e.decoder,
    }


def _sorted(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["n"], row["stragglers"], row["code"], row[key]))


def _name(e: Entry) -> str:
    return parse(e.record.case["code"]).name


def _problem(e: Entry) -> str:
    return str(e.record.case["problem"])


def _blocks(e: Entry) -> int:
    case = e.record.case
    return _count(case["code"], case["n"], case["stragglers"], case.get("files", ""))


@functools.lru_cache(maxsize=1024)
def _count(text: str, n: int, stragglers: int, files: str) -> int:
    """Data blocks of a code; 0 where a file of it is gone or has another content by now."""
    try:
        built = build_code(text, n, stragglers)
    except InputError:
        return 0
    if not set(written(built.inputs).split()) <= set(files.split()):
        return 0
    return int(built.system().encoders[0].unknowns)


def _by_units(data: Table) -> "Figure":
    return _panels(data, "units", ("median", "worst", "predicted"), "block length in shifts, L/c")


def _by_storage(data: Table) -> "Figure":
    words = "storage of a worker, in data blocks"
    return _panels(data, "storage", ("worst",), words, "worst relative error")


def _by_steps(data: Table) -> "Figure":
    words = "share of the samples resolved"
    return _panels(data, "resolved", ("error", "size"), words, "relative to the result's RMS")


def _panels(
    data: Table, across: str, keys: tuple[str, ...], words: str, measure: str = "relative error"
) -> "Figure":
    """A panel per number of workers and stragglers; a colour per code, a marker per decoder."""
    rows = data.records()
    sizes = list(dict.fromkeys((row["n"], row["stragglers"]) for row in rows)) or [(0, 0)]
    room = legend_width([_words(*line) for line in _lines(rows)] + list(KEYS.values()))
    space = frame(data, [3.4], [2.8] * len(sizes), right=room, gaps=(0.3, 0.75))
    ends = style.limits([row[key] for row in rows for key in keys])
    first = None
    for j, (n, s) in enumerate(sizes):
        axes = space.panel(0, j, first)
        first = first or axes
        mine = [row for row in rows if (row["n"], row["stragglers"]) == (n, s)]
        style.logarithmic(axes.yaxis, ends)
        _axis(axes, across, [row[across] for row in mine])
        for code, decoder in _lines(rows):
            line = [r for r in mine if (r["code"], r["decoder"]) == (code, decoder)]
            _draw(axes, line, (across, keys), ends, _paint(rows, code, decoder))
        axes.set_title(f"n = {n}, s = {s}", loc="left")
        axes.set_xlabel(words)
    assert first is not None
    first.set_ylabel(measure)
    beyond = [
        v for r in rows for v in [r[keys[0]], r.get("worst")] if v is not None and v > ends[1]
    ]
    beside(axes, [*_handles(rows, keys), *style.edge_legend(beyond)])
    return space.figure


def _axis(axes: "Axes", across: str, values: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if across == "resolved":
        axes.set_xlim(0, 1)
        return
    axes.set_xscale("log")
    places = sorted(set(values)) if across == "units" else [1, 1.5, 2, 3, 5, 8]
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _lines(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["code"], row["decoder"]) for row in rows))


def _paint(rows: Sequence[dict[str, Any]], code: str, decoder: str) -> tuple[str, str, str]:
    """Colour of the code, marker and line of the decoder; further markers once colours repeat."""
    codes = list(dict.fromkeys(row["code"] for row in rows))
    decoders = list(dict.fromkeys(row["decoder"] for row in rows))
    line = {"zigzag": "-", "zigzag[order=forward]": "-."}.get(decoder, "--")
    again, paint = divmod(codes.index(code), len(style.COLORS))
    return style.color(paint), style.marker(again * len(decoders) + decoders.index(decoder)), line


def _draw(
    axes: "Axes",
    rows: Sequence[dict[str, Any]],
    what: tuple[str, tuple[str, ...]],
    ends: tuple[float, float],
    look: tuple[str, str, str],
) -> None:
    """The lines of one code and decoder: first key solid, second open, third dotted."""
    across, keys = what
    paint, shape, line = look
    steps = across == "resolved"
    for key in keys:
        known = [(row[across], row[key]) for row in rows if row[key] is not None]
        within = [pair for pair in known if ends[0] <= pair[1] <= ends[1]]
        dotted = key in ("predicted", "size")
        options: dict[str, Any] = {"color": paint, "linestyle": ":" if dotted else line}
        if not dotted and not steps:
            face = "white" if key == "worst" and len(keys) > 1 else paint
            options |= {"marker": shape, "markerfacecolor": face}
        if key == "worst" and len(keys) > 1:
            options["linewidth"] = 0.8
        if within:
            axes.plot(*zip(*within, strict=True), **options)
        if not dotted and not steps:
            for pair in set(known) - set(within):
                style.mark_edge(axes, pair, ends, paint=paint)


def _handles(rows: Sequence[dict[str, Any]], keys: tuple[str, ...]) -> "list[Line2D]":
    """A legend entry per code and decoder, then one per key where there are several."""
    from matplotlib.lines import Line2D

    steps = "size" in keys
    handles = []
    for code, decoder in _lines(rows):
        paint, shape, line = _paint(rows, code, decoder)
        look: dict[str, Any] = {"color": paint, "linestyle": line}
        if not steps:
            look["marker"] = shape
        handles.append(Line2D([], [], label=_words(code, decoder), **look))
    looks: dict[str, dict[str, Any]] = {
        "median": {"marker": "o"},
        "worst": {"marker": "o", "markerfacecolor": "white", "linewidth": 0.8},
        "predicted": {"linestyle": ":"},
        "error": {},
        "size": {"linestyle": ":"},
    }
    shown = keys if len(keys) > 1 else ()
    return handles + [Line2D([], [], color=style.GREY, label=KEYS[k], **looks[k]) for k in shown]


def _words(code: str, decoder: str) -> str:
    return f"{code} · {decoder}"
