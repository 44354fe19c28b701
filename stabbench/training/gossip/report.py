"""What a report shows for cases of kind ``gossip``: a table of runs, curves, the stability map."""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.plots.base import Plot
from stabbench.report.registry import register
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record
from stabbench.training.gossip.cases import KIND
from stabbench.training.gossip.entries import Entry, entries, panels
from stabbench.training.gossip.stability_map import stability_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUNS = (
    Column("setting", "setting", importance=1),
    Column("scheme", "scheme", importance=0),
    Column("gap", "f(mean x) - f*", "number", importance=0),
    Column("consensus", "consensus distance", "number", importance=2),
    Column("local", "I1 / (u max|x|)", "number", importance=1),
    Column("common", "I2 / (u max|x|)", "number", importance=1),
    Column("replicas", "replica difference", "number", importance=2),
    Column("memory", "norm of memory", "number", importance=3),
    Column("bits", "bits per link", "number", importance=2),
    Column("margin", "distance to limit", "number", importance=2),
    Column("diverged", "diverged at step", "integer", importance=0),
)
CURVES = (
    Column("setting", "setting"),
    Column("scheme", "scheme"),
    Column("line", "line", "integer"),
    Column("step", "step", "integer"),
    Column("bits", "bits per link", "number"),
    Column("value", "value", "number"),
    Column("diverged", "diverged at step", "integer"),
)
NOTE = "A cross ends the line of a run that diverged. Values that are not positive are left out."
STROKES = ("-", "--", "-.")
LINES = 8
"""Most lines in one panel."""
MOST = 8 * LINES
"""More runs in one setting are a map, not curves; the table holds them all."""
PANELS = 4
"""Most panels in one figure."""
TERMS = (
    ("ecsd", "A reconstruction from the abstract of its paper; the paper's listing is not public."),
    (
        "I1",
        (
            "Greatest |x_i + e_i - x_0 - sum of the increments formed|: rounding alone, except in "
            "dcd, which loses what it does not send."
        ),
    ),
    (
        "I2",
        (
            "Greatest |mean(x_i + e_i) - x_0 + sum of mean gamma g_i|: rounding alone, except in "
            "dcd and naive, which lose what they do not send."
        ),
    ),
    ("u", "Unit round-off of the format of the models."),
    ("max|x|", "The greatest entry of any model at any step that was measured, not only the last."),
    ("replica difference", "Between a neighbour's copy of a model and the model; must be 0."),
    (
        "distance to limit",
        "1 without steps, 0 at the stability limit of random masks, negative outside of it.",
    ),
)


def runs(records: Sequence[Record]) -> Iterator[Table]:
    """A line per run, best objective first in every setting."""
    rows = []
    for setting, group in panels(entries(records)).items():
        for entry in sorted(group, key=lambda e: _number(e.record.measures["gap"])):
            measures = entry.record.measures
            rows.append(
                {
                    "setting": setting,
                    "scheme": entry.scheme,
                    "gap": measures["gap"],
                    "consensus": measures["consensus_distance"],
                    "local": measures["local_drift_units"],
                    "common": measures["global_drift_units"],
                    "replicas": measures["replica_difference"],
                    "memory": measures["memory_norm"],
                    "bits": measures["bits_per_link"],
                    "margin": measures.get("margin"),
                    "diverged": measures["diverged"] or None,
                }
            )
    if rows:
        notes = tuple(
            dict.fromkeys(
                f"outside a limit: {entry.scheme}: {entry.record.measures['warning']}"
                for entry in entries(records)
                if entry.record.measures.get("warning")
            )
        )
        yield table("gossip-runs", "Decentralized training", RUNS, rows, notes[:5])


def objective_by_step(records: Sequence[Record]) -> Iterator[Plot]:
    """The gap of the objective at the mean model, by step."""
    yield from _curves(records, "gossip-objective-steps", "Objective by step", "gap", "step")


def objective_by_bits(records: Sequence[Record]) -> Iterator[Plot]:
    """The gap of the objective at the mean model, by bits sent over a link."""
    yield from _curves(records, "gossip-objective-bits", "Objective by bits sent", "gap", "bits")


def local_drift(records: Sequence[Record]) -> Iterator[Plot]:
    """The drift of invariant I1, by step."""
    yield from _curves(records, "gossip-drift-local", "Drift of I1 by step", "local", "step")


