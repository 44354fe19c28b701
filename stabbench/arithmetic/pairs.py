"""Unevaluated pairs (hi, lo) of floats that hold an exact number to about 106 bits.

Numbers come in as integers, ratios or balls; what is computed with them lives elsewhere.
"""

import math
from collections.abc import Iterable
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Pair",
    "certified_pair",
    "dyadic_pairs",
    "error",
    "joined",
    "norm",
    "ratio_pair",
    "to_pair",
]

Exponents = NDArray[np.int64]
Pair = tuple[NDArray[Any], NDArray[Any]]
"""Arrays (hi, lo) of one shape, float64 or complex128, whose sum is a value to about 106 bits."""


def error(estimate: NDArray[Any], exact: Pair) -> NDArray[Any]:
    """Difference (estimate - hi) - lo, accurate to many digits even where it is tiny.

    Parameters
    ----------
    estimate : ndarray of floats
        Promoted to float64 first; longdouble stays longdouble. Where it is not finite, so is the
        error.
    exact : Pair
        Of the shape of the estimate.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> error(np.array([1 / 3]), (np.array([1 / 3]), np.array([1.85e-17])))
    array([-1.85e-17])
    """
    wide = np.result_type(estimate.dtype, np.float64)
    hi, lo = exact
    with np.errstate(invalid="ignore", over="ignore"):
        promoted = estimate.astype(wide)
        difference = (promoted - hi) - lo
    return np.where(np.isfinite(promoted), difference, promoted)


def norm(value: NDArray[Any] | Pair) -> float:
    """Euclidean (Frobenius) norm of an array or a pair, safe against overflow of the squares.

    Parameters
    ----------
    value : ndarray or Pair

    Returns
    -------
    float
        NaN if there is a NaN, else inf if there is an infinity.

    Examples
    --------
    >>> norm(np.array([3e200, 4e200]))
    5e+200
    """
    array = value[0] if isinstance(value, tuple) else value
    if array.size == 0:
        return 0.0
    flat = array.astype(np.result_type(array.dtype, np.float64)).ravel()
    flat = np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat
    largest = np.max(np.abs(flat))
    if largest == 0 or not np.isfinite(largest):
        return float(largest)
    _, exponent = np.frexp(largest)
    with np.errstate(under="ignore", over="ignore"):
        small = np.ldexp(flat, -exponent)
        return float(np.ldexp(np.sqrt(np.sum(small * small)), exponent))


def dyadic_pairs(whole: Iterable[flint.fmpz], exponents: Exponents) -> Pair:
    """Pairs of the numbers whole 2^exponent; the shape is that of the exponents."""
    hi = np.empty(exponents.shape)
    lo = np.empty(exponents.shape)
    numbers = zip(whole, exponents.ravel().tolist(), strict=True)
    split = [_dyadic_pair(int(number), exponent) for number, exponent in numbers]
    hi.ravel()[:] = [high for high, _ in split]
    lo.ravel()[:] = [low for _, low in split]
    return hi, lo


def _dyadic_pair(number: int, exponent: int) -> tuple[float, float]:
    # multiples of 2^-1074 lose no further bits when they become subnormal
    if exponent >= -1074 and number.bit_length() + max(exponent, 0) < 1000:
        high = float(number)
        low = float(number - int(high))
        return math.ldexp(high, exponent), math.ldexp(low, exponent)
    return ratio_pair(number << max(exponent, 0), 1 << max(-exponent, 0))


def ratio_pair(numerator: int, denominator: int) -> tuple[float, float]:
    """(hi, lo) of a rational number: hi the nearest float64, lo the nearest to the rest.

    Parameters
    ----------
    numerator, denominator : int
        The denominator is positive.

    Returns
    -------
    tuple of float
        (inf, 0) of the right sign if the number is beyond float64.

    Examples
    --------
    >>> ratio_pair(2**80 + 1, 2**80)
    (1.0, 8.271806125530277e-25)
    """
    try:
        high = numerator / denominator
    except OverflowError:
        return (np.inf, 0.0) if numerator > 0 else (-np.inf, 0.0)
    p, q = high.as_integer_ratio()
    return high, (numerator * q - p * denominator) / (denominator * q)


