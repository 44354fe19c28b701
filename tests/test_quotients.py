"""Exact products by limbs, and left inverses over one denominator, against rationals."""

from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stabbench.arithmetic import limbs
from stabbench.arithmetic.integers import common, times
from stabbench.arithmetic.limbs import product
from stabbench.arithmetic.quotients import LeftInverse, Quotient, acting
from stabbench.errors import InputError
from tests.support import Array

KINDS = ("float32", "float64", "longdouble", "complex64", "complex128")


def drawn(rng: Any, shape: tuple[int, int], kind: str, spread: int) -> Array:
    """Random numbers over many binary exponents, some of them zero."""
    found = np.ldexp(rng.standard_normal(shape), rng.integers(-spread, spread + 1, shape))
    found[rng.random(shape) < 0.1] = 0
    if kind.startswith("complex"):
        found = found + 1j * np.ldexp(rng.standard_normal(shape), rng.integers(-spread, 1, shape))
    return np.asarray(found.astype(kind))


@settings(max_examples=80)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 200), st.integers(1, 4)),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    spread=st.sampled_from([0, 5, 30, 100]),
    seed=st.integers(0, 9999),
)
def test_products_by_limbs_are_those_of_long_integers(
    shape: tuple[int, int, int], kinds: tuple[str, str], spread: int, seed: int
) -> None:
    rng, (m, k, n) = np.random.default_rng(seed), shape
    left, right = drawn(rng, (m, k), kinds[0], spread), drawn(rng, (k, n), kinds[1], spread)
    (found, e), ((one, f), (two, g)) = product(left, right), (common(left), common(right))
    expected = times(one, two)
    assert len(found) == len(expected)
    least = min(e, f + g)
    for a, b in zip(found, expected, strict=True):
        assert a * (flint.fmpz(1) << (e - least)) == b * (flint.fmpz(1) << (f + g - least))


def test_the_largest_limbs_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bit set, signs alike, and many terms: sums of limbs are then as large as they get."""
    calls = []
    summed = limbs._sum

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return summed(*arguments)

    monkeypatch.setattr(limbs, "_sum", counted)
    for inner in (64, 1000, 4096):
        left = np.full((300, inner), 2.0 - 2.0**-52)
        left[:, ::2] = np.ldexp(left[:, ::2], -150)
        right = np.full((inner, 1), 2.0 - 2.0**-52)
        ((found,), e), ((one,), f), ((two,), g) = product(left, right), common(left), common(right)
        expected = one * two
        least = min(e, f + g)
        assert found * (1 << (e - least)) == expected * (1 << (f + g - least))
    assert len(calls) == 3


def test_products_of_what_is_not_finite_are_refused() -> None:
    one = np.ones((2, 2))
    for bad in (np.inf, np.nan):
        with pytest.raises(InputError, match="finite"):
            product(one, one * bad)
        with pytest.raises(InputError, match="finite"):
            product(one * bad, one)


@pytest.mark.parametrize("value", [5e-324, 2.0**1023, 2.0**-1022 * 1.5])
def test_products_at_the_ends_of_the_format(value: float) -> None:
    left = np.array([[value, 1.0], [0.0, -value]])
    ((found,), e) = product(left, left)
    expected = flint.fmpq_mat(
        [[flint.fmpq(*x.as_integer_ratio()) for x in r] for r in left.tolist()]
    )
    assert flint.fmpq_mat(found) * flint.fmpq(2) ** e == expected * expected


@settings(max_examples=60)
@given(
    k=st.integers(1, 6),
    spare=st.integers(0, 2),
    kind=st.sampled_from(["float32", "float64", "complex128"]),
    columns=st.integers(1, 30),
    seed=st.integers(0, 9999),
)
def test_left_inverses_are_those_of_rationals(
    k: int, spare: int, kind: str, columns: int, seed: int
) -> None:
    """Solved for or formed; rows of very different sizes have contents that are taken out."""
    rng, is_complex = np.random.default_rng(seed), kind.startswith("complex")
    matrix = drawn(rng, (k + spare, k), kind, 20) + np.eye(k + spare, k).astype(kind)
    real = acting(matrix, is_complex)
    sides = Quotient.of(rng.standard_normal((real.shape[0], columns)))
    whole = real.rational()
    adjoint = whole.transpose()
    try:
        expected = (adjoint * whole).solve(adjoint * sides.rational())
    except ZeroDivisionError:
        for many in (1, 10**6):
            with pytest.raises(ZeroDivisionError):
                LeftInverse(real, is_complex).form(many)(sides)
        return
    solved, formed = LeftInverse(real, is_complex), LeftInverse(real, is_complex).form(10**6)
    assert formed._formed is not None
    assert solved._formed is None
    assert solved(sides).rational() == formed(sides).rational() == expected


def test_the_work_of_an_inverse_is_that_of_the_cheaper_way() -> None:
    inverse = LeftInverse(Quotient.of(np.random.default_rng(0).standard_normal((20, 20))))
    assert inverse.work(4) == 4 * inverse.unit
    assert inverse.work(1000) == inverse.unit * (20 + 200)
    # 20 numbers of 53 bits and some exponents in each of 20 rows
    assert 20 * 53 / 64 < inverse.unit / 400 < 20 * 75 / 64


def test_sums_and_squares_are_exact() -> None:
    rng = np.random.default_rng(1)
    one, two = Quotient.of(rng.standard_normal((3, 4))), Quotient.of(rng.standard_normal((3, 4)))
    third = Quotient(one.whole, flint.fmpz(3))
    for a in (one, third):
        assert (a + two).rational() == a.rational() + two.rational()
        assert (two - a).rational() == two.rational() - a.rational()
    assert third.square() == sum((x * x for x in third.rational().entries()), flint.fmpq(0))
    assert Quotient.ratio(third.rational()).rational() == third.rational()
    assert Quotient(flint.fmpz_mat(2, 0), flint.fmpz(1)).square() == 0
