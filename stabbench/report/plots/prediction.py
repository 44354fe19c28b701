"""What predicts the error: condition number against error, amplification against error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot
from stabbench.report.plots.frame import beside, frame, legend_width
from stabbench.report.plots.scatter import handles, points
from stabbench.report.selection import fixed
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "prediction"
CAPTION = (
    "Every point is a case: its worst error against what its worst condition number (left) and its "
    "worst amplification (right) predict. On the line, error and prediction are equal; points "
    "above it lost more digits than predicted, points far below it fewer. Arrow heads at an edge: "
    "infinite (filled: overflow, undecodable survivor sets) or beyond the axis (open)."
)
COLUMNS = (
    Column("precision", "precision"),
    Column("family", "family"),
    Column("code", "code"),
    Column("decoder", "decoder"),
    Column("data", "data"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("unit", "u", "number"),
    Column("kappa", "worst κ₂", "number"),
    Column("amplification", "worst a(F)", "number"),
    Column("kappa_error", "u κ₂", "number"),
    Column("amplification_error", "u a(F)", "number"),
    Column("error", "worst error", "number"),
)


def prediction(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all cases."""
    known = ("condition_number", "relative_error")
    found = [e for e in entries(records) if None not in map(e.value, known)]
    if found:
        title = "What predicts the worst error: condition number and amplification"
        notes = (", ".join(filter(None, (f"{len(found)} cases", fixed(found)))),)
        rows = [_row(e) for e in sorted(found, key=lambda e: -e.unit)]
        yield Plot(NAME, title, CAPTION, table(NAME, title, COLUMNS, rows, notes), draw)


def _row(e: Entry) -> dict[str, Any]:
    predicted = e.value("predicted_error")
    kappa = e.value("condition_number")
    return {
        "precision": e.precision,
        "family": e.family,
        "code": e.code,
        "decoder": e.decoder,
        "data": e.data,
        "n": e.n,
        "stragglers": e.stragglers,
        "unit": e.unit,
        "kappa": kappa,
        "amplification": None if predicted is None else predicted / e.unit,
        "kappa_error": None if kappa is None else e.unit * kappa,
        "amplification_error": predicted,
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
    predicted = [row[key] for row in rows for key in ("kappa_error", "amplification_error")]
    ends = style.limits([row["error"] for row in rows] + predicted)
    for axes, key in ((left, "kappa_error"), (right, "amplification_error")):
        known = [row for row in rows if row[key] is not None]
        points(axes, known, (key, "error"), (ends, ends), rows)
        axes.plot(ends, ends, color="#444444", linewidth=1, zorder=1)
        axes.text(
            *(0.6, 0.62),
            "error = prediction",
            transform=axes.transAxes,
            rotation=45,
            rotation_mode="anchor",
            fontsize=7.5,
            color="#444444",
        )
    left.set_xlabel("predicted: u κ₂")
    right.set_xlabel("predicted: u a(F)")
    left.set_ylabel("worst relative error")
    beside(right, handles(rows, ends))
    return space.figure
