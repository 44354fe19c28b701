"""Records on disk: a sweep can be killed at any byte, goes on, and never harms what is there."""

import errno
import json
import math
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis.metrics import Statistic
from stabbench.errors import InputError
from stabbench.sweeps import kinds, runner
from stabbench.sweeps.case import SCHEMA, Case, Record
from stabbench.sweeps.runner import Options
from stabbench.sweeps.store import Store
from tests.support import child_environment, program

AXES: dict[str, Any] = {
    "codes": ["dct", "gaussian[draws=2]"],
    "n": [4, 5],
    "stragglers": [1],
    "precision": ["float32", "bfloat16"],
    "data": "gaussian[rows=12,columns=3]",
}
CASES = 12


def sweep(directory: Path, **changes: Any) -> Store:
    options = changes.pop("options", Options(jobs=1))
    return sb.sweep(None, directory, options=options, **(AXES | changes))


def content(found: Store) -> dict[str, Any]:
    """Everything that a result says, without times and environment."""
    plain = {}
    for case_id, record in found.records.items():
        entry = record.to_json() | {"environment": ""}
        entry["measures"] = {k: v for k, v in entry["measures"].items() if k != "seconds"}
        plain[case_id] = entry
    return plain


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return sweep(tmp_path_factory.mktemp("finished"))


def copied(finished: Store, target: Path, data: bytes | None = None) -> Path:
    target.mkdir(parents=True, exist_ok=True)
    (target / "records.jsonl").write_bytes(finished.path.read_bytes() if data is None else data)
    return target


