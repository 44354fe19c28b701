"""Stability limits of gossip with random masks in closed form, the steps that follow from them.

The limits are of the mean square under random masks that keep a fraction delta; top-k and
quantizers do better or worse. Any graph: `moments`.
"""

import dataclasses
import warnings

from stabbench.errors import InputError
from stabbench.training.gossip.graphs import Mixing
from stabbench.training.gossip.moments import bisect, mode_radius


class StabilityWarning(UserWarning):
    """A run is outside a stability limit."""


@dataclasses.dataclass(frozen=True)
class Load:
    """What decides the stability of a run.

    Attributes
    ----------
    mixing : Mixing
    delta : float
        Fraction kept.
    rate : float
        Learning rate gamma.
    curvature : float
        h.
    consensus : float
        eta.
    common : bool
        One mask for all workers.
    private : bool
        Gradient at x + e.
    """

    mixing: Mixing
    delta: float
    rate: float
    curvature: float
    consensus: float
    common: bool = False
    private: bool = False

    @property
    def descent(self) -> float:
        """Gamma h."""
        return self.rate * self.curvature

    @property
    def spread(self) -> float:
        """What the consensus step is multiplied by: lambda_max(I - W) or max(1 - W_ii)."""
        return self.mixing.largest if self.common else self.mixing.away


def memory_limit(delta: float) -> float:
    """2 delta / (2 - delta), the limit of gamma h and of the gossip of one mode.

    Parameters
    ----------
    delta : float
        Fraction kept, 0 < delta <= 1.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If delta is not above 0 up to 1.

    Examples
    --------
    >>> memory_limit(1.0), round(memory_limit(0.1), 5)
    (2.0, 0.10526)
    """
    if not 0 < delta <= 1:
        raise InputError(f"stability limit: delta={delta}; allowed is above 0 up to 1")
    return 2 * delta / (2 - delta)


def rate_limit(delta: float, curvature: float, *, private: bool = False) -> float:
    """The largest stable learning rate without gossip.

    gamma h < 2 delta / (2 - delta) with the gradient at x, gamma h < 2 with the gradient at x + e.

    Parameters
    ----------
    delta, curvature : float
    private : bool, optional

    Returns
    -------
    float

    Examples
    --------
    >>> rate_limit(0.1, curvature=2.0, private=True)
    1.0
    """
    return (2.0 if private else memory_limit(delta)) / curvature


def consensus_limit(mixing: Mixing, delta: float, *, common: bool = False) -> float:
    """The largest stable consensus step without gradients, by formula.

    eta < 2 delta / ((2 - delta) lambda_max(I - W)) under a common mask, with max(1 - W_ii) in place
    of lambda_max under independent masks. The second holds for delta <= .1 on graphs that look the
    same from every worker; the smaller of it and 2 / lambda_max(I - W) is returned.

    Parameters
    ----------
    mixing : Mixing
    delta : float
    common : bool, optional
        One mask for all workers.

    Returns
    -------
    float
        inf for one worker.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> round(consensus_limit(mixing("ring", 8), 0.1), 4)
    0.1579
    """
    if mixing.n == 1:
        return float("inf")
    limit = memory_limit(delta)
    formula = limit / (mixing.largest if common else mixing.away)
    return min(formula, 2 / mixing.largest)


def default_consensus(mixing: Mixing, delta: float, *, common: bool = False) -> float:
    """Half of `consensus_limit`; 1 for one worker.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> round(default_consensus(mixing("ring", 8), 1.0), 4)
    0.75
    """
    return 1.0 if mixing.n == 1 else consensus_limit(mixing, delta, common=common) / 2


def default_rate(
    mixing: Mixing, delta: float, curvature: float, consensus: float, *, common: bool = False
) -> float:
    """Half of what the joint limit leaves to gamma h beside a consensus step.

    Parameters
    ----------
    mixing : Mixing
    delta, curvature, consensus : float
    common : bool, optional

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the consensus step alone is at its limit.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> round(default_rate(mixing("ring", 8), 0.1, 1.0, 0.0789), 4)
    0.0263
    """
    spread = mixing.largest if common else mixing.away
    left = min(memory_limit(delta) - consensus * spread, 2 - consensus * mixing.largest)
    if left <= 0:
        raise InputError(
            f"consensus={consensus:g}: outside the limit, so no learning rate follows from it; "
            f"allowed is a rate given with it, or a smaller step"
        )
    return left / 2 / curvature


def margin(load: Load) -> float:
    """Distance to the joint limit: 1 with no steps at all, 0 at the limit, negative outside.

    1 - 1/t, where multiplying both steps by t reaches gamma h + eta lambda_max(I - W) = 2 delta /
    (2 - delta), with max(1 - W_ii) for independent masks; or, if that comes first, the limit
    gamma h + eta lambda_max(I - W) = 2 of gossip without masks. With the gradient at x + e the
    first is found by bisection of the second moments of all modes under a common mask, and the
    consensus step alone must keep its limit, for directions without curvature. The gradient at
    x + e + q counts as one at x + e, which is stable for fewer steps.

    Parameters
    ----------
    load : Load

    Returns
    -------
    float

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> load = Load(mixing("ring", 8), 0.1, rate=0.05, curvature=1.0, consensus=0.0)
    >>> round(margin(load), 3)
    0.525
    """
    whole = (load.descent + load.consensus * load.mixing.largest) / 2
    gossip = load.consensus * load.spread
    if not load.private:
        return 1 - max((load.descent + gossip) / memory_limit(load.delta), whole)
    share = load.spread / load.mixing.largest if load.mixing.n > 1 else 1.0
    modes = load.mixing.spectrum * load.consensus * share

    def stable(times: float) -> bool:
        found = mode_radius(load.delta, times * modes, times * load.descent, private=True)
        return found < 1 + 1e-12

    return 1 - max(1 / bisect(stable, 1.0), gossip / memory_limit(load.delta), whole)


def breach(load: Load) -> str:
    """The limit that a run is outside of, in words; an empty string if none.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> breach(Load(mixing("ring", 8), 0.1, rate=0.01, curvature=1.0, consensus=1.0))
    'consensus step 1 is outside its stability limit eta < 2 delta/((2 - delta) max(1 - W_ii)) =
    0.158'
    """
    limit = consensus_limit(load.mixing, load.delta, common=load.common)
    slope = rate_limit(load.delta, load.curvature, private=load.private)
    factor = "lambda_max(I - W)" if load.common else "max(1 - W_ii)"
    if load.consensus >= limit:
        formula = f"2 delta/((2 - delta) {factor})"
        if memory_limit(load.delta) / load.spread > limit:
            formula = "2/lambda_max(I - W)"
        return (
            f"consensus step {load.consensus:.3g} is outside its stability limit "
            f"eta < {formula} = {limit:.3g}"
        )
    if load.rate >= slope:
        words = "2" if load.private else "2 delta/(2 - delta)"
        return (
            f"learning rate {load.rate:.3g} is outside its stability limit "
            f"gamma h < {words}, gamma < {slope:.3g}"
        )
    if margin(load) <= 0:
        return (
            f"rate {load.rate:.3g} and consensus step {load.consensus:.3g} are outside the joint "
            f"stability limit gamma h + eta {factor} < 2 delta/(2 - delta) = "
            f"{memory_limit(load.delta):.3g}"
        )
    return ""


def warn(load: Load) -> str:
    """Warn with `StabilityWarning` if a run is outside a limit; the limit in words."""
    words = breach(load)
    if words:
        warnings.warn(words, StabilityWarning, stacklevel=2)
    return words
