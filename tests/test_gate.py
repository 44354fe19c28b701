"""The gate: a planted regression is named, a run that measured nothing never passes."""

import codecs
import dataclasses
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import stabbench as sb
from stabbench.errors import InputError
from stabbench.gating.baseline import write_baseline
from stabbench.gating.bounds import MATCHED, load_bounds, measure_of
from stabbench.gating.verdict import name_of
from stabbench.sweeps import grid, stability
from stabbench.sweeps.case import Record
from stabbench.sweeps.compare import compare, worst_digits
from stabbench.sweeps.runner import Options
from stabbench.sweeps.store import Store
from stabbench.training import api
from tests.support import ROOT, Run, refused, run

AXES: dict[str, Any] = {
    "codes": ["polynomial[nodes=chebyshev]", "gaussian"],
    "n": [6, 8],
    "stragglers": [2],
    "precision": ["float32"],
    "data": "gaussian[rows=40,columns=6]",
}
WORSE = '''
import dataclasses
import numpy as np
from stabbench.decoders.dense import Solve

@dataclasses.dataclass(frozen=True)
class Worse(Solve):
    """Elimination in float32 whose answer then loses its last 14 bits."""
    name = "worse"

    def square(self, matrices, right):
        x = super().square(matrices, right)
        return (x * np.float32(1 + 2.0**-9)).astype(x.dtype)
'''
BOUND = """
[[bound]]
name = "elimination"
measure = "test_ratio.worst"
at_most = 10.0
slack = 1000.0
source = "Higham, theorem 9.4"
"""


def sweep(directory: Path, **changes: Any) -> Store:
    return sb.sweep(None, directory, options=Options(jobs=1), **(AXES | changes))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("good")).directory


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("a bad one")
    (directory / "decoder.py").write_text(WORSE)
    return sweep(directory, decoder=f"{directory}/decoder.py:Worse").directory


@pytest.fixture
def bounds(tmp_path: Path) -> Path:
    path = tmp_path / "bounds.toml"
    path.write_text(BOUND)
    return path


def rewritten(source: Path, target: Path, change: Any) -> Path:
    """A copy of a sweep whose lines went through `change`, which may drop them."""
    target.mkdir(exist_ok=True)
    lines = [json.loads(x) for x in (source / "records.jsonl").read_text().splitlines()]
    kept = [new for line in lines if (new := change(line)) is not None]
    (target / "records.jsonl").write_text("".join(json.dumps(x) + "\n" for x in kept))
    return target


def test_a_good_sweep_passes(good: Path, bounds: Path) -> None:
    done = run("gate", good, "--bounds", bounds)
    assert done == Run(0, "gate: passed (4 comparisons)\n", "")


def test_the_projects_own_bounds_can_be_read_and_have_sources() -> None:
    limits = load_bounds(ROOT / "benchmarks" / "bounds.toml")
    assert len(limits) >= 5
    assert all(len(limit.source) > 10 for limit in limits)


def test_a_planted_regression_is_named_in_full(bad: Path, bounds: Path) -> None:
    done = run("gate", bad, "--bounds", bounds)
    assert done.status == 1
    assert done.out.endswith("gate: worse (4 comparisons)\n")
    lines = done.err.splitlines()
    assert len(lines) == 4
    store = Store.existing(bad)
    for line in lines:
        found = re.fullmatch(
            r"worse: (?P<code>\S+) n=(?P<n>\d) s=2 float32 .*decoder\.py:Worse \S+: "
            r"survivors \[(?P<survivors>[\d, ]+)\]: test_ratio\.worst measured (?P<value>\S+), "
            r"(?P<measured>\S+) digits; allowed <= 10, (?P<allowed>\S+) digits "
            r"\(bound elimination\); replay: stabbench show .* (?P<id>[0-9a-f]{16}) --rerun",
            line,
        )
        assert found, line
        record = store.records[found["id"]]
        assert found["code"] == record.case["code"]
        assert int(found["n"]) == record.case["n"]
        survivors = tuple(map(int, found["survivors"].split(", ")))
        assert survivors == record.test_ratio.worst_survivors
        assert float(found["measured"]) == pytest.approx(-math.log10(2.0**-9), abs=0.3)
        lost = float(found["allowed"]) - float(found["measured"])
        assert lost == pytest.approx(math.log10(float(found["value"]) / 10), abs=0.02)


