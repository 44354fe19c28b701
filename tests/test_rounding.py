"""Rounding to a storage format happens once, to nearest even, whatever the numbers come from."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import ALLOWED, Format, precision
from stabbench.errors import InputError

HALF = ("bfloat16", "float16")
FORMATS = ("bfloat16", "float16", "float32", "float64")
ORACLE: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
WORDS = np.arange(1 << 16, dtype=np.uint32)
SEED = 20240607


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    nan = np.isnan(a)
    words = np.uint32 if a.dtype == np.float32 else np.uint64
    equal = (a.view(words) == b.view(words)) | nan
    return a.dtype == b.dtype and bool(np.all(equal)) and np.array_equal(nan, np.isnan(b))


def all_values(name: str) -> NDArray[np.float32]:
    values = WORDS.astype(np.uint16).view(ORACLE[name])
    return np.asarray(values.astype(np.float32))


def nearest(x: Fraction, form: Format) -> float:
    """Definition of rounding to nearest even, by rationals alone."""
    if not x:
        return 0.0
    binade = max(form.emin, x.numerator.bit_length() - x.denominator.bit_length() - 1)
    while abs(x) >= Fraction(2) ** (binade + 1):
        binade += 1
    quantum = Fraction(2) ** (binade - form.p + 1)
    rounded = round(x / quantum) * quantum
    if abs(rounded) >= Fraction(2) ** (form.emax + 1):
        return float("inf") if x > 0 else float("-inf")
    return float(rounded)


def neighbours(form: Format) -> NDArray[np.float64]:
    """Doubles just at, below and above the middle of two values of the format, at all sizes."""
    rng = np.random.default_rng(SEED)
    exponent = rng.integers(form.emin - form.p - 2, form.emax + 2, 4000)
    middle = np.ldexp(2.0 * rng.integers(0, 1 << form.p, 4000) + 1.0, exponent - form.p)
    above = np.nextafter(middle, np.inf)
    below = np.nextafter(middle, -np.inf)
    signs = rng.choice([-1.0, 1.0], 12000)
    return np.asarray(np.concatenate([middle, above, below]) * signs)


@pytest.mark.parametrize("name", HALF)
def test_every_value_of_a_half_precision_is_a_fixed_point(name: str) -> None:
    values = all_values(name)
    for dtype in (np.float32, np.float64, np.longdouble):
        with np.errstate(invalid="ignore"):
            wide = values.astype(dtype)
        assert same_bits(precision(name).store(wide), values)


@pytest.mark.parametrize("name", HALF)
def test_float32_is_rounded_as_the_reference_implementation_does(name: str) -> None:
    rng = np.random.default_rng(SEED)
    random = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    ties = (WORDS << np.uint32(16) | np.uint32(0x8000)).view(np.float32)
    near = [(ties.view(np.uint32) + np.uint32(d)).view(np.float32) for d in (1, 0xFFFFFFFF)]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38], np.float32)
    small = np.ldexp(rng.standard_normal(50_000), rng.integers(-150, 20, 50_000)).astype(np.float32)
    x = np.concatenate([random, ties, *near, special, small])
    with np.errstate(all="ignore"):
        expected = x.astype(ORACLE[name]).astype(np.float32)
    assert same_bits(precision(name).store(x), expected)


def test_float64_is_rounded_to_float16_as_numpy_does() -> None:
    x = neighbours(precision("float16").storage)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    assert same_bits(precision("float16").store(x), expected)
    assert same_bits(precision("float16").store(x.astype(np.longdouble)), expected)


@pytest.mark.parametrize("name", FORMATS)
def test_double_numbers_are_rounded_only_once(name: str) -> None:
    form = precision(name).storage
    x = neighbours(form)[::5]
    x = x[np.isfinite(x)]
    expected = np.array([nearest(Fraction(v), form) for v in x.tolist()])
    assert np.array_equal(precision(name).store(x), expected)
    assert np.array_equal(precision(name).store(x.astype(np.longdouble)), expected)
    ratios = [form.round_ratio(*v.as_integer_ratio()) for v in x.tolist()]
    assert np.array_equal(np.array(ratios), expected)


def test_a_double_just_above_a_tie_does_not_round_through_float32() -> None:
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    through_float32 = x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    assert through_float32[0] == 1.0
    assert precision("bfloat16").store(x)[0] == 1 + 2.0**-7


def test_the_middle_of_longdouble_neighbours_is_rounded_once_to_each_format() -> None:
    x = np.longdouble(1) + np.ldexp(np.longdouble(1), -11) + np.ldexp(np.longdouble(1), -60)
    wide = "longdouble" in ALLOWED
    assert precision("float16").store(np.array([x]))[0] == (1 + 2.0**-10 if wide else 1.0)


@given(
    st.sampled_from([n for n in ALLOWED if "/" not in n]),
    st.integers(-(10**60), 10**60),
    st.integers(1, 10**60),
    st.integers(-1300, 1300),
)
@settings(deadline=None, derandomize=True, max_examples=300)
def test_ratios_round_to_the_nearest_value(name: str, top: int, bottom: int, power: int) -> None:
    form = precision(name).storage
    x = Fraction(top, bottom) * Fraction(2) ** power
    value = form.round_ratio(x.numerator, x.denominator)
    if form.name != "longdouble":
        assert value == nearest(x, form)
        assert precision(name).store(np.array([value]))[0] == value
    elif x:
        relative = abs(Fraction(*value.as_integer_ratio()) / x - 1)
        assert relative <= Fraction(1, 1 << form.p)


@pytest.mark.parametrize("name", FORMATS)
def test_complex_numbers_are_rounded_by_components(name: str) -> None:
    rng = np.random.default_rng(SEED)
    z = rng.standard_normal((5, 7)) + 1j * rng.standard_normal((5, 7)) * 1e-6
    stored = precision(name).store(z)
    assert stored.dtype == precision(name).storage_dtype(True)
    assert np.array_equal(stored.real, precision(name).store(z.real))
    assert np.array_equal(stored.imag, precision(name).store(z.imag))
    exact = Coefficients(lambda bits: z, (5, 7), complex=True)
    assert np.array_equal(exact.rounded(name), stored)


@pytest.mark.parametrize("name", ALLOWED)
def test_stored_arrays_are_new_and_of_the_carrier_type(name: str) -> None:
    chosen = precision(name)
    x = np.ones((3, 2), chosen.storage_dtype(False))
    stored = chosen.store(x)
    assert stored.dtype == x.dtype
    assert not np.shares_memory(stored, x)
    assert chosen.store(1.5).shape == ()
    assert chosen.unit == 2.0**-chosen.storage.p
    assert chosen.decode_dtype(True).itemsize == 2 * chosen.decode.itemsize
    assert np.finfo(chosen.decode).nmant >= np.finfo(chosen.work).nmant


@pytest.mark.parametrize("beyond", [2**53 + 1, -(2**53) - 1, -(2**63)])
def test_integers_that_float64_does_not_hold_are_refused(beyond: int) -> None:
    bound = np.array([2**53, -(2**53)])
    assert precision("float64").store(bound).tolist() == [2.0**53, -(2.0**53)]
    with pytest.raises(InputError, match=r"magnitudes up to 2\^53"):
        precision("float64").store(np.array([1, beyond]))
    with pytest.raises(InputError, match=r"magnitudes up to 2\^53"):
        precision("float64").store(np.array([abs(beyond)], dtype=np.uint64))
    with pytest.raises(InputError, match="array of type <U1"):
        precision("float64").store(np.array(["1"]))


@pytest.mark.parametrize("name", ["float8", "float64/float32", "longdouble/float64", ""])
def test_an_unknown_precision_names_the_allowed_ones(name: str) -> None:
    with pytest.raises(InputError, match="bfloat16/float64") as caught:
        precision(name)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


def cosines(bits: int) -> list[list[flint.arb]]:
    return [[flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 14)) for i in range(7)]]


def cosines_of_balls(bits: int) -> list[list[flint.arb]]:
    return [[(flint.arb.pi() * flint.fmpq(2 * i + 1, 14)).cos() for i in range(7)]]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("function", [cosines, cosines_of_balls])
def test_irrational_entries_are_rounded_once(name: str, function: Callable[[int], Any]) -> None:
    with mpmath.workdps(60):
        values = [mpmath.cospi(mpmath.mpf(2 * i + 1) / 14) for i in range(7)]
        exact = [Fraction(int(mpmath.nint(v * 2**190)), 2**190) for v in values]
    expected = [nearest(v, precision(name).storage) for v in exact]
    expected[3] = 0.0
    assert Coefficients(function, (1, 7)).rounded(name)[0].tolist() == expected


def test_a_ball_around_a_tie_counts_as_the_tie() -> None:
    def squares(bits: int) -> list[list[flint.arb]]:
        return [[flint.arb(1 + flint.fmpq(m, 2**24)).sqrt() ** 2 for m in (1, 3)]]

    assert np.array_equal(
        Coefficients(squares, (1, 2)).rounded("float32"),
        np.array([[1.0, 1 + 2.0**-22]], np.float32),
    )


def test_every_kind_of_number_is_taken_exactly() -> None:
    context = mpmath.MPContext()
    context.prec = 200
    third = context.mpf(1) / 3
    entries = [
        [3, 0.1, Fraction(1, 3), flint.fmpz(7), flint.fmpq(2, 3)],
        [np.float32(0.1), np.int64(-2), third, flint.arb(0.5), np.longdouble(1) / 3],
    ]
    exact = Coefficients(lambda bits: entries, (2, 5))
    assert exact.is_rational
    re, im = exact.rational()
    assert im is None
    assert re[0, 1] == flint.fmpq(*(0.1).as_integer_ratio())
    assert re[1, 0] == flint.fmpq(*np.float32(0.1).as_integer_ratio())
    assert abs(re[1, 2] - flint.fmpq(1, 3)) < flint.fmpq(1, 2**200)
    assert re[1, 2] != flint.fmpq(1, 3)
    assert re[1, 4] == flint.fmpq(*(np.longdouble(1) / 3).as_integer_ratio())
    unit = Coefficients(lambda bits: [[1j, context.mpc(1, 2), flint.acb(3)]], (1, 3), complex=True)
    assert [str(part) for part in unit.rational()] == ["[0, 1, 3]", "[1, 2, 0]"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([[float("nan")]], "finite"),
        ([[flint.arb("inf")]], "finite"),
        ([[mpmath.inf]], "finite"),
        ([[1.0, 2.0]], "shape"),
        ([[1j]], "complex"),
        ([["1"]], "type str"),
    ],
)
def test_entries_that_are_not_numbers_are_refused(entries: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Coefficients(lambda bits: entries, (1, 1)).rounded("float64")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), "1 dimensions: allowed is a matrix"),
        (np.array([["1"]]), "of type <U1: allowed are numbers of NumPy"),
        (np.array([[np.nan]]), "inf or NaN"),
    ],
)
def test_arrays_that_are_no_matrix_of_numbers_are_refused(array: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Coefficients.from_array(array)


def test_entries_without_a_rational_or_a_nearest_number_say_so() -> None:
    root = Coefficients(lambda bits: [[flint.arb(2).sqrt()]], (1, 1))
    with pytest.raises(ValueError, match="not rational"):
        root.rational()
    vague = Coefficients(lambda bits: [[1.0, flint.arb(1, 2.0**-50)]], (1, 2))
    assert vague.rounded("float32").tolist() == [[1.0, 1.0]]
    with pytest.raises(ArithmeticError, match=r"entry \(0, 1\): 2048 bits"):
        vague.rounded("float64")


@pytest.mark.parametrize("index", [2, slice(1, 5, 2), [4, 0, 4], np.array([1, 3])])
def test_rows_are_the_rows_of_the_whole(index: Any) -> None:
    def function(bits: int) -> list[list[flint.arb]]:
        return [[flint.arb(10 * i + 2).sqrt() + j for j in range(3)] for i in range(6)]

    whole = Coefficients(function, (6, 3))
    part = whole.rows(index)
    chosen = np.atleast_1d(np.arange(6)[index])
    assert part.shape == (len(chosen), 3)
    assert not part.is_rational
    assert np.array_equal(part.rounded("float32"), whole.rounded("float32")[chosen])
    assert np.array_equal(part.rows([0]).rounded("float32"), part.rounded("float32")[:1])
    balls: list[Any] = part.balls(300).entries()
    with flint.ctx.workprec(300):
        expected = [entry for i in chosen for entry in function(300)[int(i)]]
        for ball, other in zip(balls, expected, strict=True):
            assert ball.overlaps(other)
            assert ball.rad() < 2.0**-290


def test_rounding_leaves_the_callers_arrays_and_precisions_alone() -> None:
    array = np.array([[1.0, 2.0]])
    exact = Coefficients.from_array(array)
    array[0, 0] = 5.0
    exact.rounded("float64")[0, 1] = 7.0
    before = flint.ctx.prec, mpmath.mp.prec
    Coefficients(cosines_of_balls, (1, 7)).rounded("float64")
    assert (flint.ctx.prec, mpmath.mp.prec) == before
    assert exact.rounded("float64").tolist() == [[1.0, 2.0]]
