"""Symbol matrix of a shift-and-add pattern: determinant, roots, and how fast errors must grow.

Exact integer polynomials; what a decoder really does is measured in `zigzag_operator`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.shift_tables import ABSENT, Table

_BITS = 64


@dataclass(frozen=True)
class Symbol:
    r"""Growth of a pattern with symbol matrix :math:`M(z) = [z^{t_{ij}}]`, z one unit of delay.

    Decoding is a recursion with the determinant of M as its characteristic polynomial. Its end
    coefficients are +-1 for a decodable pattern, so either all roots lie on the unit circle and
    errors grow like a power of L, or some lie inside and some outside and they grow exponentially,
    in both directions of peeling.

    Attributes
    ----------
    determinant : tuple of int
        Coefficients of det M, constant first, after division by the largest power of z.
    roots : tuple of (complex, int)
        The roots that are no roots of unity, with their multiplicities.
    forward, backward : float
        Growth factor per row from the heads, max 1/\|root\|, and from the tails, max \|root\|;
        exactly 1 if all roots lie on the unit circle.
    exponent : int
        Highest order of a pole of the inverse of M on the unit circle; if nothing grows
        exponentially, the infinity norm of the decoder grows like L to this power at most.
    """

    determinant: tuple[int, ...]
    roots: tuple[tuple[complex, int], ...]
    forward: float
    backward: float
    exponent: int

    @property
    def exponential(self) -> bool:
        """Whether errors grow exponentially."""
        return bool(self.roots)


def symbol(table: Table, use: Resolution) -> Symbol:
    """Symbol of the blocks missing and the workers that resolve them.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    use : Resolution
        Of a decodable pattern.

    Raises
    ------
    ValueError
        If the determinant is zero: no decoder exists at any length.

    Examples
    --------
    Blocks 0, 1, 3 missing, slopes 0, 1, 3: the root of x^3 - x^2 - 1, and V with two blocks.

    >>> from stabbench.arithmetic.peeling import resolution
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> table = shift_table("systematic", 20, 16)
    >>> survivors = [i for i in range(20) if i not in (0, 1, 3, 18)]
    >>> found = symbol(table, resolution(table, survivors))
    >>> round(found.forward, 4), found.exponential
    (1.4656, True)
    >>> pair = shift_table("vandermonde", 2, 2)
    >>> symbol(pair, resolution(pair, [0, 1]))
    Symbol(determinant=(-1, 1), roots=(), forward=1.0, backward=1.0, exponent=1)
    """
    missing = use.missing
    if not len(missing):
        return Symbol((1,), (), 1.0, 1.0, 0)
    determinant, cofactors = _determinant(table[np.ix_(use.rows, missing)])
    if not determinant:
        raise ValueError("the determinant of the symbol matrix is zero")
    common = _content(cofactors)
    rest, exponent = determinant, 0
    for factor in _cyclotomic_factors(determinant):
        order, rest = _divide_out(rest, factor)
        exponent = max(exponent, order - _divide_out(common, factor)[0])
    roots = _roots(rest)
    size = [abs(root) for root, _ in roots] or [1.0]
    coefficients = tuple(int(c) for c in determinant.coeffs())
    return Symbol(coefficients, roots, 1 / min(size), max(size), exponent)


def _determinant(sub: Table) -> tuple[flint.fmpz_poly, list[flint.fmpz_poly]]:
    """Determinant without its power of z, and the entries of the adjugate, likewise.

    Coefficients are at most e!, so M at a larger power of 256 has all of them in one integer.
    """
    present = sub != ABSENT
    low = np.where(present, sub, np.iinfo(np.int32).max).min(axis=1, keepdims=True)
    shifts = np.where(present, sub - low, 0).astype(object)
    digit = (factorial(len(sub)).bit_length() + 9) // 8
    rows = [
        [1 << (8 * digit * int(t)) if held else 0 for t, held in zip(line, mask, strict=True)]
        for line, mask in zip(shifts, present, strict=True)
    ]
    matrix: Any = flint.fmpz_mat(rows)
    value = int(matrix.det())
    if value == 0:
        return flint.fmpz_poly(0), []
    adjugate = matrix.inv() * value
    entries = [int(entry.p) for entry in adjugate.entries()]
    return _digits(value, digit), [_digits(entry, digit) for entry in entries if entry]


def _digits(value: int, digit: int) -> flint.fmpz_poly:
    """Polynomial with small coefficients of either sign, from its value at 256^digit."""
    count = value.bit_length() // (8 * digit) + 2
    half = 1 << (8 * digit - 1)
    halves = half * (((1 << (8 * digit * count)) - 1) // ((1 << (8 * digit)) - 1))
    text = (value + halves).to_bytes(digit * count, "little")
    places = range(0, digit * count, digit)
    found = [int.from_bytes(text[i : i + digit], "little") - half for i in places]
    start = next((i for i, c in enumerate(found) if c), 0)
    return flint.fmpz_poly(found[start:])


def _content(polynomials: Sequence[flint.fmpz_poly]) -> flint.fmpz_poly:
    common = flint.fmpz_poly(0)
    for polynomial in polynomials:
        common = common.gcd(polynomial)
        if common.degree() == 0:
            break
    return common


def _cyclotomic_factors(polynomial: flint.fmpz_poly) -> list[flint.fmpz_poly]:
    """All cyclotomic polynomials that divide it; phi(d) > d/6 for d < 10^6 bounds the search."""
    found = []
    rest = polynomial
    for d in range(1, 6 * polynomial.degree() + 1):
        if rest.degree() < 1:
            break
        factor = flint.fmpz_poly.cyclotomic(d)
        if factor.degree() <= rest.degree() and not rest % factor:
            found.append(factor)
            rest = _divide_out(rest, factor)[1]
    return found


def _divide_out(
    polynomial: flint.fmpz_poly, factor: flint.fmpz_poly
) -> tuple[int, flint.fmpz_poly]:
    order = 0
    while not polynomial % factor:
        polynomial = polynomial // factor
        order += 1
    return order, polynomial


def _roots(polynomial: flint.fmpz_poly) -> tuple[tuple[complex, int], ...]:
    if polynomial.degree() < 1:
        return ()
    with flint.ctx.workprec(_BITS):
        found: Any = polynomial.complex_roots()
    return tuple((complex(root), int(multiplicity)) for root, multiplicity in found)
