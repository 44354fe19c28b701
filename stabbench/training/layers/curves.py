"""Plots of curves by step that training kinds share: panels per setting, a line per scheme."""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.plots.base import Plot
from stabbench.report.table import Column, Table, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    Column("setting", "setting"),
    Column("panel", "panel", "integer"),
    Column("scheme", "scheme"),
    Column("line", "line", "integer"),
    Column("step", "step", "integer"),
    Column("value", "value", "number"),
    Column("low", "least", "number"),
    Column("high", "greatest", "number"),
    Column("diverged", "diverged", "integer"),
)
PANELS = 4
FARTHEST = 1e12
"""Values beyond it stand at the edge of a logarithmic axis."""
Curve = Sequence[tuple[int, Sequence[float]]]
"""Points of a line: a step, and the values of all trials."""


def together(trials: Sequence[Sequence[float]]) -> Curve:
    """Points of a line from the values of every trial by step, as far as all trials went.

    Beyond the first end, means would be over fewer and fewer trials: those that fared best.

    Examples
    --------
    >>> together([[1.0, 2.0, 3.0], [5.0, 6.0]])
    [(1, (1.0, 5.0)), (2, (2.0, 6.0))]
    """
    return list(enumerate(zip(*trials, strict=False), start=1))


def curve_rows(
    panels: Iterable[tuple[str, Sequence[tuple[str, Curve, int]]]],
) -> list[dict[str, Any]]:
    """Rows of a table of curves.

    Parameters
    ----------
    panels : iterable of (setting, lines)
        A line is the scheme, its curve and the number of trials that diverged.

    Examples
    --------
    >>> rows = curve_rows([("", [("gaussian", [(1, [0.5, 0.75])], 0)])])
    >>> rows[0]["value"], rows[0]["low"], rows[0]["high"]
    (0.625, 0.5, 0.75)
    """
    rows = []
    for panel, (setting, lines) in enumerate(panels):
        for line, (scheme, curve, diverged) in enumerate(lines):
            rows += [
                {
                    "setting": setting,
                    "panel": panel,
                    "scheme": scheme,
                    "line": line,
                    "step": step,
                    "value": sum(values) / len(values),
                    "low": min(values),
                    "high": max(values),
                    "diverged": diverged,
                }
                for step, values in curve
            ]
    return rows


def curve_plot(
    name: str,
    title: str,
    caption: str,
    rows: list[dict[str, Any]],
    label: str,
    *,
    log: bool,
    across: str = "step",
) -> Plot:
    """A plot of curves: lines are means over trials, bands reach from the least to the greatest."""
    data = table(name, title, COLUMNS, rows)
    return Plot(
        name, title, caption, data, functools.partial(draw, label=label, log=log, across=across)
    )


def draw(data: Table, *, label: str, log: bool, across: str) -> "Figure":
    """Draw a table of curves, panels below each other."""
    from matplotlib.figure import Figure

    rows = data.records()
    panels = list(dict.fromkeys((row["panel"], row["setting"]) for row in rows))
    figure = Figure(figsize=(8.2, 2.7 * len(panels) + 0.6), layout="constrained")
    figure.suptitle(data.title)
    for axes, (panel, setting) in zip(
        figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True
    ):
        mine = [row for row in rows if row["panel"] == panel]
        axes.set_title(setting, loc="left")
        axes.set_ylabel(label)
        axes.set_xlabel(across)
        _panel(axes, mine, log=log)
    return figure


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]], *, log: bool) -> None:
    ends = (-math.inf, math.inf)
    if log:
        ends = style.limits([row["value"] for row in rows], most=FARTHEST)
        style.logarithmic(axes.yaxis, ends)
    bases = list(dict.fromkeys(base(row["scheme"]) for row in rows))
    for line, scheme in dict.fromkeys((row["line"], row["scheme"]) for row in rows):
        mine = [row for row in rows if row["line"] == line]
        steps = [row["step"] for row in mine]
        value, low, high = (
            [style.inside(row[key], ends) for row in mine] for key in ("value", "low", "high")
        )
        number = bases.index(base(scheme))
        plain = "-" if number < len(style.COLORS) else "-."
        dashed = "--" if scheme.endswith(" deu") else plain
        paint = style.color(number)
        axes.plot(steps, value, color=paint, linestyle=dashed, label=scheme)
        axes.fill_between(steps, low, high, color=paint, alpha=0.12, linewidth=0)
        if mine[-1]["diverged"]:
            axes.plot(steps[-1], value[-1], color=paint, marker="X", clip_on=False, zorder=5)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))


def base(scheme: str) -> str:
    """The scheme without its mode: both modes of a code have one colour.

    Examples
    --------
    >>> base("gaussian deu"), base("uncoded")
    ('gaussian', 'uncoded')
    """
    return scheme.removesuffix(" naive").removesuffix(" deu")
