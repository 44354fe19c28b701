"""What a report shows for cases of kind ``layers``: tables of accuracy and cost, and four plots."""

import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report import style
from stabbench.report.plots.base import Plot
from stabbench.report.registry import register
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record
from stabbench.training.layers import tables
from stabbench.training.layers.cases import KIND
from stabbench.training.layers.curves import (
    FARTHEST,
    PANELS,
    Curve,
    base,
    curve_plot,
    curve_rows,
    together,
)
from stabbench.training.layers.tables import Entry, entries, pairs, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = (
    "Lines: mean over seeds, bands from the least to the greatest; dashed: deu. A cross ends a "
    "line of which a seed diverged: such a seed keeps its last accuracy, and its errors are in the "
    "line up to the step at which it ended."
)
COSTS = (
    Column("code", "code"),
    Column("setting", "setting"),
    Column("mode", "mode"),
    Column("bytes", "bytes sent per step", "number"),
    Column("seconds", "master time per step", "seconds"),
)
RUNS = (
    Column("scheme", "scheme"),
    Column("setting", "setting"),
    Column("trial", "trial", "integer"),
    Column("layer_error", "median layer error", "number"),
    Column("difference", "accuracy difference", "number"),
    Column("diverged", "diverged at step", "integer"),
)
TERMS = (
    ("naive", "The master encodes the weights anew for every product and decodes every product."),
    (
        "deu",
        (
            "Workers keep coded weights, encode the vectors that they are sent and update by "
            "themselves; the master only decodes."
        ),
    ),
    (
        "layer error",
        (
            "Relative error of one decoded product W h or Wᵀ δ against the exact product of the "
            "inputs and the weights that are held: the master’s, or in mode deu those whose "
            "encoding is nearest to what all workers hold."
        ),
    ),
    (
        "invariant",
        (
            "‖W̃ − C(W)‖ / ‖C(W)‖ in mode deu: coded weights against the encoding of the weights "
            "that the same updates give uncoded."
        ),
    ),
    (
        "distance",
        "‖W̃ − C(decoded W̃)‖ / ‖W̃‖ at the end: how far the coded weights are from any encoding.",
    ),
    (
        "off the shadow",
        (
            "‖W − shadow‖ / ‖shadow‖ of the decoded weights at the end, the worst layer; the "
            "shadow is what the same updates make of uncoded weights, which nobody holds."
        ),
    ),
    (
        "copies apart",
        (
            "‖Vᵀ − W‖ / ‖W‖ at the end, the worst layer: mode deu keeps a layer twice, coded W for "
            "forward and coded Wᵀ for backward products; V and W are decoded from them."
        ),
    ),
    ("diverged", "Infinity or NaN appeared; the run ends there and the step is recorded."),
)


def accuracy_by_epoch(records: Sequence[Record]) -> Iterator[Plot]:
    """Test accuracy by step of all schemes."""
    yield from _curves(
        records, "training-accuracy-by-epoch", "Test accuracy by epoch", "test accuracy", log=False
    )


def error_by_step(records: Sequence[Record]) -> Iterator[Plot]:
    """Median layer error by step of all schemes."""
    yield from _curves(
        records, "training-layer-error", "Layer error by step", "median layer error", log=True
    )


def _curves(
    records: Sequence[Record], name: str, title: str, label: str, *, log: bool
) -> Iterator[Plot]:
    found = list(panels(entries(records)).items())
    maker = _layer_errors if log else _accuracies
    for page in range(0, len(found), PANELS):
        chosen = [
            (setting, [(e.scheme, maker(e.record), len(e.diverged)) for e in group])
            for setting, group in found[page : page + PANELS]
        ]
        number = f"-{page // PANELS + 1}" if len(found) > PANELS else ""
        yield curve_plot(name + number, title, CURVES, curve_rows(chosen), label, log=log)


def _accuracies(record: Record) -> Curve:
    trials = [
        list(zip(epochs["step"], epochs["test_accuracy"], strict=True))
        for epochs in record.measures["epochs"]
    ]
    whole = [t for t, step in zip(trials, record.measures["diverged"], strict=True) if step is None]
    steps = sorted({step for trial in whole or trials for step, _ in trial})
    points = [(s, [v for t in trials if (v := _last(t, s)) is not None]) for s in steps]
    return [(step, values) for step, values in points if len(values) == len(trials)]


def _last(trial: Sequence[tuple[int, float]], step: int) -> float | None:
    """The accuracy at a step; a run that diverged keeps its last one."""
    return next((value for at, value in reversed(trial) if at <= step), None)


def _layer_errors(record: Record) -> Curve:
    products = record.measures["layer_errors"].values()
    numbers = range(len(record.measures["diverged"]))
    return together([_medians([trials[number] for trials in products]) for number in numbers])


