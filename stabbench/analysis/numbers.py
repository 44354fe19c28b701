"""Condition numbers of a code over all its patterns: listed where they are few, else surveyed."""

import dataclasses
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditioning import Budget, survey
from stabbench.analysis.conditioning.kappa import kappa_of_rest
from stabbench.analysis.conditions import MOST_UNKNOWNS, conditions, storage_name, stored_reply
from stabbench.analysis.metrics import Statistic
from stabbench.analysis.survivors import policy
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual
from stabbench.arithmetic.inverses import complements
from stabbench.arithmetic.precision import ALLOWED
from stabbench.codes.base import Code, System
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
LISTED = 5000
"""Most patterns whose condition numbers are kept one by one."""
EXACT = 20_000
"""Most patterns, up to symmetry, over which mean and median are exact."""


@dataclasses.dataclass(frozen=True)
class ConditionNumbers:
    """Condition numbers kappa_2 over survivor sets.

    Attributes
    ----------
    values : float64 array, shape (P,)
        Empty where there were too many patterns to keep (more than 5000).
    patterns : int array, shape (P, n)
    worst, mean, median : float
        Over all patterns; infinite where some pattern does not decode. Mean and median of more
        than 5000 patterns are of the decodable ones; of more than 20000, counted up to symmetry,
        from a sample of fixed seed.
    worst_survivors : tuple of int
        A set that does not decode, if there is one.
    label : str
        ``exhaustive``, ``symmetric`` or ``search (lower bound)``.
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
    system, generator = stored_system(code, precision)
    if isinstance(patterns, str) and patterns == "all" and _many(code):
        return _surveyed(code, system, generator)
    table, label = table_of(code, patterns, seed)
    values = np.empty(len(table))
    for group, rows in system.batches(table):
        values[group] = _kappa(generator, rows)
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


def _kappa(generator: Coefficients, rows: Array) -> Array:
    """kappa_2 of the chosen rows, infinite where they do not decode."""
    if generator.shape[1] > MOST_UNKNOWNS:
        return conditions(generator, rows).kappa_2
    try:
        basis = dual(generator)
    except InputError:  # no rows of a generator without full rank decode
        return np.full(len(rows), np.inf)
    return kappa_of_rest(basis, complements(rows, generator.shape[0]))[0]


def stored_system(code: Code, precision: str) -> tuple[System, Coefficients]:
    """The system of a code for its first problem, and its reply map as a precision stores it.

    Raises
    ------
    InputError
        If the reply map is not dense, the precision is unknown, or a coefficient overflows.
    """
    if not code.dense:
        raise InputError(f"{code.spec}: condition numbers need a dense reply map")
    system = code.system(code.problems[0])
    if precision not in (*ALLOWED, "exact"):
        raise InputError(f"precision {precision!r}: allowed are exact, {', '.join(ALLOWED)}")
    storage = precision if precision == "exact" else storage_name(precision)
    try:
        return system, stored_reply(system.reply, storage)
    except OverflowError as error:
        raise InputError(f"{error}; allowed are wider precisions, or exact") from None


def _many(code: Code) -> bool:
    return math.comb(code.n, code.stragglers) > LISTED


def _surveyed(code: Code, system: System, generator: Coefficients) -> ConditionNumbers:
    found = survey(
        generator,
        code.stragglers,
        owner=system.owner,
        symmetry=code.symmetry,
        budget=Budget(exact=EXACT),
    )
    undecodable = bool(found.undecodable)
    lost = found.undecodable_stragglers[0] if undecodable else found.worst_stragglers
    survivors = sorted(set(range(code.n)) - set(lost))
    return ConditionNumbers(
        np.zeros(0),
        np.zeros((0, code.n), dtype=np.int8),
        np.inf if undecodable else found.worst,
        found.mean.value,
        found.quantiles[0.5].value,
        tuple(survivors),
        found.label,
    )


def table_of(code: Code, patterns: str | Array, seed: int) -> tuple[Array, str]:
    """Patterns as a 0/1 table of shape (P, n), and the label of a worst case over them."""
    if seed < 0:
        raise InputError(f"seed={seed}; allowed is an integer >= 0")
    if isinstance(patterns, str):
        rule = policy(patterns)
        return rule.patterns(code.n, code.stragglers, seed), rule.label(code.n, code.stragglers)
    table = np.atleast_2d(np.asarray(patterns))
    if table.ndim != 2 or not len(table) or table.shape[1] != code.n:
        raise InputError(f"patterns of shape {table.shape}; allowed are rows of n={code.n} workers")
    if not np.isin(table, (0, 1)).all():
        raise InputError("patterns: allowed are 0 for a straggler and 1 for a survivor")
    return table.astype(np.int8), "given"
