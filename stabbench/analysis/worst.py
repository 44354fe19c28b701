"""The worst amplification over all straggler patterns: exact where few, else between two bounds."""

import dataclasses
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditioning import Survey, bad_sets
from stabbench.analysis.conditions import LOG10, conditions, merged
from stabbench.analysis.survivors import All
from stabbench.analysis.ties import first_set, tied_logarithms
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.scaling import normal
from stabbench.codes.base import Code, System

Array = np.ndarray[Any, np.dtype[Any]]
ENUMERATED = 20_000
SEARCHED = 500


@dataclasses.dataclass(frozen=True)
class Amplification:
    """The worst a(F) over the patterns that decode.

    Attributes
    ----------
    worst, log10_worst : float
        The largest that was evaluated, infinite beyond float64, and its decimal logarithm.
    stragglers : tuple of int
        Workers missing there; of patterns that tie, the first by their survivors.
    label : str
        ``exhaustive`` or ``search (lower bound)``.
    bound : float
        No pattern has a larger one.
    """

    worst: float
    log10_worst: float
    stragglers: tuple[int, ...]
    label: str
    bound: float


def worst_amplification(
    code: Code, system: System, generator: Coefficients, found: Survey
) -> Amplification:
    """The worst amplification of a code with a dense reply map.

    Parameters
    ----------
    code : Code
    system : System
    generator : Coefficients
        The reply map, as stored.
    found : Survey
        Of the same generator.

    Notes
    -----
    a(F) = || |T Phi_F^+| |Phi_F| ||_inf / ||T||_inf, T what the system wants of the unknowns. With
    rho_j the sum of the absolute values of row j and t the longest row of T, Cauchy's inequality
    gives a(F) <= ||t||_2 ||Phi_F^+||_F ||rho||_2 / ||T||_inf, and ||Phi_F^+||_F is
    kappa_F / ||Phi_F||_F, where the survey knows the largest kappa_F.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.analysis.conditioning import survey
    >>> from stabbench.analysis.numbers import stored_system
    >>> code = sb.code("gaussian", n=8, stragglers=2)
    >>> system, generator = stored_system(code, "float64")
    >>> found = worst_amplification(code, system, generator, survey(generator))
    >>> found.label, found.worst <= found.bound
    ('exhaustive', True)
    """
    n, s = code.n, code.stragglers
    if math.comb(n, s) <= ENUMERATED:
        patterns, label = All().patterns(n, s), "exhaustive"
    else:
        sets, _ = bad_sets(generator, system.owner, s, SEARCHED)
        patterns, label = np.ones((len(sets), n), dtype=np.int8), "search (lower bound)"
        np.put_along_axis(patterns, sets, 0, axis=1)
    target = None if system.target is None else system.target.rounded("float64")
    groups = system.batches(patterns)
    parts = [(group, conditions(generator, rows, target)) for group, rows in groups]
    whole = merged(parts)
    if not whole.decodable.any():
        lost = tuple(np.flatnonzero(patterns[0] == 0).tolist())
        return Amplification(math.inf, math.inf, lost, label, math.inf)
    log10 = whole.others.get(LOG10["amplification"], np.log10(whole.amplification))
    decodable = np.flatnonzero(whole.decodable)
    chosen = decodable[tied_logarithms(log10[decodable])]
    worst, top = float(whole.amplification[chosen].max()), float(log10[chosen].max())
    bound = worst if label == "exhaustive" else _bound(system, generator, s, found)
    return Amplification(worst, top, _first(patterns[chosen]), label, bound)


def _first(patterns: Array) -> tuple[int, ...]:
    """The stragglers of the first pattern by its survivors."""
    missing = np.nonzero(patterns == 0)[1].reshape(len(patterns), -1)
    return tuple(missing[first_set(missing)].tolist())


def _bound(system: System, generator: Coefficients, s: int, found: Survey) -> float:
    used = np.flatnonzero(found.kappa_F_counts)
    if not used.size:
        return math.inf
    matrix = np.abs(normal(generator)[0].rounded("float64"))
    energy = np.bincount(system.owner, weights=np.square(matrix).sum(axis=1))
    least = math.sqrt(np.sort(energy)[: len(energy) - s].sum())
    sizes = np.linalg.norm(matrix.sum(axis=1))
    share = 1.0
    if system.target is not None:
        target = np.abs(system.target.rounded("float64"))
        share = float(np.linalg.norm(target, axis=1).max() / target.sum(axis=1).max())
    with np.errstate(over="ignore", divide="ignore"):
        most = np.float64(10.0) ** found.kappa_F_edges[used[-1] + 1]
        return float(most * sizes / least * share)
