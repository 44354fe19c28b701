"""The distribution of condition numbers over all straggler patterns: text, plot and data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stabbench.analysis.conditioning import Estimate, Survey
from stabbench.analysis.worst import Amplification
from stabbench.files.atomic import write_bytes, write_text
from stabbench.report import render, style
from stabbench.report.plots.base import Plot
from stabbench.report.plots.base import render as draw
from stabbench.report.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray[Any, np.dtype[Any]]
BINS = 80


def lines(found: Survey, name: str, grown: Amplification) -> list[str]:
    """What a survey found, a line for each fact.

    Parameters
    ----------
    found : Survey
    name : str
        Of the code, with its n, s and precision.
    grown : Amplification
    """
    worst, best = list(found.worst_stragglers), list(found.best_stragglers)
    largest, least = _number(found.worst, found.log10_worst), _number(found.best, found.log10_best)
    text = [
        name,
        f"worst kappa_2   {largest}  without workers {worst} ({found.label})",
        f"best kappa_2    {least}  without workers {best} ({found.best_label})",
        f"mean kappa_2    {_interval(found.mean)}",
    ]
    text += [f"quantile {p:<6} {_interval(q)}" for p, q in found.quantiles.items()]
    text.append(f"mean kappa_F    {_interval(found.kappa_F_mean)}")
    missing = list(grown.stragglers)
    grows = _number(grown.worst, grown.log10_worst)
    text.append(f"worst a(F)      {grows}  without workers {missing} ({grown.label})")
    if grown.bound > grown.worst:
        text.append(f"                at most {grown.bound:.3g} for any pattern")
    tried = " tried" if found.label.startswith("search") else ""
    share = f"{found.undecodable} of {found.patterns}{tried}"
    first = f", first without {list(found.undecodable_stragglers[0])}" if found.undecodable else ""
    text.append(f"undecodable     {share}{first}")
    text.append(
        f"time            {found.seconds:.3g} s for {found.patterns} patterns, "
        f"{found.seconds_per_pattern * 1e9:.3g} ns each; {found.escalated} in ball arithmetic"
    )
    return text


def distribution(found: Survey, name: str) -> Plot:
    """The histogram of kappa_F over all patterns, with mean and worst kappa_2 marked."""
    edges, counts = _coarse(found)
    rows = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    columns = (
        Column("low", "log10 kappa_F from", "number"),
        Column("high", "log10 kappa_F to", "number"),
        Column("patterns", "patterns", "number"),
    )
    title = f"Condition numbers over all straggler patterns\n{name}"
    table = Table("condition-numbers", title, columns, tuple(rows))
    caption = (
        "Histogram of the Frobenius condition number; kappa_2 is between it and its n-th part."
    )

    def picture(data: Table) -> "Figure":
        return _picture(data, title, found)

    return Plot("condition-numbers", title, caption, table, picture)


def write(
    found: Survey, name: str, grown: Amplification, directory: Path, formats: Sequence[str]
) -> list[Path]:
    """Write plot, data and text into a directory; the paths written."""
    text = directory / "worst.txt"
    write_text(text, "\n".join(lines(found, name, grown)) + "\n")
    return [text, *save(distribution(found, name), directory, formats)]


def save(plot: Plot, directory: Path, formats: Sequence[str]) -> list[Path]:
    """Write a plot and its data as CSV into a directory; the paths written."""
    paths = [directory / f"{plot.name}.csv"]
    write_text(paths[0], render.comma_separated(plot.data))
    if plot.data.rows:
        for suffix, content in draw(plot, formats).items():
            paths.append(directory / f"{plot.name}.{suffix}")
            write_bytes(paths[-1], content)
    return paths


def _picture(data: Table, title: str, found: Survey) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    low, high = np.array(data.values("low")), np.array(data.values("high"))
    axes.bar(low, data.values("patterns"), width=high - low, align="edge", color=style.color(0))
    for value, label, order in (
        (found.kappa_F_mean.value, "mean κ_F", 1),
        (found.worst, "worst κ₂", 3),
    ):
        if np.isfinite(value) and value > 0:
            axes.axvline(np.log10(value), color=style.color(order), linestyle="--")
            axes.annotate(
                f"{label} {value:.3g}",
                (np.log10(value), 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(-4, 0),
                textcoords="offset points",
                rotation=90,
                ha="right",
                va="top",
                color=style.color(order),
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
            )
    axes.set_yscale("log")
    axes.set_xlabel("log₁₀ κ_F")
    axes.set_ylabel("patterns")
    axes.set_title(title)
    return figure


def _coarse(found: Survey) -> tuple[Array, Array]:
    """The histogram in bins of equal width: those of the scan are finer and not equal."""
    used = np.flatnonzero(found.kappa_F_counts)
    if not used.size:
        return np.zeros(1), np.zeros(0)
    middle = (found.kappa_F_edges[:-1] + found.kappa_F_edges[1:])[used] / 2
    low, high = found.kappa_F_edges[used[0]], found.kappa_F_edges[used[-1] + 1]
    counts, edges = np.histogram(middle, BINS, (low, high), weights=found.kappa_F_counts[used])
    return edges, counts


def _interval(estimate: Estimate) -> str:
    value = _number(estimate.value, estimate.log10)
    if estimate.exact:
        return f"{value}  ({estimate.label})"
    return f"{value}  (95%: {estimate.low:.4g} .. {estimate.high:.4g}, {estimate.label})"


def _number(value: float, log10: float) -> str:
    """A number, by its exponent alone where float64 cannot hold it."""
    if np.isinf(value) and np.isfinite(log10):
        exponent = int(np.floor(log10))
        return f"{10 ** (log10 - exponent):.6g}e+{exponent} (beyond float64)"
    return f"{value:.6g}"
