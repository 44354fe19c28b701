"""Approximate and adaptive gradient codes against their closed forms, and error budgets."""

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.gradient import gradient_stages, ideal_weights
from stabbench.analysis.stages import stage_vectors
from stabbench.analysis.structure import Choice, Trial
from stabbench.analysis.survivors import policy
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.decoders.ideal import least_squares_weights, wanted
from stabbench.decoders.registry import decoder
from stabbench.problems.registry import data, problem

Array = np.ndarray[Any, np.dtype[Any]]


def squared_error(code: Any, weights: Any) -> Fraction:
    rest = weights * code.encoding.rational()[0] - wanted(code)
    total = sum((x * x for x in rest.entries()), flint.fmpq(0))
    return Fraction(int(total.p), int(total.q))


@pytest.mark.parametrize("n", [7, 11, 13, 15, 21])
def test_constant_weights_of_designs_are_the_best(n: int) -> None:
    code: Any = sb.code("bibd", n=n, stragglers=3)
    _, k, lam = code.design
    for s in (1, 3):
        for row in policy("random:12").patterns(n, s) > 0:
            r = n - s
            weights = least_squares_weights(code, row)
            assert {Fraction(int(w.p), int(w.q)) for w in weights.entries()} - {Fraction(0)} == {
                Fraction(k, k - lam + lam * r)
            }
            assert squared_error(code, weights) == code.squared_error(r)
            sigma = np.linalg.svd(code.placement[row].astype(float), compute_uv=False)
            assert sigma[0] / sigma[-1] == pytest.approx(code.condition(r), rel=1e-12)