def test_the_replay_command_shows_the_same_error_again(bad: Path, bounds: Path) -> None:
    case_id = re.findall(r"([0-9a-f]{16}) --rerun", run("gate", bad, "--bounds", bounds).err)[0]
    done = run("show", bad, case_id, "--rerun")
    shown = json.loads(done.out)
    stored, again = (shown[key]["measures"]["relative_error"] for key in ("stored", "rerun"))
    assert again["worst"] == pytest.approx(stored["worst"], rel=1e-3)
    assert again["worst_survivors"] == stored["worst_survivors"]


@pytest.mark.parametrize("content", [None, "", "torn"])
def test_an_empty_run_could_not_measure(
    good: Path, tmp_path: Path, bounds: Path, content: str | None
) -> None:
    directory = tmp_path / "empty"
    directory.mkdir()
    if content is not None:
        text = (good / "records.jsonl").read_text()[:40] if content else ""
        (directory / "records.jsonl").write_text(text)
    done = run("gate", directory, "--bounds", bounds)
    assert done.status == 3
    assert "no records; the sweep has not run" in done.out


def test_a_partial_run_could_not_measure(good: Path, tmp_path: Path, bounds: Path) -> None:
    seen = []

    def first_three(line: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(line)
        return line if len(seen) <= 5 else None

    directory = rewritten(good, tmp_path / "partial", first_three)
    done = run("gate", directory, "--bounds", bounds)
    assert done.status == 3
    assert "1 of 4 cases have no record; run the sweep to its end" in done.out


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_a_failed_case_could_not_be_measured(
    good: Path, tmp_path: Path, bounds: Path, status: str
) -> None:
    def fail(line: dict[str, Any]) -> dict[str, Any]:
        if line.get("case", {}).get("n") == 8:
            return line | {"status": status, "reason": "planted\x00", "measures": {}}
        return line

    directory = rewritten(good, tmp_path / "failed", fail)
    junit = tmp_path / "junit.xml"
    done = run("gate", directory, "--bounds", bounds, "--junit", junit)
    assert done.status == 3
    assert done.out.count(f"{status}: planted") == 2
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")


def test_worse_outweighs_what_could_not_be_measured(
    bad: Path, tmp_path: Path, bounds: Path
) -> None:
    seen: list[int] = []

    def all_but_one(line: dict[str, Any]) -> dict[str, Any] | None:
        seen.append(1)
        return line if len(seen) <= 5 else None

    directory = rewritten(bad, tmp_path / "both", all_but_one)
    assert run("gate", directory, "--bounds", bounds).status == 1


def test_an_overflow_that_theory_does_not_foresee_is_worse(
    good: Path, tmp_path: Path, bounds: Path
) -> None:
    def overflow(line: dict[str, Any]) -> dict[str, Any]:
        if line.get("case", {}).get("n") == 8:
            measures = line["measures"]
            del measures["test_ratio"]
            measures["relative_error"]["worst"] = "inf"
            return line | {"status": "overflow", "measures": measures}
        return line

    done = run("gate", rewritten(good, tmp_path / "o", overflow), "--bounds", bounds)
    assert done.status == 1
    assert done.err.count("measured inf") == 2


@pytest.mark.parametrize("limit", ["at_most = 1e9", "at_most = inf"])
def test_a_bound_that_could_not_fail_is_reported(good: Path, bounds: Path, limit: str) -> None:
    bounds.write_text(BOUND.replace("at_most = 10.0", limit))
    done = run("gate", good, "--bounds", bounds)
    assert done.status == 0
    assert re.search(
        r"slack: bound elimination: the nearest of 4 values .* nothing could", done.out
    )


@pytest.mark.parametrize(
    ("limit", "nearest"), [("at_most = 1e9", max), ("at_least = 0.01", min)], ids=["most", "least"]
)
def test_the_slack_is_that_of_the_value_nearest_to_the_limit(
    good: Path, bounds: Path, limit: str, nearest: Any
) -> None:
    measure = "test_ratio.worst" if nearest is max else "digits.worst"
    text = BOUND.replace("test_ratio.worst", measure).replace("at_most = 10.0", limit)
    bounds.write_text(text.replace("slack = 1000.0", "slack = 2"))
    values = [float(measure_of(r, measure) or 0) for r in Store(good).records.values()]
    assert min(values) < max(values)
    found = run("gate", good, "--bounds", bounds).out
    assert f"nearest of 4 values of {measure} is {nearest(values):.3g}, more" in found


def test_lower_limits_have_slack_in_digits(good: Path, bounds: Path) -> None:
    text = BOUND.replace("test_ratio.worst", "digits.worst").replace(
        "slack = 1000.0", "slack = 100"
    )
    bounds.write_text(text.replace("at_most = 10.0", "at_least = 0.5"))
    done = run("gate", good, "--bounds", bounds)
    assert (done.status, "slack: " in done.out) == (0, True)
    bounds.write_text(text.replace("at_most = 10.0", "at_least = 4.0"))
    assert "slack: " not in run("gate", good, "--bounds", bounds).out
    bounds.write_text(text.replace("at_most = 10.0", "at_least = 7.5"))
    done = run("gate", good, "--bounds", bounds)
    assert done.status == 1
    assert "digits.worst measured" in done.err
    assert "survivors [" in done.err


@pytest.mark.parametrize("measure", ["test_ratio.wosrt", "nothing", "test_ratio", "distribution"])
def test_a_measure_that_no_record_has_could_not_be_judged(
    good: Path, bounds: Path, measure: str
) -> None:
    bounds.write_text(BOUND.replace("test_ratio.worst", measure))
    done = run("gate", good, "--bounds", bounds)
    assert done.status == 3
    assert f"no record has {measure} to judge" in done.out


def test_a_bound_for_no_case_of_the_sweep_is_noted(good: Path, bounds: Path) -> None:
    bounds.write_text(BOUND + BOUND.replace("slack", 'code = "haar"\nslack'))
    done = run("gate", good, "--bounds", bounds)
    assert done.status == 0
    assert "note: bound elimination: no case of this sweep is one of its" in done.out
    bounds.write_text(BOUND.replace("slack", 'code = "haar"\nslack'))
    done = run("gate", good, "--bounds", bounds)
    assert done.status == 3
    assert "nothing was checked" in done.out


@pytest.mark.parametrize(
    ("match", "count"),
    [
        ('code = "gaussian"', 2),
        ("n = 6", 2),
        ('precision = "float*"', 4),
        ('decoder = "solve"', 4),
        ('code = "poly*"\nn = 8', 1),
        ("stragglers = 2", 4),
        ('kind = "stability"', 4),
        ('data = "gaussian"', 4),
        ('code = "polynomial[nodes=chebyshev]"', 2),
        ('code = "polynomial[nodes=*]"', 2),
        ('code = "polynomial[*"\nspare = "use"\ntrials = 1.0', 2),
        ('patterns = "auto*"\nvectors = "?"', 4),
    ],
)
def test_bounds_apply_to_the_cases_that_they_match(
    good: Path, bounds: Path, match: str, count: int
) -> None:
    bounds.write_text(BOUND.replace("slack", f"{match}\nslack"))
    assert run("gate", good, "--bounds", bounds).out == f"gate: passed ({count} comparisons)\n"


def test_every_parameter_of_every_kind_can_be_matched() -> None:
    names = {field.name for field in dataclasses.fields(stability.Request)}
    names = names.union(*(api.kind_of(kind).keys for kind in api.KINDS))
    assert sorted({*names, "kind"}) == sorted(MATCHED)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("trained")
    axes: dict[str, Any] = {"code": "dct", "n": 4, "stragglers": 1, "width": 8, "steps": 3}
    axes |= {"trials": 2, "mode": ["naive", "deu"], "rate": [0.1, 1.0]}
    return api.train("layers", None, directory, options=Options(jobs=1), **axes).directory


@pytest.mark.parametrize(
    ("match", "rates", "modes"),
    [
        ('kind = "layers"', ("0.1", "1.0"), ("naive", "deu")),
        ("rate = 1", ("1.0",), ("naive", "deu")),
        ('rate = 0.1\nmode = "deu"\nwidth = 8', ("0.1",), ("deu",)),
    ],
)
def test_a_bound_for_one_way_of_training(
    trained: Path, bounds: Path, match: str, rates: tuple[str, ...], modes: tuple[str, ...]
) -> None:
    text = BOUND.replace("test_ratio.worst", "layer_error.worst").replace("10.0", "0.0")
    bounds.write_text(text.replace("slack", f"{match}\nslack"))
    done = run("gate", trained, "--bounds", bounds)
    assert done.status == 1
    lines = done.err.splitlines()
    assert len(lines) == len(rates) * len(modes)
    for rate, mode in itertools.product(rates, modes):
        name = f"worse: dct {mode} n=4 s=1 float32 solve digits width=8 rate={rate}: "
        assert sum(line.startswith(f"{name}layer_error.worst measured") for line in lines) == 1


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("layers", {"codes": ["uncoded", "shift-add"], "mode": ["naive", "deu"], "width": 16}),
        ("descent", {"codes": ["uncoded", "kadhe[generator=chebyshev,d=5,m=3]"]}),
        ("gossip", {"methods": ["ecsd", "dcd"], "problem": "logistic[dimension=20]"}),
    ],
)
def test_the_projects_own_bounds_judge_training(
    tmp_path: Path, kind: str, axes: dict[str, Any]
) -> None:
    length = {"layers": "steps", "descent": "iterations", "gossip": "steps"}[kind]
    settings: dict[str, Any] = axes | {length: 20} | ({} if kind == "gossip" else {"trials": 2})
    api.train(kind, None, tmp_path, options=Options(jobs=1), **settings)
    done = run("gate", tmp_path, "--bounds", ROOT / "benchmarks" / "bounds.toml")
    assert done.status == 0
    words = [line for line in done.out.splitlines() if not line.startswith("note: ")]
    assert re.fullmatch(r"gate: passed \([2-9] comparisons\)", "\n".join(words))


