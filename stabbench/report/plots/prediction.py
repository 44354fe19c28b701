"""What predicts the error: condition number against error, amplification against error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, by_setting, entries
from stabbench.report.plots.base import Plot, slug
from stabbench.report.plots.scatter import legend, points
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "prediction"
CAPTION = (
    "Every point is a case: its worst error against its worst condition number (left) and its "
    "worst amplification (right). Lines: error = u κ₂ and error = u a(F), one per unit round-off "
    "u. Points above a line lost more digits than predicted, points far below it fewer. Arrow "
    "heads at an edge: infinite (filled: overflow, undecodable survivor sets) or beyond the axis "
    "(open)."
)
COLUMNS = (
    Column("precision", "precision"),
    Column("family", "family"),
    Column("code", "code"),
    Column("decoder", "decoder"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("unit", "u", "number"),
    Column("kappa", "worst κ₂", "number"),
    Column("amplification", "worst a(F)", "number"),
    Column("error", "worst error", "number"),
)


def prediction(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per setting with two panels."""
    for setting, found in by_setting(entries(records)).items():
        known = ("condition_number", "relative_error")
        rows = [_row(e) for e in found if None not in map(e.value, known)]
        if rows:
            title = "Condition number and amplification against worst error"
            title += f" ({setting})" if setting else ""
            name = slug(NAME, setting)
            yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows), draw)


def _row(e: Entry) -> dict[str, Any]:
    predicted = e.value("predicted_error")
    return {
        "precision": e.precision,
        "family": e.family,
        "code": e.code,
        "decoder": e.decoder,
        "n": e.n,
        "stragglers": e.stragglers,
        "unit": e.unit,
        "kappa": e.value("condition_number"),
        "amplification": None if predicted is None else predicted / e.unit,
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
    for axes, key, name in ((left, "kappa", "κ₂"), (right, "amplification", "a(F)")):
        known = [row for row in rows if row[key] is not None]
        across = points(axes, known, (key, "error"), ends)
        _lines(axes, known, across, ends)
        axes.set_title(f"line: error = u {name}")
    left.set_xlabel("worst condition number κ₂")
    right.set_xlabel("worst amplification a(F)")
    left.set_ylabel("worst relative error")
    legend(right, rows, ends)
    return figure


def _lines(
    axes: "Axes",
    rows: Sequence[dict[str, Any]],
    across: tuple[float, float],
    ends: tuple[float, float],
) -> None:
    names = list(dict.fromkeys(row["precision"] for row in rows))
    for i, name in enumerate(names):
        unit = next(row["unit"] for row in rows if row["precision"] == name)
        low = max(across[0], ends[0] / unit)
        high = min(across[1], ends[1] / unit)
        if low < high:
            axes.plot(
                [low, high], [unit * low, unit * high], color=style.color(i), linewidth=1, zorder=1
            )
