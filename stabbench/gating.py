"""The gate: a verdict on a finished sweep by a bounds file and a baseline.

Exit status 0: passed; 1: worse than allowed; 3: could not measure. Faults of the input are errors.
"""

import dataclasses
import fnmatch
import json
import math
import os
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stabbench.errors import InputError
from stabbench.files.atomic import write_text
from stabbench.grammar import near
from stabbench.sweeps.case import Record
from stabbench.sweeps.compare import Pair, compare
from stabbench.sweeps.store import Store

PASSED, WORSE, UNMEASURED = 0, 1, 3
MATCHED = ("kind", "code", "decoder", "precision", "data", "problem", "n", "stragglers")
BOUND_KEYS = ("name", "measure", "at_most", "at_least", "slack", "source", *MATCHED)


@dataclasses.dataclass(frozen=True)
class Bound:
    """A limit on one measure of the records that match.

    Parameters
    ----------
    name : str
    measure : str
        Path of a number in the measures, such as ``test_ratio.worst``.
    at_most, at_least : float or None
        The limit; one of them.
    match : dict
        Shell patterns for ``code``, ``decoder`` (names without brackets match any parameters),
        ``precision``, ``data``, ``problem``, ``kind``, ``n`` and ``stragglers``.
    slack : float
        Factor: if even the measured value nearest to the limit is farther from it than this, the
        bound is reported as one that could not fail.
    source : str
        Where the limit comes from.
    """

    name: str
    measure: str
    at_most: float | None
    at_least: float | None
    match: dict[str, str]
    slack: float
    source: str

    def applies(self, record: Record) -> bool:
        """Whether the record is one of those that the bound is for."""
        return all(
            any(fnmatch.fnmatchcase(value, pattern) for value in _values(record, key))
            for key, pattern in self.match.items()
        )

    def holds(self, value: float) -> bool:
        """Whether a measured value is within the limit; NaN is not."""
        if self.at_most is not None:
            return value <= self.at_most
        assert self.at_least is not None
        return value >= self.at_least

    def is_loose(self, values: list[float]) -> bool:
        """Whether every measured value is farther from the limit than the slack."""
        if self.at_most is not None:
            return max(values) * self.slack < self.at_most
        assert self.at_least is not None
        return min(values) > self.at_least + math.log10(self.slack)


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
    if bounds is None and baseline is None:
        raise InputError("gate: nothing to judge by; give --bounds FILE or --baseline DIR")
    if not Path(directory).is_dir():
        raise InputError(f"{directory}: no such directory; give the output of stabbench sweep")
    limits = [] if bounds is None else load_bounds(bounds)
    earlier = [] if baseline is None else load_baseline(baseline)
    store = Store(directory)
    findings = _incomplete(store)
    records = list(store.records.values())
    checked = 0
    for limit in limits:
        found, count = _judge(limit, records, str(directory))
        findings += found
        checked += count
    pairs = [p for p in compare(earlier, records, tolerance) if p.change not in ("new", "missing")]
    checked += len(pairs)
    findings += [_lost(pair, directory) for pair in pairs if pair.change == "worse"]
    if baseline is not None and not pairs:
        findings.append(Finding("note", f"{baseline}: no case of this sweep is in the baseline"))
    if not checked:
        findings.append(Finding("unmeasured", "nothing was checked"))
    levels = {finding.level for finding in findings}
    code = WORSE if "worse" in levels else UNMEASURED if "unmeasured" in levels else PASSED
    verdict = Verdict(code, findings, checked)
    if junit is not None:
        write_text(junit, _junit(verdict, records))
    return verdict


