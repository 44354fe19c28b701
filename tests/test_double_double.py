"""Pairs of floats: error-free sums and products, matrix products, operators rounded once."""

from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import stabbench as sb
from stabbench.analysis.survivors import policy
from stabbench.arithmetic import exact
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.double_double import (
    matmul,
    minus,
    plus,
    times,
    two_product,
    two_sum,
)
from stabbench.arithmetic.inverses import decoding_operators
from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.precision import precision
from stabbench.decoders.registry import decoder

Array = np.ndarray[Any, np.dtype[Any]]
numbers = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


@given(a=numbers, b=numbers)
def test_sums_and_products_are_exact_with_their_errors(a: float, b: float) -> None:
    one, two = np.array([a]), np.array([b])
    hi, lo = two_sum(one, two)
    assert hi[0] == a + b
    assert Fraction(hi[0]) + Fraction(lo[0]) == Fraction(a) + Fraction(b)
    hi, lo = two_product(one, two)
    assert hi[0] == a * b
    assert Fraction(hi[0]) + Fraction(lo[0]) == Fraction(a) * Fraction(b)


def pair(rng: np.random.Generator, shape: tuple[int, ...]) -> Pair:
    hi = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)
    return two_sum(hi, hi * 2.0**-54 * rng.standard_normal(shape))


def exactly(value: Pair) -> Array:
    fraction = np.vectorize(Fraction, otypes=[object])
    return np.asarray(fraction(value[0]) + fraction(value[1]))


@pytest.mark.parametrize(("r", "m", "k"), [(1, 1, 1), (3, 2, 4), (5, 9, 2), (2, 40, 3)])
def test_matrix_products_have_a_hundred_bits(r: int, m: int, k: int) -> None:
    rng = np.random.default_rng(m)
    A, B = pair(rng, (r, m)), pair(rng, (m, k))
    hi, lo = matmul(A, B)
    assert hi.dtype == lo.dtype == np.float64
    left, right = exactly(A), exactly(B)
    error = np.abs(exactly((hi, lo)) - left @ right)
    assert (error <= m * Fraction(2) ** -101 * (np.abs(left) @ np.abs(right))).all()
    # and float64 alone does not
    assert (np.abs(exactly((A[0] @ B[0], 0 * hi)) - left @ right) > error).any()


def test_stacks_are_multiplied_one_by_one() -> None:
    rng = np.random.default_rng(3)
    A, B = pair(rng, (4, 3, 2)), pair(rng, (4, 2, 5))
    hi, lo = matmul(A, B)
    for p in range(4):
        one = matmul((A[0][p], A[1][p]), (B[0][p], B[1][p]))
        assert np.array_equal(one[0], hi[p])
        assert np.array_equal(one[1], lo[p])


def survivors(n: int, count: int) -> Array:
    rng = np.random.default_rng(count)
    random = [np.sort(rng.choice(n, count, replace=False)) for _ in range(8)]
    return np.array(
        [*random, np.arange(n - count, n), np.arange(count), np.arange(n)[::-1][:count]]
    )


@pytest.mark.parametrize("spare", [0, 1])
@pytest.mark.parametrize(
    ("spec", "n", "s"),
    [
        ("gaussian", 20, 4),
        ("polynomial[nodes=integers]", 40, 4),
        ("polynomial[nodes=equispaced]", 30, 3),
        ("polynomial[nodes=chebyshev]", 30, 5),
        ("polynomial[nodes=roots-of-unity]", 18, 4),
        ("systematic-gaussian", 12, 3),
        ("replication", 6, 2),
    ],
)
def test_precise_operators_are_rounded_once(spec: str, n: int, s: int, spare: int) -> None:
    code: Any = sb.code(spec, n=n, stragglers=s)
    stored = code.generator.rounded("float64")
    k = stored.shape[1]
    sets = survivors(len(stored), k + spare)
    found = decoding_operators(Coefficients.from_array(stored), sets, precise=True)
    assert found.D.dtype == stored.dtype
    for rows, D, decodes in zip(sets, found.D, found.status, strict=True):
        if not decodes:
            assert exact.rank(stored[rows]) < k
            continue
        truth = exact.inverse(stored[rows], bits=2048)
        allowed = 2.0**-60 * np.linalg.norm(truth, axis=1, keepdims=True)
        for ours, theirs in ((D.real, truth.real), (D.imag, truth.imag)):
            assert (np.abs(ours - theirs) <= allowed + np.spacing(np.abs(theirs))).all()
        large = np.abs(truth) > 2.0**-15 * np.linalg.norm(truth, axis=1, keepdims=True)
        if not np.iscomplexobj(D):
            assert (truth == D)[large].mean() > 0.99


def test_sets_beyond_refinement_are_precise_too() -> None:
    """Two rows that differ by 2^-40 leave a null space that pairs cannot serve."""
    rng = np.random.default_rng(1)
    stored = rng.standard_normal((7, 4))
    stored[1] = stored[0] + 2.0**-40 * rng.standard_normal(4)
    sets = np.array([[0, 1, 2, 3], [0, 1, 5, 6], [0, 2, 3, 4]])
    found = decoding_operators(Coefficients.from_array(stored), sets, precise=True)
    assert found.status.all()
    for rows, D in zip(sets, found.D, strict=True):
        truth = exact.inverse(stored[rows], bits=1024)
        assert np.abs(D - truth).max() <= 2.0**-52 * np.abs(truth).max()
        assert (truth == D).mean() > 0.95


def test_exact_weights_of_float64_come_in_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pattern was inverted by itself")

    monkeypatch.setattr(exact, "inverse", refuse)
    monkeypatch.setattr("stabbench.arithmetic.inverses.operator_by_balls", refuse)
    code: Any = sb.code("chebyshev-basis", n=12, stragglers=3)
    patterns = policy("all").patterns(12, 3)
    chosen = precision("float64")
    plan: Any = decoder("exact-weights").plan(code, code.system(), patterns, chosen, "use")
    assert plan.matrices.shape == (220, 9, 9)
    assert np.isfinite(plan.matrices).all()


@given(a=numbers, b=numbers, seed=st.integers(0, 99))
def test_sums_and_products_of_pairs_are_pairs(a: float, b: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (two_sum(np.array([v]), v * 2.0**-54 * rng.uniform(-1, 1, 1)) for v in (a, b))
    exact = (exactly(x)[0], exactly(y)[0])
    for found, truth, size in (
        (plus(x, y), exact[0] + exact[1], abs(exact[0]) + abs(exact[1])),
        (plus(x, minus(y)), exact[0] - exact[1], abs(exact[0]) + abs(exact[1])),
        (times(x, y), exact[0] * exact[1], abs(exact[0] * exact[1])),
    ):
        assert abs(exactly(found)[0] - truth) <= Fraction(2) ** -102 * size
        assert found[0][0] == found[0][0] + found[1][0]
