"""Condition numbers of a code over all its patterns: listed where they are few, else surveyed."""

import dataclasses
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditioning import Budget, Estimate, survey
from stabbench.analysis.conditioning.estimates import (
    SAMPLED,
    Sample,
    exact_estimates,
    random_estimates,
)
from stabbench.analysis.conditioning.kappa import kappa_of_rest
from stabbench.analysis.conditioning.survey import EXHAUSTIVE, PROBABILITIES
from stabbench.analysis.conditions import (
    LOG10,
    MOST_UNKNOWNS,
    conditions,
    storage_name,
    stored_reply,
)
from stabbench.analysis.survivors import Random, policy
from stabbench.analysis.ties import tied_logarithms
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual
from stabbench.arithmetic.inverses import complements
from stabbench.arithmetic.precision import ALLOWED
from stabbench.arithmetic.scaling import normal
from stabbench.codes.base import Code, System
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
LISTED = 5000
"""Most patterns whose condition numbers are kept one by one."""
EXACT = 20_000
"""Most patterns, up to symmetry, over which mean and quantiles are exact."""
GIVEN = "given"


@dataclasses.dataclass(frozen=True)
class ConditionNumbers:
    """Condition numbers kappa_2 over survivor sets.

    Attributes
    ----------
    values : float64 array, shape (P,)
        Infinite where a set does not decode, or has a kappa_2 beyond float64. Empty where there
        were too many patterns to keep (more than 5000).
    patterns : int array, shape (P, n)
    worst : float
        Over all patterns; infinite where some pattern does not decode.
    mean : Estimate
        Over the patterns that decode, infinite where none does: a number with ``low``, ``high``
        and a ``label`` of its own: ``exhaustive``, ``symmetric``, ``given``, ``these N patterns``
        or ``sampled (N patterns)``, then with an interval of 95%.
    quantiles : dict of Estimate
        Likewise, for the probabilities 0.5, 0.95 and 0.99.
    worst_survivors : tuple of int
        The first set that does not decode, if there is one, else the first of the worst: sets
        whose values differ by less than 1e-9 of them tie. The order is that of the patterns,
        lexicographic for all.
    label : str
        Of `worst`: ``exhaustive``, ``symmetric``, ``search (lower bound)`` or ``given``.
    log10_worst : float
        Decimal logarithm of `worst`, finite where every pattern decodes.
    undecodable : int
        How many of the patterns that were tried do not decode.
    """

    values: Array
    patterns: Array
    worst: float
    mean: Estimate
    quantiles: dict[float, Estimate]
    worst_survivors: tuple[int, ...]
    label: str
    log10_worst: float
    undecodable: int

    @property
    def median(self) -> Estimate:
        """The quantile for 0.5."""
        return self.quantiles[0.5]

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
    table, label, of_mean = table_of(code, patterns, seed)
    values, log10 = np.empty((2, len(table)))
    for group, rows in system.batches(table):
        values[group], log10[group] = _kappa(generator, rows)
    decodes = np.isfinite(log10)
    worst = int(tied_logarithms(log10)[0]) if decodes.all() else int(np.argmin(decodes))
    known = values[decodes], log10[decodes]
    if of_mean == SAMPLED:
        mean, quantiles = random_estimates(*known, PROBABILITIES)
    else:
        sample = Sample(*known, np.ones(len(known[0])))
        mean, quantiles = exact_estimates(sample, PROBABILITIES, of_mean)
    return ConditionNumbers(
        values,
        table,
        float(values.max()),
        mean,
        quantiles,
        tuple(np.flatnonzero(table[worst]).tolist()),
        label,
        float(log10.max()),
        int(np.count_nonzero(~decodes)),
    )


def _kappa(generator: Coefficients, rows: Array) -> tuple[Array, Array]:
    """kappa_2 of the chosen rows and its logarithm, which is infinite where they do not decode."""
    if generator.shape[1] > MOST_UNKNOWNS:
        found = conditions(generator, rows)
        return found.kappa_2, found.others.get(LOG10["kappa_2"], np.log10(found.kappa_2))
    try:
        basis = dual(normal(generator)[0])
    except InputError:  # no rows of a generator without full rank decode
        none = np.full(len(rows), np.inf)
        return none, none
    kappa = kappa_of_rest(basis, complements(rows, generator.shape[0]))
    return kappa.spectral, kappa.log10_spectral


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
        math.inf if undecodable else found.worst,
        found.mean,
        found.quantiles,
        tuple(survivors),
        found.label,
        math.inf if undecodable else found.log10_worst,
        found.undecodable,
    )


def table_of(code: Code, patterns: str | Array, seed: int) -> tuple[Array, str, str]:
    """Patterns as a 0/1 table of shape (P, n), and the labels of a worst and of a mean over them.

    A mean over patterns that are no random sample is one of these patterns and of no others.
    """
    if seed < 0:
        raise InputError(f"seed={seed}; allowed is an integer >= 0")
    if isinstance(patterns, str):
        rule = policy(patterns)
        table = rule.patterns(code.n, code.stragglers, seed)
        label = of_mean = rule.label(code.n, code.stragglers)
        if label != EXHAUSTIVE:
            of_mean = SAMPLED if isinstance(rule, Random) else f"these {len(table)} patterns"
        return table, label, of_mean
    table = np.atleast_2d(np.asarray(patterns))
    if table.ndim != 2 or not len(table) or table.shape[1] != code.n:
        raise InputError(f"patterns of shape {table.shape}; allowed are rows of n={code.n} workers")
    if not np.isin(table, (0, 1)).all():
        raise InputError("patterns: allowed are 0 for a straggler and 1 for a survivor")
    return table.astype(np.int8), GIVEN, GIVEN
