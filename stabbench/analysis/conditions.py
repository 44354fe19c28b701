"""All that can be said of patterns before any data: condition numbers, amplification, rank."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.amplification import amplification, elimination_amplification
from stabbench.analysis.duality import spectral_norm
from stabbench.analysis.large import svd_operators
from stabbench.analysis.metrics import Statistic
from stabbench.analysis.operators import (
    DecodingOperators,
    column_norm,
    decoding_operators,
    frobenius_norm,
)
from stabbench.analysis.survivors import policy
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import Precision, precision
from stabbench.codes.base import Code, LinearCode
from stabbench.codes.operators import Dense, Operator
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
BATCH_ENTRIES = 1 << 21
MOST_UNKNOWNS = 128
"""Unknowns up to which duality in ball arithmetic is fast enough."""


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Measures per pattern, each of shape (P,); infinite where the pattern does not decode.

    Attributes
    ----------
    decodable : bool array
        By exact rank.
    kappa_2, kappa_F, kappa_1 : float64 arrays
        Condition numbers of the decoding matrix.
    amplification : float64 array
        a(F) = || |D_F| |Phi_F| ||_inf.
    elimination : float64 array
        The amplification of LU with partial pivoting, at least a(F); a(F) itself where there are
        more replies than unknowns.
    others : dict of float64 arrays
        Further measures that only some structure of codes has.
    """

    decodable: Array
    kappa_2: Array
    kappa_F: Array
    kappa_1: Array
    amplification: Array
    elimination: Array
    others: dict[str, Array] = dataclasses.field(default_factory=dict)


