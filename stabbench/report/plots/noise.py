"""Noise studies: the measured normalised squared error against the one that a formula expects."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.base import Plot, slug
from stabbench.report.selection import fixed
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "noise"
CAPTION = (
    "Every code of a noise study with its normalised squared error at the worst survivor set and "
    "at the median one: measured (filled) and by the formula (open), which takes independent "
    "operands and leaves rounding out."
)
COLUMNS = (
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("stragglers", "s", "integer"),
    Column("precision", "precision"),
    Column("decoder", "decoder"),
    Column("worst", "worst, measured", "number"),
    Column("worst_formula", "worst, formula", "number"),
    Column("median", "median, measured", "number"),
    Column("median_formula", "median, formula", "number"),
)


def noise(records: Sequence[Record]) -> Iterator[Plot]:
    """A figure per noise."""
    studied: dict[str, list[Entry]] = {}
    for e in entries(records):
        if "noise_nmse" in e.record.measures:
            studied.setdefault(str(e.record.case.get("noise", "")), []).append(e)
    for model, found in studied.items():
        title = f"Normalised squared error under noise, {model}"
        name = slug(NAME, model if len(studied) > 1 else "")
        rows = [_row(e) for e in found]
        notes = (fixed(found, ("n", "stragglers", "precision")),)
        yield Plot(name, title, CAPTION, table(name, title, COLUMNS, rows, notes), draw)


def _row(e: Entry) -> dict[str, Any]:
    measured = e.record.measures["noise_nmse"]
    expected = e.record.measures.get("expected_nmse")
    return {
        "code": e.code,
        "n": e.n,
        "stragglers": e.stragglers,
        "precision": e.precision,
        "decoder": e.decoder,
        "worst": measured.worst,
        "worst_formula": None if expected is None else expected.worst,
        "median": measured.median,
        "median_formula": None if expected is None else expected.median,
    }


def draw(data: Table) -> "Figure":
    """Draw a line per case, measured and expected beside each other."""
    from matplotlib.figure import Figure

    rows = data.records()
    figure = Figure(figsize=(8.4, 1.6 + 0.32 * len(rows)), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(data.title)
    keys = ("worst", "worst_formula", "median", "median_formula")
    style.logarithmic(axes.xaxis, style.limits([row[key] for row in rows for key in keys]))
    for index, name in enumerate(("worst", "median")):
        for key, face in ((name, style.color(index)), (f"{name}_formula", "none")):
            pairs = [(row[key], at) for at, row in enumerate(rows) if row[key] is not None]
            if pairs:
                label = name if key == name else f"{name}, formula"
                axes.plot(
                    *zip(*pairs, strict=True),
                    marker=style.marker(index),
                    markersize=5 if key == name else 9,
                    markerfacecolor=face,
                    markeredgecolor=style.color(index),
                    linestyle="none",
                    label=label,
                )
    names = [f"{r['code']} n={r['n']} s={r['stragglers']} {r['precision']}" for r in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xlabel("normalised squared error")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure
