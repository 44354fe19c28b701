"""What is lost stays in the numbers: sets that do not decode, and numbers beyond a format."""

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis import metrics
from stabbench.cli.runs import _result
from stabbench.codes.registry import CODES, code
from stabbench.errors import InputError
from stabbench.gating import gate, write_baseline
from stabbench.report import tables
from stabbench.report.plots.distribution import distribution
from stabbench.report.plots.draws import spread
from stabbench.report.plots.heatmap import heatmap
from stabbench.report.stability import facts
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.compare import compare
from stabbench.sweeps.runner import compute
from stabbench.sweeps.stability import Request
from stabbench.sweeps.store import Store
from stabbench.training.gossip.cases import Request as GossipRequest
from stabbench.training.layers.network import examples
from tests.support import Array, run

LOSING = "lt[k=5]"
SIZES = ((6, 2), (8, 3), (9, 2), (7, 1), (4, 0))
FILES = ("matrix", "gradient-matrix")


def errors_of_all(record: Record) -> Any:
    return record.measures["relative_error_of_all"]


@pytest.fixture(scope="module")
def losing() -> Record:
    return sb.evaluate(LOSING, n=10, stragglers=4, decoder="lstsq")


# --- sets that do not decode


@given(
    st.lists(st.lists(st.floats(1e-9, 1.0), min_size=7, max_size=7), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=7, max_size=7),
)
def test_errors_of_all_count_every_pattern(errors: list[list[float]], decodes: list[bool]) -> None:
    decodable, patterns = np.array(decodes), 1 - np.eye(7, dtype=int)
    found = metrics.of_all({}, np.array(errors)[:, decodable], patterns, decodable)
    every = sorted(
        e if ok else math.inf for row in errors for e, ok in zip(row, decodes, strict=True)
    )
    error = found["relative_error_of_all"]
    for level, value in ((0.5, error.median), (0.95, error.q95), (0.99, error.q99)):
        assert value == every[math.ceil(level * len(every) - 1e-9) - 1]
    assert error.worst == every[-1]
    if not all(decodes):
        assert error.worst_survivors == tuple(np.flatnonzero(patterns[decodes.index(False)]))
    assert found["digits"]["worst_of_all"] == -np.log10(every[-1])
    assert found["digits"]["median_of_all"] == -np.log10(error.median)


def test_a_code_that_loses_sets_says_so_in_every_summary(losing: Record) -> None:
    assert losing.undecodable == 44 / 210
    assert losing.digits["worst"] > 6
    assert losing.digits["worst_of_all"] == -math.inf
    assert losing.digits["median"] > losing.digits["median_of_all"] > 6
    error = errors_of_all(losing)
    assert (error.q95, error.worst, error.mean) == (math.inf,) * 3
    kept = code(LOSING, 10, 4).generator.rounded("float64")[list(error.worst_survivors)]  # type: ignore[attr-defined]
    assert np.linalg.matrix_rank(kept) < 5
    assert losing.relative_error.worst < 1e-6
    assert "(44 of 210 patterns undecodable, first survivors [0, 1, 2, 3, 4, 8])" in _result(
        losing, ()
    )
    assert "6.4 digits where decodable, 21.0% not" in _result(losing, ())


def test_where_all_sets_decode_both_populations_are_one() -> None:
    record = sb.evaluate("dct", n=6, stragglers=2, patterns="all")
    assert errors_of_all(record) == record.relative_error
    assert record.digits["worst_of_all"] == record.digits["worst"]
    assert record.digits["median_of_all"] == record.digits["median"]


def test_a_case_without_any_set_that_decodes_has_its_infinite_errors() -> None:
    record = sb.evaluate("lt[k=5,seed=3]", n=6, stragglers=1, decoder="peeling", patterns="first")
    assert record.status == "undecodable"
    assert record.digits == {"median_of_all": -math.inf, "worst_of_all": -math.inf}
    assert errors_of_all(record).worst == math.inf
    assert Record.from_json(record.to_json()).digits == record.digits


def sweep(directory: Path, *codes: str, **others: Any) -> Path:
    settings: dict[str, Any] = {"n": 10, "stragglers": 4, "precision": "float32"} | others
    sb.sweep(None, directory, codes=list(codes), **settings)
    return directory


def bounds(path: Path, measure: str, limit: str) -> Path:
    path.write_text(f'[[bound]]\nname = "b"\nmeasure = "{measure}"\n{limit}\nsource = "test"\n')
    return path


def test_bounds_name_the_population(tmp_path: Path) -> None:
    results = sweep(tmp_path / "r", LOSING, "dct")
    for measure, limit, status in (
        ("digits.worst", "at_least = 3.0", 0),
        ("digits.worst_of_all", "at_least = 3.0", 1),
        ("digits.median_of_all", "at_least = 3.0", 0),
        ("relative_error_of_all.q95", "at_most = 1e-3", 1),
        ("relative_error.q95", "at_most = 1e-3", 0),
    ):
        verdict = gate(results, bounds=bounds(tmp_path / "b.toml", measure, limit))
        assert verdict.exit_code == status, measure
        worse = [f.text for f in verdict.findings if f.level == "worse"]
        assert all("lt[" in text and "survivors [0, 1, 2, 3, 4, 8]" in text for text in worse)


def with_share(record: Record, share: float) -> Record:
    return dataclasses.replace(record, measures={**record.measures, "undecodable": share})


def test_more_lost_sets_are_worse_whatever_the_digits(tmp_path: Path, losing: Record) -> None:
    better = with_share(losing, 0.1)
    assert [p.change for p in compare([better], [losing])] == ["worse"]
    assert [p.change for p in compare([losing], [better])] == ["better"]
    assert [p.change for p in compare([losing], [losing])] == ["same"]
    results = sweep(tmp_path / "r", LOSING)
    file = write_baseline(results, tmp_path / "base" / "b.jsonl")
    assert gate(results, baseline=file.parent).exit_code == 0
    line = json.loads(file.read_text())
    assert line["measures"]["undecodable"] == 44 / 210
    line["measures"]["undecodable"] = 0.1
    file.write_text(json.dumps(line) + "\n")
    verdict = gate(results, baseline=file.parent)
    assert verdict.exit_code == 1
    assert "21.0% of the survivor sets do not decode, baseline 10.0%" in verdict.findings[0].text
    other = sweep(tmp_path / "s", LOSING)
    path = other / "records.jsonl"
    path.write_text(re.sub(r'("undecodable": ?)0\.2\d*', r"\g<1>0.1", path.read_text()))
    done = run("compare", other, results)
    assert done.out.startswith("worse")
    assert "do not decode: 10.0%, now 21.0%" in done.out


def test_tables_and_cards_say_which_sets_a_number_is_of(losing: Record) -> None:
    whole = sb.evaluate("dct", n=10, stragglers=4)
    nothing = dataclasses.replace(whole, status="undecodable", measures={"undecodable": 1.0})
    parameters = {**whole.case.parameters, "code": "haar"}
    nothing = dataclasses.replace(nothing, case=Case("stability", parameters))
    plain = tables.summary([whole])
    assert "digits_worst_of_all" not in [c.key for c in plain.columns]
    table = tables.summary([whole, losing, nothing])
    assert table.values("digits_worst_of_all") == [whole.digits["worst"], -math.inf, -math.inf]
    assert table.values("digits_worst")[1:] == [losing.digits["worst"], None]
    assert "over the survivor sets that decode" in table.notes[0]
    assert "worst of all: over all survivor sets" in table.notes[1]
    ranked = next(tables.advice([nothing, losing, whole]))
    assert ranked.values("code") == ["dct", "lt[k=5]", "haar"]
    assert ranked.values("digits_worst")[2] == -math.inf
    (card,) = facts([whole, losing])
    assert card.details[-1] == "of sets that decode: not all do of lt[k=5] (21 % lost)"
    assert len(next(iter(facts([whole]))).details) == 2


