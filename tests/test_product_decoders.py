"""Barycentric, Fourier and peeling decoders; noise studies; what sweeps do with them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.noise import noise
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.codes.convolutional import Convolutional, expand
from stabbench.codes.lagrange import Lagrange
from stabbench.decoders.peeling import Peeling
from stabbench.decoders.registry import DECODERS, decoder
from stabbench.errors import InputError

SMALL = "gaussian[rows=48,columns=12]"
STAGES = {"encode", "compute", "decode"}


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("text", "problem", "method"),
    [
        ("lagrange", "evaluate", "barycentric"),
        ("lagrange[nodes=roots-of-unity]", "evaluate", "barycentric"),
        ("lagrange[systematic=true]", "evaluate", "barycentric"),
        ("lagrange[nodes=equispaced,k=3]", "evaluate", "barycentric"),
        ("orthomatdot", "matmul", "barycentric"),
        ("circulant[q=11]", "matvec", "fft"),
        ("convolutional[gamma=3/10]", "matvec", "peeling"),
        ("uncoded-cyclic", "matvec", "solve"),
    ],
)
def test_errors_are_within_the_amplification(
    text: str, problem: str, method: str, name: str
) -> None:
    record = sb.evaluate(
        sb.code(text, 9, 2), problem=problem, decoder=method, precision=name, data=SMALL
    )
    assert record.status == "ok"
    assert record.undecodable == 0
    limit = 20 if name != "bfloat16" else 40
    assert record.trusted == 0 or record.test_ratio.worst < limit


@pytest.mark.skipif("longdouble" not in ALLOWED, reason="longdouble is float64 here")
@pytest.mark.parametrize("text", ["berrut[k=3]", "berrut[k=4]", "lagrange"])
def test_barycentric_formulas_run_in_longdouble(text: str) -> None:
    code = sb.code(text, 9, 2)
    wide, double = (
        sb.evaluate(code, problem="evaluate", decoder="barycentric", precision=name, data=SMALL)
        for name in ("longdouble", "float64")
    )
    assert wide.status == "ok", wide.reason
    assert wide.condition_number.worst == pytest.approx(double.condition_number.worst, rel=1e-9)
    assert 0 < wide.budget["decode"] < double.budget["decode"] / 100


@pytest.fixture(scope="module")
def complex_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "complex.npy"
    rng = np.random.default_rng(4)
    np.save(path, rng.standard_normal((24, 6)) + 1j * rng.standard_normal((24, 6)))
    return str(path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [x for x in ALLOWED if x in {"bfloat16", "float64", "longdouble"}])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("polynomial", "matvec"),
        ("polynomial", "matmul"),
        ("polynomial[nodes=roots-of-unity]", "matmul"),
        ("shift-add", "matvec"),
        ("shift-add", "matmul"),
        ("shift-add[chunk=3]", "matvec"),
        ("circulant", "matvec"),
        ("lt[k=3]", "matvec"),
        ("orthopoly[kA=2,kB=2]", "matmul"),
        ("orthomatdot", "matmul"),
        ("lagrange", "evaluate"),
        ("berrut[k=3]", "evaluate"),
    ],
)
def test_complex_data_keep_their_imaginary_part(
    text: str, problem: str, name: str, complex_file: str
) -> None:
    """Also where the code is real: every decoder, and the budget of its errors."""
    code, chosen = sb.code(text, 6, 2), precision(name)
    methods = [
        m
        for m in sorted(DECODERS.members)
        if not (decoder(m).accepts(code) or decoder(m).accepts_precision(chosen))
    ]
    assert methods or name == "longdouble"
    for method in methods:
        record = sb.evaluate(
            code, problem=problem, decoder=method, precision=name, data=complex_file
        )
        assert record.status == "ok", record.reason
        budget = record.measures.get("budget", {})
        approximation = budget.get("approximation", 0.0)
        assert record.relative_error.worst < max(300 * chosen.unit, 4 * approximation)
        assert all(budget[stage] < 300 * chosen.unit for stage in budget.keys() & STAGES)


def test_decoders_of_other_codes_are_refused_with_a_reason() -> None:
    for text, method, words in (
        ("gaussian", "barycentric", "given by values"),
        ("gaussian", "fft", "circulant"),
        ("gaussian", "peeling", "no sparse sums"),
        ("berrut", "solve", "no dense combinations"),
    ):
        problem = "evaluate" if text == "berrut" else "matvec"
        record = sb.evaluate(sb.code(text, 9, 2), problem=problem, decoder=method)
        assert record.status == "skipped"
        assert words in record.reason


def test_barycentric_reads_the_reply_where_a_worker_holds_a_plain_block() -> None:
    code, single = sb.code("lagrange[systematic=true,k=3]", 7, 2), precision("float32")
    assert isinstance(code, Lagrange)
    system = code.system("evaluate")
    generator = system.encoders[0].matrix(single)  # type: ignore[attr-defined]
    assert (generator[code.places] == np.eye(3)).all()
    replies = np.random.default_rng(0).standard_normal((7, 4, 4)).astype(np.float32)
    plan = decoder("barycentric").plan(code, system, np.ones((1, 7), np.int8), single, "use")
    (estimate,) = plan.decode(replies)
    hit = [j for j, place in enumerate(code.places) if place in plan.rows[0]]
    assert hit
    assert np.array_equal(estimate[hit], replies[[code.places[j] for j in hit]])
    # of berrut too: n = 9, K = 4 share the nodes cos(pi i / 8) for odd i
    code = sb.code("berrut[k=4]", 9, 0)
    system = code.system()
    plan = decoder("barycentric").plan(code, system, np.ones((1, 9), np.int8), single, "use")
    replies = np.random.default_rng(1).standard_normal((9, 2, 2)).astype(np.float32)
    assert np.array_equal(plan.decode(replies)[0], replies[[1, 3, 5, 7]])


def test_berrut_weights_alternate_anew_over_the_survivors() -> None:
    code, double = sb.code("berrut[k=2]", 6, 2), precision("float64")
    patterns = np.array([[1, 0, 1, 1, 0, 1]], dtype=np.int8)
    plan: Any = decoder("barycentric").plan(code, code.system(), patterns, double, "use")
    nodes = np.cos(np.arange(6) * np.pi / 5)[[0, 2, 3, 5]]
    data = np.cos((2 * np.arange(2) + 1) * np.pi / 4)
    weights = np.array([1, -1, 1, -1]) / (data[:, None] - nodes)
    assert np.allclose(plan.operator()[0], weights / weights.sum(axis=1, keepdims=True))


def test_the_barycentric_operator_is_what_decoding_applies() -> None:
    code, double = sb.code("orthomatdot", 7, 2), precision("float64")
    patterns = np.array([[1, 1, 0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0, 1]], dtype=np.int8)
    plan: Any = decoder("barycentric").plan(code, code.system("matmul"), patterns, double, "use")
    replies = np.random.default_rng(0).standard_normal((7, 3, 2))
    received = replies[plan.rows].reshape(2, plan.rows.shape[1], -1)
    expected = (plan.operator() @ received).reshape(2, -1, 3, 2)
    assert np.allclose(plan.decode(replies), expected, rtol=1e-12, atol=1e-13)


def test_conditions_of_products_are_those_of_the_replies_that_are_read() -> None:
    chosen: dict[str, Any] = {"problem": "matmul", "precision": "float64"}
    code: Any = sb.code("orthopoly[kA=2,kB=2]", 7, 2)
    G = code.system("matmul").reply.matrix(precision("float64"))
    for spare, rows in (("use", G), ("drop", G[:4])):
        record = sb.evaluate(
            code, decoder="lstsq", spare=spare, patterns="all[survivors=7]", **chosen
        )
        assert record.condition_number.worst == pytest.approx(np.linalg.cond(rows), rel=1e-10)


def test_peeling_that_gets_stuck_is_undecodable_though_the_rank_is_full() -> None:
    code = sb.code("lt[k=30,c=0.1]", 60, 10)
    peeled = sb.evaluate(code, decoder="peeling", patterns="random:60", data=SMALL)
    solved = sb.evaluate(code, decoder="lstsq", patterns="random:60", data=SMALL)
    assert solved.undecodable <= peeled.undecodable
    if peeled.status == "ok":
        assert peeled.relative_error.worst < 1e-4
    triangle = np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0]])
    plan = _plan_of(triangle, [[1, 1, 1, 0], [1, 1, 0, 1]])
    assert plan.solved.tolist() == [False, True]
    estimate = plan.decode(triangle @ np.array([[1.0], [2.0], [4.0]]))
    assert estimate[1, :, 0].tolist() == [1.0, 2.0, 4.0]
    assert np.isnan(estimate[0]).all()
    weighted = triangle * [[1.0, -2.0, 4.0], [0.0, 0.5, 8.0], [2.0, 0.0, -1.0], [16.0, 0.0, 0.0]]
    estimate = _plan_of(weighted, [[1, 1, 0, 1]]).decode(weighted @ np.array([[1.0], [2.0], [4.0]]))
    assert estimate[0, :, 0].tolist() == [1.0, 2.0, 4.0]


def _plan_of(matrix: Any, patterns: list[list[int]]) -> Any:
    from stabbench.arithmetic.coefficients import Coefficients
    from stabbench.codes.base import System
    from stabbench.codes.operators import Dense

    operator = Dense(Coefficients.from_array(matrix))
    system = System((operator,), operator, np.arange(len(matrix)))
    code = sb.code("replication", 4, 1)
    return Peeling().plan(code, system, np.array(patterns), precision("float64"), "use")


def test_peeling_computes_in_its_own_precision() -> None:
    code, single = sb.code("convolutional[gamma=1/3]", 6, 2), precision("float32")
    system = code.system()
    replies = np.ones((len(system.owner), 2, 1), dtype=np.float32)
    pattern = np.array([[0, 1, 1, 1, 1, 0]], dtype=np.int8)
    plan = decoder("peeling").plan(code, system, pattern, single, "use")
    assert plan.decode(replies).dtype == np.float32
    reason = decoder("peeling").accepts_precision(precision("longdouble"))
    assert "float32 and float64" in reason


def test_convolutional_codes_have_the_published_sub_blocks() -> None:
    for n, s, text, q in ((6, 2, "1/3", 9), (10, 3, "1/5", 30)):
        code = sb.code(f"convolutional[gamma={text}]", n, s)
        assert isinstance(code, Convolutional)
        assert code.subblocks(n - s, code.gamma) == q
        held = np.bincount(code.owner) / (q * (n - s))
        assert held.max() <= float(Fraction(text)) + 1e-12
    code = sb.code("convolutional[kA=3,kB=2,gammaA=3/8,gammaB=3/5]", 8, 2)
    assert isinstance(code, Convolutional)
    assert code.subdivision == (16, 5)
    matrix, owner = expand(np.array([[0, -1], [0, 2]]), np.array([[1.0, 1], [3, 4]]), 2)
    assert owner.tolist() == [0, 0, 1, 1, 1, 1]
    assert matrix[4].tolist() == [0, 0, 4, 0]


def test_convolutional_codes_are_shift_and_add_codes_with_chunks() -> None:
    double = precision("float64")
    code = sb.code("convolutional[gamma=1/3]", 6, 2)
    assert isinstance(code, Convolutional)
    q = code.subblocks(4, code.gamma)
    blocks = np.random.default_rng(0).integers(-9, 10, (4, 5 * q, 2)).astype(float)
    chunked = sb.code("shift-add[chunk=5]", 6, 2).system().encoders[0].apply(blocks, double)
    parts = blocks.reshape(4 * q, 5, 2)
    replies = code.system().encoders[0].apply(parts, double)
    for worker in range(6):
        own = replies[code.owner == worker].reshape(-1, 2)
        assert np.array_equal(own, chunked[worker][: len(own)])
        assert not chunked[worker][len(own) :].any()


@pytest.mark.parametrize(
    ("text", "problem", "model"),
    [
        ("polynomial[nodes=roots-of-unity]", "matvec", "inputs:60"),
        ("gaussian", "matvec", "inputs:60"),
        ("rotation", "matvec", "outputs:60"),
        ("polynomial[nodes=equispaced]", "matvec", "relative:70"),
        ("orthopoly[kA=3,kB=2]", "matmul", "inputs:80"),
        ("orthomatdot", "matmul", "inputs:80"),
        ("khatri-rao", "matmul", "outputs:80"),
        ("lagrange", "evaluate", "relative:80"),
    ],
)
def test_measured_noise_is_what_the_formula_expects(text: str, problem: str, model: str) -> None:
    record = sb.evaluate(
        sb.code(text, 8, 2),
        precision="float64",
        problem=problem,
        noise=model,
        trials=20,
        data="gaussian[rows=96,columns=24]",
        vectors=4 if problem == "matvec" else 1,
    )
    assert record.case["noise"] == model
    measured, expected = record.noise_nmse, record.expected_nmse
    for name in ("median", "worst", "mean"):
        assert getattr(measured, name) == pytest.approx(getattr(expected, name), rel=0.3), name
    assert "test_ratio" not in record.measures


def test_noise_on_the_uncoded_operand_is_one_draw_for_all_workers() -> None:
    model, single = noise("inputs:40"), precision("float64")
    shares = (np.zeros((5, 3, 4)), np.zeros((4, 2)))
    one = model.on_shares(shares, 0, single)
    again = model.on_shares(shares, 0, single)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert np.std(one[0]) == pytest.approx(1e-2, rel=0.3)
    assert one[1].shape == (4, 2)
    assert np.array_equal(model.on_replies(np.ones((2, 1, 1)), 0, single), np.ones((2, 1, 1)))
    replies = np.concatenate([np.full((1, 50, 50), 10.0), np.full((1, 50, 50), 0.1)])
    relative = noise("relative:40").on_replies(replies, 0, single) - replies
    assert np.std(relative[0]) == pytest.approx(0.1, rel=0.1)
    assert np.std(relative[1]) == pytest.approx(1e-3, rel=0.1)


def test_cases_without_noise_keep_their_ids_and_wrong_models_are_refused() -> None:
    from stabbench.sweeps.stability import Request

    plain = Request("gaussian", 6, 2).case()
    assert "noise" not in plain.parameters
    assert Request("gaussian", 6, 2, noise="outputs:80").case().id != plain.id
    assert (
        Request("gaussian", 6, 2, noise="outputs:80.0").case().id
        == Request("gaussian", 6, 2, noise="outputs:80").case().id
    )
    wrong = ("inputs", "inputs:-1001", "relative:1e4", "outputs:nan", "outputs:inf")
    cases = [("input:80", "did you mean inputs"), *((text, "SNR in decibels") for text in wrong)]
    for text, words in cases:
        with pytest.raises(InputError, match=words):
            noise(text)
    for text in ("inputs:80", "outputs:-1000", "relative:12.3456789"):
        assert str(noise(text)) == text
        assert noise(text).variance > 0


def test_sweeps_take_noise_and_reports_draw_it(tmp_path: Any) -> None:
    from stabbench.report.plots.base import render
    from stabbench.report.plots.noise import noise as plots

    store = sb.sweep(
        None,
        tmp_path,
        codes=["dct", "rotation"],
        n=6,
        stragglers=2,
        noise="inputs:60",
        precision="float64",
        data=SMALL,
    )
    (plot,) = plots(list(store.records.values()))
    rows = plot.data.records()
    assert [row["code"] for row in rows] == ["dct", "rotation"]
    for row in rows:
        assert row["worst_formula"] == pytest.approx(row["worst"], rel=1.0)
    assert render(plot, ("svg",))["svg"].startswith(b"<?xml")