def _medians(errors: Sequence[Sequence[float]]) -> list[float]:
    """Median over the products of a run by step; in its last step not all may have been formed."""
    steps = itertools.zip_longest(*errors)
    return [statistics.median(x for x in found if x is not None) for found in steps]


def costs(records: Sequence[Record]) -> Iterator[Plot]:
    """Bytes that the master sends and time that it works, naive against deu."""
    rows = [
        {
            "code": entry.code,
            "setting": entry.setting,
            "mode": entry.record.case["mode"],
            "bytes": entry.record.measures["per_step"]["bytes_down"],
            "seconds": entry.record.measures["per_step"]["master_seconds"],
        }
        for both in pairs(entries(records))
        for entry in both
    ]
    if rows:
        title = "Bytes and master time per step, naive against deu"
        caption = (
            "What the master sends to all workers, and its time for encoding, decoding, updating."
        )
        yield Plot(
            "training-costs",
            title,
            caption,
            table("training-costs", title, COSTS, rows),
            draw_costs,
        )


def draw_costs(data: Table) -> "Figure":
    """Two panels of bars, a pair per code and setting."""
    from matplotlib.figure import Figure

    rows = data.records()
    names = list(dict.fromkeys((row["code"], row["setting"]) for row in rows))
    figure = Figure(figsize=(9.0, 0.6 * len(names) + 1.6), layout="constrained")
    figure.suptitle(data.title)
    shown = (
        ("bytes", 1e-6, "MB sent by the master per step"),
        ("seconds", 1e3, "ms of the master"),
    )
    for axes, (key, scale, words) in zip(figure.subplots(1, 2, sharey=True), shown, strict=True):
        for number, mode in enumerate(("naive", "deu")):
            values = [row[key] for row in rows if row["mode"] == mode]
            places = [i + (0.2 if number else -0.2) for i in range(len(names))]
            axes.barh(
                places,
                [value * scale for value in values],
                height=0.38,
                color=style.color(number),
                label=mode,
            )
        axes.set_xlabel(words)
        axes.set_yticks(range(len(names)), ["\n".join(filter(None, name)) for name in names])
    figure.axes[0].invert_yaxis()
    figure.axes[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure


def accuracy_against_error(records: Sequence[Record]) -> Iterator[Plot]:
    """Every run as a point: accuracy difference to uncoded against its median layer error."""
    rows = [row for entry in entries(records) if entry.is_coded for row in _runs(entry)]
    if rows:
        name, title = "training-accuracy-against-error", "Accuracy against layer error, all runs"
        caption = "A point per seed: circles naive, triangles deu, crosses runs that diverged."
        yield Plot(name, title, caption, table(name, title, RUNS, rows), draw_runs)


def _runs(entry: Entry) -> Iterator[dict[str, Any]]:
    measures = entry.record.measures
    for trial, difference in enumerate(measures["accuracy_difference"]["values"]):
        errors = [x for trials in measures["layer_errors"].values() for x in trials[trial]]
        yield {
            "scheme": entry.scheme,
            "setting": entry.setting,
            "trial": trial,
            "layer_error": statistics.median(errors),
            "difference": difference,
            "diverged": measures["diverged"][trial],
        }


def draw_runs(data: Table) -> "Figure":
    """A scatter plot, a colour and marker per scheme."""
    from matplotlib.figure import Figure

    rows = data.records()
    ends = style.limits([row["layer_error"] for row in rows], most=FARTHEST)
    figure = Figure(figsize=(8.2, 4.2), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(data.title)
    style.logarithmic(axes.xaxis, ends)
    axes.axhline(0, color=style.GREY, linewidth=1)
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    codes = list(dict.fromkeys(map(base, schemes)))
    for scheme in schemes:
        for ended in (False, True):
            mine = [
                r for r in rows if r["scheme"] == scheme and (r["diverged"] is not None) == ended
            ]
            usual = "^" if scheme.endswith(" deu") else "o"
            named = mine and not (ended and _sound(rows, scheme))
            axes.plot(
                [style.inside(r["layer_error"], ends) for r in mine],
                [r["difference"] for r in mine],
                color=style.color(codes.index(base(scheme))),
                marker="X" if ended else usual,
                linestyle="none",
                alpha=0.8,
                label=scheme if named else None,
            )
    axes.set_xlabel("median layer error of the run")
    axes.set_ylabel("test accuracy minus uncoded")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure


def _sound(rows: Sequence[dict[str, Any]], scheme: str) -> bool:
    return any(row["diverged"] is None for row in rows if row["scheme"] == scheme)


register(
    KIND,
    title="Training with coded layers",
    tables=(tables.accuracy, tables.costs),
    plots=(accuracy_by_epoch, error_by_step, costs, accuracy_against_error),
    terms=TERMS,
)