@pytest.mark.parametrize("spec", ["bibd", "graph[d=2]", "graph[d=7]"])
def test_closed_forms_agree_with_least_squares_to_1e_13(spec: str) -> None:
    n = 7 if spec != "graph[d=7]" else 28
    code: Any = sb.code(spec, n=n, stragglers=n // 2)
    A = code.placement.astype(float)
    for s in range(n // 2 + 1):
        for row in policy("random:20").patterns(n, s) > 0:
            weights = code.closed_form(row[None], np.dtype("float64"))[0, 0]
            best = np.linalg.lstsq(A[row].T, np.ones(A.shape[1]), rcond=None)[0]
            assert np.abs(weights @ A - best @ A[row]).max() < 1e-13
            if spec != "bibd":
                values = np.array([float(x) for x in code.vertex_form(row)])
                assert np.abs(weights @ A - values).max() < 1e-13


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("spec", ["bibd", "expander", "bernoulli", "stochastic"])
def test_equal_weights_are_those_of_the_number_of_survivors(spec: str, name: str) -> None:
    code: Any = sb.code(spec, 7 if spec == "bibd" else 9, 2)
    arrived = np.random.default_rng(3).random((40, code.n)) < 0.7
    arrived[0] = False
    weights = code.closed_form(arrived, np.dtype(name))
    assert weights.shape == (40, 1, code.n)
    assert weights.dtype == name
    for row, found in zip(arrived, weights[:, 0], strict=True):
        assert found.tolist() == np.array(code.rational_form(row), dtype=name).tolist()
        assert not found[~row].any()
        if row.any():
            weight = np.dtype(name).type(code.weight(int(row.sum())))
            assert found[row].tolist() == [weight] * int(row.sum())


@pytest.mark.skipif("longdouble" not in ALLOWED, reason="longdouble is float64 here")
@pytest.mark.parametrize("spec", ["fractional-repetition", "bernoulli", "reed-solomon"])
def test_closed_forms_are_not_for_longdouble(spec: str) -> None:
    code = sb.code(spec, 6, 2)
    record = sb.evaluate(code, decoder="closed-form", precision="longdouble")
    assert record.status == "skipped"
    assert record.reason == "closed forms are computed in formats up to float64"
    assert sb.evaluate(code, decoder="closed-form", precision="float64").status == "ok"


@pytest.mark.parametrize("name", ["float32", "float32/float64", "float64"])
def test_least_squares_weights_are_solved_in_the_precision_of_the_decoder(name: str) -> None:
    code: Any = sb.code("bernoulli[d=4]", n=10, stragglers=3)
    patterns, form = policy("random:8").patterns(10, 3), precision(name)
    plan: Any = decoder("lstsq").plan(code, code.system("gradient"), patterns, form, "use")
    assert plan.weights.dtype == form.decode
    eps = float(np.finfo(form.decode).eps)
    for weights, row in zip(plan.weights[:, 0], patterns > 0, strict=True):
        A = code.placement[row].astype(float)
        best = np.linalg.lstsq(A.T, np.ones(code.partitions), rcond=None)[0]
        assert np.abs(weights[row] - best).max() < 200 * eps


def test_graph_weights_are_exactly_the_best() -> None:
    code: Any = sb.code("graph[d=3,seed=2]", n=15, stragglers=7)
    phi = code.encoding.rational()[0]
    for s in (3, 7, 10, 15):
        for row in policy("random:15").patterns(15, s) > 0 if s < 15 else np.zeros((1, 15), bool):
            own = flint.fmpq_mat(
                [[flint.fmpq(w.numerator, w.denominator) for w in code.rational_form(row)]]
            )
            assert own * phi == least_squares_weights(code, row) * phi


@pytest.mark.parametrize(("n", "d"), [(10, 4), (20, 4), (30, 6)])
def test_expanders_keep_their_bound(n: int, d: int) -> None:
    code: Any = sb.code(f"expander[d={d}]", n=n, stragglers=n // 2)
    B = code.encoding.rounded("float64")
    for s in range(1, n // 2 + 1):
        for row in policy("random:60").patterns(n, s) > 0:
            error = np.linalg.norm(B[row].sum(axis=0) * n / (n - s) - 1)
            assert error <= code.bound(s) * (1 + 1e-12)


@pytest.mark.parametrize("spec", ["bernoulli[d=5]", "stochastic[d=4,p=1/5]"])
def test_random_placements_are_right_in_the_mean(spec: str) -> None:
    name, _, rest = spec.partition("[")
    sums = []
    for seed in range(300):
        code: Any = sb.code(f"{name}[seed={seed},{rest}", n=20, stragglers=4)
        B = code.encoding.rounded("float64")
        row = np.random.default_rng(seed).permutation(20) >= 4
        sums.append(code.closed_form(row[None], np.dtype("float64"))[0, 0] @ B)
    mean, spread = np.mean(sums), np.std(np.mean(sums, axis=1)) / np.sqrt(len(sums))
    assert abs(mean - 1) < 4 * spread + 1e-12


@pytest.mark.parametrize("spec", ["bibd", "graph[d=2]", "bernoulli[d=3]", "stochastic"])
@pytest.mark.parametrize("name", ["closed-form", "lstsq", "exact-weights"])
def test_decoding_and_arithmetic_errors_are_told_apart(spec: str, name: str) -> None:
    record = sb.evaluate(
        spec, n=7, stragglers=2, problem="gradient", decoder=name, precision="float32"
    )
    assert record.status == "ok"
    assert record.arithmetic_error.worst < 3e-6
    assert record.decoding_error.worst >= record.least_decoding_error.worst * (1 - 1e-12)
    if spec == "bibd":
        assert record.decoding_error.worst == pytest.approx(float(Fraction(4, 7)) ** 0.5)
        assert record.budget["approximation"] > 0.01 > record.budget["encode"]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("ye-abbe[m=3]", "weights"),
        ("cyclic-mds[roots=adjacent]", "closed-form"),
        ("reed-solomon", "weights"),
        ("bernoulli", "lstsq"),
        ("expander", "closed-form"),
    ],
)
def test_budgets_add_up_exactly(spec: str, name: str) -> None:
    single = precision("float32")
    code: Any = sb.code(spec, n=10, stragglers=2)
    task: Any = problem("gradient", data("gaussian[columns=30]"), 1, code.partitions)
    system = code.system("gradient")
    operands = task.operands(single, 0)
    blocks = task.blocks(system, operands)
    replies = task.work(system, task.encode(system, blocks, single), single)
    trial = Trial(
        blocks, (replies,), replies, task.wanted(system, task.exact(operands, "flint")), {}
    )
    choice = Choice(code, system, decoder(name), single, "use")
    pattern = np.array([[0, 1, 1, 1, 0, 1, 1, 1, 1, 1]], dtype=np.int8)
    estimate = choice.decoder.plan(code, system, pattern, single, "use").decode(replies)[0]
    hi, lo = ideal_weights(choice, code.arrived(pattern))
    decode, stages = gradient_stages(choice, (hi[0], lo[0]), trial, estimate)
    whole = stages(slice(None))
    approximation, encode, compute, rest = stage_vectors(decode, whole).values()
    error = whole.estimate - whole.exact
    assert (approximation + encode + compute + rest).rational() == error.rational()
    assert error.square() > 0


@pytest.mark.parametrize("inner", ["cyclic-mds", "cyclic-repetition"])
def test_nested_decodes_at_the_first_level_that_can(inner: str) -> None:
    code: Any = sb.code(f"nested[inner={inner}]", n=6, stragglers=3)
    double = precision("float64")
    task: Any = problem("gradient", data("gaussian[columns=12]"), 1, 6)
    system = code.system("gradient")
    operands = task.operands(double, 0)
    exact = task.wanted(system, task.exact(operands, "flint"))
    replies = task.encode(system, task.blocks(system, operands), double)[0][..., None]
    patterns = np.array([[1, 2, 3, 4, 2, 2], [1, 2, 3, 4, 0, 2], [2, 2, 2, 2, 1, 2],
                         [4, 4, 4, 0, 0, 0], [4, 4, 0, 0, 0, 0]])  # fmt: skip
    assert code.level(code.arrived(patterns)).tolist() == [1, 0, 1, 4, 0]
    estimates = decoder("weights").plan(code, system, patterns, double, "use").decode(replies)
    for estimate, fine in zip(estimates, (True, False, True, True, False), strict=True):
        assert np.isfinite(estimate).all() == fine
        if fine:
            assert np.abs(estimate - exact.hi).max() < 1e-12
    ordinary = np.array([[1, 1, 1, 0, 0, 1]])
    assert code.level(code.arrived(ordinary)).tolist() == [3]


def test_block_sizes_follow_the_order_statistics() -> None:
    code: Any = sb.code("block-coordinate[mu=1/2,t0=3]", n=6, stragglers=0)
    sizes = code.sizes(10**6)
    assert sum(sizes) == 10**6
    expected = [code.order_statistic(q) for q in range(1, 7)]
    harmonic = [sum(Fraction(1, i) for i in range(6 - q + 1, 7)) for q in range(1, 7)]
    assert expected == [2 * h + 3 for h in harmonic]
    for q in range(1, 6):
        share = expected[5] * (1 / expected[5 - q] - 1 / expected[6 - q]) * sizes[0]
        assert abs((q + 1) * sizes[q] - share) < 40


@pytest.mark.parametrize("entries", [1, 5, 17, 100, 640])
@pytest.mark.parametrize(("n", "s"), [(4, 0), (6, 2), (9, 3), (12, 0), (5, 4)])
@pytest.mark.parametrize("times", ["mu=1,t0=1", "mu=1/50,t0=7/3", "mu=3,t0=0"])
def test_block_sizes_are_whole_by_largest_remainders(
    times: str, n: int, s: int, entries: int
) -> None:
    code: Any = sb.code(f"block-coordinate[{times}]", n=n, stragglers=s)
    speed = [1 / code.order_statistic(n - q) for q in range(s, n)]
    gain = [one - two for one, two in zip(speed, [0, *speed], strict=False)]
    share = [rise / q for q, rise in enumerate(gain, start=s + 1)]
    quotas = [entries * x / sum(share) for x in share]
    sizes = code.sizes(entries)
    assert sum(sizes) == entries
    least = [quota - size for quota, size in zip(quotas, sizes, strict=True) if size <= quota]
    most = [size - quota for quota, size in zip(quotas, sizes, strict=True) if size > quota]
    assert all(gap < 1 for gap in least + most)
    assert not most or 1 - max(most) >= max(least, default=0)


def test_blocks_decode_as_their_messages_arrive() -> None:
    code: Any = sb.code("block-coordinate", n=4, stragglers=1)
    double = precision("float64")
    task: Any = problem("gradient", data("gaussian[columns=100]"), 1, 4)
    system = code.system("gradient")
    operands = task.operands(double, 0)
    exact = task.wanted(system, task.exact(operands, "flint"))
    replies = task.encode(system, task.blocks(system, operands), double)[0][..., None]
    patterns = np.array([[1, 2, 3, 0], [1, 1, 2, 3], [3, 3, 3, 3]])
    estimates = decoder("weights").plan(code, system, patterns, double, "use").decode(replies)
    for estimate in (estimates[0], estimates[2]):
        assert np.abs(estimate - exact.hi).max() < 1e-12
    for block, tolerance in enumerate((1, 2, 3)):
        came = (patterns[1] > block).sum() >= 4 - tolerance
        assert np.isfinite(estimates[1, block]).all() == came