def request_of(found: Store) -> dict[str, Any]:
    assert found.header is not None
    return dict(found.header["request"])


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of cases that are computed from now on."""
    seen: list[str] = []
    original = runner.compute

    def compute(case: Case, timeout: float = 0.0) -> Record:
        seen.append(case.id)
        return original(case, timeout)

    monkeypatch.setattr(runner, "compute", compute)
    return seen


def test_a_sweep_stores_every_case_once(finished: Store) -> None:
    assert len(finished.records) == CASES
    assert finished.missing == []
    lines = [json.loads(line) for line in finished.path.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["sweep", "environment"] + ["record"] * CASES
    again = Store.existing(finished.directory)
    assert content(again) == content(finished)
    assert {r.status for r in again.records.values()} == {"ok"}


def test_a_finished_sweep_computes_nothing_and_writes_nothing(
    finished: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copied(finished, tmp_path)
    seen = counted(monkeypatch)
    sweep(directory)
    assert seen == []
    assert (directory / "records.jsonl").read_bytes() == finished.path.read_bytes()


def test_killed_at_every_byte_of_the_last_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [Case("stability", {"n": n}) for n in (1, 2)]
    with Store(tmp_path) as kept:
        kept.open({"grids": []}, [case.id for case in cases])
        for case in cases:
            statistic = Statistic(0.1, 0.2, 0.3, math.inf, 0.2, (0, 1))
            kept.add(Record(case, "overflow", "é", {"relative_error": statistic}, "exhaustive"))
    data = kept.path.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    lost = json.loads(data[last:])["id"]
    monkeypatch.setattr(os, "fsync", lambda file: None)
    for cut in range(last, len(data)):
        kept.path.write_bytes(data[:cut])
        with Store(tmp_path) as torn:
            assert torn.missing == [lost]
            assert len(torn.records) == 1
            assert torn.torn == (cut > last)
            torn.open(request_of(kept), kept.expected)
            torn.add(kept.records[lost])
        assert kept.path.read_bytes() == data


@pytest.mark.parametrize("part", [0.0, 0.02, 0.3, 0.5, 0.77, 0.999])
def test_killed_anywhere_and_resumed_equals_uninterrupted(
    finished: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    data = finished.path.read_bytes()[: int(part * finished.path.stat().st_size)]
    directory = copied(finished, tmp_path, data)
    before = set(Store(directory).records)
    seen = counted(monkeypatch)
    resumed = sweep(directory)
    assert content(resumed) == content(finished)
    assert content(Store.existing(directory)) == content(finished)
    assert set(seen) == set(finished.records) - before
    assert len(seen) == len(set(seen))


def test_two_processes_give_what_one_gives(finished: Store, tmp_path: Path) -> None:
    assert content(sweep(tmp_path, options=Options(jobs=2))) == content(finished)


def arguments(directory: Path) -> list[str]:
    names = ["-s", "dct", "-s", "gaussian[draws=12]", "-n", "4,5", "-S", "1"]
    names += ["-p", "float32,float64", "--data", "gaussian[rows=200,columns=30]"]
    return program("sweep", *names, "--trials", 3, "-j", 1, "-o", directory)


def test_killed_processes_lose_no_finished_case(tmp_path: Path) -> None:
    """SIGKILL at random moments after the first record, until the sweep has come to its end."""
    chance = random.Random(20240607)
    directory, killed, known = tmp_path / "killed", 0, set[str]()
    while True:
        child = subprocess.Popen(
            arguments(directory),
            env=child_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stderr is not None
        announced = child.stderr.readline()
        if killed < 3 and announced:
            time.sleep(chance.uniform(0, 0.05))
            child.send_signal(signal.SIGKILL)
        child.communicate(timeout=60)
        current = set(Store.existing(directory).records)
        assert known <= current
        assert not announced or len(current) > len(known)
        known = current
        if child.returncode == 0:
            break
        killed += 1
        assert child.returncode == -signal.SIGKILL
        assert killed < 10
    assert killed == 3
    whole = sb.sweep(
        None,
        tmp_path / "whole",
        options=Options(jobs=1),
        codes=["dct", "gaussian[draws=12]"],
        n=[4, 5],
        stragglers=1,
        precision=["float32", "float64"],
        data="gaussian[rows=200,columns=30]",
        trials=3,
    )
    assert content(Store.existing(directory)) == content(whole)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_worker_processes_end_with_a_killed_sweep(tmp_path: Path, how: signal.Signals) -> None:
    """The workers hold the other end of stderr, which closes when the last of them is gone."""
    with subprocess.Popen(
        program(
            "sweep", "-s", "gaussian[draws=400]", "-n", "4", "-S", "1", "-j", 2, "-o", tmp_path
        ),
        env=child_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline().startswith("[1]")
        child.send_signal(how)
        child.communicate(timeout=30)
    assert child.returncode == -how


@pytest.mark.parametrize("line", [1, 2, 5, 9])
@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: b"",
        lambda line: b"\x00" * len(line),
        lambda line: b"[1, 2]",
        lambda line: b"[" * 100_000,
        lambda line: b'{"type": "record", "schema": %d}' % SCHEMA,
        lambda line: b'{"type": "something else"}',
        lambda line: line.replace(b'"n": ', b'"n": 1'),
    ],
)
def test_a_damaged_line_before_the_last_is_refused_and_left(
    finished: Store, tmp_path: Path, line: int, damage: Callable[[bytes], bytes]
) -> None:
    lines = finished.path.read_bytes().split(b"\n")
    changed = damage(lines[line])
    if changed == lines[line]:
        changed = b"?"
    lines[line] = changed
    data = b"\n".join(lines)
    directory = copied(finished, tmp_path, data)
    for action in (Store, sweep):
        with pytest.raises(InputError, match=f"line {line + 1}: ") as caught:
            action(directory)
        assert "\n" not in str(caught.value)
    assert (directory / "records.jsonl").read_bytes() == data


def with_line(finished: Store, target: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A copy of a sweep with a changed copy of its last record behind it."""
    data = finished.path.read_bytes()
    line = json.loads(data.splitlines()[-1])
    return copied(finished, target, data + json.dumps(change(line)).encode() + b"\n")


def test_a_record_that_is_there_twice_counts_once(finished: Store, tmp_path: Path) -> None:
    directory = with_line(finished, tmp_path, lambda line: line)
    assert content(Store.existing(directory)) == content(finished)
    data = finished.path.read_bytes().replace(b"\n", b"\r\n")
    other = copied(finished, tmp_path / "carriage returns", data)
    assert content(sweep(other)) == content(finished)
    assert (other / "records.jsonl").read_bytes() == data


def other_case(line: dict[str, Any]) -> dict[str, Any]:
    case = line["case"] | {"n": 6}
    return line | {"case": case, "id": Case(line["kind"], case).id}


