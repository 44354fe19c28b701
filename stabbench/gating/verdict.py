"""The gate: a verdict on a finished sweep by a bounds file and a baseline.

Exit status 0: passed; 1: worse than allowed; 3: could not measure. Faults of the input are errors.
"""

import dataclasses
import math
import os
import xml.etree.ElementTree as ET
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from stabbench.errors import InputError
from stabbench.files.atomic import write_text
from stabbench.gating.baseline import load_baseline
from stabbench.gating.bounds import Bound, load_bounds, measure_of
from stabbench.sweeps.case import Record
from stabbench.sweeps.compare import Pair, compare
from stabbench.sweeps.store import Store

PASSED, WORSE, UNMEASURED = 0, 1, 3
JUDGED = ("ok", "overflow", "undecodable")
SHOWN = (
    *("code", "method", "compressor", "mode", "n", "stragglers", "precision", "decoder", "data"),
    *("width", "rate"),
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of a verdict.

    Attributes
    ----------
    level : str
        ``worse``, ``unmeasured``, ``slack`` or ``note``.
    text : str
    record : str
        Case id, or empty.
    """

    level: str
    text: str
    record: str = ""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the gate found.

    Attributes
    ----------
    exit_code : int
        0 passed, 1 worse than allowed, 3 could not measure.
    findings : list of Finding
    checked : int
        Number of comparisons of a record with a bound or its baseline.
    """

    exit_code: int
    findings: list[Finding]
    checked: int

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return {PASSED: "passed", WORSE: "worse", UNMEASURED: "could not measure"}[self.exit_code]


def gate(
    directory: str | os.PathLike[str],
    *,
    bounds: str | os.PathLike[str] | None = None,
    baseline: str | os.PathLike[str] | None = None,
    junit: str | os.PathLike[str] | None = None,
    tolerance: float = 0.5,
) -> Verdict:
    """Judge the sweep in a directory.

    Parameters
    ----------
    directory : path
        Where ``records.jsonl`` is.
    bounds : path, optional
        TOML file of ``[[bound]]`` tables.
    baseline : path, optional
        Directory of ``*.jsonl`` files with earlier records.
    junit : path, optional
        Where to write the result for continuous integration.
    tolerance : float
        Digits that a case may lose against its baseline.

    Raises
    ------
    InputError
        A directory, bounds file or baseline that is missing or damaged; neither of the two given.
    """
    if not 0 <= tolerance < math.inf:
        raise InputError(f"gate: tolerance={tolerance}; allowed are digits >= 0")
    if bounds is None and baseline is None:
        raise InputError("gate: nothing to judge by; give --bounds FILE or --baseline DIR")
    if not Path(directory).is_dir():
        raise InputError(f"{directory}: no such directory; give the output of stabbench sweep")
    limits = [] if bounds is None else load_bounds(bounds)
    baselines = {} if baseline is None else load_baseline(baseline)
    earlier = [record for found in baselines.values() for record in found]
    store = Store(directory)
    findings = _incomplete(store)
    records = list(store.records.values())
    checked = 0
    for limit in (limit for limit in limits if any(map(limit.is_of_kind, records))):
        found, count = _judge(limit, records, str(directory))
        findings += found
        checked += count
    pairs = [p for p in compare(earlier, records, tolerance) if p.change not in ("new", "missing")]
    checked += len(pairs)
    worse = [pair for pair in pairs if pair.change == "worse"]
    findings += [_lost(pair, store.records[pair.id], tolerance, directory) for pair in worse]
    if baseline is not None and not pairs:
        findings.append(Finding("note", f"{baseline}: no case of this sweep is in the baseline"))
    else:
        findings += _unpaired(baselines, {pair.id for pair in pairs}, records)
    if not checked:
        findings.append(Finding("unmeasured", "nothing was checked"))
    levels = {finding.level for finding in findings}
    code = WORSE if "worse" in levels else UNMEASURED if "unmeasured" in levels else PASSED
    verdict = Verdict(code, findings, checked)
    if junit is not None:
        write_text(junit, _junit(verdict, records))
    return verdict


def _incomplete(store: Store) -> list[Finding]:
    if store.header is None or not store.records:
        return [Finding("unmeasured", f"{store.path}: no records; the sweep has not run")]
    findings = []
    if store.missing:
        total = len(store.expected)
        text = f"{len(store.missing)} of {total} cases have no record; run the sweep to its end"
        findings.append(Finding("unmeasured", text))
    for record in store.records.values():
        if record.status in ("failed", "timeout"):
            text = f"{name_of(record.case.parameters)}: {record.status}: {record.reason}"
            findings.append(Finding("unmeasured", text, record.case.id))
    return findings


def _unpaired(
    baselines: Mapping[Path, Iterable[Record]], paired: Container[str], records: Iterable[Record]
) -> list[Finding]:
    """Cases of a baseline that the sweep has dropped, and those that no baseline knows."""
    findings = []
    for file, known in baselines.items():
        counted = [r for r in known if r.status != "skipped"]
        gone = [r for r in counted if r.case.id not in paired]
        if 0 < len(gone) < len(counted):
            first = name_of(gone[0].case.parameters)
            text = f"{file}: {_cases(len(gone))} not in this sweep, the first {first}; "
            findings.append(
                Finding("unmeasured", text + "write the baseline again if that is meant")
            )
    new = [r for r in records if r.case.id not in paired and "digits" in r.measures]
    if baselines and new:
        first = name_of(new[0].case.parameters)
        findings.append(
            Finding("note", f"{_cases(len(new))} not in the baseline, the first {first}")
        )
    return findings


def _cases(count: int) -> str:
    return "1 case is" if count == 1 else f"{count} cases are"


def _judge(bound: Bound, records: Iterable[Record], where: str) -> tuple[list[Finding], int]:
    findings, values = [], []
    matched = [r for r in records if bound.applies(r) and r.status in JUDGED]
    if not matched:
        return [Finding("note", f"bound {bound.name}: no case of this sweep is one of its")], 0
    for record in matched:
        value = measure_of(record, bound.measure)
        if record.status == "overflow" and bound.measure.startswith("test_ratio"):
            # an overflow that the theory does not foresee has no ratio, and is no pass
            value = math.inf if record.measures.get("trusted", 0.0) == 1.0 else value
        if value is None:
            continue
        values.append(value)
        if not bound.holds(value):
            findings.append(_exceeded(bound, record, value, where))
    if not values:
        findings.append(
            Finding("unmeasured", f"bound {bound.name}: no record has {bound.measure} to judge")
        )
    elif bound.is_loose(values):
        nearest = max(values) if bound.at_most is not None else min(values)
        findings.append(
            Finding(
                "slack",
                f"bound {bound.name}: the nearest of {len(values)} values of {bound.measure} is "
                f"{nearest:.3g}, more than a factor {bound.slack:g} within the limit "
                f"{bound.limit}; nothing could fail",
            )
        )
    return findings, len(values)


def _exceeded(bound: Bound, record: Record, value: float, where: str) -> Finding:
    measured, allowed = "", ""
    digits = record.measures.get("ratio_digits")
    if bound.measure.startswith("test_ratio") and digits and bound.at_most:
        measured = f", {digits['measured']:.2f} digits"
        allowed = f", {digits['predicted'] - math.log10(bound.at_most):.2f} digits"
    statistic = record.measures.get(bound.measure.partition(".")[0])
    survivors = getattr(statistic, "worst_survivors", None)
    error = "relative_error_of_all" if bound.measure.endswith("_of_all") else "relative_error"
    if survivors is None and error in record.measures:
        survivors = record.measures[error].worst_survivors
    where_worst = "" if survivors is None else f"survivors {list(survivors)}: "
    return Finding(
        "worse",
        f"{name_of(record.case.parameters)}: {where_worst}"
        f"{bound.measure} measured {value:.3g}{measured}; "
        f"allowed {bound.limit}{allowed} (bound {bound.name}); "
        f"replay: stabbench show {where} {record.case.id} --rerun",
        record.case.id,
    )


def _lost(pair: Pair, record: Record, tolerance: float, where: str | os.PathLike[str]) -> Finding:
    assert pair.old is not None
    assert pair.new is not None
    error = record.measures.get("relative_error")
    survivors = list(getattr(error, "worst_survivors", ()))
    lost = ""
    if pair.lost is not None:
        lost = "{1:.1%} of the survivor sets do not decode, baseline {0:.1%}; ".format(*pair.lost)
    return Finding(
        "worse",
        f"{name_of(pair.case)}: {lost}survivors {survivors}: worst digits {pair.new:.2f}, baseline "
        f"{pair.old:.2f}; allowed >= {pair.old - tolerance:.2f}; "
        f"replay: stabbench show {where} {pair.id} --rerun",
        pair.id,
    )


def name_of(parameters: Mapping[str, Any]) -> str:
    """What is computed, n, s, precision, decoder and data of a case, on one line."""
    labels = {"n": "n=", "stragglers": "s=", "width": "width=", "rate": "rate="}
    return " ".join(labels.get(k, "") + str(parameters[k]) for k in SHOWN if k in parameters)


def _junit(verdict: Verdict, records: Iterable[Record]) -> str:
    suite = ET.Element("testsuite", name="stabbench gate")
    texts: dict[str, list[str]] = {}
    for finding in verdict.findings:
        if finding.level in ("worse", "unmeasured"):
            texts.setdefault(finding.record, []).append(finding.text)
    for record in records:
        case = ET.SubElement(
            suite, "testcase", classname=record.case.kind, name=name_of(record.case.parameters)
        )
        if found := texts.pop(record.case.id, []):
            ET.SubElement(case, "failure", message=_printable("; ".join(found)))
    for text in (text for found in texts.values() for text in found):
        case = ET.SubElement(suite, "testcase", classname="gate", name="measured")
        ET.SubElement(case, "error", message=_printable(text))
    failures, errors = suite.findall(".//failure"), suite.findall(".//error")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(failures)))
    suite.set("errors", str(len(errors)))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def _printable(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(c if c.isprintable() else " " for c in text)
