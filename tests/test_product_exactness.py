"""Codes for products and functions recover exactly: in rationals, over every survivor set."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.stages import Stages, stage_vectors
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.quotients import LeftInverse, Quotient, acting_coefficients
from stabbench.codes.base import Code
from stabbench.codes.kronecker import Kronecker
from stabbench.codes.product import ProductSystem
from stabbench.decoders.registry import decoder
from stabbench.errors import InputError
from stabbench.problems.evaluate import Evaluate
from stabbench.problems.registry import data

RATIONAL = [
    ("polynomial[nodes=integers,kA=2,kB=2]", 6, 2),
    ("polynomial[nodes=equispaced]", 5, 1),
    ("matdot[nodes=integers]", 6, 1),
    ("matdot[nodes=half-step,p=2]", 5, 2),
    ("polydot[nodes=equispaced,kA=2,kB=1]", 7, 1),
    ("polydot[nodes=integers,kA=1,kB=2]", 7, 1),
    ("entangled[nodes=integers,kA=2,kB=2]", 10, 1),
    ("entangled[nodes=equispaced,kA=1,kB=2,p=3]", 9, 1),
    ("khatri-rao[kA=2,kB=2]", 6, 2),
    ("khatri-rao[kA=2,kB=3,distribution=uniform,systematic=false]", 8, 2),
    ("convolutional[kA=2,kB=2]", 6, 2),
    ("convolutional[kA=2,kB=1,coefficients=random]", 4, 2),
]
STORED = [
    ("orthopoly[kA=2,kB=2]", 6, 2),
    ("orthopoly[kA=3,kB=2,t0=1/2]", 8, 2),
    ("rotation[kA=2,kB=2]", 6, 2),
    ("product", 9, 3),
    ("polynomial[nodes=chebyshev,kA=2,kB=2]", 6, 2),
]
IRRATIONAL = [
    ("orthomatdot", 7, 2),
    ("orthomatdot[nodes=equispaced]", 6, 1),
    ("matdot", 6, 1),
    ("polydot[nodes=roots-of-unity,kA=2,kB=1]", 7, 1),
    ("entangled[nodes=roots-of-unity,kA=2,kB=2]", 10, 1),
    ("polynomial[nodes=roots-of-unity,kA=2,kB=2]", 6, 2),
]
ALL = [*RATIONAL, *STORED, *IRRATIONAL]


def system_of(text: str, n: int, s: int) -> tuple[Code, ProductSystem]:
    code = sb.code(text, n, s)
    system = code.system("matmul")
    assert isinstance(system, ProductSystem)
    return code, system


def operands(system: ProductSystem) -> tuple[list[int], list[int], dict[tuple[int, int], int]]:
    """Scalar blocks of both factors, and the wanted sums of their products."""
    random = np.random.default_rng(1)
    m, p, n = system.layout
    left = [int(x) for x in random.integers(-9, 10, p * m)]
    right = [int(x) for x in random.integers(-9, 10, p * n)]
    wanted = {
        (a, b): sum(left[j * m + a] * right[j * n + b] for j in range(p))
        for a in range(m)
        for b in range(n)
    }
    return left, right, wanted


def survivor_rows(code: Code, system: ProductSystem) -> list[Any]:
    sets = combinations(range(code.n), code.n - code.stragglers)
    return [np.flatnonzero(np.isin(system.owner, chosen)).tolist() for chosen in sets]


def solved(matrix: Any, right: Any) -> Any:
    if matrix.nrows() > matrix.ncols():
        return (matrix.transpose() * matrix).solve(matrix.transpose() * right)
    return matrix.solve(right)


@pytest.mark.parametrize(("text", "n", "s"), [*RATIONAL, *STORED])
def test_every_survivor_set_recovers_the_product_in_rationals(text: str, n: int, s: int) -> None:
    code, system = system_of(text, n, s)
    stored = (text, n, s) in STORED
    generators = [encoder.coefficients for encoder in system.encoders]  # type: ignore[attr-defined]
    if stored:
        generators = [Coefficients.from_array(g.rounded("float32")) for g in generators]
    left, right, wanted = operands(system)
    shares = [
        generator.rational()[0] * flint.fmpq_mat([[x] for x in blocks])
        for generator, blocks in zip(generators, (left, right), strict=True)
    ]
    replies = [shares[0][int(a), 0] * shares[1][int(b), 0] for a, b in system.pairs]
    reply = system.reply.stored("float32" if stored else "exact")  # type: ignore[attr-defined]
    matrix = reply.rational()[0].tolist()
    patterns = survivor_rows(code, system)
    for rows in patterns:
        received = flint.fmpq_mat([matrix[r] for r in rows])
        unknowns = solved(received, flint.fmpq_mat([[replies[r]] for r in rows]))
        if system.target is not None:
            unknowns = system.target.rational()[0] * unknowns
        assert unknowns.entries() == list(wanted.values()), rows


@pytest.mark.parametrize(("text", "n", "s"), IRRATIONAL)
def test_irrational_codes_recover_within_balls_of_1e_60(text: str, n: int, s: int) -> None:
    code, system = system_of(text, n, s)
    left, right, wanted = operands(system)
    with flint.ctx.workprec(400):
        one, two = (encoder.coefficients.balls(400) for encoder in system.encoders)  # type: ignore[attr-defined]
        kind = type(one)
        shares = [
            (generator * kind([[x] for x in blocks])).entries()
            for generator, blocks in ((one, left), (two, right))
        ]
        matrix = system.reply.coefficients.balls(400).tolist()  # type: ignore[attr-defined]
        for rows in survivor_rows(code, system):
            received = kind([matrix[r] for r in rows])
            products = [[shares[0][a] * shares[1][b]] for a, b in system.pairs[rows].tolist()]
            adjoint = received.transpose()
            adjoint = adjoint.conjugate() if isinstance(received, flint.acb_mat) else adjoint
            unknowns = (adjoint * received).solve(adjoint * kind(products))
            if system.target is not None:
                unknowns = kind(system.target.balls(400)) * unknowns
            for found, value in zip(unknowns.entries(), wanted.values(), strict=True):
                gap = found - value
                assert gap.contains(0)
                assert gap.abs_upper() < 1e-60


@pytest.mark.parametrize("text", ["lagrange[nodes=integers,systematic=true,k=3]", "lagrange"])
def test_lagrange_recovers_every_value_of_a_square(text: str) -> None:
    code = sb.code(text, 7, 2)
    system = code.system("evaluate")
    blocks = [2, -5, 7]
    with flint.ctx.workprec(400):
        encoder = system.encoders[0].coefficients.balls(400)  # type: ignore[attr-defined]
        values = [x * x for x in (encoder * flint.arb_mat([[x] for x in blocks])).entries()]
        matrix = system.reply.coefficients.balls(400).tolist()  # type: ignore[attr-defined]
        assert system.target is not None
        target = system.target.balls(400)
        for rows in combinations(range(7), 5):
            received = flint.arb_mat([matrix[r] for r in rows])
            found: Any = target * received.solve(flint.arb_mat([[values[r]] for r in rows]))
            for value, block in zip(found.entries(), blocks, strict=True):
                assert (value - block * block).contains(0)
                assert (value - block * block).abs_upper() < 1e-60


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("reference", ["flint", "mpmath"])
@pytest.mark.parametrize("complex_", [False, True])
def test_powers_of_blocks_are_exact_to_a_hundred_bits(
    reference: str, degree: int, complex_: bool
) -> None:
    task = Evaluate(data("gaussian[rows=4,columns=3]"), 2, "power", degree)
    random = np.random.default_rng(degree)
    blocks = random.standard_normal((2, 4, 3)) * np.exp2(random.integers(-30, 30, (2, 4, 3)))
    if complex_:
        blocks = blocks + 1j * random.standard_normal(blocks.shape)
    found = task.exact((blocks,), reference)
    for x, hi, lo in zip(blocks.flat, found.hi.flat, found.lo.flat, strict=True):
        re, im = Fraction(x.real), Fraction(x.imag)
        power = Fraction(1), Fraction(0)
        for _ in range(degree):
            power = power[0] * re - power[1] * im, power[0] * im + power[1] * re
        for value, high, low in zip(power, (hi.real, hi.imag), (lo.real, lo.imag), strict=True):
            assert high == float(value)
            assert low == float(value - Fraction(float(high)))


@pytest.mark.parametrize("name", ["float32", "float32/float64", "bfloat16"])
def test_reply_maps_of_products_are_formed_from_stored_entries_in_decoding_precision(
    name: str,
) -> None:
    chosen = precision(name)
    map_: Any = sb.code("orthopoly[kA=2,kB=2]", 6, 2).system("matmul").reply
    assert isinstance(map_, Kronecker)
    left, right = (
        part.rounded(chosen)[column].astype(np.float64)
        for part, column in zip((map_.left, map_.right), map_.pairs.T, strict=True)
    )
    found = map_.matrix(chosen)
    assert found.dtype == chosen.decode
    exact = (left[:, :, None] * right[:, None, :]).reshape(found.shape)
    assert np.array_equal(found, exact.astype(chosen.decode))


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (2, 4)])
def test_factors_of_product_codes_are_rows_of_a_cosine_transform(n_a: int, n_b: int) -> None:
    code: Any = sb.code(f"product[nA={n_a},nB={n_b},kA=2,kB=2]", n_a * n_b, 1)
    with flint.ctx.workprec(200):
        factors = code.factors(200)
    for count, worker, rows in zip(
        (n_a, n_b), np.divmod(np.arange(code.n), n_b), factors, strict=True
    ):
        found = np.array([[float(x) for x in row] for row in rows])
        angle = np.pi * (2 * worker + 1) / (2 * count)
        expected = np.stack([np.full(code.n, found[0, 0]), np.cos(angle)], axis=1)
        assert np.allclose(found, expected, rtol=1e-14, atol=1e-15)
        assert found[0, 0] in (1.0, 2**-0.5)


def test_shifted_orthopoly_fails_on_exactly_six_of_fifteen_sets() -> None:
    from stabbench.analysis.checks import check, undecodable_sets

    code = sb.code("orthopoly-shifted[kA=2,kB=2]", 6, 2)
    failing, patterns = undecodable_sets(code)
    assert (len(failing), len(patterns)) == (6, 15)
    finding = next(f for f in check(code) if "threshold" in f.name)
    assert not finding.passed
    for row in failing:
        assert str(np.flatnonzero(row).tolist()) in finding.detail
    # every failing set determines two of the products' sums alike: the determinant is zero
    system = code.system()
    matrix = system.reply.coefficients.rounded("float64")  # type: ignore[attr-defined]
    singular = [abs(np.linalg.det(matrix[np.flatnonzero(row)])) < 1e-14 for row in patterns]
    assert sum(singular) == 6


@pytest.mark.parametrize(("text", "n", "s"), ALL)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_products_in_floats_err_as_amplification_predicts(
    text: str, n: int, s: int, precision: str
) -> None:
    record = sb.evaluate(
        sb.code(text, n, s),
        problem="matmul",
        precision=precision,
        data="gaussian[rows=24,columns=12]",
        patterns="auto:20",
    )
    assert record.status == "ok"
    assert record.trusted > 0 or record.amplification.median > 1e5
    assert record.trusted == 0 or record.test_ratio.worst < 10
    unit = 2.0 ** -(53 if precision == "float64" else 24)
    assert record.relative_error.worst > 0.1 * unit


@pytest.mark.parametrize("problem", ["matmul", "matmul[transpose=false]", "matmul[columns=7]"])
def test_the_products_are_those_of_numpy(problem: str) -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.matmul import joined
    from stabbench.problems.registry import data
    from stabbench.problems.registry import problem as build

    code, double = sb.code("entangled[kA=2,kB=2,p=2]", 10, 1), precision("float64")
    task = build(problem, data("gaussian[rows=13,columns=9]"), 1)
    system = code.system("matmul")
    assert isinstance(system, ProductSystem)
    left, right = task.operands(double, 0)
    matrix = data("gaussian[rows=13,columns=9]").matrix(0)
    assert np.array_equal(left, matrix if "transpose" in problem else matrix.T)
    exact = task.exact((left, right), "flint")
    assert np.allclose(exact.hi, left @ right)
    shares = task.encode(system, task.blocks(system, (left, right)), double)
    replies = task.work(system, shares, double)
    pattern = np.array([[0, *[1] * 9]], dtype=np.int8)
    plan = decoder("solve").plan(code, system, pattern, double, "use")
    (estimate,) = plan.decode(replies)
    product = joined(estimate, system.layout, (left.shape[0], right.shape[1]))
    assert np.allclose(product, left @ right, atol=1e-9)


def test_stages_add_up_exactly_and_show_where_powers_no_longer_align() -> None:
    random = np.random.default_rng(3)
    received = flint.fmpq_mat(3, 3, [flint.fmpq(int(x), 7) for x in random.integers(1, 50, 9)])
    parts = [
        flint.fmpq_mat(rows, 2, [flint.fmpq(int(x), 8) for x in random.integers(-99, 99, rows * 2)])
        for rows in (3, 3, 3, 1, 1)
    ]
    ideal, encoded, computed, estimate, exact = map(Quotient.ratio, parts)
    stages = Stages(encoded, computed, estimate, exact, ideal)
    target = Quotient.of(np.array([[1.0, 0, 2]]))
    inverse = LeftInverse(Quotient.ratio(received))
    vectors = stage_vectors(lambda sides: target * inverse(sides), stages)
    total = sum((v.rational() for v in vectors.values()), start=flint.fmpq_mat(1, 2))
    assert total == parts[3] - parts[4]
    data = "gaussian[rows=24,columns=12]"
    for text, aligned in (("matdot", False), ("matdot[nodes=integers]", True), ("orthopoly", True)):
        record = sb.evaluate(sb.code(text, 7, 2), problem="matmul", data=data)
        assert (record.budget["approximation"] == 0) == aligned, text
        assert record.budget["total"] > 0


def test_budget_of_a_whole_small_product_is_its_error(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0).standard_normal((2, 8, 6))
    np.save(tmp_path / "complex.npy", drawn[0] + 1j * drawn[1])
    for text in ("orthopoly", "polynomial[nodes=roots-of-unity]"):
        record = sb.evaluate(
            sb.code(text, 7, 2), problem="matmul", data=str(tmp_path / "complex.npy")
        )
        assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-6)
    record = sb.evaluate(
        sb.code("orthomatdot", 7, 2), problem="matmul", data="gaussian[rows=8,columns=6]"
    )
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-6)
    record = sb.evaluate(
        sb.code("lagrange[nodes=roots-of-unity]", 7, 2),
        problem="evaluate",
        data="gaussian[rows=12,columns=6]",
    )
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-6)


@pytest.mark.parametrize("problem", ["matmul", "evaluate", "evaluate[function=power,degree=3]"])
def test_mpmath_agrees_with_flint_to_the_last_bit(problem: str) -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.registry import data
    from stabbench.problems.registry import problem as build

    task = build(problem, data("gaussian[rows=10,columns=6]"), 1, 3)
    operands_ = task.operands(precision("float32"), 5)
    one, two = (task.exact(operands_, name) for name in ("flint", "mpmath"))
    assert np.array_equal(one.hi, two.hi)
    assert np.allclose(one.lo, two.lo, rtol=1e-10, atol=0)


def test_both_references_overflow_alike() -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.families import Gaussian
    from stabbench.problems.registry import problem as build

    class Huge(Gaussian):
        def matrix(self, seed: int) -> Any:
            return np.array([[1e200, -1e200, 1e-200], [1.0, -2.0, 1e160]])

    for text in ("evaluate[function=power,degree=3]", "evaluate"):
        task = build(text, Huge(), 1, 2)
        operands_ = task.operands(precision("float64"), 0)
        one, two = (task.exact(operands_, name) for name in ("flint", "mpmath"))
        assert np.isinf(one.hi).any()
        assert np.array_equal(one.hi, two.hi)
        assert np.array_equal(one.lo, two.lo)


def test_kronecker_rows_are_exact_products_of_the_stored_factors() -> None:
    _, system = system_of("polynomial[nodes=chebyshev,kA=2,kB=2]", 6, 2)
    reply = system.reply
    assert isinstance(reply, Kronecker)
    left, right = (part.rounded("bfloat16") for part in (reply.left, reply.right))
    expected = (left[:, :, None].astype(float) * right[:, None, :].astype(float)).reshape(6, 4)
    assert np.array_equal(reply.stored("bfloat16").rounded("float64"), expected)
    exact = reply.stored("float64").rational()[0][1, 3]
    a, b = (float(part.rounded("float64")[1, 1]) for part in (reply.left, reply.right))
    product = flint.fmpq(*a.as_integer_ratio()) * flint.fmpq(*b.as_integer_ratio())
    assert exact == product
    assert acting_coefficients(reply.stored("float64"), True).shape[0] == 12


def test_complex_codes_run_in_complex_types() -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.registry import data
    from stabbench.problems.registry import problem as build

    code, single = sb.code("polynomial[nodes=roots-of-unity]", 6, 2), precision("float32")
    task, system = build("matmul", data("gaussian[rows=8,columns=4]"), 1), code.system("matmul")
    blocks = task.blocks(system, task.operands(single, 0))
    replies = task.work(system, task.encode(system, blocks, single), single)
    assert replies.dtype == np.complex64
    plan = decoder("solve").plan(code, system, np.ones((1, 6), np.int8), single, "use")
    assert plan.decode(replies).dtype == np.complex64


@pytest.mark.parametrize(
    ("text", "n", "s", "words"),
    [
        ("polynomial[kA=3,k=4]", 6, 2, "does not divide 4"),
        ("polynomial[kA=2,kB=3,k=4]", 6, 2, "k=4 is not kA"),
        ("polynomial[kA=3,kB=2]", 6, 2, "needs 6"),
        ("polynomial[kA=0]", 6, 2, "kA=0"),
        ("orthopoly[kA=3,kB=3]", 8, 2, "needs 9"),
        ("matdot[p=0]", 6, 2, "p=0"),
        ("matdot[p=4]", 6, 1, "needs 7"),
        ("polydot[p=9]", 6, 1, "p=9"),
        ("entangled[kA=2,kB=2,p=2]", 9, 1, "needs 9"),
        ("convolutional[gamma=1/5]", 6, 2, "above 1/4"),
        ("circulant[q=6]", 6, 2, "primes >= n, such as 7"),
        ("circulant[q=5]", 6, 2, "primes >= n"),
        ("product[nA=4]", 6, 2, "is not n=6"),
        ("product[kA=2,kB=3]", 9, 3, "needs"),
        ("lt[k=30]", 20, 2, "k <= n - s"),
        ("lagrange[k=4]", 7, 2, "needs 7"),
        ("lagrange[degree=0]", 7, 2, "degree=0"),
        ("berrut[k=0]", 7, 2, "k=0"),
        ("khatri-rao[select=0]", 6, 2, "select=0"),
    ],
)
def test_contradictions_are_errors_of_one_line(text: str, n: int, s: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        sb.code(text, n, s)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        ("convolutional", "matvec", "gamma=1/16 cuts 17 blocks into 8704 sub-blocks"),
        ("convolutional[gamma=1/10]", "matmul", "gammaB=1/16 cuts 17 blocks into 8704"),
    ],
)
def test_a_share_that_needs_too_many_sub_blocks_is_named(
    text: str, problem: str, words: str
) -> None:
    built = sb.code(text, 20, 3)
    with pytest.raises(InputError, match=words):
        built.system(problem)


def test_absent_parameters_are_the_most_square_factorisation() -> None:
    layouts = {
        (31, 3): (4, 1, 7),
        (24, 4): (4, 1, 5),
        (7, 0): (1, 1, 7),
        (9, 0): (3, 1, 3),
    }
    for (n, s), layout in layouts.items():
        assert tuple(sb.code("polynomial", n, s).layout) == layout  # type: ignore[attr-defined]
    assert tuple(sb.code("polynomial[kB=2]", 8, 2).layout) == (3, 1, 2)  # type: ignore[attr-defined]
    assert sb.code("polynomial", 31, 3).full_spec == "polynomial[nodes=chebyshev]"


def test_problems_that_a_code_does_not_serve_are_skipped() -> None:
    for text, problem in (
        ("gaussian", "matmul"),
        ("matdot", "matvec"),
        ("lagrange", "evaluate[function=power,degree=3]"),
        ("polynomial", "evaluate"),
    ):
        record = sb.evaluate(sb.code(text, 7, 2), problem=problem)
        assert record.status == "skipped", text
    with pytest.raises(InputError, match="matvec: unknown parameter 'columns'; allowed: none"):
        sb.evaluate(sb.code("polynomial", 7, 2), problem="matvec[columns=3]")
    with pytest.raises(InputError, match="columns=0"):
        sb.evaluate(sb.code("polynomial", 7, 2), problem="matmul[columns=0]")