def with_measure(name: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda line: line | {"measures": line["measures"] | {name: value}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line | {"label": "other"}, "differs from an earlier one"),
        (lambda line: line | {"status": "failed"}, "differs from an earlier one"),
        (lambda line: line | {"status": "fine"}, "status 'fine'; allowed are ok, undecodable"),
        (other_case, "no case of this sweep"),
        (with_measure("digits", "x"), 'measure digits = "x"; allowed are numbers'),
        (with_measure("digits", {"worst": "x"}), 'measure digits = {"worst": "x"}; allowed'),
        (with_measure("relative_error", 1.0), "measure relative_error = 1.0; allowed are numbers"),
        (
            with_measure(
                "test_ratio", vars(Statistic(1.0, 1.0, 1.0, 1.0, 1.0, ())) | {"worst": None}
            ),
            "measure test_ratio = {.*; allowed are numbers by name",
        ),
    ],
)
def test_records_that_do_not_belong_are_refused_and_left(
    finished: Store, tmp_path: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    directory = with_line(finished, tmp_path, change)
    before = (directory / "records.jsonl").read_bytes()
    for action in (Store, sweep):
        with pytest.raises(InputError, match=f"line {CASES + 3}: record [0-9a-f]{{16}}: {words}"):
            action(directory)
    assert (directory / "records.jsonl").read_bytes() == before


@pytest.mark.parametrize("cases", [5, None, "abc", [["a"]]])
def test_a_damaged_header_is_refused(finished: Store, tmp_path: Path, cases: Any) -> None:
    first, rest = finished.path.read_bytes().split(b"\n", 1)
    header = json.loads(first) | {"cases": cases}
    directory = copied(finished, tmp_path, json.dumps(header).encode() + b"\n" + rest)
    with pytest.raises(InputError, match=r"line [123]: "):
        Store(directory)


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        b"hello\n",
        b"{}\n",
        b'{"a": 1}\n{"b": 2}\n',
        b"\xff\xfe\x00",
        b'{"type": "record"}\n',
        b"\n",
    ],
)
def test_files_of_others_are_refused_and_left(finished: Store, tmp_path: Path, data: bytes) -> None:
    directory = copied(finished, tmp_path, data)
    with pytest.raises(InputError, match="not a file of stabbench"):
        sweep(directory)
    assert (directory / "records.jsonl").read_bytes() == data


@pytest.mark.parametrize("schema", [0, SCHEMA + 1, None, "1"])
def test_another_schema_is_refused(finished: Store, tmp_path: Path, schema: Any) -> None:
    first, rest = finished.path.read_bytes().split(b"\n", 1)
    header = json.loads(first) | {"schema": schema}
    data = json.dumps(header).encode() + b"\n" + rest
    directory = copied(finished, tmp_path, data)
    with pytest.raises(InputError, match=f"this version reads {SCHEMA}"):
        sweep(directory)
    assert (directory / "records.jsonl").read_bytes() == data


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": [4, 6]}, r"n = \[4, 5\], not \[4, 6\]"),
        ({"stragglers": [2]}, r"stragglers = \[1\], not \[2\]"),
        ({"codes": ["haar"]}, r"codes = \[.*\], not \[\"haar\"\]"),
        ({"precision": ["float64"]}, r"precision = "),
        ({"decoder": ["lstsq"]}, r"decoder = \[\"auto\"\], not \[\"lstsq\"\]"),
        ({"data": "gaussian[rows=13,columns=3]"}, r"data = .*rows=12.*rows=13"),
        ({"seed": 1}, r"seed = 0, not 1"),
        ({"trials": 2}, r"trials = 1, not 2"),
        ({"patterns": "all"}, r"patterns = \[\"auto\"\], not \[\"all\"\]"),
        ({"codes": ["gaussian"] * 9}, r"codes = .*, not \[(\"gaussian\", ){4,5}.*\.\.\."),
        ({"reference": "mpmath"}, r"reference = \"flint\", not \"mpmath\""),
    ],
)
def test_another_sweep_is_refused_with_the_difference(
    finished: Store, change: dict[str, Any], words: str
) -> None:
    before = finished.path.read_bytes()
    with pytest.raises(InputError, match="holds another sweep, with .*" + words):
        sweep(finished.directory, **change)
    assert finished.path.read_bytes() == before


def test_the_order_of_the_request_is_no_difference(finished: Store, tmp_path: Path) -> None:
    directory = copied(finished, tmp_path)
    again = sweep(directory, codes=AXES["codes"][::-1], n=[5, 4])
    assert content(again) == content(finished)
    assert again.path.read_bytes() == finished.path.read_bytes()


