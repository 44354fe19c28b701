"""Worst digits as a map: codes down, n and precision across."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report.entries import Entry, by_setting, entries
from stabbench.report.plots.base import Key, Plot, groups, labels, slug
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

NAME = "digits"
CAPTION = (
    "Correct decimal digits at the worst survivor set. ∞: overflow, nothing is left. Grey: no "
    "number, with the reason where there is one: skip (the combination does not exist), undec. (no "
    "survivor set decodes), fail, time."
)
COLUMNS = (
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("precision", "precision"),
    Column("digits", "worst digits", "digits"),
    Column("status", "status"),
)
WORDS = {"skipped": "skip", "undecodable": "undec.", "failed": "fail", "timeout": "time"}
MOST = 16.0
LINES = 36
CELLS = 16


def heatmap(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per setting and number of stragglers; more where codes or columns are many."""
    for setting, found in by_setting(entries(records)).items():
        names = labels(found)
        for s in sorted({e.stragglers for e in found}):
            here = [e for e in found if e.stragglers == s]
            parts = [(part, keys) for part in _blocks(here) for _, keys in groups(part, LINES)]
            for number, (part, keys) in enumerate(parts, start=1):
                title = f"Worst digits, s = {s}"
                words = [setting, f"part {number}" if len(parts) > 1 else ""]
                inside = ", ".join(word for word in words if word)
                title += f" ({inside})" if inside else ""
                name = slug(NAME, f"s{s}", setting, str(number) if len(parts) > 1 else "")
                rows = list(_rows(part, keys, names))
                yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows), draw)


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
    found: Sequence[Entry], keys: Sequence[Key], names: dict[Key, str]
) -> Iterator[dict[str, Any]]:
    for key in keys:
        for e in found:
            if e.key == key:
                yield {
                    "code": names[key],
                    "n": e.n,
                    "stragglers": e.stragglers,
                    "precision": e.precision,
                    "digits": e.digits(),
                    "status": e.record.status,
                }


def draw(data: Table) -> "Figure":
    """Draw the table: a panel per n, side by side."""
    from matplotlib.figure import Figure

    rows = data.records()
    codes = list(dict.fromkeys(row["code"] for row in rows))
    sizes = sorted({row["n"] for row in rows})
    across = {
        n: list(dict.fromkeys(row["precision"] for row in rows if row["n"] == n)) for n in sizes
    }
    cells = [len(across[n]) for n in sizes]
    label = 0.075 * max(map(len, codes))
    size = (max(0.52 * sum(cells) + label + 1.5, 5.0), 0.25 * len(codes) + 2.0)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(data.title)
    (panels,) = figure.subplots(1, len(sizes), squeeze=False, sharey=True, width_ratios=cells)
    for axes, n in zip(panels, sizes, strict=True):
        image = _panel(axes, [row for row in rows if row["n"] == n], codes, across[n])
        axes.set_title(f"n = {n}")
    panels[0].set_yticks(range(len(codes)), codes)
    figure.colorbar(image, ax=list(panels), label="worst digits", fraction=0.05, pad=0.02)
    return figure


def _panel(
    axes: "Axes", rows: Sequence[dict[str, Any]], codes: Sequence[str], across: Sequence[str]
) -> "AxesImage":
    values = [[math.nan] * len(across) for _ in codes]
    axes.set_facecolor("#D9D9D9")
    for row in rows:
        i, j = codes.index(row["code"]), across.index(row["precision"])
        digits = row["digits"]
        text, ink = WORDS.get(row["status"], ""), "#444444"
        if digits is not None:
            values[i][j] = min(max(digits, 0.0), MOST)
            ink = "white" if values[i][j] < 0.6 * MOST else "black"
            text = (
                "∞" if digits == -math.inf else "exact" if digits == math.inf else f"{digits:.1f}"
            )
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