def test_plots_keep_the_sets_that_do_not_decode(losing: Record) -> None:
    whole = sb.evaluate("dct", n=10, stragglers=4, decoder=losing.case["decoder"])
    (plot,) = distribution([whole, losing])
    rows = [r for r in plot.data.records() if r["code"].startswith("lt")]
    assert [r["share"] for r in rows][-2:] == [1 - losing.undecodable, 1.0]
    assert [r["error"] for r in rows][-2:] == [losing.relative_error.worst, math.inf]
    assert all(r["share"] <= 1 - losing.undecodable for r in rows[:-1])
    (plot,) = heatmap([whole, losing])
    texts = {t.get_text() for axes in plot.draw(plot.data).axes for t in axes.texts}
    assert f"{losing.digits['worst']:.1f}*" in texts
    assert f"{whole.digits['worst']:.1f}" in texts


def test_draws_that_decode_nothing_are_draws() -> None:
    found = [
        sb.evaluate(f"lt[k=5,seed={seed}]", n=6, stragglers=1, decoder="peeling", patterns="first")
        for seed in range(4)
    ]
    assert {"ok", "undecodable"} == {r.status for r in found}
    (table,) = tables.draws(found)
    assert table.values("draws") == [4]
    assert table.values("digits_min") == [-math.inf]
    (plot,) = spread(found)
    assert min(plot.data.values("digits")) == -math.inf
    plot.draw(plot.data)


# --- numbers beyond a format


@pytest.fixture(scope="module")
def beyond(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    values = np.clip(np.random.default_rng(0).standard_normal((24, 6)), -3, 3)
    for name, scale in {"e6": 1e6, "e30": 1e30, "e300": 1e300, "e306": 5e306, "e4": 2e4}.items():
        np.save(folder / f"{name}.npy", values * scale)
        np.savez(folder / f"{name}.npz", X=values * scale, y=np.arange(24) % 3)
    return folder


def built(name: str) -> Any:
    for n, s in SIZES:
        try:
            return code(name, n, s)
        except InputError:
            continue
    raise AssertionError(f"{name}: no size fits")


def measured(name: str, data: Path, precision: str, **others: Any) -> Record:
    chosen = built(name)
    request = Request(
        name, chosen.n, chosen.stragglers, precision=precision, data=str(data), **others
    )
    return compute(request.case())


@pytest.mark.parametrize("name", sorted(set(CODES.members) - set(FILES)))
def test_data_beyond_a_format_are_an_infinite_error(name: str, beyond: Path) -> None:
    for precision, file in (("float16", "e6.npy"), ("float32", "e300.npy")):
        record = measured(name, beyond / file, precision)
        if record.status == "undecodable":
            continue
        assert record.status == "overflow", record.reason
        assert f"an operand overflows {precision} (largest number " in record.reason
        assert record.relative_error.median == errors_of_all(record).worst == math.inf
        assert record.digits["worst"] == record.digits["worst_of_all"] == -math.inf


@pytest.mark.parametrize(
    ("name", "file", "precision", "problem", "reason"),
    [
        ("polynomial[nodes=integers]", "e4.npy", "float16", "matvec", "a share overflows float16"),
        ("haar", "e4.npy", "float16", "matvec", "a reply overflows float16"),
        (
            "polynomial[nodes=integers]",
            "e306.npy",
            "float64",
            "matvec",
            "a share overflows float64",
        ),
        ("lagrange", "e30.npy", "float32", "evaluate", "a reply overflows float32"),
        ("lagrange", "e300.npy", "float64", "evaluate", "the exact result overflows float64"),
        ("cyclic-mds", "e300.npz", "bfloat16", "gradient", "an operand overflows bfloat16"),
    ],
)
def test_the_reason_is_the_first_number_beyond(
    name: str, file: str, precision: str, problem: str, reason: str, beyond: Path
) -> None:
    record = measured(name, beyond / file, precision, problem=problem)
    assert record.status == "overflow"
    assert reason in record.reason
    assert record.digits["worst"] == -math.inf


def test_coefficients_beyond_a_format_are_an_infinite_error_too() -> None:
    record = sb.evaluate("polynomial[nodes=integers]", n=20, stragglers=2, precision="float16")
    assert (record.status, "overflows float16" in record.reason) == ("overflow", True)
    assert set(record.digits.values()) == {-math.inf}
    assert errors_of_all(record).worst == record.relative_error.median == math.inf


def test_gate_and_report_take_an_overflow_as_measured(beyond: Path, tmp_path: Path) -> None:
    results = tmp_path / "r"
    settings = {"n": 6, "stragglers": 2, "precision": ["float16", "float64"]}
    sb.sweep(None, results, codes=["dct", "haar"], data=str(beyond / "e6.npy"), **settings)  # type: ignore[arg-type]
    records = list(Store.existing(results).records.values())
    assert sorted(r.status for r in records) == ["ok", "ok", "overflow", "overflow"]
    for measure, limit in (
        ("digits.worst", "at_least = 1.0"),
        ("relative_error.worst", "at_most = 1.0"),
        ("test_ratio.worst", "at_most = 10.0"),
    ):
        verdict = gate(results, bounds=bounds(tmp_path / "b.toml", measure, limit))
        assert verdict.exit_code == 1
        assert [f.level for f in verdict.findings] == ["worse", "worse"]
    file = write_baseline(results, tmp_path / "base" / "b.jsonl")
    assert gate(results, baseline=file.parent).exit_code == 0
    assert tables.summary(records).values("digits_worst").count(-math.inf) == 2
    assert {card.value for card in facts(records)} > {"overflow"}


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_no_number_in_a_file_stays_wrong_input(tmp_path: Path, value: float) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.0, value], [2.0, 3.0]]))
    with pytest.raises(InputError, match="row 1, column 2"):
        sb.evaluate("dct", n=4, stragglers=1, precision="float16", data=str(tmp_path / "x.npy"))


