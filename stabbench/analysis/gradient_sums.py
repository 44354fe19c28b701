"""Whether the ideal weights of a gradient code give the sum: to rounding, or to a matrix's own."""

import functools
from typing import Any

import numpy as np

from stabbench.arithmetic import exact
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.gradient.base import GradientCode
from stabbench.decoders.base import Spare
from stabbench.decoders.weights import exact_weights
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
UNTRUE = 1e-6
"""Distance of D Phi_F from T beside |D| |Phi_F| that no rounding of the weights explains."""


def check_sum(code: GradientCode, weights: Array, decodable: Array, arrived: Array) -> None:
    """Raise InputError unless |D Phi_F - T| is rounding beside |D| |Phi_F| for every pattern."""
    phi = code.encoding.rounded("float64")
    target = code.sum_map.rounded("float64")
    for p in np.flatnonzero(decodable):
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.abs(weights[p] @ phi - target).max()
            size = (np.abs(weights[p]) @ np.abs(phi)).max()
        if gap > UNTRUE * max(size, 1.0):
            replies = np.flatnonzero(arrived[p]).tolist()
            raise InputError(
                f"{code.spec}: the weights of replies {replies} miss the sum by {gap:.2g}: the "
                "parts contradict the coefficients, see stabbench check"
            )


def own_errors(code: GradientCode, arrived: Array, spare: Spare) -> Array:
    """||D Phi_F - T||_2 of the ideal weights: what a rounded matrix has lost, shape (P,).

    Weights and products are exact to about 2^-100 of the sizes that enter.
    """
    target = code.sum_map.rounded("float64")[0]
    hi, lo = rounded_products(code, arrived, spare)
    rest = (exact.error(target, pair) for pair in zip(hi, lo, strict=True))
    return np.array([exact.norm(row) for row in rest])


def rounded_products(code: GradientCode, arrived: Array, spare: Spare) -> tuple[Array, Array]:
    """D Phi_F of the ideal weights of a matrix of floats, pairs (P, K)."""
    weights = _ideal_pairs(code, code.encoding, arrived.tobytes(), arrived.shape, spare)
    phi = code.encoding.rounded("float64")
    return exact.product(np.hstack([part[:, 0] for part in weights]), np.vstack([phi, phi]))


@functools.lru_cache(maxsize=2)
def _ideal_pairs(
    code: GradientCode, encoding: Coefficients, arrived: bytes, shape: tuple[int, int], spare: Spare
) -> tuple[Array, Array]:
    """`exact_weights`, kept for the errors of the same patterns; an encoding is one reading."""
    return exact_weights(code, np.frombuffer(arrived, dtype=bool).reshape(shape), spare)
