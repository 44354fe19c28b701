"""Worst digits as a map: codes down, n and precision across."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.arithmetic.precision import precision
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Key, Plot, labels, slug
from stabbench.report.plots.frame import Frame, frame, text_width
from stabbench.report.selection import fixed, measured, problems, usual
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

NAME = "digits"
CAPTION = (
    "Correct decimal digits at the worst survivor set that decodes, the best codes on top. −∞: "
    "overflow. A star: some survivor sets do not decode. Grey: "
    "not measured, with the reason where there is one: skip (the combination does not exist), "
    "undec. (no survivor set decodes), fail, time. Codes with a single case and further random "
    "draws are in the tables."
)
COLUMNS = (
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("precision", "precision"),
    Column("digits", "worst digits", "digits"),
    Column("undecodable", "undecodable", "share"),
    Column("status", "status"),
)
WORDS = {"skipped": "skip", "undecodable": "undec.", "failed": "fail", "timeout": "time"}
MOST = 16.0
LINES = 36
CELLS = 16
CELL = 0.5
ROW = 0.235
EMPTY = "#ECECEC"


def heatmap(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per number of stragglers; more where codes or columns are many."""
    every = entries(records)
    for problem, found in problems(every):
        if measured(every) and not measured(found):
            continue  # skipped before its problem was known
        main = usual(found)
        names = labels(main, decoders=False)
        for s in sorted({e.stragglers for e in main}):
            here = [e for e in main if e.stragglers == s]
            parts = [(part, keys) for part in _blocks(here) for keys in _ranked(part)]
            for number, (part, keys) in enumerate(parts, start=1):
                count = str(number) if len(parts) > 1 else ""
                words = (problem, f"part {count}" if count else "")
                title = ", ".join(filter(None, (f"Worst digits with s = {s} stragglers", *words)))
                name = slug(NAME, f"s{s}", problem, count)
                rows = list(_rows(part, keys, names))
                shown = [e for e in part if e.key[0] in keys]
                notes = (fixed(shown, ("n", "stragglers", "precision")),)
                yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows, notes), draw)


def _ranked(found: Sequence[Entry]) -> list[list[str]]:
    """Codes with the best first, by digits above the mean of each column; divided by `LINES`."""
    cells: dict[tuple[int, str], list[float]] = {}
    for e in found:
        if e.digits() is not None:
            cells.setdefault((e.n, e.precision), []).append(_bounded(e.digits()))
    above: dict[str, list[float]] = {}
    for e in found:
        gains = above.setdefault(e.key[0], [])
        if e.digits() is not None:
            column = cells[e.n, e.precision]
            gains.append(_bounded(e.digits()) - sum(column) / len(column))
    order = sorted(above, key=lambda k: (not above[k], -sum(above[k]) / max(len(above[k]), 1), k))
    size = -(-len(order) // -(-len(order) // LINES))
    return [order[i : i + size] for i in range(0, len(order), size)]


def _bounded(digits: float | None) -> float:
    return min(max(digits or 0.0, 0.0), MOST)


def _blocks(found: Sequence[Entry]) -> list[list[Entry]]:
    """Entries divided by n so that a figure has a readable number of columns."""
    blocks: list[list[Entry]] = []
    width = CELLS
    for n in sorted({e.n for e in found}):
        mine = [e for e in found if e.n == n]
        cells = len({e.precision for e in mine})
        if not blocks or width + cells > CELLS:
            blocks.append([])
            width = 0
        blocks[-1] += mine
        width += cells
    return blocks


def _rows(
    found: Sequence[Entry], keys: Sequence[str], names: dict[Key, str]
) -> Iterator[dict[str, Any]]:
    for key in keys:
        for e in found:
            if e.key[0] == key:
                yield {
                    "code": names[e.key],
                    "n": e.n,
                    "stragglers": e.stragglers,
                    "precision": e.precision,
                    "digits": e.digits(),
                    "undecodable": e.undecodable,
                    "status": e.record.status,
                }


def draw(data: Table) -> "Figure":
    """Draw the table: a panel per n, side by side, and the scale of the colours."""
    rows = data.records()
    codes = list(dict.fromkeys(row["code"] for row in rows))
    order = sorted({row["precision"] for row in rows}, key=lambda p: (-precision(p).unit, p))
    sizes = sorted({row["n"] for row in rows})
    across = {n: [p for p in order if _has(rows, n, p)] for n in sizes}
    space = frame(
        data,
        [ROW * len(codes)],
        [CELL * len(across[n]) for n in sizes] + [0.14],
        left=max(text_width(code, 8.0) for code in codes) + 0.3,
        right=0.55,
        bottom=max(text_width(name, 8.0) for name in order) * 0.72 + 0.3,
        gaps=(0.14, 0.0),
    )
    for j, n in enumerate(sizes):
        axes = space.panel(0, j)
        image = _panel(axes, [row for row in rows if row["n"] == n], codes, across[n])
        axes.set_title(f"n = {n}")
        axes.set_yticks(range(len(codes)), codes if j == 0 else [])
    _scale(space, len(sizes), image, step=4 if len(codes) > 3 else 16)
    return space.figure


def _has(rows: Sequence[dict[str, Any]], n: int, precision: str) -> bool:
    return any((row["n"], row["precision"]) == (n, precision) for row in rows)


def _scale(space: Frame, column: int, image: "AxesImage", step: int) -> None:
    bar = space.figure.colorbar(image, cax=space.panel(0, column))
    bar.set_label("worst digits")
    bar.set_ticks(range(0, round(MOST) + 1, step))
    bar.outline.set_visible(False)


def _panel(
    axes: "Axes", rows: Sequence[dict[str, Any]], codes: Sequence[str], across: Sequence[str]
) -> "AxesImage":
    values = [[math.nan] * len(across) for _ in codes]
    axes.set_facecolor(EMPTY)
    for row in rows:
        i, j = codes.index(row["code"]), across.index(row["precision"])
        digits = row["digits"]
        text, ink = WORDS.get(row["status"], ""), "#777777"
        if digits is not None:
            values[i][j] = min(max(digits, 0.0), MOST)
            ink = "white" if values[i][j] < 0.6 * MOST else "black"
            text = _words(digits) + ("*" if row["undecodable"] else "")
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color=ink)
    image = axes.imshow(values, cmap="viridis", vmin=0.0, vmax=MOST, aspect="auto")
    axes.set_xticks(range(len(across)), across, rotation=45, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    for edge in range(1, len(codes)):
        axes.axhline(edge - 0.5, color="white", linewidth=1)
    for edge in range(1, len(across)):
        axes.axvline(edge - 0.5, color="white", linewidth=1)
    return image


def _words(digits: float) -> str:
    if math.isinf(digits):
        return "−∞" if digits < 0 else "exact"
    return f"{digits:.1f}".replace("-", "−")