def test_training_has_no_digits_for_a_baseline(
    good: Path, trained: Path, bounds: Path, tmp_path: Path
) -> None:
    words = refused("gate", trained, "--write-baseline", tmp_path / "x.jsonl")
    assert "no case measures digits to compare" in words
    write_baseline(good, tmp_path / "base" / "good.jsonl")
    copied = (trained / "records.jsonl").read_bytes()
    (tmp_path / "base" / "trained.jsonl").write_bytes(copied)
    done = run("gate", trained, "--baseline", tmp_path / "base")
    assert done.status == 3
    assert done.out.endswith("gate: could not measure (0 comparisons)\n")


def test_files_of_editors_that_mark_the_byte_order_are_read(
    good: Path, bounds: Path, tmp_path: Path
) -> None:
    bounds.write_bytes(codecs.BOM_UTF8 + BOUND.replace("\n", "\r\n").encode())
    baseline = write_baseline(good, tmp_path / "base" / "good.jsonl")
    baseline.write_bytes(codecs.BOM_UTF8 + baseline.read_bytes().replace(b"\n", b"\r\n"))
    verdict = sb.gate(good, bounds=bounds, baseline=baseline.parent)
    assert (verdict.exit_code, verdict.checked) == (0, 8)
    file = tmp_path / "sweep.toml"
    file.write_bytes(codecs.BOM_UTF8 + b'[[grid]]\r\ncodes = "dct"\r\nn = 4\r\nstragglers = 1\r\n')
    (table,) = grid.load(str(file), {})
    assert table.codes == ("dct",)
    assert len(api.plan("descent", str(file), {"codes": "uncoded"}).cases) == 1