def test_a_closed_store_closes_no_file_of_others(
    finished: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(copied(finished, tmp_path / "again"))
    store.open(request_of(finished), finished.expected)
    closed: list[int] = []
    monkeypatch.setattr(os, "close", closed.append)
    store.close()
    store.close()
    monkeypatch.undo()
    assert len(closed) == 1
    os.close(closed[0])


def test_only_one_writer(finished: Store, tmp_path: Path) -> None:
    directory = copied(finished, tmp_path)
    request, cases = request_of(finished), finished.expected
    with Store(directory) as first:
        first.open(request, cases)
        with pytest.raises(InputError, match="another sweep is writing here"):
            sweep(directory)
        with pytest.raises(InputError, match="another sweep is writing here"):
            Store(directory).put_aside(["others"])
        assert len(Store(directory).records) == CASES
    assert len(sweep(directory).records) == CASES


def test_records_written_between_reading_and_locking_are_kept(
    finished: Store, tmp_path: Path
) -> None:
    late = Store(tmp_path)
    assert late.header is None
    sweep(tmp_path)
    with late:
        late.open(request_of(finished), finished.expected)
        assert late.missing == []
    assert content(Store.existing(tmp_path)) == content(finished)


@pytest.mark.parametrize("fails_at", range(CASES + 2))
def test_full_disk_keeps_the_records_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """The write with this number stops in the middle of its line."""
    original = os.write
    calls: list[int] = []

    def write(file: int, data: bytes) -> int:
        if len(calls) >= fails_at:
            if len(calls) > fails_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            calls.append(1)
            return original(file, data[: len(data) // 2])
        calls.append(1)
        return original(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(InputError) as caught:
            sweep(tmp_path)
    kept = max(0, fails_at - 2)
    assert str(caught.value) == (
        f"{tmp_path / 'records.jsonl'}: disk full; the {kept} records so far are kept"
    )
    data = (tmp_path / "records.jsonl").read_bytes()
    assert data.count(b"\n") == fails_at
    assert data == b"" or data.endswith(b"\n")
    assert len(sweep(tmp_path).records) == CASES


def test_a_failing_sync_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match="Input/output error; the 0 records so far are kept"):
        sweep(tmp_path)


def test_a_place_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for directory in (file, file / "below"):
        with pytest.raises(InputError, match="cannot be"):
            sweep(directory)
    assert file.read_text() == "mine"

    def refuse(*_: Any) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=r"cannot be written \(Permission denied\)"):
        sweep(tmp_path / "read-only")


def test_a_directory_without_a_sweep_is_told(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="no sweep is stored here"):
            Store.existing(directory)


def test_a_failed_case_is_recorded_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = kinds.runner

    def broken(case: Case) -> Any:
        if case["n"] == 5:
            raise RuntimeError("planted")
        return original(case)

    monkeypatch.setattr("stabbench.sweeps.runner.runner", broken)
    found = sweep(tmp_path)
    failed = [r for r in found.records.values() if r.status == "failed"]
    assert len(failed) == CASES // 2
    assert all(r.reason.startswith("RuntimeError: planted (") for r in failed)
    with pytest.raises(runner.CaseError, match="RuntimeError: planted"):
        sweep(tmp_path / "fast", options=Options(jobs=1, fail_fast=True))
    assert any(r.status == "failed" for r in Store(tmp_path / "fast").records.values())


def test_a_case_that_takes_too_long_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr("stabbench.sweeps.runner.runner", lambda case: lambda _: time.sleep(30))
    found = sweep(tmp_path, n=4, codes="dct", options=Options(jobs=1, timeout=0.05))
    assert {r.status for r in found.records.values()} == {"timeout"}
    assert {r.reason for r in found.records.values()} == {"longer than 0.05 s"}


@pytest.mark.parametrize("bad", [{"jobs": 0}, {"timeout": -1.0}, {"timeout": float("nan")}])
def test_options_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="allowed is"):
        Options(**bad)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
STATISTICS = st.builds(
    Statistic, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.just((0, 2)), st.integers(0, 3)
)


@given(
    st.dictionaries(
        st.text(max_size=5),
        STATISTICS | NUMBERS | st.lists(NUMBERS, max_size=3) | st.integers() | st.just("text"),
        max_size=4,
    ),
    st.text(max_size=20),
)
def test_records_survive_json(measures: dict[str, Any], reason: str) -> None:
    record = Record(Case("stability", {"n": 3}), "ok", reason, measures, "exhaustive", "key")
    text = json.dumps(record.to_json(), allow_nan=False)
    again = Record.from_json(json.loads(text))
    assert repr(again.measures) == repr(record.measures)  # NaN differs from itself
    assert (again.case, again.reason, again.label) == (record.case, reason, "exhaustive")


@given(st.permutations([("n", 6), ("code", "dct"), ("stragglers", 2), ("precision", "float32")]))
def test_ids_depend_on_parameters_and_not_on_their_order(pairs: list[tuple[str, Any]]) -> None:
    one = Case("stability", dict(pairs))
    assert one.id == Case("stability", dict(sorted(pairs))).id
    assert one.id != Case("training", dict(pairs)).id
    assert one.id != Case("stability", dict(pairs) | {"n": 7}).id
    assert one.id != Case("stability", dict(pairs) | {"n": "6"}).id
    assert len(one.id) == 16
