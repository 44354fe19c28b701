"""The tables of a report. How they look is in `render`, what a record holds in `entries`."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stabbench.analysis.budget import EVERY_STAGE
from stabbench.report.entries import Entry, as_digits, entries, varying
from stabbench.report.selection import draws as drawn
from stabbench.report.selection import select_count
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.case import Record

SUMMARY_NOTE = (
    "digits = -log10 of the relative error, over the survivor sets that decode; worst stragglers "
    "are the workers that were missing at the worst error"
)
ALL_NOTE = (
    "worst of all: over all survivor sets, −∞ where one does not decode; κ₂ and amplification are "
    "of all sets too, ∞ where one does not decode"
)
ADVICE_NOTE = (
    "ranked by the worst digits over the survivor sets that decode and all settings; each code "
    "with the decoder that keeps most of them; codes that cannot decode some sets come last"
)
STAGES_NOTE = (
    "stages are relative errors at the worst survivor set; their vectors add up to the error"
)
PREDICTED_NOTE = (
    "bound, expected and u κ₂ are -log10 of predicted errors, each at its own worst survivor set: "
    "by the amplification, by its root mean square, by the condition number; a ratio is the "
    "error of a stage over its own bound, and a large one accuses the stage"
)
DRAWS_NOTE = (
    "worst digits over the survivor sets that decode (−∞ if none does) and worst κ₂ over all, then "
    "least, median and greatest over the draws; best of: chosen among so many draws by the least "
    "singular value, before any error is known"
)
SCREEN = 40
"""Most rows of a table that a terminal shows whole."""
PLACE = ("n", "stragglers", "precision")
RANKING = (*PLACE, "rank", "code", "decoder", "digits_worst", "digits_median", "undecodable")
STATUSES = ("ok", "overflow", "undecodable", "skipped", "failed", "timeout")
IDENTITY = (
    Column("code", "code", importance=0),
    Column("n", "n", "integer", 1),
    Column("stragglers", "s", "integer", 1),
    Column("precision", "precision", importance=1),
    Column("decoder", "decoder", importance=2),
)
DATA = Column("data", "data", importance=7)


def summary(records: Iterable[Record]) -> Table:
    """The main table: digits left per case, on which stragglers, and what predicts them.

    Parameters
    ----------
    records : iterable of Record
        Of kind ``stability``, of any status.

    Returns
    -------
    Table
        A row per record, in the order given.

    Examples
    --------
    >>> import stabbench as sb
    >>> record = sb.evaluate("dct", n=4, stragglers=1, patterns="first")
    >>> summary([record]).values("worst_stragglers")
    ['0']
    """
    known = list(records)
    some_fail = any(e.undecodable for e in entries(known))
    settings = [key for key in varying(known) if key != "data"]
    columns = (
        *IDENTITY,
        Column("digits_median", "digits median", "digits", 2),
        Column("digits_worst", "digits worst", "digits", 0),
        *((Column("digits_worst_of_all", "worst of all", "digits", 1),) if some_fail else ()),
        Column("worst_stragglers", "worst stragglers", importance=2),
        Column("error_worst", "worst error", "number", 3),
        Column("kappa_median", "κ₂ median", "number", 5),
        Column("kappa_worst", "κ₂ worst", "number", 3),
        Column("amplification_worst", "amplification", "number", 4),
        Column("test_ratio_worst", "test ratio", "number", 4),
        Column("undecodable", "undecodable", "share", 1 if some_fail else 6),
        Column("label", "worst of", importance=6),
        DATA,
        *(Column(key, key, importance=6) for key in settings),
        Column("status", "status", importance=1),
    )
    rows = [
        identity(e) | {k: e.record.case.get(k, "") for k in settings} | _main(e)
        for e in entries(known)
    ]
    notes = (SUMMARY_NOTE, ALL_NOTE) if some_fail else (SUMMARY_NOTE,)
    return table("summary", "Digits left, worst case over survivor sets", columns, rows, notes)


def main(records: Sequence[Record]) -> Iterator[Table]:
    """The main table, for the registry."""
    yield summary(records)


def advice(records: Sequence[Record]) -> Iterator[Table]:
    """Which code and decoder keep the most digits, per n, stragglers and precision."""
    best = _ranked(entries(records))
    if not best:
        return
    columns = (
        Column("n", "n", "integer", 0),
        Column("stragglers", "s", "integer", 0),
        Column("precision", "precision", importance=0),
        Column("rank", "rank", "integer", 1),
        Column("code", "code", importance=0),
        Column("decoder", "best decoder", importance=1),
        Column("digits_worst", "digits worst", "digits", 0),
        Column("digits_median", "digits median", "digits", 2),
        Column("undecodable", "undecodable", "share", 2),
        Column("storage", "storage per worker", "share", 3),
        Column("decode", "decode one set", "seconds", 3),
        Column("settings", "settings", "integer", 4),
    )
    notes = (ADVICE_NOTE,)
    yield table("advice", "Which code, which decoder", columns, best, notes)


def why(records: Sequence[Record]) -> Iterator[Table]:
    """Where the worst error comes from, and what predicted it."""
    measured = [e for e in entries(records) if e.value("relative_error") is not None]
    if not measured:
        return
    stages = _stages(measured)
    columns = (
        *IDENTITY,
        *(Column(stage, stage, "number", 3) for stage in stages),
        Column("dominant", "largest stage", importance=2),
        Column("digits_worst", "digits worst", "digits", 0),
        Column("digits_expected", "expected", "digits", 1),
        Column("digits_bound", "bound", "digits", 2),
        Column("digits_kappa", "u κ₂", "digits", 2),
        *(Column(f"ratio_{stage}", f"{stage} ratio", "number", 4) for stage in stages),
        Column("trusted", "first order holds", "share", 5),
        DATA,
    )
    rows = [identity(e) | _why(e, stages) for e in measured]
    notes = (STAGES_NOTE, PREDICTED_NOTE)
    yield table("why", "Where the digits go", columns, rows, notes)


def statuses(records: Sequence[Record], missing: int = 0) -> Table:
    """How many cases have which status, and why; missing cases have a row too."""
    counted = Counter((r.case.kind, r.status, r.reason) for r in records)
    first = {(r.case.kind, r.status, r.reason): r.case.id for r in reversed(records)}
    order = sorted(counted, key=lambda key: (STATUSES.index(key[1]), -counted[key], key))
    rows = [
        {"status": s, "cases": counted[k, s, why], "reason": why, "example": first[k, s, why]}
        | {"kind": k}
        for k, s, why in order
    ]
    if missing:
        rows.append({"status": "missing", "cases": missing, "reason": "not computed yet"})
    columns = (
        Column("status", "status", importance=0),
        Column("cases", "cases", "integer", 0),
        Column("reason", "reason", importance=1),
        Column("kind", "kind", importance=3),
        Column("example", "first case", importance=2),
    )
    return table("statuses", "Cases by status", columns, rows)


def plain(records: Sequence[Record]) -> Iterator[Table]:
    """The table of a kind that nobody registered: its parameters and scalar measures."""
    parameters = list(dict.fromkeys(key for r in records for key in r.case.parameters))
    found = [{k: _scalar(v) for k, v in r.measures.items()} for r in records]
    measures = list(dict.fromkeys(k for row in found for k, v in row.items() if v is not None))
    numbers = {k for k in measures if all(_is_number(row.get(k)) for row in found)}
    columns = (
        Column("id", "case", importance=2),
        *(Column(f"case.{key}", key, importance=1) for key in parameters),
        *(Column(key, key, "number" if key in numbers else "text", 0) for key in measures),
        Column("status", "status", importance=1),
    )
    rows = [
        {"id": r.case.id, "status": r.status}
        | {f"case.{key}": value for key, value in r.case.parameters.items()}
        | values
        for r, values in zip(records, found, strict=True)
    ]
    kind = records[0].case.kind
    yield table(f"{kind}-records", f"Records of kind {kind}", columns, rows)


def draws(records: Sequence[Record]) -> Iterator[Table]:
    """How far the draws of a random code are apart, and what choosing among draws brings."""
    rows = [
        identity(single[0]) | {"code": code, "draws": len(single)} | _spread(single, chosen)
        for code, single, chosen in drawn(entries(records))
    ]
    if not rows:
        return
    columns = (
        *IDENTITY,
        Column("draws", "draws", "integer", 1),
        Column("digits_min", "digits min", "digits", 0),
        Column("digits_median", "digits median", "digits", 1),
        Column("digits_max", "digits max", "digits", 0),
        Column("kappa_min", "κ₂ min", "number", 3),
        Column("kappa_median", "κ₂ median", "number", 4),
        Column("kappa_max", "κ₂ max", "number", 3),
        Column("select", "best of", "integer", 2),
        Column("digits_select", "its digits", "digits", 2),
        Column("kappa_select", "its κ₂", "number", 4),
        DATA,
    )
    yield table("draws", "Random draws of the same code", columns, rows, (DRAWS_NOTE,))


def _spread(single: Sequence[Entry], chosen: Sequence[Entry]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    digits = [e.kept() for e in single]
    kappas = [v for e in single if (v := e.value("condition_number")) is not None]
    for key, values in (("digits", digits), ("kappa", kappas)):
        if values:
            found |= {f"{key}_min": min(values), f"{key}_max": max(values)}
            found[f"{key}_median"] = statistics.median_low(values)
    if chosen:
        best = max(chosen, key=select_count)
        found |= {"select": select_count(best), "digits_select": best.digits()}
        found["kappa_select"] = best.value("condition_number")
    return found


def ranking(records: Sequence[Record]) -> Table | None:
    """The three best codes and the worst one per n, stragglers and precision, for a terminal.

    Only the largest n where all n together would be more than `SCREEN` rows.
    """
    full = next(advice(records), None)
    if full is None:
        return None
    groups: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    for row in full.records():
        groups.setdefault((row["stragglers"], row["precision"], row["n"]), []).append(row)
    note = "each code with its best decoder; all are in tables/advice.md, all cases in summary.md"
    title = "The best codes and the worst one, by worst digits"
    if sum(min(len(rows), 4) for rows in groups.values()) > SCREEN:
        largest = {(s, precision): n for s, precision, n in sorted(groups)}
        groups = {key: rows for key, rows in groups.items() if largest[key[:2]] == key[2]}
        title += ", at the largest n"
    rows = []
    for found in groups.values():
        chosen = found if len(found) <= 4 else [*found[:3], found[-1]]
        for number, row in enumerate(chosen):
            rows.append(row if number == 0 else row | dict.fromkeys(PLACE))
    columns = tuple(c for c in full.columns if c.key in RANKING)
    return table("ranking", title, columns, rows, (note,))


def identity(e: Entry) -> dict[str, Any]:
    """The cells of `IDENTITY` and `DATA`."""
    return {
        "code": e.code,
        "n": e.n,
        "stragglers": e.stragglers,
        "precision": e.precision,
        "decoder": e.decoder,
        "data": e.data,
    }


def _main(e: Entry) -> dict[str, Any]:
    return {
        "digits_median": e.digits("median"),
        "digits_worst": e.digits(),
        "digits_worst_of_all": e.worst_of_all,
        "worst_stragglers": e.worst_stragglers,
        "error_worst": e.value("relative_error"),
        "kappa_median": e.value("condition_number", "median"),
        "kappa_worst": e.value("condition_number"),
        "amplification_worst": e.value("amplification"),
        "test_ratio_worst": e.value("test_ratio"),
        "undecodable": e.value("undecodable"),
        "label": e.record.label,
        "status": e.record.status,
    }


def _stages(found: Sequence[Entry]) -> list[str]:
    known = {key for e in found for key in e.record.measures.get("budget", ())}
    return [stage for stage in EVERY_STAGE if stage in known]


def _why(e: Entry, stages: Sequence[str]) -> dict[str, Any]:
    parts = {stage: e.value("budget", stage) for stage in stages}
    known = {stage: value for stage, value in parts.items() if value is not None}
    kappa = e.value("condition_number")
    return {
        **parts,
        "dominant": max(known, key=lambda stage: known[stage]) if known else None,
        "digits_worst": e.digits(),
        **{f"ratio_{stage}": e.value("stage_ratios", stage) for stage in stages},
        "digits_expected": as_digits(e.value("expected_error")),
        "digits_bound": as_digits(e.value("predicted_error")),
        "digits_kappa": None if kappa is None else as_digits(e.unit * kappa),
        "trusted": e.value("trusted"),
    }


def _ranked(found: Iterable[Entry]) -> list[dict[str, Any]]:
    choices: dict[tuple[int, int, str], dict[str, dict[str, list[Entry]]]] = {}
    for e in found:
        if e.digits() is not None or e.undecodable:
            codes = choices.setdefault((e.n, e.stragglers, e.precision), {})
            codes.setdefault(e.key[0], {}).setdefault(e.key[1], []).append(e)
    rows = []
    for (n, s, precision), codes in sorted(choices.items()):
        place: dict[str, Any] = {"n": n, "stragglers": s, "precision": precision}
        best = [
            min((_over_settings(group) for group in decoders.values()), key=_goodness)
            for decoders in codes.values()
        ]
        for rank, row in enumerate(sorted(best, key=_goodness), start=1):
            rows.append(place | {"rank": rank} | row)
    return rows


def _over_settings(group: Sequence[Entry]) -> dict[str, Any]:
    """One code and decoder over all settings, by its worst."""
    worst = min(group, key=Entry.kept)
    return {
        "code": worst.code,
        "decoder": worst.decoder,
        "digits_worst": worst.kept(),
        "digits_median": min(e.kept("median") for e in group),
        "undecodable": max(e.undecodable for e in group),
        "storage": worst.value("storage"),
        "decode": worst.seconds("decode_single"),
        "settings": len(group),
    }


def _goodness(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["undecodable"] > 0, -row["digits_worst"], -row["digits_median"], row["code"]


def _scalar(value: Any) -> Any:
    """A number or text of a measure; the worst of a statistic; None for lists."""
    worst = getattr(value, "worst", value)
    return worst if isinstance(worst, str | int | float) else None


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not math.isnan(value))
