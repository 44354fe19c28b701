"""The names that other tools call, and what they promise."""

import inspect
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.errors import InputError
from stabbench.sweeps.runner import Options
from tests.support import child_environment

DATA = "gaussian[rows=24,columns=6]"


def test_public_names() -> None:
    names = {"code", "condition_numbers", "evaluate", "sweep", "gate", "Code", "LinearCode"}
    assert names | {"Decoder", "InputError"} <= set(sb.__all__)
    for name in sb.__all__:
        assert inspect.getdoc(getattr(sb, name)), name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sb.nothing


def test_signatures_are_the_stable_ones() -> None:
    assert list(inspect.signature(sb.code).parameters) == ["text", "n", "stragglers"]
    numbers = inspect.signature(sb.condition_numbers).parameters
    assert list(numbers)[:3] == ["code", "patterns", "precision"]
    assert (numbers["patterns"].default, numbers["precision"].default) == ("all", "float64")
    defaults = {
        "precision": "float32",
        "decoder": "auto",
        "problem": "auto",
        "data": "gaussian",
        "patterns": "all",
        "trials": 1,
        "seed": 0,
    }
    found = inspect.signature(sb.evaluate).parameters
    assert {key: found[key].default for key in defaults} == defaults


def test_import_is_light() -> None:
    """Nothing heavy is loaded before it is used."""
    script = (
        "import sys, stabbench, stabbench.cli\n"
        "heavy = {'numpy', 'scipy', 'numba', 'flint', 'matplotlib', 'sklearn', 'mpmath'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_condition_numbers_have_the_named_results() -> None:
    c = sb.code("polynomial[nodes=equispaced]", n=8, stragglers=2)
    found = sb.condition_numbers(c, patterns="all", precision="float64")
    assert found.worst == pytest.approx(382.798, rel=1e-5)
    assert found.mean == pytest.approx(148.344, rel=1e-5)
    assert found.median <= found.worst
    assert len(found.worst_survivors) == 6
    assert found.label == "exhaustive"
    ideal = sb.condition_numbers(c, precision="exact")
    assert ideal.worst == pytest.approx(found.worst, rel=1e-10)
    sample = sb.condition_numbers(c, patterns="random:5")
    assert sample.label == "search (lower bound)"
    assert sample.worst <= found.worst


def test_condition_numbers_of_given_patterns() -> None:
    c = sb.code("dct", n=5, stragglers=2)
    one = sb.condition_numbers(c, patterns=np.array([[1, 1, 0, 1, 0]]))
    assert one.worst_survivors == (0, 1, 3)
    assert one.worst_stragglers == (2, 4)
    assert one.worst == one.mean == one.median
    with pytest.raises(InputError, match="allowed are rows of n=5"):
        sb.condition_numbers(c, patterns=np.ones((1, 4)))
    with pytest.raises(InputError, match="precision 'float8'"):
        sb.condition_numbers(c, precision="float8")


def test_undecodable_patterns_are_infinite(tmp_path: Path) -> None:
    np.save(tmp_path / "g.npy", np.array([[1.0, 0], [0, 1], [1, 1], [2, 2]]))
    c = sb.code(f"matrix[file={tmp_path / 'g.npy'}]", n=4, stragglers=2)
    found = sb.condition_numbers(c)
    assert math.isinf(found.worst)
    assert found.worst_survivors == (2, 3)
    record = sb.evaluate(c, data=DATA)
    assert record.status == "ok"
    assert record.undecodable == pytest.approx(1 / 6)
    assert record.reason == "1 of 6 patterns undecodable, first survivors [2, 3]"
    assert math.isfinite(record.relative_error.worst)
    only = sb.evaluate(c, data=DATA, patterns="first")
    assert only.status == "undecodable"
    assert only.reason == "no survivor set decodes"


def test_evaluate_gives_a_record() -> None:
    c = sb.code("gaussian", n=7, stragglers=2)
    record = sb.evaluate(
        c, precision="float32", decoder="solve", problem="matvec", data=DATA, trials=2, seed=3
    )
    error = record.relative_error
    assert 0 < error.median <= error.q95 <= error.q99 <= error.worst < 1e-3
    assert len(error.worst_survivors) == 5
    assert error.worst_trial in (0, 1)
    assert record.label == "exhaustive"
    assert record.patterns == 21
    with pytest.raises(AttributeError, match="record has no measure 'speed'; it has"):
        _ = record.speed


def test_seconds_of_the_stages_are_within_those_of_the_call() -> None:
    begin = time.process_time()
    record = sb.evaluate("gaussian", n=8, stragglers=2, trials=2)
    whole = time.process_time() - begin
    seconds = dict(record.measures["seconds"])
    batch = seconds.pop("batch")
    assert 1 <= batch <= math.comb(8, 2)
    parts = {f"{what}_{how}" for what in ("plan", "decode") for how in ("single", "batch")}
    assert set(seconds) == {"encode", "compute"} | parts
    spent = 0.0
    for stage, taken in seconds.items():
        assert 0 < taken["low"] <= taken["median"] <= taken["high"]
        spent += taken["low"] * taken["repeats"] * (batch if "batch" in stage else 1)
    assert spent <= whole


def test_names_and_codes_are_the_same_case() -> None:
    c = sb.code("mds[seed=2]", n=6, stragglers=2)
    one = sb.evaluate(c, data=DATA)
    two = sb.evaluate("gaussian[seed=2]", n=6, stragglers=2, data=DATA)
    assert one.case.id == two.case.id
    assert one.relative_error == two.relative_error


def test_results_repeat_and_seeds_matter() -> None:
    def worst(**choices: Any) -> float:
        record = sb.evaluate("dct", n=6, stragglers=2, data=DATA, **choices)
        return float(record.relative_error.worst)

    assert worst() == worst()
    assert worst(seed=1) != worst(seed=2)
    assert worst(trials=3) == max(worst(seed=t) for t in range(3))


def test_both_references_give_the_same_errors() -> None:
    for precision in ("float64", "bfloat16"):
        choices: dict[str, Any] = {"data": DATA, "precision": precision}
        one = sb.evaluate("dct", n=6, stragglers=2, reference="flint", **choices)
        two = sb.evaluate("dct", n=6, stragglers=2, reference="mpmath", **choices)
        assert one.relative_error == two.relative_error
        assert one.case.id != two.case.id


def test_data_do_not_depend_on_code_precision_or_decoder() -> None:
    """All codes meet the same numbers: with exact decoding of copies only rounding is left."""
    errors = {
        name: sb.evaluate(name, n=6, stragglers=2, data=DATA, precision="float64")
        for name in ("replication", "uncoded-cyclic")
    }
    assert errors["replication"].relative_error == errors["uncoded-cyclic"].relative_error


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float16", "float32/float64"])
def test_more_bits_give_more_digits(name: str) -> None:
    record = sb.evaluate("dct", n=6, stragglers=1, data=DATA, precision=name)
    digits = {"float64": 16.0, "float32": 7.2, "bfloat16": 2.4, "float16": 3.3}[
        name.split("/", maxsplit=1)[0]
    ]
    assert digits - 1.5 < record.digits["median"] < digits + 0.8


def test_longdouble_runs_where_no_lapack_is_needed() -> None:
    from stabbench.arithmetic.precision import ALLOWED

    if "longdouble" not in ALLOWED:
        with pytest.raises(InputError):
            sb.evaluate("dct", n=6, stragglers=1, data=DATA, precision="longdouble")
        return
    for decoder in ("exact-weights", "bjorck-pereyra"):
        record = sb.evaluate(
            "polynomial", n=6, stragglers=1, data=DATA, precision="longdouble", decoder=decoder
        )
        assert record.digits["median"] > 17
    record = sb.evaluate("polynomial", n=6, stragglers=1, data=DATA, precision="longdouble")
    assert record.status == "skipped"
    assert "LAPACK" in record.reason


def test_zero_results_are_measured_absolutely(tmp_path: Path) -> None:
    np.save(tmp_path / "zero.npy", np.zeros((12, 3)))
    record = sb.evaluate("dct", n=5, stragglers=2, data=str(tmp_path / "zero.npy"))
    assert record.status == "ok"
    assert record.relative_error.worst == 0.0
    assert any("errors are absolute" in note for note in record.notes)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"precision": "float8"}, "precision 'float8'"),
        ({"decoder": "slove"}, "did you mean solve"),
        ({"problem": "matvek"}, "did you mean matvec"),
        ({"data": "digit"}, "did you mean digits"),
        ({"patterns": "al"}, "did you mean all"),
        ({"trials": 0}, "trials=0"),
        ({"seed": -1}, "seed=-1"),
        ({"spare": "keep"}, "spare='keep'"),
        ({"reference": "gmp"}, "reference='gmp'"),
        ({"vectors": 0}, "vectors=0"),
        ({"n": 2}, "stragglers=2 of n=2"),
    ],
)
def test_wrong_arguments_are_input_errors(choices: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"n": 6, "stragglers": 2, "data": DATA} | choices
    with pytest.raises(InputError, match=words):
        sb.evaluate("dct", **arguments)
    assert issubclass(InputError, ValueError)