@pytest.mark.parametrize("which", ["good", "bad"])
def test_junit_is_valid_xml_with_every_case(
    request: pytest.FixtureRequest, tmp_path: Path, bounds: Path, which: str
) -> None:
    path = tmp_path / "out" / "junit.xml"
    run("gate", request.getfixturevalue(which), "--bounds", bounds, "--junit", path)
    suite = ET.parse(path).getroot()
    assert suite.tag == "testsuite"
    failures = 4 if which == "bad" else 0
    assert suite.get("tests") == "4"
    assert suite.get("failures") == str(failures) == str(len(suite.findall("testcase/failure")))
    assert suite.get("errors") == "0"
    for failure in suite.findall("testcase/failure"):
        assert "survivors [" in str(failure.get("message"))


def test_digits_lost_against_the_baseline_are_worse(good: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "base"
    written = write_baseline(good, baseline / "small.jsonl")
    assert run("gate", good, "--baseline", baseline).out == "gate: passed (4 comparisons)\n"
    records = [json.loads(line) for line in written.read_text().splitlines()]
    records[0]["measures"]["digits"]["worst"] += 0.8
    written.write_text("".join(json.dumps(x) + "\n" for x in records))
    done = run("gate", good, "--baseline", baseline)
    assert done.status == 1
    record = Store.existing(good).records[records[0]["id"]]
    now = worst_digits(record)
    assert (
        f"worst digits {now:.2f}, baseline {now + 0.8:.2f}; allowed >= {now + 0.3:.2f}" in done.err
    )
    assert f"survivors {list(record.relative_error.worst_survivors)}" in done.err
    assert record.case.id in done.err
    assert run("gate", good, "--baseline", baseline, "--tolerance", "1").status == 0


def test_baselines_are_sorted_and_without_times(good: Path, tmp_path: Path) -> None:
    done = run("gate", good, "--write-baseline", tmp_path / "b" / "x.jsonl")
    assert done.status == 0
    text = (tmp_path / "b" / "x.jsonl").read_text()
    assert text.endswith("}\n")
    lines = [json.loads(x) for x in text.splitlines()]
    assert [x["id"] for x in lines] == sorted(Store.existing(good).records)
    assert all("seconds" not in x["measures"] and x["environment"] == "" for x in lines)
    again = write_baseline(good, tmp_path / "b" / "y.jsonl")
    assert again.read_bytes() == (tmp_path / "b" / "x.jsonl").read_bytes()


def test_an_edited_measure_is_refused_in_one_line(good: Path, tmp_path: Path) -> None:
    lines = (good / "records.jsonl").read_text().splitlines()
    edited = json.loads(lines[-1])
    edited["measures"]["digits"] = "x"
    (tmp_path / "records.jsonl").write_text("\n".join([*lines[:-1], json.dumps(edited), ""]))
    for places in ((tmp_path, "--baseline", good), (good, "--baseline", tmp_path)):
        words = refused("gate", *places)
        assert words.endswith('measure digits = "x"; allowed are numbers by name')
        assert f"line {len(lines)}: record {edited['id']}" in words


def test_an_unfinished_sweep_is_no_baseline(good: Path, tmp_path: Path) -> None:
    lines = (good / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(lines[:-1]))
    words = refused("gate", tmp_path, "--write-baseline", tmp_path / "b.jsonl")
    assert "a baseline needs a finished sweep" in words
    assert not (tmp_path / "b.jsonl").exists()


def test_a_case_dropped_from_the_sweep_is_not_measured(good: Path, tmp_path: Path) -> None:
    written = write_baseline(good, tmp_path / "base" / "good.jsonl")
    lines = written.read_text().splitlines(keepends=True)
    others = write_baseline(
        sweep(tmp_path / "other", codes="dct").directory, tmp_path / "dct.jsonl"
    ).read_text()
    written.write_text("".join(lines) + others)
    done = run("gate", good, "--baseline", tmp_path / "base")
    assert done.status == 3
    assert "not in this sweep, the first dct" in done.out
    written.write_text("".join(lines[1:]))
    done = run("gate", good, "--baseline", tmp_path / "base")
    assert done.status == 0
    assert "note: 1 case is not in the baseline, the first" in done.out
    # the baselines of other sweeps lie in files of their own
    (tmp_path / "dct.jsonl").rename(written.parent / "dct.jsonl")
    assert run("gate", good, "--baseline", tmp_path / "base").status == 0


def test_the_records_of_a_sweep_are_a_baseline_themselves(good: Path) -> None:
    assert run("gate", good, "--baseline", good).out == "gate: passed (4 comparisons)\n"


def test_a_baseline_of_other_cases_alone_measures_nothing(good: Path, tmp_path: Path) -> None:
    other = sweep(tmp_path / "other", codes="dct").directory
    write_baseline(other, tmp_path / "base" / "other.jsonl")
    done = run("gate", good, "--baseline", tmp_path / "base")
    assert done.status == 3
    assert "no case of this sweep is in the baseline" in done.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no [[bound]] table"),
        ("x = ", "no TOML"),
        ("bound = 3", "holds no [[bound]] table"),
        (BOUND.replace("at_most", "at_mots"), "unknown key 'at_mots'; did you mean at_most"),
        (BOUND.replace("at_most = 10.0", ""), "needs at_most or at_least, one of them"),
        (BOUND.replace("slack", "at_least = 1\nslack"), "needs at_most or at_least, one of them"),
        (BOUND.replace("10.0", "'ten'"), "at_most='ten'; allowed are numbers"),
        (BOUND.replace("10.0", "true"), "at_most=True; allowed are numbers"),
        (BOUND.replace("10.0", "nan"), "at_most=nan; allowed are numbers"),
        (BOUND.replace("1000.0", "0.5"), "slack=0.5; allowed is a factor >= 1"),
        (BOUND.replace('"Higham, theorem 9.4"', '""'), "source is missing"),
        (BOUND.replace('"test_ratio.worst"', "7"), "measure is missing"),
        (BOUND.replace("name", "nmae"), "unknown key 'nmae'"),
        (BOUND + 'code = ["dct", "haar"]', "code=['dct', 'haar']; allowed are texts and numbers"),
    ],
)
def test_a_damaged_bounds_file_is_refused(good: Path, bounds: Path, text: str, words: str) -> None:
    bounds.write_text(text)
    assert words in refused("gate", good, "--bounds", bounds)


