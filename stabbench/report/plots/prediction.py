"""What predicts the error: condition number against error, amplification against error."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot
from stabbench.report.plots.scatter import panels, scatter
from stabbench.report.table import Column, Table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "prediction"
CAPTION = (
    "Every point is a case: its worst error over the survivor sets that decode against what the "
    "worst condition number of all sets (left) and the worst root-mean-square amplification of "
    "those that decode (right) let expect. On the line, error and prediction "
    "are equal; points above it lost more digits, points far below it fewer. Arrow heads at an "
    "edge: infinite (filled: overflow, undecodable survivor sets) or beyond the axis (open)."
)
COLUMNS = (
    Column("unit", "u", "number"),
    Column("kappa", "worst κ₂", "number"),
    Column("amplification", "worst a(F)", "number"),
    Column("kappa_error", "u κ₂", "number"),
    Column("rms_amplification", "worst rms amplification", "number"),
    Column("expected_error", "expected error", "number"),
    Column("bound", "bound", "number"),
)
PREDICTED = ("kappa_error", "expected_error")


def prediction(records: Sequence[Record]) -> Iterator[Plot]:
    """One figure of all cases."""
    known = ("condition_number", "relative_error")
    found = [e for e in entries(records) if None not in map(e.value, known)]
    if found:
        title = "What predicts the worst error: condition number and amplification"
        yield scatter((NAME, title, CAPTION), found, COLUMNS, _values, draw)


def _values(e: Entry) -> dict[str, Any]:
    kappa = e.value("condition_number")
    return {
        "unit": e.unit,
        "kappa": kappa,
        "amplification": e.value("amplification"),
        "rms_amplification": e.value("rms_amplification"),
        "kappa_error": None if kappa is None else e.unit * kappa,
        "expected_error": e.value("expected_error"),
        "bound": e.value("predicted_error"),
    }


def draw(data: Table) -> "Figure":
    """Draw both panels with a common error axis."""
    ends = style.limits([v for key in ("error", *PREDICTED) for v in data.values(key)])
    figure, (left, right) = panels(data, [PREDICTED], dict.fromkeys(PREDICTED, ends), ends)
    for axes in (left, right):
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
    right.set_xlabel("expected by rms amplification")
    return figure
