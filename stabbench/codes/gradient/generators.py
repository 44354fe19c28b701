"""Generators G (m x d) of real linear codes, and their minimum distance by enumeration."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.exact import rank
from stabbench.arithmetic.modular import full_rank, residues
from stabbench.arithmetic.streams import stream
from stabbench.codes.nodes import nodes
from stabbench.errors import InputError
from stabbench.files import Input, read_array

Array = np.ndarray[Any, np.dtype[Any]]
ENUMERATED = 200_000
HAMMING = ((1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1))
BATCH = 4096


def _repetition(d: int, m: int) -> Any:
    return [[1] * m] * d


def _parity(d: int, m: int) -> Any:
    return [*np.eye(m, dtype=int).tolist(), *[[1] * m] * (d - m)]


def _hamming(d: int, m: int) -> Any:
    return np.hstack([np.eye(4, dtype=int), np.array(HAMMING)]).T.tolist()


def _vandermonde(d: int, m: int) -> Any:
    return [[x**u for u in range(m)] for x in nodes("half-step", d, 64)]


def _chebyshev(d: int, m: int) -> Any:
    def angle(t: int, u: int) -> Any:
        return flint.arb.cos_pi_fmpq(flint.fmpq((2 * t + 1) * u, 2 * d))

    return [[angle(t, u) for u in range(m)] for t in range(d)]


NAMED: dict[str, Callable[[int, int], Any]] = {
    "repetition": _repetition,
    "parity": _parity,
    "hamming": _hamming,
    "vandermonde": _vandermonde,
    "chebyshev": _chebyshev,
}
SIZES = {
    "repetition": ("m = 1", lambda d, m: m == 1),
    "parity": ("m = d - 1", lambda d, m: m == d - 1),
    "hamming": ("d = 7 and m = 4", lambda d, m: (d, m) == (7, 4)),
}
RANDOM = ("gaussian", "systematic-gaussian")


def named(name: str, d: int, m: int) -> Coefficients:
    """The transposed generator (d x m) of a name; row t belongs to worker t of a group.

    Raises
    ------
    InputError
        If the name has no generator of that size.

    Examples
    --------
    >>> named("parity", 3, 2).rounded("float64").tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    words, fits = SIZES.get(name, ("", lambda d, m: True))
    if not fits(d, m):
        raise InputError(f"generator {name}: d={d}, m={m}; allowed is {words}")
    return Coefficients(lambda bits: NAMED[name](d, m), (d, m))


def drawn(name: str, d: int, m: int, seed: int) -> Array:
    """A random generator, transposed, shape (d, m), float64.

    Examples
    --------
    >>> drawn("systematic-gaussian", 3, 2, 0)[:2].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    random = stream(f"generator {name}", seed, d, m)
    if name == "gaussian":
        return random.standard_normal((d, m))
    return np.vstack([np.eye(m), random.standard_normal((d - m, m))])


def from_file(file: Input, d: int, m: int) -> Array:
    """A user's generator G (m x d), transposed to (d, m).

    Raises
    ------
    InputError
        Another shape, a zero row or column, complex or not finite numbers.
    """
    values = read_array(file, what="generator")[0]
    if values.dtype.kind == "c":
        raise InputError(f"{file}: the generator is complex; allowed are real numbers")
    if values.shape != (m, d):
        raise InputError(f"{file}: the generator is {values.shape[0]} x {values.shape[1]}; "
                         f"allowed is m x d = {m} x {d}")  # fmt: skip
    for axis, word in ((1, "row"), (0, "column")):
        zero = np.flatnonzero(~values.any(axis=axis))
        if zero.size:
            raise InputError(f"{file}: {word} {zero[0]} of the generator is zero")
    return np.ascontiguousarray(values.T)


def erasure_that_fails(generator: Coefficients, erased: int) -> tuple[int, ...] | None:
    """The first set of `erased` rows (of d) without which the rank falls below m.

    Parameters
    ----------
    generator : Coefficients, d x m
    erased : int

    Returns
    -------
    tuple of int, or None where every such set recovers

    Examples
    --------
    >>> erasure_that_fails(named("hamming", 7, 4), 2) is None
    True
    >>> erasure_that_fails(named("hamming", 7, 4), 3)
    (0, 3, 6)
    """
    return next(failing(generator, erased), None)


def failing(generator: Coefficients, erased: int) -> Iterator[tuple[int, ...]]:
    """All sets of `erased` rows without which the rank falls below m, in order.

    A minor that is not zero modulo a prime is not zero; the others are asked exactly.
    """
    d, m = generator.shape
    sets = itertools.combinations(range(d), erased)
    if d - erased < m:
        yield from sets
        return
    known = residues(generator) if generator.is_rational else None
    while batch := list(itertools.islice(sets, BATCH)):
        left = np.ones((len(batch), d), dtype=bool)
        np.put_along_axis(left, np.array(batch, dtype=int).reshape(len(batch), erased), False, 1)
        kept = np.nonzero(left)[1].reshape(len(batch), d - erased)
        sure = np.zeros(len(batch), bool) if known is None else full_rank(known, kept)
        for at in np.flatnonzero(~sure):
            if rank(generator.rows(kept[at])) < m:
                yield batch[at]


def minimum_distance(generator: Coefficients) -> int:
    """The minimum distance of the code: one more than the erasures that always recover.

    Raises
    ------
    InputError
        If more than 200,000 sets would have to be tried.

    Examples
    --------
    >>> minimum_distance(named("hamming", 7, 4)), minimum_distance(named("chebyshev", 5, 3))
    (3, 3)
    """
    d, m = generator.shape
    if sum(math.comb(d, e) for e in range(1, d - m + 1)) > ENUMERATED:
        raise InputError(f"minimum distance of a {m} x {d} generator: too many sets to enumerate")
    return next((e for e in range(1, d - m + 1) if erasure_that_fails(generator, e)), d - m + 1)


def worst_sigma(matrix: Array, m: int) -> float:
    """Least singular value over all m-row submatrices, what `select` maximises."""
    d = matrix.shape[0]
    if math.comb(d, m) > ENUMERATED:
        raise InputError(f"select: C({d},{m}) submatrices; allowed are {ENUMERATED}")
    rows = np.array(list(itertools.combinations(range(d), m)))
    return float(np.linalg.svd(matrix[rows], compute_uv=False)[:, -1].min())