def global_drift(records: Sequence[Record]) -> Iterator[Plot]:
    """The drift of invariant I2, by step."""
    yield from _curves(records, "gossip-drift-global", "Drift of I2 by step", "common", "step")


LABELS = {
    "gap": "f(mean x) - f*",
    "local": "I1",
    "common": "I2",
    "step": "step",
    "bits": "bits sent over one link",
}


def _curves(
    records: Sequence[Record], name: str, title: str, measure: str, across: str
) -> Iterator[Plot]:
    parts = [
        (setting, part)
        for setting, group in panels(entries(records)).items()
        if len(group) <= MOST
        for part in _divided(group)
    ]
    for page in range(0, len(parts), PANELS):
        rows = [
            row | {"setting": setting, "panel": panel}
            for panel, (setting, group) in enumerate(parts[page : page + PANELS])
            for row in _rows(group, measure)
        ]
        number = f"-{page // PANELS + 1}" if len(parts) > PANELS else ""
        data = table(name + number, title, (*CURVES, Column("panel", "panel", "integer")), rows)
        draw = functools.partial(draw_curves, label=LABELS[measure], across=across)
        yield Plot(name + number, title, NOTE, data, draw)


def _divided(group: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Parts of nearly equal size, none with more than `LINES` runs.

    Where there are many, a part holds one compressor, and few precisions.
    """
    if len(group) > 2 * LINES:
        apart: dict[str, list[Entry]] = {}
        for entry in sorted(group, key=lambda e: str(e.record.case["precision"])):
            apart.setdefault(entry.record.case["compressor"], []).append(entry)
        if len(apart) > 1:
            for part in apart.values():
                yield from _divided(part)
            return
    size = math.ceil(len(group) / math.ceil(len(group) / LINES))
    for start in range(0, len(group), size):
        yield group[start : start + size]


def _rows(group: Sequence[Entry], measure: str) -> Iterator[dict[str, Any]]:
    for line, entry in enumerate(group):
        traced = zip(entry.trace("step"), entry.trace("bits"), entry.trace(measure), strict=True)
        for step, bits, value in traced:
            yield {
                "scheme": entry.scheme,
                "line": line,
                "step": step,
                "bits": bits,
                "value": value,
                "diverged": entry.record.measures["diverged"] or None,
            }


def draw_curves(data: Table, *, label: str, across: str) -> "Figure":
    """Panels below each other, a line per run, both axes logarithmic."""
    from matplotlib.figure import Figure

    rows = data.records()
    shown = list(dict.fromkeys((row["panel"], row["setting"]) for row in rows))
    figure = Figure(figsize=(8.6, 3.0 * len(shown) + 0.5), layout="constrained")
    figure.suptitle(data.title)
    for axes, (panel, setting) in zip(
        figure.subplots(len(shown), 1, squeeze=False)[:, 0], shown, strict=True
    ):
        axes.set(xlabel=LABELS[across], ylabel=label, xscale="log", yscale="log")
        axes.set_title(setting, loc="left")
        _panel(axes, [row for row in rows if row["panel"] == panel], across)
    return figure


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]], across: str) -> None:
    ends = style.limits([_number(row["value"]) for row in rows])
    axes.set_ylim(*ends)
    for line, scheme in dict.fromkeys((row["line"], row["scheme"]) for row in rows):
        mine = [r for r in rows if r["line"] == line and r[across] > 0 and _number(r["value"]) > 0]
        if not mine:
            continue
        places = [row[across] for row in mine]
        values = [style.inside(_number(row["value"]), ends) for row in mine]
        stroke = STROKES[line % len(STROKES)]
        axes.plot(places, values, color=style.color(line), linestyle=stroke, label=scheme)
        if mine[-1]["diverged"]:
            axes.plot(
                places[-1], values[-1], color=style.color(line), marker="X", clip_on=False, zorder=5
            )
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))


def _number(value: Any) -> float:
    """A number to sort and to draw; NaN counts as infinite."""
    return math.inf if math.isnan(value) else float(value)


register(
    KIND,
    title="Decentralized training with compressed gossip",
    tables=(runs,),
    plots=(objective_by_step, objective_by_bits, local_drift, global_drift, stability_map),
    terms=TERMS,
)
