"""Exact replies and results as `Quotient`: one row per reply or block, its entries in order."""

from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.integers import Integers
from stabbench.arithmetic.limbs import product
from stabbench.arithmetic.quotients import Quotient, stacked

Array = np.ndarray[Any, np.dtype[Any]]


def flat(array: Array, is_complex: bool) -> Quotient:
    """The exact entries of an array (count, L, m)."""
    return Quotient.of(array.reshape(len(array), -1), is_complex)


def exact_products(stack: Array, operand: Array, is_complex: bool) -> Quotient:
    """Products stack[i] @ operand without rounding."""
    count, length, columns = stack.shape
    whole, exponent = product(stack.reshape(-1, columns), operand)
    shape = count, length * operand.shape[1]
    parts = tuple(flint.fmpz_mat(*shape, part.entries()) for part in whole)
    return stacked(parts, exponent, is_complex)


def block_products(left: Array, right: Array, is_complex: bool) -> Quotient:
    """All products left[a] right[b]^T without rounding, one row per pair (a, b).

    Parameters
    ----------
    left, right : arrays, shapes (a, L, N) and (b, m, N)
    """
    (a, length, inner), (b, width, _) = left.shape, right.shape
    whole, exponent = product(left.reshape(-1, inner), right.reshape(-1, inner).T.copy())
    order = np.arange(a * length * b * width).reshape(a, length, b, width).swapaxes(1, 2).ravel()
    parts = []
    for part in whole:
        entries = part.entries()
        parts.append(flint.fmpz_mat(a * b, length * width, [entries[i] for i in order.tolist()]))
    return stacked(tuple(parts), exponent, is_complex)


def share_products(left: Array, right: Array, is_complex: bool) -> Quotient:
    """Products left[r] right[r]^T of pairs of shares without rounding, one row per pair."""
    pairs = zip(left, right, strict=True)
    found = [product(one, two.T.copy()) for one, two in pairs]
    return rows_of(found, is_complex)


def rows_of(found: list[tuple[Integers, int]], is_complex: bool) -> Quotient:
    """One row of the entries of each matrix 2^exponent parts, for matrices of one shape."""
    least = min(exponent for _, exponent in found)
    parts = []
    for number in range(len(found[0][0])):
        rows = [(whole[number] * (flint.fmpz(1) << (e - least))).entries() for whole, e in found]
        parts.append(flint.fmpz_mat(len(rows), len(rows[0]), [x for row in rows for x in row]))
    return stacked(tuple(parts), least, is_complex)
