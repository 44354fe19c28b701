"""Records of kind ``layers`` as tables: accuracy against uncoded, and costs naive against deu."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stabbench.report.entries import code_name, decoder_name
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record
from stabbench.training.coded import UNCODED
from stabbench.training.layers.cases import DECODER_ORDER

NETWORK = ("data", "precision", "width", "depth", "rate", "batch", "steps", "trials", "seed")
WORKERS = ("n", "stragglers", "arrivals")
ACCURACY = (
    Column("scheme", "scheme", importance=0),
    Column("setting", "setting"),
    Column("accuracy", "test accuracy", "share", 0),
    Column("uncoded", "uncoded", "share"),
    Column("difference", "difference", "number", 0),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("trials", "trials", "integer"),
    Column("diverged", "diverged", "integer", 0),
    Column("first", "first at step", "integer"),
    Column("layer_error", "layer error", "number", 0),
    Column("worst", "worst", "number"),
    Column("invariant", "invariant", "number"),
    Column("distance", "distance", "number"),
    Column("shadow", "off the shadow", "number"),
    Column("copies", "copies apart", "number"),
)
COSTS = (
    Column("code", "code", importance=0),
    Column("setting", "setting"),
    Column("naive_bytes", "bytes sent, naive", "number"),
    Column("deu_bytes", "deu", "number"),
    Column("bytes_ratio", "naive / deu", "number", 0),
    Column("naive_seconds", "master time, naive", "seconds"),
    Column("deu_seconds", "deu", "seconds"),
    Column("seconds_ratio", "naive / deu", "number", 0),
    Column("naive_flops", "master flops, naive", "number"),
    Column("deu_flops", "deu", "number"),
    Column("worker_flops_ratio", "worker flops, deu / naive", "number"),
)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A measured record with the names that tables and plots show.

    Attributes
    ----------
    record : Record
    setting : str
        The parameters of network and workers in which the records of a report differ.
    """

    record: Record
    setting: str

    @property
    def is_coded(self) -> bool:
        """Whether the record is not of the uncoded network."""
        return bool(self.record.case["code"] != UNCODED)

    @property
    def code(self) -> str:
        """The code without defaults, with its decoder where that is not the usual one."""
        case = self.record.case
        if not self.is_coded:
            return UNCODED
        name = code_name(case["code"], case["n"], case["stragglers"])[0]
        decoder = decoder_name(case["decoder"])
        return name if decoder in DECODER_ORDER else f"{name} · {decoder}"

    @property
    def scheme(self) -> str:
        """Code and mode."""
        return f"{self.code} {self.record.case['mode']}" if self.is_coded else UNCODED

    @property
    def diverged(self) -> list[int]:
        """The steps at which trials diverged."""
        return [step for step in self.record.measures["diverged"] if step is not None]


def entries(records: Sequence[Record]) -> list[Entry]:
    """The records that were measured, with their settings; a part of a sweep will do."""
    measured = [r for r in records if "accuracy_difference" in r.measures]
    coded = [r for r in measured if r.case["code"] != UNCODED]
    network = [key for key in NETWORK if len({r.case[key] for r in measured}) > 1]
    workers = [key for key in WORKERS if len({r.case[key] for r in coded}) > 1]
    found = []
    for r in measured:
        keys = network if r.case["code"] == UNCODED else [*workers, *network]
        found.append(Entry(r, ", ".join(f"{key}={r.case[key]}" for key in keys)))
    return found


def panels(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Entries by setting of network and workers; the uncoded network stands in each of its own."""
    groups: dict[str, list[Entry]] = {}
    for entry in found:
        if entry.is_coded:
            groups.setdefault(entry.setting, []).append(entry)
    for entry in found:
        if entry.is_coded:
            continue
        mine = [key for key, group in groups.items() if _network(group[0]) == _network(entry)]
        for key in mine or [entry.setting]:
            groups.setdefault(key, []).insert(0, entry)
    return groups


def _network(entry: Entry) -> tuple[Any, ...]:
    return tuple(entry.record.case[key] for key in NETWORK)


def accuracy(records: Sequence[Record]) -> Iterator[Table]:
    """A row per scheme: accuracy, its difference to uncoded with an interval, layer errors."""
    rows = [_accuracy(entry) for entry in entries(records)]
    if rows:
        notes = (
            (
                "difference: test accuracy minus that of the uncoded network with the same seeds; "
                "low and high bound its mean over seeds (95%, Student on the logit scale)"
            ),
            (
                "accuracies of deu are of the weights decoded by least squares from all shares; "
                "a run that diverged keeps the model as it stood; scores that are NaN are wrong"
            ),
        )
        yield table(
            "training-accuracy", "Accuracy against the uncoded network", ACCURACY, rows, notes
        )


def _accuracy(entry: Entry) -> dict[str, Any]:
    measures = entry.record.measures
    difference = measures["accuracy_difference"]
    return {
        "scheme": entry.scheme,
        "setting": entry.setting,
        "accuracy": _mean(measures["test_accuracy"]),
        "uncoded": _mean(measures["uncoded_test_accuracy"]),
        "difference": difference["mean"],
        "low": difference["low"],
        "high": difference["high"],
        "trials": difference["trials"],
        "diverged": len(entry.diverged),
        "first": min(entry.diverged, default=None),
        "layer_error": measures["layer_error"]["median"],
        "worst": measures["layer_error"]["worst"],
        "invariant": measures.get("invariant", {}).get("worst"),
        "distance": measures.get("distance", {}).get("worst"),
        "shadow": measures.get("shadow_distance", {}).get("worst"),
        "copies": measures.get("copy_distance", {}).get("worst"),
    }


def costs(records: Sequence[Record]) -> Iterator[Table]:
    """A row per code that ran in both modes: bytes, time and flops of a step."""
    rows = [_costs(naive, deu) for naive, deu in pairs(entries(records))]
    if rows:
        notes = ("per whole step; bytes sent are those from the master to all workers",)
        yield table("training-costs", "Costs, naive against deu", COSTS, rows, notes)


def pairs(found: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    """Entries that differ in nothing but the mode: naive and deu."""
    modes: dict[tuple[Any, ...], dict[str, Entry]] = {}
    for entry in found:
        if entry.is_coded and "per_step" in entry.record.measures:
            case = entry.record.case
            key = tuple(sorted((k, v) for k, v in case.parameters.items() if k != "mode"))
            modes.setdefault(key, {})[case["mode"]] = entry
    return [(both["naive"], both["deu"]) for both in modes.values() if len(both) == 2]


def _costs(naive: Entry, deu: Entry) -> dict[str, Any]:
    a, b = naive.record.measures["per_step"], deu.record.measures["per_step"]
    return {
        "code": naive.code,
        "setting": naive.setting,
        "naive_bytes": a["bytes_down"],
        "deu_bytes": b["bytes_down"],
        "bytes_ratio": a["bytes_down"] / b["bytes_down"],
        "naive_seconds": a["master_seconds"],
        "deu_seconds": b["master_seconds"],
        "seconds_ratio": a["master_seconds"] / b["master_seconds"],
        "naive_flops": a["master_flops"],
        "deu_flops": b["master_flops"],
        "worker_flops_ratio": b["worker_flops"] / a["worker_flops"],
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