def test_sweep_is_a_function(tmp_path: Path) -> None:
    seen: list[str] = []
    store = sb.sweep(
        None,
        tmp_path,
        codes=["dct", "polynomial"],
        n=6,
        stragglers=[1, 2],
        decoder=["solve", "bjorck-pereyra"],
        data=DATA,
        options=Options(jobs=1),
        progress=lambda record: seen.append(record.case.id),
    )
    assert sorted(seen) == sorted(store.records)
    statuses = [record.status for record in store.records.values()]
    assert statuses.count("ok") == 6
    assert statuses.count("skipped") == 2
    with pytest.raises(InputError, match="unknown key 'coeds'; did you mean codes"):
        sb.sweep(None, tmp_path / "x", coeds="dct", n=4, stragglers=1)


def test_combinations_that_a_code_refuses_are_skipped_with_the_reason(tmp_path: Path) -> None:
    store = sb.sweep(
        None, tmp_path, codes="uncoded-cyclic", n=[6, 7], stragglers=2, data=DATA,
        options=Options(jobs=1),
    )  # fmt: skip
    by_n = {record.case["n"]: record for record in store.records.values()}
    assert by_n[6].status == "ok"
    assert by_n[7].status == "skipped"
    assert "allowed are multiples of stragglers + 1" in by_n[7].reason
    with pytest.raises(InputError, match="multiples of stragglers"):
        sb.sweep(None, tmp_path / "x", codes="uncoded-cyclic", n=7, stragglers=2)


def test_without_names_a_code_gets_its_usual_problem_and_decoder() -> None:
    for text, problem, decoder in (
        ("gaussian", "matvec", "solve"),
        ("shift-add", "matvec", "zigzag[order=both-ends,buffer=working]"),
        ("matdot[p=2]", "matmul", "solve"),
        ("cyclic-mds", "gradient", "weights"),
        ("expander", "gradient", "closed-form"),
    ):
        record = sb.evaluate(text, n=6, stragglers=2, data="gaussian[rows=24,columns=8]")
        assert record.status == "ok", record.reason
        assert record.case["problem"] == problem
        assert record.case["decoder"].startswith(decoder)
