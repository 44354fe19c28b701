"""Both references give the exact result, and the same one, for any finite operands."""

from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stabbench.arithmetic import exact, multiprecision
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.exact import Pair
from stabbench.arithmetic.rank import first_independent, independent_rows
from stabbench.errors import InputError

SEED = 20240608
PROPERTY = settings(deadline=None, derandomize=True, max_examples=60)
Rational = tuple[Fraction, Fraction]


@pytest.fixture(autouse=True)
def _precisions_stay_as_they_are() -> Any:
    before = flint.ctx.prec, mpmath.mp.prec
    yield
    assert (flint.ctx.prec, mpmath.mp.prec) == before


def wild(draw: st.DrawFn, shape: tuple[int, int], complex_: bool, spread: int) -> NDArray[Any]:
    """Floats with few or many digits, zeros, and exponents that have nothing in common."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    digits = draw(st.sampled_from([1, 3, 24, 53]))

    def part() -> NDArray[np.float64]:
        whole = rng.integers(-(1 << digits) + 1, 1 << digits, shape).astype(np.float64)
        return np.asarray(np.ldexp(whole, rng.integers(-spread, spread + 1, shape) - digits))

    return part() + 1j * part() if complex_ else part()


@st.composite
def operands(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any]]:
    m, k, n = (draw(st.integers(1, 4)) for _ in range(3))
    spread = draw(st.sampled_from([0, 10, 400, 1000]))
    left, right = draw(st.booleans()), draw(st.booleans())
    return wild(draw, (m, k), left, spread), wild(draw, (k, n), right, spread)


@st.composite
def systems(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any]]:
    k, m = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    extra = draw(st.integers(0, 2))
    spread = draw(st.sampled_from([0, 10, 200]))
    left, right = draw(st.booleans()), draw(st.booleans())
    return wild(draw, (k + extra, k), left, spread), wild(draw, (k + extra, m), right, spread)


def rational(x: Any) -> Rational:
    return Fraction(*x.real.as_integer_ratio()), Fraction(*x.imag.as_integer_ratio())


def plus(a: Rational, b: Rational) -> Rational:
    return a[0] + b[0], a[1] + b[1]


def multiplied(a: Rational, b: Rational) -> Rational:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def reciprocal(a: Rational) -> Rational:
    size = a[0] ** 2 + a[1] ** 2
    return a[0] / size, -a[1] / size


def rationals(array: NDArray[Any]) -> list[list[Rational]]:
    return [[rational(x) for x in row] for row in array]


def matrix_product(a: list[list[Rational]], b: list[list[Rational]]) -> list[list[Rational]]:
    zero = Fraction(0), Fraction(0)
    out = [[zero for _ in b[0]] for _ in a]
    for i, row in enumerate(a):
        for j in range(len(b[0])):
            for x, other in zip(row, b, strict=True):
                out[i][j] = plus(out[i][j], multiplied(x, other[j]))
    return out


def adjoint(a: list[list[Rational]]) -> list[list[Rational]]:
    return [[(x[0], -x[1]) for x in column] for column in zip(*a, strict=True)]


def eliminated(a: list[list[Rational]], b: list[list[Rational]]) -> list[list[Rational]] | None:
    """Gauss-Jordan in rationals; None if the square matrix is singular."""
    rows = [[*x, *y] for x, y in zip(a, b, strict=True)]
    for c in range(len(a)):
        pivot = next((i for i in range(c, len(a)) if any(rows[i][c])), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        scale = reciprocal(rows[c][c])
        rows[c] = [multiplied(scale, x) for x in rows[c]]
        for i in range(len(a)):
            if i != c:
                factor = -rows[i][c][0], -rows[i][c][1]
                rows[i] = [
                    plus(x, multiplied(factor, y)) for x, y in zip(rows[i], rows[c], strict=True)
                ]
    return [row[len(a) :] for row in rows]


def nearest(x: Fraction) -> float:
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def check(pair: Pair, expected: list[list[Rational]], complex_: bool) -> None:
    hi, lo = pair
    assert hi.shape == lo.shape == (len(expected), len(expected[0]))
    assert hi.dtype == lo.dtype == (np.complex128 if complex_ else np.float64)
    for (i, j), high in np.ndenumerate(hi):
        for h, low, x in zip(
            (high.real, high.imag), (lo[i, j].real, lo[i, j].imag), expected[i][j], strict=True
        ):
            assert h == nearest(x)
            assert low == (nearest(x - Fraction(h)) if np.isfinite(h) else 0.0)


def close(a: Pair, b: Pair) -> bool:
    """hi to the last bit, lo to its last bit or so."""
    with np.errstate(invalid="ignore"):
        low = np.abs(a[1] - b[1]) <= 2.0**-51 * np.abs(b[1]) + 2.0**-1074
    return np.array_equal(a[0], b[0]) and bool(np.all(low))


@given(operands())
@PROPERTY
def test_products_are_exact_and_both_references_agree(
    pair: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    A, B = pair
    result = exact.product(A, B)
    complex_ = "c" in (A.dtype.kind, B.dtype.kind)
    check(result, matrix_product(rationals(A), rationals(B)), complex_)
    assert close(multiprecision.product(A, B), result)


@given(systems())
@PROPERTY
def test_solutions_are_exact_and_both_references_agree(
    pair: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    G, Y = pair
    a, b = rationals(G), rationals(Y)
    expected = eliminated(matrix_product(adjoint(a), a), matrix_product(adjoint(a), b))
    solvers = ["least_squares", "solve"] if G.shape[0] == G.shape[1] else ["least_squares"]
    for name in solvers:
        if expected is None:
            for reference in (exact, multiprecision):
                with pytest.raises(ZeroDivisionError):
                    getattr(reference, name)(G, Y)
            continue
        result = getattr(exact, name)(G, Y)
        check(result, expected, "c" in (G.dtype.kind, Y.dtype.kind))
        assert close(getattr(multiprecision, name)(G, Y), result)


@given(systems())
@PROPERTY
def test_inverses_are_correct_to_double_precision(
    pair: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    G, _ = pair
    a = rationals(G)
    expected = eliminated(matrix_product(adjoint(a), a), adjoint(a))
    if expected is None:
        for reference in (exact, multiprecision):
            with pytest.raises(ZeroDivisionError):
                reference.inverse(G)
        assert exact.rank(G) < G.shape[1]
        return
    assert exact.rank(G) == G.shape[1]
    for reference in (exact, multiprecision):
        result = reference.inverse(G)
        assert result.dtype == (np.complex128 if G.dtype.kind == "c" else np.float64)
        for row, values in zip(result, expected, strict=True):
            largest = max(abs(part) for x in values for part in x)
            for entry, value in zip(row, values, strict=True):
                for given_, part in zip(rational(entry), value, strict=True):
                    assert abs(given_ - part) <= largest * Fraction(1, 1 << 53)


def hilbert(k: int) -> NDArray[np.float64]:
    return np.asarray(1.0 / np.add.outer(np.arange(1.0, k + 1), np.arange(k)))


def vandermonde(k: int) -> NDArray[np.float64]:
    return np.vander(np.linspace(-1, 1, k), increasing=True)


def fourier(k: int) -> NDArray[np.complex128]:
    return np.vander(np.exp(2j * np.pi * np.arange(k) / (k + 3)), increasing=True)


@pytest.mark.parametrize("family", [hilbert, vandermonde, fourier])
@pytest.mark.parametrize("k", [5, 9])
def test_ill_conditioned_systems_are_solved_to_the_last_bit(family: Any, k: int) -> None:
    G = family(k)
    Y = np.random.default_rng(SEED).standard_normal((k, 2))
    pair = exact.solve(G, Y)
    expected = eliminated(rationals(G), rationals(Y))
    assert expected is not None
    check(pair, expected, G.dtype.kind == "c")
    assert close(multiprecision.solve(G, Y), pair)
    inverse = exact.inverse(G)
    scale = np.max(np.abs(inverse), axis=1, keepdims=True)
    assert np.all(np.abs(multiprecision.inverse(G) - inverse) <= 2.0**-52 * scale)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.clongdouble])
def test_every_float_type_is_taken_exactly(dtype: type) -> None:
    rng = np.random.default_rng(SEED)
    A = (rng.standard_normal((3, 4)) / 3).astype(dtype) / dtype(3)
    B = (rng.standard_normal((4, 2)) / 3).astype(dtype) / dtype(7)
    pair = exact.product(A, B)
    check(pair, matrix_product(rationals(A), rationals(B)), A.dtype.kind == "c")
    assert close(multiprecision.product(A, B), pair)


def test_subnormal_and_overflowing_products_are_rounded_like_all_others() -> None:
    A = np.array([[5e-324, 2.0**-1000, 1.7e308, 0.0]])
    B = np.array([[0.75, 1e300, 0.5], [2.0**-76, 0.0, 0.0], [0.0, 1e300, 0.25], [1.0, 1.0, 1.0]])
    pair = exact.product(A, B)
    check(pair, matrix_product(rationals(A), rationals(B)), complex_=False)
    assert np.isinf(pair[0][0, 1])
    assert close(multiprecision.product(A, B), pair)


def test_a_subnormal_product_is_not_rounded_twice() -> None:
    # 2.5 + 2^-60 quanta: 53 bits would make it the tie 2.5, which goes to 2
    A = np.array([[2.5 * 2.0**-537, 2.0**-600]])
    B = np.array([[2.0**-537], [2.0**-534]])
    pair = exact.product(A, B)
    assert pair[0][0, 0] == 3 * 2.0**-1074
    check(pair, matrix_product(rationals(A), rationals(B)), complex_=False)
    assert close(multiprecision.product(A, B), pair)


@pytest.mark.parametrize("reference", [exact, multiprecision])
@pytest.mark.parametrize("scale", [1.0, 1 + 1j])
def test_short_solutions_and_zeros_come_out_without_noise(reference: Any, scale: complex) -> None:
    G = np.random.default_rng(SEED).integers(-999, 999, (8, 8)) * scale
    wanted = np.zeros((8, 2))
    wanted[[1, 4, 7], [0, 0, 1]] = 3.0, 1 + 2.0**-10, 5.0
    wanted[2:4, 1] = 2.0**-20, 7.0
    hi, lo = reference.solve(G, G @ wanted)
    assert np.array_equal(hi, wanted)
    assert not np.any(lo)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("reference", [exact, multiprecision])
def test_operands_that_are_not_finite_are_refused(reference: Any, bad: float) -> None:
    good, wrong = np.eye(2), np.array([[1.0, bad], [0.0, 1.0]])
    for name in ("product", "solve", "least_squares"):
        for operands_ in ((good, wrong), (wrong, good)):
            with pytest.raises(InputError, match="finite"):
                getattr(reference, name)(*operands_)
    with pytest.raises(InputError, match="finite"):
        reference.inverse(wrong)


@pytest.mark.parametrize("reference", [exact, multiprecision])
def test_shapes_that_do_not_fit_are_refused(reference: Any) -> None:
    for name in ("product", "solve", "least_squares"):
        with pytest.raises(InputError, match="shapes"):
            getattr(reference, name)(np.ones((2, 3)), np.ones((4, 2)))
    with pytest.raises(InputError, match="shapes"):
        reference.solve(np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(InputError, match="shape"):
        reference.inverse(np.ones((2, 3)))


@pytest.mark.parametrize("reference", [exact, multiprecision])
def test_operands_that_are_not_floats_are_refused(reference: Any) -> None:
    for wrong in (np.eye(2, dtype=np.int64), np.eye(2, dtype=object)):
        for name in ("product", "solve", "least_squares"):
            with pytest.raises(InputError, match="floats"):
                getattr(reference, name)(np.eye(2), wrong)


def test_an_empty_sum_is_zero() -> None:
    hi, lo = exact.product(np.zeros((2, 0)), np.zeros((0, 3)))
    assert np.array_equal(hi, np.zeros((2, 3)))
    assert np.array_equal(lo, np.zeros((2, 3)))
    assert exact.product(np.zeros((0, 2)), np.zeros((2, 3)))[0].shape == (0, 3)


def test_large_integers_are_exact_coefficients() -> None:
    matrix = Coefficients.from_array(np.array([[2**62 + 1, 2**62 - 1], [1, 1]]))
    assert exact.inverse(matrix)[0].tolist() == [0.5, -float(2**61)]
    assert matrix.rounded("float32")[0].tolist() == [2.0**62, 2.0**62]


@pytest.mark.parametrize("reference", [exact, multiprecision])
def test_vectors_give_vectors(reference: Any) -> None:
    y = np.array([1.0, 2.0, 4.0])
    assert reference.product(np.eye(3), y)[0].tolist() == y.tolist()
    assert reference.solve(np.eye(3) * 2, y)[0].tolist() == [0.5, 1.0, 2.0]
    assert reference.least_squares(np.ones((3, 1)), y)[0].shape == (1,)


def chebyshev(bits: int) -> list[list[flint.arb]]:
    return [[flint.arb.cos_pi_fmpq(flint.fmpq((2 * i + 1) * j, 20)) for j in range(7)]
            for i in range(10)]  # fmt: skip


def roots_of_unity(bits: int) -> list[list[flint.acb]]:
    return [[flint.acb.exp_pi_i(flint.acb(flint.fmpq(2 * i * j, 10))) for j in range(7)]
            for i in range(10)]  # fmt: skip


@pytest.mark.parametrize("function", [chebyshev, roots_of_unity])
def test_irrational_matrices_are_inverted_and_ranked(function: Any) -> None:
    matrix = Coefficients(function, (10, 7), complex=function is roots_of_unity)
    assert exact.rank(matrix) == 7
    for part in (matrix, matrix.rows(range(2, 9))):
        inverse = exact.inverse(part)
        other = multiprecision.inverse(part)
        assert np.allclose(inverse @ part.rounded("float64"), np.eye(7), atol=1e-11)
        scale = np.max(np.abs(inverse), axis=1, keepdims=True)
        assert np.all(np.abs(inverse - other) <= 2.0**-52 * scale)
    with pytest.raises(ZeroDivisionError):
        exact.inverse(matrix.rows([0, 1, 2, 3, 4, 5, 5]))


def test_dependent_irrational_columns_lower_the_rank() -> None:
    def function(bits: int) -> list[list[flint.arb]]:
        root = flint.arb(2).sqrt()
        rows = [[root**j + i for j in range(1, 4)] for i in range(6)]
        return [[*row, row[0] * root + row[2]] for row in rows]

    matrix = Coefficients(function, (6, 4))
    assert not matrix.is_rational
    assert exact.rank(matrix) == 2


@pytest.mark.parametrize("complex_", [False, True])
def test_rank_is_exact_beyond_any_tolerance(complex_: bool) -> None:
    rng = np.random.default_rng(SEED)
    left = rng.integers(-9, 9, (8, 3)) + (1j * rng.integers(-9, 9, (8, 3)) if complex_ else 0.0)
    right = rng.integers(-9, 9, (3, 6)).astype(float)
    low = left @ right
    assert exact.rank(low) == 3
    low[3, 3] += 2.0**-40
    assert exact.rank(low) == 4
    assert exact.rank(hilbert(20)) == 20


@pytest.mark.parametrize("complex_", [False, True])
def test_the_first_independent_rows_are_those_that_raise_the_rank(complex_: bool) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(100):
        r, k = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        unit = 1 + 1j if complex_ else 1.0
        matrix = unit * np.ldexp(rng.integers(-1, 2, (r, k)) * 1.0, rng.integers(-40, 40, (r, 1)))
        greedy: list[int] = []
        for i in range(r):
            if exact.rank(matrix[[*greedy, i]]) > len(greedy):
                greedy.append(i)
        assert independent_rows(matrix).tolist() == greedy
        if r >= k:
            expected = greedy if len(greedy) == k else list(range(k))
            assert first_independent(matrix, np.arange(r)[None])[0].tolist() == expected


def test_a_condition_number_of_1e40_takes_more_bits_and_stays_exact() -> None:
    G = np.vander(np.arange(1.0, 29.0), increasing=True)
    inverse = exact.inverse(G)
    assert np.linalg.norm(G, 2) * np.linalg.norm(inverse, 2) > 1e40
    hi, _ = exact.solve(G, np.eye(28))
    assert np.array_equal(inverse, exact.inverse(G, bits=64))
    assert np.allclose(inverse, hi, rtol=2.0**-52, atol=0)


def test_errors_are_accurate_far_below_the_last_bit() -> None:
    rng = np.random.default_rng(SEED)
    A, x = rng.standard_normal((20, 30)), rng.standard_normal(30)
    pair = exact.product(A, x)
    differences = exact.error(A @ x, pair)
    truth = matrix_product(rationals(A), rationals(x[:, None]))
    for computed, estimate, value in zip(differences, A @ x, truth, strict=True):
        difference = Fraction(estimate) - value[0][0]
        assert abs(Fraction(computed) - difference) <= abs(difference) * Fraction(1, 1 << 40)
    wide = exact.error((A @ x).astype(np.longdouble), pair)
    assert wide.dtype == np.longdouble
    assert exact.error((A @ x).astype(np.float32), pair).dtype == np.float64


def test_errors_of_results_that_overflowed_stay_infinite() -> None:
    zero = np.zeros(3)
    estimate = np.array([np.inf, -np.inf, np.nan])
    assert np.array_equal(exact.error(estimate, (zero, zero)), estimate, equal_nan=True)
    beyond = exact.error(np.array([np.inf, 1.0]), (np.array([np.inf, np.inf]), np.zeros(2)))
    assert np.all(np.isinf(beyond))


def test_norms_survive_extreme_magnitudes() -> None:
    assert exact.norm(np.array([3e200, 4e200])) == pytest.approx(5e200, rel=1e-15)
    assert exact.norm(np.array([3e-200 + 4e-200j])) == pytest.approx(5e-200, rel=1e-15)
    assert exact.norm((np.array([[3.0], [4.0]]), np.zeros((2, 1)))) == 5.0
    assert exact.norm(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(exact.norm(np.array([1.0, np.nan, np.inf])))
    assert exact.norm(np.zeros(3)) == exact.norm(np.zeros(0)) == 0.0
