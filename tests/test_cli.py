"""The command line: faults are one line and change nothing; any locale, pipe and home will do."""

import dataclasses
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import stabbench as sb
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.precision import ALLOWED
from stabbench.cli import VERBS
from stabbench.cli.options import described
from stabbench.cli.train import KINDS
from stabbench.files.caches import private_directory, redirect_caches, writable
from stabbench.sweeps.store import Store
from stabbench.training import api
from tests.support import ROOT, child_environment, program, refused, run

SMALL = ("-s", "dct", "-n", "5", "-S", "1", "--data", "gaussian[rows=10,columns=3]", "-j", "1")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("some results")
    assert run("sweep", *SMALL, "-o", directory).status == 0
    return directory


def text(directory: Path) -> bytes:
    return (directory / "records.jsonl").read_bytes()


def with_option(*changes: str) -> list[str]:
    """The small sweep with some options in place of its own."""
    options = dict(zip(SMALL[::2], SMALL[1::2], strict=True))
    options |= dict(zip(changes[::2], changes[1::2], strict=True))
    return [part for pair in options.items() for part in pair]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("-s", "polynomail"), "unknown code 'polynomail'; did you mean polynomial"),
        (("-s", "dct[nodes=leja]"), "dct: unknown parameter 'nodes'; allowed: k"),
        (("-s", "polynomial[nodes=lejja]"), "nodes=lejja; allowed: integers | equispaced"),
        (("-s", "dct[k=0]"), "dct: k=0 data blocks; allowed is k >= 1"),
        (("-s", "dct[k=-1]"), "k=-1 data blocks"),
        (("-s", "dct[k=5]"), "leave 4 replies; the code needs 5"),
        (("-s", "dct[k=two]"), "k=two; allowed: an integer"),
        (("-s", "dct["), "expected a parameter name"),
        (("-s", "gaussian[draws=0]"), "draws=0"),
        (("-s", "matrix"), "'file' is required"),
        (("-s", "missing.py:Code"), "missing.py: cannot be read (No such file or directory)"),
        (("-n", "1"), "n=1 workers, 1 stragglers; allowed are stragglers from 0 to n - 1"),
        (("-n", "5", "-S", "5"), "n=5 workers, 5 stragglers"),
        (("-n", "5", "-S", "7"), "n=5 workers, 7 stragglers"),
        (("-n", "-4"), "n=-4 workers"),
        (("-S", "-1"), "n=5 workers, -1 stragglers; allowed are stragglers from 0 to n - 1"),
        (("-n", "five"), "-n five: allowed are integers, as 10,20 or 8:20:4"),
        (("-n", "4:8:0"), "-n 4:8:0: allowed are integers"),
        (("-n", "9:5"), "-n 9:5: an empty range; allowed are ranges that rise"),
        (("-p", "float8"), "precision 'float8': allowed are"),
        (("-d", "slove"), "unknown decoder 'slove'; did you mean solve"),
        (("-d", "refined[steps=0]"), "steps=0; allowed is 1 .. 100"),
        (("--data", "digit"), "unknown data 'digit'; did you mean digits"),
        (("--data", "gaussian[rows=0]"), "rows=0"),
        (("--data", "none.npy"), "none.npy"),
        (("--patterns", "al"), "unknown patterns 'al'; did you mean all"),
        (("--patterns", "all[survivors=2]"), "survivors=2; allowed is 4 .. 5"),
        (("--problem", "matvek"), "unknown problem 'matvek'; did you mean matvec"),
        (("--vectors", "0"), "vectors=0; allowed is >= 1"),
        (("--vectors", "many"), "'many' is not a valid integer"),
        (("--spare", "keep"), "spare='keep'; allowed: drop, use"),
        (("--trials", "0"), "trials=0; allowed is an integer >= 1"),
        (("--seed", "-1"), "seed=-1; allowed is an integer >= 0"),
        (("--reference", "gmp"), "reference='gmp'; allowed: flint, mpmath"),
        (("-j", "0"), "jobs=0; allowed is an integer >= 1"),
        (("--timeout", "-1"), "timeout=-1.0"),
        (("--timeout", "nan"), "timeout=nan"),
        (("--colour", "red"), "No such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_sweeps_are_refused_and_change_nothing(
    results: Path, tmp_path: Path, changes: tuple[str, ...], words: str
) -> None:
    before = text(results)
    assert words in refused("sweep", *with_option(*changes), "-o", results)
    assert text(results) == before
    assert words in refused("sweep", *with_option(*changes), "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("swep",), "unknown command 'swep'; did you mean sweep"),
        (
            ("train", "gosip"),
            "unknown command train 'gosip'; did you mean gossip? allowed: descent",
        ),
        (("train", "layers"), "codes is missing"),
        (("--colour",), "No such option"),
        (("sweep",), "codes is missing; give at least one"),
        (("sweep", "-s", "dct", "-n", "5"), "stragglers is missing"),
        (("sweep", "smok"), "unknown preset 'smok'; did you mean smoke"),
        (("sweep", "none.toml"), "none.toml: cannot be read"),
        (("sweep", "smoke", "standard"), "unexpected extra argument"),
        (("sweep", "-n"), "requires an argument"),
        (("show",), "Missing argument"),
        (("show", "none", "abc"), "no sweep is stored here"),
        (("gate", "none", "--bounds", "x"), "no such directory"),
        (("report", "none"), "none"),
        (("compare", "none", "none"), "no sweep is stored here"),
        (("list", "cods"), "unknown kind 'cods'; did you mean codes"),
        (("list", "codes", "--group", "msd"), "unknown group 'msd'; did you mean mds"),
        (("list", "decoders", "--group", "mds"), "--group is for codes"),
        (("info", "polynomail"), "unknown name 'polynomail'; did you mean polynomial"),
        (("info", "none.py:X"), "none.py: cannot be read"),
        (("info", "gaussian[sead=1]"), "gaussian: unknown parameter 'sead'; did you mean seed"),
        (("worst", "dct", "-n", "5", "-S", "1", "-j", "0"), "'--threads': 0 is not in the range"),
        (("worst", "dct", "-n", "5", "-S", "1", "--format", "gif"), "plot format 'gif'; allowed"),
        (("explore", "gradient", "-n", "4", "--format", "gif"), "plot format 'gif'; allowed"),
        (("worst", "dct", "-n", "5", "-S", "1", "-p", "foo"), "allowed are exact, bfloat16, "),
        (("check", "gaussian", "-n", "1000000000", "-S", "2"), "check: n=1000000000 workers"),
        (
            ("check", "gaussian", "-n", "300", "-S", "2"),
            "44850 decoding matrices with 4e+09 entries; allowed are 2.7e+08",
        ),
        (("check", "dct", "-n", "5"), "Missing option"),
        (("check", "dct", "-n", "5", "-S", "5"), "stragglers=5 of n=5; allowed is 0 .. n-1"),
        (("check", "dct", "-n", "5", "-S", "1", "--limit", "0"), "limit"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_commands_are_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(*arguments)


def test_show_needs_an_id_that_exists_once(results: Path) -> None:
    assert "no record with id 'zzz'" in refused("show", results, "zzz")
    case_id = next(iter(Store.existing(results).records))
    shown = json.loads(run("show", results, case_id[:6]).out)
    assert shown["id"] == case_id
    assert shown["environment"]["packages"]["numpy"] == np.__version__


@pytest.mark.parametrize("tolerance", ["-1", "nan"])
def test_a_tolerance_is_a_number_of_digits(results: Path, tolerance: str) -> None:
    words = refused("compare", results, results, "--tolerance", tolerance)
    assert words.endswith("allowed are digits >= 0")


@pytest.mark.parametrize("state", ["[]", "{}", '{"extreme": [[]]}', "{"])
def test_a_damaged_state_of_a_scan_is_refused(tmp_path: Path, state: str) -> None:
    (tmp_path / "state.json").write_text(state)
    done = run("worst", "dct", "-n", "5", "-S", "1", "-o", tmp_path)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("stabbench: ")
    assert (tmp_path / "state.json").read_text() == state


def test_one_case_is_one_case(tmp_path: Path) -> None:
    assert run("sweep", *SMALL, "--dry-run").out.endswith("\n1 case\n")
    assert run("sweep", *SMALL, "-o", tmp_path).out.startswith("1 case: 1 ok in ")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"1,2\n3,nan\n", "NaN at row 2, column 2"),
        ("a.csv", b"1,2\n3,-inf\n", "infinity at row 2, column 2"),
        ("a.csv", b"1,2\n3\n", "a.csv"),
        ("a.csv", b"1,2\n3,x\n", "a.csv"),
        ("a.csv", b"", "empty"),
        ("a.npy", b"not numpy", "a.npy"),
        ("a.mtx", b"%%MatrixMarket matrix\n", "a.mtx"),
        ("a.npz", b"PK\x03\x04", "a.npz"),
    ],
)
def test_data_files_with_faults_are_refused(
    results: Path, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    before = text(results)
    assert words in refused("sweep", *with_option("--data", str(path)), "-o", results)
    assert words in refused("sweep", *with_option("-s", f"matrix[file={path}]"), "-o", results)
    assert text(results) == before


def test_data_of_wrong_shape_and_unreadable_data_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    words = refused("sweep", *with_option("--data", f"{tmp_path}/cube.npy"), "--dry-run")
    assert "cube.npy" in words
    np.save(tmp_path / "g.npy", np.ones((3, 2)))
    words = refused("sweep", *with_option("-s", f"matrix[file={tmp_path}/g.npy]"), "--dry-run")
    assert "has 3 rows; n=5 are needed" in words
    (tmp_path / "folder.npy").mkdir()
    words = refused("sweep", *with_option("--data", f"{tmp_path}/folder.npy"), "--dry-run")
    assert "folder.npy" in words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no [[grid]] table"),
        ("x = [", "no TOML"),
        ("grid = 3", "holds no [[grid]] table"),
        ("grid = [3]", "holds no [[grid]] table"),
        ("[[grid]]\ncods = ['dct']\nn = 5\nstragglers = 1", "unknown key 'cods'"),
        ("[[grid]]\nn = 5\nstragglers = 1", "codes is missing"),
        ("[[grid]]\ncodes = 'dct'\nn = 'five'\nstragglers = 1", "n='five'; allowed are integers"),
        ("[[grid]]\ncodes = 'dct'\nn = 5.5\nstragglers = 1", "n=5.5; allowed are integers"),
        ("[[grid]]\ncodes = 5\nn = 5\nstragglers = 1", "codes=5; allowed are texts"),
        ("[[grid]]\ncodes = []\nn = 5\nstragglers = 1", "codes is missing"),
        ("[[grid]]\ncodes = 'dct'\nn = 5\nstragglers = 1\ntrials = [1]", "trials=[1]"),
    ],
)
def test_grid_files_with_faults_are_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(content)
    assert words in refused("sweep", path, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_outputs_that_cannot_be_written_are_refused(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert str(file) in refused("sweep", *SMALL, "-o", file)
    assert str(file) in refused("sweep", *SMALL, "-o", file / "below")
    assert str(file) in refused("report", results, "-o", file / "below")
    assert str(file) in refused("gate", results, "--write-baseline", file / "below" / "x.jsonl")
    assert file.read_text() == "mine"


def test_records_of_another_sweep_are_refused(results: Path) -> None:
    before = text(results)
    words = refused("sweep", *with_option("-n", "6"), "-o", results)
    assert "holds another sweep, with grid 1 n = [5], not [6]" in words
    assert "give another directory with -o, or move these records aside with --aside" in words
    assert text(results) == before


def test_records_of_another_sweep_move_aside_when_asked(tmp_path: Path) -> None:
    assert run("sweep", *SMALL, "-o", tmp_path).status == 0
    first = text(tmp_path)
    # of the same sweep nothing moves
    assert run("sweep", *SMALL, "-o", tmp_path, "--aside").status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]
    for number, n in ((1, "6"), (2, "7")):
        done = run("sweep", *with_option("-n", n), "-o", tmp_path, "--aside")
        assert done.status == 0
        assert f"records of another sweep are now {tmp_path}/records-{number}.jsonl" in done.err
    assert (tmp_path / "records-1.jsonl").read_bytes() == first
    assert b'"n": [6]' in (tmp_path / "records-2.jsonl").read_bytes()
    assert b'"n": [7]' in text(tmp_path)


@pytest.mark.parametrize("group", [(), ("train",)])
def test_a_command_that_is_missing_shows_the_help(group: tuple[str, ...]) -> None:
    done = run(*group)
    assert (done.status, done.out) == (2, "")
    assert done.err == run(*group, "--help").out


@pytest.mark.parametrize("kind", KINDS)
def test_every_option_of_training_is_explained(kind: str) -> None:
    command = api.kind_of(kind)
    texts = described(cast(type, command.request))
    assert set(texts) == set(command.keys)
    for key, text in texts.items():
        assert text[0].isupper(), key
        assert text.endswith("."), key
        assert list(texts.values()).count(text) == 1, key
    shown = " ".join(run("train", kind, "--help").out.split())
    for key, default in dataclasses.asdict(command.request("x")).items():
        assert key == command.key or f"[default: {default}]" in shown
        assert texts[key][:40].rpartition(" ")[0] in shown


def test_data_of_training_may_lie_at_a_path_with_commas(tmp_path: Path) -> None:
    features = np.random.default_rng(0).standard_normal((60, 4))
    for name in ("a,b.npz", "c.npz"):
        np.savez(tmp_path / name, X=features, y=np.arange(60) % 3)
    data = [part for name in ("a,b.npz", "c.npz") for part in ("--data", tmp_path / name)]
    done = run("train", "descent", "-s", "uncoded", "-n", 4, *data, "--dry-run")
    assert done.status == 0
    assert f"data={tmp_path}/a,b.npz" in done.out
    assert done.out.endswith("2 cases\n")


@pytest.mark.parametrize("source", ["stability", "precision", "ratios", "claims"])
def test_lines_of_a_run_tell_its_cases_apart(source: str) -> None:
    lines = [
        line.split(maxsplit=1)[1]
        for line in run("train", "gossip", source, "--dry-run").out.splitlines()[:-1]
    ]
    assert len(lines) == len(set(lines)) > 8


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_every_verb_has_help(verb: str) -> None:
    done = run(*([verb] if verb else []), "--help")
    assert done.status == 0
    assert done.err == ""
    assert done.out.startswith("Usage: stabbench")
    assert max(map(len, done.out.splitlines())) <= 100
    assert run(*([verb] if verb else []), "-h") == done


def test_version_is_the_packages() -> None:
    from stabbench import __version__

    assert run("--version").out == f"{__version__}\n"


def test_dry_run_lists_the_cases_and_writes_nothing(tmp_path: Path) -> None:
    options = with_option("-s", "polynomial[nodes=[integers,leja]]", "-n", "5,6", "-p", "float32")
    done = run("sweep", *options, "--dry-run", "-o", tmp_path / "out")
    lines = done.out.splitlines()
    assert lines[-1] == "4 cases"
    assert len({line.split()[0] for line in lines[:-1]}) == 4
    assert all(len(line.split()[0]) == 16 for line in lines[:-1])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("preset", ["smoke", "standard", "paper"])
def test_presets_can_be_planned(preset: str) -> None:
    done = run("sweep", preset, "--dry-run")
    assert done.status == 0
    assert int(done.out.splitlines()[-1].split()[0]) == len(done.out.splitlines()) - 1 > 10


def test_every_name_that_is_listed_can_be_explained() -> None:
    for kind in ("codes", "decoders", "problems", "data", "precisions"):
        for line in run("list", kind).out.splitlines():
            name = line.split()[0]
            done = run("info", name)
            assert done.status == 0, name
            assert done.out.splitlines()[0].split()[0] == name
            assert "parameters" in done.out or kind == "precisions"
    for kind in ("patterns", "presets"):
        assert run("list", kind).out


def test_a_name_of_two_things_explains_both() -> None:
    code, data = run("info", "gaussian").out.split("\n\ngaussian (data)\n")
    assert code.startswith("gaussian (code, also mds)\n")
    assert "names the random draw" in code
    assert "number of rows of the data matrix" in data
    assert run("info", "lu").out.startswith("solve (decoder, also lu)\n")


def test_problems_are_explained_with_the_parameters_of_the_grammar() -> None:
    assert run("info", "matvec").out.endswith("parameters: none\n")
    explained = run("info", "evaluate").out
    assert "  function = gram  (gram | power)  what f is" in explained
    assert not [word for word in ("data =", "partitions =") if word in explained]


def test_groups_filter_codes() -> None:
    mds = {line.split()[0] for line in run("list", "codes", "--group", "mds").out.splitlines()}
    both = {
        line.split()[0] for line in run("list", "codes", "--group", "mds,random").out.splitlines()
    }
    assert {"gaussian", "haar"} <= both < mds
    assert "replication" not in mds


def test_longdouble_is_called_what_it_is(tmp_path: Path) -> None:
    one, bits = np.longdouble(1), 0
    while one + np.ldexp(one, -bits) > one:
        bits += 1
    np.save(tmp_path / "wide.npy", np.full((6, 4), one + np.ldexp(one, 1 - bits)))
    found = [run("list", "precisions"), run("doctor")]
    record = sb.evaluate("dct", n=4, stragglers=1, data=str(tmp_path / "wide.npy"))
    with pytest.raises(TypeError) as fault:
        checked(np.ones(1, np.longdouble), np.dtype(np.clongdouble))
    texts = [*(done.out for done in found), " ".join(record.notes), str(fault.value)]
    assert not any(re.search("float128|complex256|float96|float80", text) for text in texts)
    if "longdouble" not in ALLOWED:
        assert f"its significand has {bits} bits" in texts[1]
        return
    texts.append(run("info", "longdouble").out)
    words = "longdouble (" + {64: "x87 extended, 64", 113: "IEEE quadruple, 113"}.get(bits, "")
    assert all(words in text for text in texts)
    for text in (texts[0], texts[1], texts[-1]):
        assert f"stored with {bits} bits of significand (u = 2^-{bits})" in text


def test_doctor_finds_no_fault_here() -> None:
    done = run("doctor")
    assert done.status == 0
    assert "FAIL" not in done.out
    assert "computes float32 in float32" in done.out


def test_paths_with_spaces_and_letters_of_any_alphabet(tmp_path: Path) -> None:
    folder = tmp_path / "with spaces, [brackets] and été"
    folder.mkdir()
    np.savetxt(folder / "my data.csv", np.random.default_rng(0).standard_normal((10, 3)))
    output = folder / "out put"
    data = str(folder / "my data.csv")
    done = run("sweep", *with_option("--data", data), "-o", output)
    assert done.status == 0, done.err
    assert str(output) in done.out
    record = next(iter(Store.existing(output).records.values()))
    assert record.case["data"] == data
    assert run("show", output, record.case.id).status == 0
    code = f"matrix[file='{folder / 'g.npy'}']"
    np.save(folder / "g.npy", np.random.default_rng(1).standard_normal((5, 4)))
    done = run("sweep", *with_option("-s", code), "-o", folder / "matrix")
    assert done.status == 0, done.err


def child(*arguments: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        program(*arguments),
        env=child_environment(**environment),
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=120,
        check=False,
    )


def test_an_ascii_locale_prints_everything(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    output = tmp_path / "été"
    done = child("sweep", *SMALL, "-o", output, **ascii_only)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() or str(output) in done.stdout
    for arguments in (("info", "polynomial"), ("report", output)):
        again = child(*arguments, **ascii_only)
        assert again.returncode == 0, again.stderr
        assert "Traceback" not in again.stderr
    wrong = child("info", "été", **ascii_only)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
    assert wrong.stderr.startswith("stabbench: unknown name ")


@pytest.mark.parametrize("arguments", [("list", "codes"), ("info", "polynomial"), ("--help",)])
def test_a_closed_pipe_is_no_traceback(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        program(*arguments),
        env=child_environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode in (1, 141)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_is_one_line_and_keeps_the_records(tmp_path: Path, jobs: int) -> None:
    options = with_option("-s", "gaussian[draws=400]", "-j", str(jobs))
    with subprocess.Popen(
        program("sweep", *options, "-o", tmp_path),
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    lines = [line for line in [first, *err.splitlines()] if not line.startswith("[")]
    assert lines == ["stabbench: interrupted; the same command goes on where it stopped"]
    announced = 1 + sum(line.startswith("[") for line in err.splitlines())
    store = Store.existing(tmp_path)
    assert announced <= len(store.records) < 400
    assert not store.torn


def test_read_only_home_and_caches_still_work(tmp_path: Path) -> None:
    """Every place that numba would use is below a regular file, which root cannot write either."""
    package = tmp_path / "site" / "stabbench"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "stabbench", package, ignore=ignored)
    for folder in [package, *(p for p in package.rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("")
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    places = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR")
    changes = {name: str(blocked / name.lower()) for name in places}
    (tmp_path / "tmp").mkdir()
    changes |= {"PYTHONPATH": str(package.parent), "TMPDIR": str(tmp_path / "tmp")}
    done = child("sweep", *SMALL, "-o", tmp_path / "out", **changes)
    assert done.returncode == 0, done.stderr
    report = child("report", tmp_path / "out", "--format", "png", **changes)
    assert report.returncode == 0, report.stderr
    assert report.stderr == ""
    assert (tmp_path / "out" / "report" / "index.html").is_file()


def test_caches_stay_where_they_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    redirect_caches()
    assert "NUMBA_CACHE_DIR" not in os.environ
    assert "MPLCONFIGDIR" not in os.environ
    assert list(tmp_path.iterdir()) == []


def test_the_private_directory_is_shared_with_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = private_directory()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_directory() == folder
    folder.chmod(0o777)
    other = private_directory()
    assert other != folder
    assert other.stat().st_mode & 0o777 == 0o700
    folder.rmdir()
    folder.symlink_to(other)
    assert private_directory() not in (folder, other)


def test_writable_tells_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert writable(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    assert not writable(file)
    assert not writable(file / "below")

    def read_only(path: Path, mode: int) -> bool:
        assert mode == os.W_OK | os.X_OK
        return False

    monkeypatch.setattr(os, "access", read_only)
    assert not writable(tmp_path)


def test_a_full_disk_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    words = refused("sweep", *SMALL, "-o", tmp_path)
    assert words.endswith("disk full; the 0 records so far are kept")


def test_fail_fast_stops_at_the_first_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: Any) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr("stabbench.sweeps.runner.runner", broken)
    done = run("sweep", *with_option("-n", "4,5,6"), "--fail-fast", "-o", tmp_path / "fast")
    assert done.status == 2
    assert done.err.count("failed (RuntimeError: planted") == 1
    assert done.err.endswith("stopped by --fail-fast\n")
    assert len(Store(tmp_path / "fast").records) == 1
    done = run("sweep", *with_option("-n", "4,5,6"), "-o", tmp_path / "on")
    assert done.status == 1
    assert "3 cases: 3 failed" in done.out
    assert len(Store(tmp_path / "on").records) == 3