def load_bounds(path: str | os.PathLike[str]) -> list[Bound]:
    """Read a bounds file.

    Raises
    ------
    InputError
        The file cannot be read or is no TOML, or a bound has an unknown key, no measure, no limit
        or two, or no source.
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML ({error})") from None
    tables = document.get("bound")
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path}: holds no [[bound]] table")
    return [_bound(table, f"{path}, bound {i}") for i, table in enumerate(tables, start=1)]


def _bound(table: dict[str, Any], where: str) -> Bound:
    for key in table:
        if key not in BOUND_KEYS:
            raise InputError(f"{where}: unknown key {key!r}; {near(key, BOUND_KEYS)}")
    for key in ("name", "measure", "source"):
        if not isinstance(table.get(key), str) or not table[key]:
            raise InputError(f"{where}: {key} is missing; every bound needs one")
    limits = [key for key in ("at_most", "at_least") if key in table]
    if len(limits) != 1:
        raise InputError(f"{where}: needs at_most or at_least, one of them")
    for key in (*limits, *(["slack"] if "slack" in table else [])):
        if isinstance(table[key], bool) or not isinstance(table[key], int | float):
            raise InputError(f"{where}: {key}={table[key]!r}; allowed are numbers")
    return Bound(
        table["name"],
        table["measure"],
        table.get("at_most"),
        table.get("at_least"),
        {key: str(table[key]) for key in MATCHED if key in table},
        float(table.get("slack", 1000.0)),
        table["source"],
    )


def load_baseline(directory: str | os.PathLike[str]) -> list[Record]:
    """The records of every ``*.jsonl`` file in a directory.

    Raises
    ------
    InputError
        No such directory or no records in it, or a damaged line.
    """
    files = sorted(Path(directory).glob("*.jsonl"))
    if not files:
        raise InputError(f"{directory}: no baseline; allowed is a directory with *.jsonl files")
    records = []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                parsed = json.loads(line)
                if parsed.get("type") == "record":
                    records.append(Record.from_json(parsed))
            except (ValueError, KeyError, AttributeError) as error:
                raise InputError(f"{file}, line {number}: damaged ({error})") from None
    return records


def write_baseline(directory: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write the records of a finished sweep, sorted and without times, as a baseline.

    Parameters
    ----------
    directory : path
        A finished sweep.
    target : path
        File to write, ``results/baseline/NAME.jsonl``.

    Raises
    ------
    InputError
        If the sweep is not finished or a case failed.
    """
    store = Store.existing(directory)
    problems = _incomplete(store)
    if problems:
        raise InputError(f"{directory}: {problems[0].text}; a baseline needs a finished sweep")
    lines = []
    for case_id in sorted(store.records):
        record = store.records[case_id]
        kept = {k: v for k, v in record.measures.items() if k in ("digits", "test_ratio")}
        slim = dataclasses.replace(record, measures=kept, environment="")
        lines.append(json.dumps(slim.to_json(), sort_keys=True, allow_nan=False))
    path = Path(target)
    write_text(path, "\n".join(lines) + "\n")
    return path


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


def _judge(bound: Bound, records: Iterable[Record], where: str) -> tuple[list[Finding], int]:
    findings, values = [], []
    for record in records:
        if not bound.applies(record) or record.status in ("skipped", "failed", "timeout"):
            continue
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
                f"{_limit(bound)}; nothing could fail",
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
    if survivors is None and "relative_error" in record.measures:
        survivors = record.measures["relative_error"].worst_survivors
    return Finding(
        "worse",
        f"{name_of(record.case.parameters)}: survivors {list(survivors or ())}: {bound.measure} measured "
        f"{value:.3g}{measured}; allowed {_limit(bound)}{allowed} (bound {bound.name}); "
        f"replay: stabbench show {where} {record.case.id} --rerun",
        record.case.id,
    )


def _lost(pair: Pair, where: str | os.PathLike[str]) -> Finding:
    assert pair.old is not None
    assert pair.new is not None
    return Finding(
        "worse",
        f"{name_of(pair.case)}: worst digits {pair.new:.2f}, baseline {pair.old:.2f}; "
        f"replay: stabbench show {where} {pair.id} --rerun",
        pair.id,
    )


def name_of(parameters: Mapping[str, Any]) -> str:
    """Code, n, s, precision, decoder and data of a case, on one line."""
    labels = {"n": "n=", "stragglers": "s="}
    keys = ("code", "n", "stragglers", "precision", "decoder", "data")
    return " ".join(labels.get(k, "") + str(parameters[k]) for k in keys if k in parameters)


def measure_of(record: Record, path: str) -> float | None:
    """A number in the measures by its path, None where the record does not have it."""
    value: Any = record.measures
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        if value is None:
            return None
    return float(value)


def _values(record: Record, key: str) -> tuple[str, ...]:
    if key == "kind":
        return (record.case.kind,)
    value = str(record.case.get(key, ""))
    return (value, value.partition("[")[0])


def _limit(bound: Bound) -> str:
    return f"<= {bound.at_most:g}" if bound.at_most is not None else f">= {bound.at_least:g}"


def _junit(verdict: Verdict, records: Iterable[Record]) -> str:
    suite = ET.Element("testsuite", name="stabbench gate")
    worse = {f.record: f for f in verdict.findings if f.level in ("worse", "unmeasured")}
    records = list(records)
    for record in records:
        case = ET.SubElement(suite, "testcase", classname=record.case.kind, name=name_of(record.case.parameters))
        finding = worse.pop(record.case.id, None)
        if finding is not None:
            ET.SubElement(case, "failure", message=finding.text)
    for finding in worse.values():
        case = ET.SubElement(suite, "testcase", classname="gate", name=finding.level)
        ET.SubElement(case, "error", message=finding.text)
    failures, errors = suite.findall(".//failure"), suite.findall(".//error")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(failures)))
    suite.set("errors", str(len(errors)))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)
