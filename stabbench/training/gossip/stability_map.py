"""The stability map: which fractions kept and consensus steps diverge, with the limit drawn in."""

import dataclasses
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stabbench.report import style
from stabbench.report.plots.base import Plot
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record
from stabbench.training.gossip.compressors import compressor
from stabbench.training.gossip.entries import Entry, entries, panels, short
from stabbench.training.gossip.graphs import mixing
from stabbench.training.gossip.limits import Load, margin
from stabbench.training.gossip.methods import method
from stabbench.training.gossip.moments import bisect

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    Column("panel", "panel", "integer"),
    Column("setting", "setting"),
    Column("ratio", "fraction kept", "number"),
    Column("consensus", "consensus step", "number"),
    Column("growth", "consensus distance, last over largest of the first half", "number"),
    Column("diverged", "diverged at step", "integer"),
    Column("limit", "limit of the consensus step", "number"),
)
CAPTION = (
    "Filled: the run stays bounded; crosses: it diverged, or its consensus distance still grows. "
    "Line: limit of the mean square under random masks, with the run's learning rate where it is "
    "given. Single runs may survive a little beyond it, top-k further."
)
WIDEST = 34
"""Characters of a title that fit above one of several panels."""
GROWS = 1.5
"""A consensus distance that grows by more than this in the second half counts as unstable."""


def stability_map(records: Sequence[Record]) -> Iterator[Plot]:
    """A panel per method and kind of mask that was run at several ratios and consensus steps."""
    rows: list[dict[str, Any]] = []
    groups: dict[str, list[Entry]] = {}
    for setting, group in panels(entries(records)).items():
        for entry in group:
            case = entry.record.case
            sends = compressor(case["compressor"])
            if case["consensus"] > 0 and sends.delta(entry.record.measures["dimension"]) > 0:
                name = str(case["compressor"]).partition("[")[0]
                shared = ", shared mask" if "shared=true" in case["compressor"] else ""
                key = f"{short('method', case['method'])}, {name}{shared}, {setting}"
                groups.setdefault(key, []).append(entry)
    for setting, group in groups.items():
        found = [_row(entry) for entry in group]
        if min(len({row[key] for row in found}) for key in ("ratio", "consensus")) > 1:
            number = len({row["panel"] for row in rows})
            rows += [{"panel": number, "setting": setting, **row} for row in found]
    if rows:
        title = "Stability by fraction kept and consensus step"
        data = table("gossip-stability-map", title, COLUMNS, rows)
        yield Plot("gossip-stability-map", title, CAPTION, data, draw)


def _row(entry: Entry) -> dict[str, Any]:
    case, measures = entry.record.case, entry.record.measures
    distance = np.array(entry.trace("consensus"), dtype=float)
    half = distance[: max(1, len(distance) // 2 + 1)].max()
    return {
        "ratio": compressor(case["compressor"]).delta(measures["dimension"]),
        "consensus": case["consensus"],
        "growth": float(distance[-1] / half) if half else 0.0,
        "diverged": measures["diverged"] or None,
        "limit": _limit(entry),
    }


def _limit(entry: Entry) -> float | None:
    """The consensus step at which the run's margin is used up; None for methods without a limit."""
    case, measures = entry.record.case, entry.record.measures
    chosen, sends = method(case["method"]), compressor(case["compressor"])
    if "margin" not in measures:
        return None
    load = Load(
        mixing(case["graph"], case["n"], case["weights"]),
        1.0 if chosen.full_step else sends.delta(measures["dimension"]),
        measures["rate"],
        measures["curvature"],
        consensus=0.0,
        common=sends.common,
        private=chosen.private_gradient,
    )
    if margin(load) <= 0:
        return 0.0
    return bisect(lambda step: margin(dataclasses.replace(load, consensus=step)) > 0, 1.0)


def unstable(row: dict[str, Any]) -> bool:
    """Whether a row of the map counts as unstable."""
    return row["diverged"] is not None or not row["growth"] <= GROWS


def draw(data: Table) -> "Figure":
    """Panels beside each other, both axes logarithmic."""
    from matplotlib.figure import Figure

    rows = data.records()
    shown = list(dict.fromkeys((row["panel"], row["setting"]) for row in rows))
    figure = Figure(figsize=(3.2 * len(shown) + 2.4, 3.8), layout="constrained")
    figure.suptitle(data.title)
    all_axes = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (panel, setting) in zip(all_axes, shown, strict=True):
        axes.set(xscale="log", yscale="log", xlabel="fraction kept", ylabel="consensus step")
        axes.set_title(textwrap.fill(setting, WIDEST, break_on_hyphens=False))
        _panel(axes, [row for row in rows if row["panel"] == panel])
    all_axes[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure


def _panel(axes: "Axes", rows: Sequence[dict[str, Any]]) -> None:
    kinds = (
        (False, style.color(0), "o", "stays bounded"),
        (True, style.color(1), "X", "diverges"),
    )
    for grows, paint, shape, label in kinds:
        mine = [row for row in rows if unstable(row) == grows]
        axes.plot(
            [row["ratio"] for row in mine],
            [row["consensus"] for row in mine],
            color=paint,
            marker=shape,
            linestyle="none",
            label=label,
        )
    limits = {row["ratio"]: row["limit"] for row in rows if 0 < (row["limit"] or 0) < math.inf}
    ratios = sorted(limits)
    if ratios:
        drawn = [limits[ratio] for ratio in ratios]
        axes.plot(ratios, drawn, color="#000000", label="limit, random masks")