def test_wrong_places_are_refused(good: Path, tmp_path: Path, bounds: Path) -> None:
    assert "nothing to judge by" in refused("gate", good)
    assert "no such directory" in refused("gate", tmp_path / "none", "--bounds", bounds)
    assert "cannot be read" in refused("gate", good, "--bounds", tmp_path / "none.toml")
    assert "cannot be read" in refused("gate", good, "--bounds", tmp_path)
    assert "no baseline" in refused("gate", good, "--baseline", tmp_path)
    bounds.write_bytes(b"\xff\xfe")
    assert "no TOML" in refused("gate", good, "--bounds", bounds)
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    bounds.write_text(BOUND)
    words = refused("gate", good, "--bounds", bounds, "--junit", blocked / "junit.xml")
    assert str(blocked) in words
    assert blocked.read_text() == "mine"
    for tolerance in ("-1", "nan", "inf", "much"):
        assert "tolerance" in refused("gate", good, "--bounds", bounds, "--tolerance", tolerance)


@pytest.mark.parametrize(
    "content", [b"\xff\n", b"not json\n", b'{"type": "record"}\n', b"[]\n", b"7\n", b"", b"{}\n"]
)
def test_a_damaged_baseline_is_refused(good: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    assert "x.jsonl" in refused("gate", good, "--baseline", tmp_path) or content in (b"", b"{}\n")


def changed(record: Record, digits: float) -> Record:
    data = record.to_json()
    data["measures"]["digits"]["worst"] = digits
    return Record.from_json(data)


def test_compare_pairs_cases_in_digits(good: Path) -> None:
    records = list(Store.existing(good).records.values())
    old = [changed(r, d) for r, d in zip(records, (5.0, 5.0, 5.0, 5.0), strict=True)]
    new = [changed(r, d) for r, d in zip(records, (4.0, 5.4, 6.0), strict=False)]
    pairs = compare(old, new, tolerance=0.5)
    assert [p.change for p in pairs] == ["worse", "missing", "better", "same"]
    assert [p.change for p in compare([], new)] == ["new"] * 3
    assert pairs[0].old == 5.0
    assert pairs[0].new == 4.0


def test_compare_command_lists_what_changed(good: Path, tmp_path: Path) -> None:
    def worse(line: dict[str, Any]) -> dict[str, Any]:
        if line.get("case", {}).get("n") == 8:
            line["measures"]["digits"]["worst"] -= 2
        return line

    other = rewritten(good, tmp_path / "other", worse)
    done = run("compare", good, other)
    assert done.status == 0
    assert [line.split()[0] for line in done.out.splitlines()[:2]] == ["worse", "worse"]
    assert done.out.splitlines()[-1] == "2 worse, 0 better, 2 same, 0 new, 0 missing"
    assert len(run("compare", good, other, "--all").out.splitlines()) == 5
    assert "no sweep is stored here" in refused("compare", good, tmp_path / "none")


def test_gate_is_a_function_too(good: Path, bad: Path, bounds: Path) -> None:
    assert sb.gate(good, bounds=bounds).exit_code == 0
    verdict = sb.gate(bad, bounds=bounds)
    assert (verdict.exit_code, verdict.word, verdict.checked) == (1, "worse", 4)
    assert {finding.level for finding in verdict.findings} == {"worse"}
    with pytest.raises(InputError, match="nothing to judge by"):
        sb.gate(good)


def test_what_was_skipped_or_has_no_digits_is_neither_dropped_nor_new(
    good: Path, tmp_path: Path
) -> None:
    written = write_baseline(good, tmp_path / "base" / "good.jsonl")
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    others = sweep(tmp_path / "other", codes=["dct", "haar"]).directory
    foreign = write_baseline(others, tmp_path / "foreign.jsonl").read_text().splitlines()

    def judged(*kept: Any) -> Run:
        written.write_text("".join(json.dumps(line) + "\n" for line in kept))
        return run("gate", good, "--baseline", tmp_path / "base")

    skipped = [json.loads(line) | {"status": "skipped", "measures": {}} for line in foreign]
    assert judged(*lines, *skipped[:2]).out == f"gate: passed ({len(lines)} comparisons)\n"
    dropped = [json.loads(line) for line in foreign]
    done = judged(*lines, *dropped)
    first = name_of(Record.from_json(dropped[0]).case.parameters)
    assert done.status == 3
    assert f"{len(dropped)} cases are not in this sweep, the first {first}; " in done.out
    # all that this file knows is gone, and the skipped ones do not count as left
    others_file = written.with_name("others.jsonl")
    others_file.write_text("".join(json.dumps(line) + "\n" for line in [*dropped, skipped[0]]))
    assert judged(*lines).status == 0
    others_file.unlink()
    done = judged(*lines[2:])
    cases = [record.case for record in Store(good).records.values()]
    new = [case for case in cases if case.id in {line["id"] for line in lines[:2]}]
    assert done.status == 0
    assert f"2 cases are not in the baseline, the first {name_of(new[0].parameters)}" in done.out
    bare = {line["id"] for line in lines[1:2]}

    def stripped(line: Any) -> Any:
        return line | {"measures": {}} if line.get("id") in bare else line

    copy = rewritten(good, tmp_path / "bare", stripped)
    done = run("gate", copy, "--baseline", tmp_path / "base")
    assert "note: 1 case is not in the baseline" in done.out
