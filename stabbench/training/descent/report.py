"""What a report shows for cases of kind ``descent``: a table, curves of loss and of both errors."""

from collections.abc import Iterator, Sequence
from typing import Any

from stabbench.report.entries import code_name, decoder_name
from stabbench.report.plots.base import Plot
from stabbench.report.registry import register
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record
from stabbench.training.coded import UNCODED
from stabbench.training.descent.cases import DECODER_ORDER, KIND
from stabbench.training.layers.curves import PANELS, Curve, curve_plot, curve_rows, together

SHARED = (
    "data", "precision", "method", "n", "iterations", "rate", "momentum", "times", "trials", "seed",
)  # fmt: skip
OWN = ("stragglers", "arrivals", "spare")
COLUMNS = (
    Column("scheme", "scheme", importance=0),
    Column("setting", "setting"),
    Column("accuracy", "test accuracy", "share", 0),
    Column("difference", "difference", "number", 0),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("loss", "training loss", "number"),
    Column("gradient_error", "gradient error", "number", 0),
    Column("decoding_error", "decoding error", "number", 0),
    Column("arithmetic_error", "arithmetic error", "number", 0),
    Column("diverged", "diverged", "integer"),
    Column("load", "d", "integer"),
    Column("reduction", "m", "integer"),
    Column("expected_time", "expected time", "number"),
    Column("drawn_time", "drawn time", "number"),
)
TERMS = (
    ("gradient error", "Relative error of the decoded sum against the exact sum of the gradients."),
    (
        "decoding error",
        "What the decoder's weights miss in exact arithmetic: that of approximate codes.",
    ),
    ("arithmetic error", "The rest: rounding of coefficients, replies, weights and their sum."),
    (
        "expected time",
        (
            "Of one iteration in the time model, until n − s workers have replied: all without a "
            "code; with nested until a level decodes, with block-coordinate until all blocks do."
        ),
    ),
    (
        "drawn time",
        (
            "Mean over the very iterations whose errors stand beside it; only where the time model "
            "decides what arrives (arrivals=times, and without a code)."
        ),
    ),
)
CAPTION = (
    "Lines: mean over all seeds, bands from the least to the greatest. A cross: a seed diverged, "
    "and the line ends where the first one did."
)


def measured(records: Sequence[Record]) -> list[tuple[Record, str, str]]:
    """Records that were measured, each with its scheme and setting."""
    found = [record for record in records if "gradient_error" in record.measures]
    coded = [record for record in found if record.case["code"] != UNCODED]
    shared = [key for key in SHARED if _varies(found, key)]
    own = [key for key in OWN if _varies(coded, key)]
    result = []
    for record in found:
        keys = shared if record.case["code"] == UNCODED else [*shared, *own]
        setting = ", ".join(f"{key}={record.case[key]}" for key in keys)
        result.append((record, _scheme(record), setting))
    return result


def _varies(records: Sequence[Record], key: str) -> bool:
    # plain descent has no momentum, so that only Nesterov's can differ in it
    meant = [r for r in records if key != "momentum" or r.case["method"] == "nesterov"]
    return len({record.case[key] for record in meant}) > 1


def panels(records: Sequence[Record]) -> dict[str, list[tuple[Record, str]]]:
    """Records and schemes by setting; the uncoded descent stands first in each of its own."""
    found = measured(records)
    groups: dict[str, list[tuple[Record, str]]] = {}
    for record, scheme, setting in found:
        if scheme != UNCODED:
            groups.setdefault(setting, []).append((record, scheme))
    for record, scheme, setting in found:
        if scheme == UNCODED:
            alike = [key for key, group in groups.items() if _alike(group[0][0], record)]
            for key in alike or [setting]:
                groups.setdefault(key, []).insert(0, (record, scheme))
    return groups


def _alike(first: Record, second: Record) -> bool:
    return all(first.case[key] == second.case[key] for key in SHARED)


def _scheme(record: Record) -> str:
    case = record.case
    if case["code"] == UNCODED:
        return UNCODED
    name = code_name(case["code"], case["n"], case["stragglers"])[0]
    decoder = decoder_name(case["decoder"])
    return name if decoder in DECODER_ORDER else f"{name} · {decoder}"


def accuracy(records: Sequence[Record]) -> Iterator[Table]:
    """A row per code: accuracy against uncoded, both errors, time of an iteration."""
    rows = [_row(*entry) for entry in measured(records)]
    if rows:
        notes = (
            "errors: medians over iterations and seeds, relative to the exact sum",
            "accuracy and training loss: of the weights at the end, means over seeds",
        )
        yield table("descent", "Coded gradient descent", COLUMNS, rows, notes)


def _row(record: Record, scheme: str, setting: str) -> dict[str, Any]:
    measures = record.measures
    difference = measures["accuracy_difference"]
    errors = ("gradient_error", "decoding_error", "arithmetic_error")
    return {
        "scheme": scheme,
        "setting": setting,
        "accuracy": sum(measures["test_accuracy"]) / len(measures["test_accuracy"]),
        "difference": difference["mean"],
        "low": difference["low"],
        "high": difference["high"],
        "loss": sum(measures["loss"]) / len(measures["loss"]),
        **{name: measures[name]["median"] for name in errors},
        "diverged": sum(step is not None for step in measures["diverged"]),
        "load": measures.get("load"),
        "reduction": measures.get("reduction"),
        "expected_time": measures["expected_time"],
        "drawn_time": measures.get("drawn_time"),
    }


def losses(records: Sequence[Record]) -> Iterator[Plot]:
    """Loss by iteration."""
    yield from _plots(records, "losses", "descent-loss", "Loss by iteration", "loss")


def decoding_errors(records: Sequence[Record]) -> Iterator[Plot]:
    """Decoding error of approximate codes by iteration."""
    approximate = [r for r in records if r.measures.get("decoding_error", {}).get("worst")]
    title = "Decoding error by iteration, approximate codes"
    yield from _plots(
        approximate, "decoding_errors", "descent-decoding-error", title, "decoding error"
    )


def arithmetic_errors(records: Sequence[Record]) -> Iterator[Plot]:
    """Arithmetic error of all codes by iteration."""
    title = "Arithmetic error by iteration"
    yield from _plots(
        records, "arithmetic_errors", "descent-arithmetic-error", title, "arithmetic error"
    )


def _plots(
    records: Sequence[Record], measure: str, name: str, title: str, label: str
) -> Iterator[Plot]:
    found = [
        (setting, [_line(record, scheme, measure) for record, scheme in group])
        for setting, group in panels(records).items()
    ]
    for page in range(0, len(found), PANELS):
        number = f"-{page // PANELS + 1}" if len(found) > PANELS else ""
        rows = curve_rows(found[page : page + PANELS])
        yield curve_plot(name + number, title, CAPTION, rows, label, log=True, across="iteration")


def _line(record: Record, scheme: str, measure: str) -> tuple[str, Curve, int]:
    diverged = sum(step is not None for step in record.measures["diverged"])
    return scheme, together(record.measures[measure]), diverged


register(
    KIND,
    title="Coded gradient descent",
    tables=(accuracy,),
    plots=(losses, decoding_errors, arithmetic_errors),
    terms=TERMS,
)