@pytest.mark.parametrize("power", [-600, 600])
def test_relative_noise_is_that_of_data_of_any_size(tmp_path: Path, power: int) -> None:
    values: Array = np.random.default_rng(2).standard_normal((12, 3))
    found = []
    for scale in (0, power):
        np.save(tmp_path / "x.npy", np.ldexp(values, scale))
        path = str(tmp_path / "x.npy")
        found.append(
            sb.evaluate(
                "dct", n=5, stragglers=1, precision="float64", data=path, noise="relative:40"
            )
        )
    assert found[1].status == "ok"
    assert 0 < found[0].noise_nmse.worst < 1
    assert found[1].noise_nmse == found[0].noise_nmse
    assert found[1].expected_nmse.worst == pytest.approx(found[0].expected_nmse.worst, rel=1e-14)


@pytest.mark.parametrize("model", ["inputs:40", "outputs:40", "relative:40"])
def test_noise_on_what_overflows_is_an_infinite_error(model: str, beyond: Path) -> None:
    for file in ("e300.npy", "e30.npy"):
        record = measured("haar", beyond / file, "float16", noise=model)
        assert record.status == "overflow"
        assert record.noise_nmse.median == record.expected_nmse.median == math.inf


@pytest.mark.parametrize("power", [-900, 900, 1015])
def test_training_standardises_data_of_any_size(tmp_path: Path, power: int) -> None:
    values: Array = np.random.default_rng(1).standard_normal((40, 3)) + 1
    found = []
    for name, scale in (("one", 0), ("other", power)):
        np.savez(tmp_path / f"{name}.npz", X=np.ldexp(values, scale), y=np.arange(40) % 2)
        found.append(examples(str(tmp_path / f"{name}.npz"), 0))
    assert np.array_equal(found[0].train, found[1].train)
    assert np.abs(found[0].train.std(axis=1) - 1).max() < 1e-12


def test_gossip_on_data_beyond_float64_is_an_overflow(beyond: Path) -> None:
    for precision in ("float16", "float64"):
        problem = f"softmax[data={beyond / 'e300.npz'}]"
        request = GossipRequest("ecsd", problem=problem, n=4, steps=2, precision=precision)
        record = compute(request.case())
        assert (record.status, record.reason) == (
            "overflow",
            "the curvature of the objective overflows float64",
        )