def conditions(generator: Coefficients, rows: Array, target: Array | None = None) -> Conditions:
    """Conditions of the chosen rows of a generator, right at any magnitude.

    Parameters
    ----------
    generator : Coefficients, n x k
    rows : int array, shape (P, r)
        The rows that arrive, per pattern.
    target : array, shape (wanted, k), optional
        T, what is wanted of the unknowns; all of them unless given.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> conditions(parity, np.array([[0, 1], [1, 2]])).amplification
    array([1., 3.])
    """
    count = len(rows)
    names = ("kappa_2", "kappa_F", "kappa_1", "amplification", "elimination")
    values: dict[str, Array] = {name: np.full(count, np.inf) for name in names}
    decodable = np.zeros(count, dtype=bool)
    step = max(1, BATCH_ENTRIES // max(1, generator.shape[1] * rows.shape[1]))
    matrix = generator.rounded("float64")
    for start in range(0, count, step):
        part = rows[start : start + step]
        try:
            found = operators_of(generator, part)
        except InputError:
            break
        decodable[start : start + step] = found.status
        at = start + np.flatnonzero(found.status)
        inverse, received = found.D[found.status], matrix[part[found.status]]
        with np.errstate(over="ignore"):
            values["kappa_2"][at] = spectral_norm(received) * spectral_norm(inverse)
            values["kappa_F"][at] = frobenius_norm(received) * frobenius_norm(inverse)
            values["kappa_1"][at] = column_norm(received) * column_norm(inverse)
        decoder, size = inverse, 1.0
        if target is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                decoder = np.matmul(target, inverse)
            size = float(np.abs(target).sum(axis=1).max())
        values["amplification"][at] = amplification(decoder, received) / size
        values["elimination"][at] = values["amplification"][at]
        if rows.shape[1] == generator.shape[1]:
            own = elimination_amplification(decoder, received) / size
            values["elimination"][at] = np.maximum(own, values["amplification"][at])
    return Conditions(
        decodable,
        kappa_2=values["kappa_2"],
        kappa_F=values["kappa_F"],
        kappa_1=values["kappa_1"],
        amplification=values["amplification"],
        elimination=values["elimination"],
    )


def merged(parts: list[tuple[Array, Conditions]]) -> Conditions:
    """Conditions of all patterns from those of groups of them.

    Parameters
    ----------
    parts : list of (int array, Conditions)
        The patterns of each group, and their conditions.
    """
    order = np.argsort(np.concatenate([members for members, _ in parts]))
    values: dict[str, Any] = {
        field.name: np.concatenate([getattr(found, field.name) for _, found in parts])[order]
        for field in dataclasses.fields(Conditions)[:-1]
    }
    return Conditions(**values)


def operators_of(generator: Coefficients, rows: Array) -> DecodingOperators:
    """Pseudo-inverses by duality, or for many unknowns by singular values in float64.

    See `decoding_operators`.
    """
    if generator.shape[1] <= MOST_UNKNOWNS:
        return decoding_operators(generator, rows)
    return svd_operators(generator, rows)


@functools.lru_cache(maxsize=16)
def stored_generator(code: LinearCode, storage: str) -> Coefficients:
    """The generator of a code as a precision stores it, or the ideal one for ``exact``.

    Raises
    ------
    OverflowError
        If an entry overflows in the storage format.
    """
    if storage == "exact":
        return code.generator
    values = code.generator.rounded(storage)
    if not np.isfinite(values).all():
        raise OverflowError(f"an entry of the generator of {code.spec} overflows {storage}")
    return Coefficients.from_array(values)


@functools.lru_cache(maxsize=16)
def stored_reply(reply: Operator, storage: str) -> Coefficients:
    """A dense reply map as a precision stores it, see `Dense.stored`.

    Raises
    ------
    OverflowError
        If a coefficient overflows in the storage format.
    """
    assert isinstance(reply, Dense)
    return reply.stored(storage)


@dataclasses.dataclass(frozen=True)
class ConditionNumbers:
    """Condition numbers kappa_2 over survivor sets.

    Attributes
    ----------
    values : float64 array, shape (P,)
    patterns : int array, shape (P, n)
    worst, mean, median : float
        Over all patterns; infinite where some pattern does not decode.
    worst_survivors : tuple of int
    label : str
        ``exhaustive`` or ``search (lower bound)``.
    """

    values: Array
    patterns: Array
    worst: float
    mean: float
    median: float
    worst_survivors: tuple[int, ...]
    label: str

    @property
    def worst_stragglers(self) -> tuple[int, ...]:
        """The complement of `worst_survivors`."""
        return tuple(sorted(set(range(self.patterns.shape[1])) - set(self.worst_survivors)))


def condition_numbers(
    code: Code, patterns: str | Array = "all", precision: str = "float64", seed: int = 0
) -> ConditionNumbers:
    """Condition numbers of a code's decoding matrices, right at any magnitude.

    Parameters
    ----------
    code : Code
        A code with a dense reply map: of a code for products, the map from the block products, or
        from their aligned sums, to the replies.
    patterns : str or array
        A policy (``all``, ``random:500``, ``auto``, ...) or 0/1 rows of shape (P, n).
    precision : str
        The precision that stores the generator; ``exact`` for the ideal code.
    seed : int
        Seed of random patterns.

    Raises
    ------
    InputError
        For codes without a dense reply map, unknown precisions and patterns.

    Examples
    --------
    >>> import stabbench as sb
    >>> numbers = sb.condition_numbers(sb.code("polynomial[nodes=roots-of-unity]", 31, 2))
    >>> round(numbers.worst, 3), numbers.label
    (54.964, 'exhaustive')
    """
    if not code.dense:
        raise InputError(f"{code.spec}: condition numbers need a dense reply map")
    table, label = table_of(code, patterns, seed)
    system = code.system(code.problems[0])
    generator = stored_reply(
        system.reply, precision if precision == "exact" else storage_name(precision)
    )
    parts = [(group, conditions(generator, rows)) for group, rows in system.batches(table)]
    values = merged(parts).kappa_2
    summary = Statistic.of(values, table)
    return ConditionNumbers(
        values,
        table,
        summary.worst,
        summary.mean,
        summary.median,
        summary.worst_survivors,
        label,
    )


def table_of(code: Code, patterns: str | Array, seed: int) -> tuple[Array, str]:
    """Patterns as a 0/1 table of shape (P, n), and the label of a worst case over them."""
    if isinstance(patterns, str):
        rule = policy(patterns)
        return rule.patterns(code.n, code.stragglers, seed), rule.label(code.n, code.stragglers)
    table = np.atleast_2d(np.asarray(patterns, dtype=np.int8))
    if table.shape[1] != code.n:
        raise InputError(f"patterns of {table.shape[1]} workers; allowed are rows of n={code.n}")
    return table, "given"


def storage_name(name: str) -> str:
    """The storage format of a named precision."""
    chosen: Precision = precision(name)
    return chosen.storage.name