def to_pair(
    re: flint.fmpq_mat, im: flint.fmpq_mat | None = None, exponents: Exponents | int = 0
) -> Pair:
    """Pair of the exact matrix 2^exponents (re + i im), real if there is no imaginary part.

    Parameters
    ----------
    re, im : flint.fmpq_mat (m x n)
    exponents : integer array that broadcasts to (m x n)

    Returns
    -------
    Pair (m x n)

    Examples
    --------
    >>> to_pair(flint.fmpq_mat(1, 1, [flint.fmpq(1, 3)]))
    (array([[0.33333333]]), array([[1.85037171e-17]]))
    """
    shape = re.nrows(), re.ncols()
    powers = np.broadcast_to(exponents, shape).ravel().tolist()
    parts = []
    for part in (re,) if im is None else (re, im):
        split = [
            ratio_pair(int(x.p) << max(e, 0), int(x.q) << max(-e, 0))
            for x, e in zip(part.entries(), powers, strict=True)
        ]
        pairs = np.array(split, dtype=np.float64).reshape(*shape, 2)
        parts.append((pairs[..., 0].copy(), pairs[..., 1].copy()))
    return joined(parts)


def joined(parts: list[Pair]) -> Pair:
    """Real part, and imaginary part if there is one, as one pair."""
    if len(parts) == 1:
        return parts[0]
    (hi, lo), (hi_imag, lo_imag) = parts
    pair = np.empty(hi.shape, np.complex128), np.empty(hi.shape, np.complex128)
    # assigned, not added: inf times 1j would be NaN
    pair[0].real, pair[0].imag = hi, hi_imag
    pair[1].real, pair[1].imag = lo, lo_imag
    return pair


def certified_pair(solution: "flint.arb_mat | flint.acb_mat", exponents: Exponents) -> Pair | None:
    """Pairs of the numbers solution 2^exponents, or None where the balls do not tell them."""
    entries = solution.entries()
    if isinstance(solution, flint.arb_mat):
        return _certified_part(entries, exponents)
    re = _certified_part([entry.real for entry in entries], exponents)
    im = _certified_part([entry.imag for entry in entries], exponents)
    return None if re is None or im is None else joined([re, im])


def _certified_part(balls: list[Any], exponents: Exponents) -> Pair | None:
    """Pairs that every number of the balls rounds to, or None if a ball is too wide to tell."""
    first = [float(ball) for ball in balls]
    rests = [ball - head for ball, head in zip(balls, first, strict=True)]
    second = [float(rest) for rest in rests]
    last = [rest - head for rest, head in zip(rests, second, strict=True)]
    exact = np.array([ball.is_exact() for ball in balls], dtype=bool)
    hi, lo = np.array(first), np.array(second)
    tail = np.array([float(rest) for rest in last])
    radius = np.array([float(rest.rad()) for rest in last])
    with np.errstate(all="ignore"):
        half_hi = np.abs(np.nextafter(hi, np.copysign(np.inf, lo)) - hi) / 2
        half_lo = np.abs(np.nextafter(lo, np.copysign(np.inf, tail)) - lo) / 2
        certain = (np.abs(tail) + 2 * radius < half_lo) & (np.abs(lo) + half_lo < half_hi)
        certain |= exact & (tail == 0)
        power = exponents.ravel()
        for value in (hi, lo):
            # away from underflow and overflow powers of two change no digit
            for size in (np.frexp(value)[1], np.frexp(value)[1] + power):
                certain &= (value == 0) | ((size > -900) & (size < 1000))
        if not np.all(certain):
            return None
        shape = exponents.shape
        return np.ldexp(hi, power).reshape(shape), np.ldexp(lo, power).reshape(shape)
