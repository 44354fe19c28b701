"""The second-moment map of gossip with random masks, on any graph, and its spectral radius.

On f_i with curvature h every coordinate of all (x_i, e_i) follows a random linear map; E[s s^T]
follows a linear map of its own, and the mean square is stable where its spectral radius is below 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.training.gossip.graphs import Mixing

Array = NDArray[Any]


def second_moment(
    mixing: Mixing,
    delta: float,
    consensus: float,
    load: float = 0.0,
    *,
    common: bool = False,
    private: bool = False,
) -> Array:
    """The map of the second moments of one coordinate under error-compensated gossip.

    Every step z = e - eta (I - W) x - gamma h x (at x + e if private), then x += M z and e = (I -
    M) z with a random diagonal 0-1 matrix M. The map acts on the upper triangles of symmetric
    matrices. With gamma h = 0 the neutral direction, the mean of x + e, which every mask keeps, is
    left out.

    Parameters
    ----------
    mixing : Mixing
    delta : float
        Probability that a coordinate is sent, 0 < delta <= 1.
    consensus : float
        eta.
    load : float, optional
        gamma h.
    common : bool, optional
        One mask for all workers; else independent masks.
    private : bool, optional
        Whether the gradient is taken at x + e.

    Returns
    -------
    float array, shape (N (N + 1) / 2, N (N + 1) / 2)
        N = 2 n, or 2 n - 1 without load.

    Raises
    ------
    InputError
        If delta is not above 0 up to 1.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> second_moment(mixing("ring", 3), delta=0.5, consensus=0.1).shape
    (15, 15)
    """
    if not 0 < delta <= 1:
        raise InputError(f"second moment: delta={delta}; allowed is above 0 up to 1")
    n = mixing.n
    eye, zero = np.eye(n), np.zeros((n, n))
    slope = load * eye
    to_z = np.hstack([-consensus * (eye - mixing.matrix) - slope, eye - slope * private])
    still = np.vstack([np.hstack([eye, zero]), to_z])
    moves = np.stack([np.outer(np.concatenate([eye[i], -eye[i]]), to_z[i]) for i in range(n)])
    if load == 0:
        basis = _without_mean(n)
        still = basis.T @ still @ basis
        moves = basis.T @ moves @ basis
    mean = still + delta * moves.sum(axis=0)
    spread = delta * (1 - delta)
    swings = moves.sum(axis=0)[None] if common else moves
    return _symmetric(mean[None]) + spread * _symmetric(swings)


def radius(matrix: Array) -> float:
    """The spectral radius, by all eigenvalues: power iteration underflows here.

    Examples
    --------
    >>> radius(np.array([[0.5, 1.0], [0.0, -0.75]]))
    0.75
    """
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def mode_radius(
    delta: float, gossip: Array | float, load: float = 0.0, *, private: bool = False
) -> float:
    """The spectral radius of the second moments of one mode of I - W under a common mask.

    Parameters
    ----------
    delta : float
    gossip : float or float array
        eta lambda of the modes; the largest radius is returned.
    load : float, optional
        gamma h.
    private : bool, optional

    Returns
    -------
    float

    Examples
    --------
    >>> mode_radius(0.5, 0.6) < 1 < mode_radius(0.5, 0.7)
    True
    """
    modes = np.atleast_1d(np.asarray(gossip, dtype=np.float64))
    to_x = -modes - load
    to_e = np.full_like(modes, 1 - load * private)
    sent = np.stack([[1 + to_x, to_e], [0 * modes, 0 * modes]])
    kept = np.stack([[1 + 0 * modes, 0 * modes], [to_x, to_e]])
    maps = delta * _moments_of(sent) + (1 - delta) * _moments_of(kept)
    return float(np.abs(np.linalg.eigvals(maps)).max())


def bisect(stable: Callable[[float], bool], high: float, tolerance: float = 1e-5) -> float:
    """The step at which `stable` ends, to a relative tolerance.

    Parameters
    ----------
    stable : callable
        Whether a step is stable; true for small ones.
    high : float
        Where to start; doubled until it is unstable.
    tolerance : float

    Returns
    -------
    float
        inf if no step up to 2^20 times `high` is unstable.

    Examples
    --------
    >>> bisect(lambda step: step < 0.3, 1.0)
    0.30000
    """
    low, top = 0.0, high * 2.0**20
    while stable(high):
        low, high = high, 2 * high
        if high > top:
            return float("inf")
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return (low + high) / 2


def consensus_limit_by_bisection(
    mixing: Mixing,
    delta: float,
    load: float = 0.0,
    *,
    common: bool = False,
    private: bool = False,
    tolerance: float = 1e-4,
) -> float:
    """The largest consensus step whose second moments stay bounded, on any graph.

    Parameters
    ----------
    mixing, delta, load, common, private
        See `second_moment`.
    tolerance : float, optional
        Relative.

    Returns
    -------
    float
        0 if the load alone is unstable.

    Examples
    --------
    >>> from stabbench.training.gossip.graphs import mixing
    >>> round(consensus_limit_by_bisection(mixing("ring", 8), 0.1), 4)
    0.1577
    """

    def stable(eta: float) -> bool:
        found = second_moment(mixing, delta, eta, load, common=common, private=private)
        return radius(found) < 1 - 1e-12

    if load and not stable(0.0):
        return 0.0
    return bisect(stable, 2 * delta, tolerance)


def _without_mean(n: int) -> Array:
    """An orthonormal basis of the states whose x + e have mean 0, shape (2 n, 2 n - 1)."""
    complete, _ = np.linalg.qr(np.hstack([np.ones((2 * n, 1)), np.eye(2 * n)[:, 1:]]))
    basis: Array = complete[:, 1:]
    return basis


def _symmetric(maps: Array) -> Array:
    """The sum of S -> B S B^T over maps B, on the upper triangles of symmetric S."""
    size = maps.shape[1]
    i, j = np.triu_indices(size)
    total = np.zeros((len(i), len(i)))
    for b in maps:
        block = b[i][:, i] * b[j][:, j]
        swapped = b[i][:, j] * b[j][:, i]
        total += np.where(i == j, block, block + swapped)
    return total


def _moments_of(maps: Array) -> Array:
    """The same for 2 x 2 maps with a trailing axis, as 3 x 3 maps with a leading one."""
    (a, b), (c, d) = maps
    rows = [
        [a * a, 2 * a * b, b * b],
        [a * c, a * d + b * c, b * d],
        [c * c, 2 * c * d, d * d],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
