"""Decoding operators of systems with many unknowns: singular values in float64, certified.

Duality in ball arithmetic is exact at any magnitude but slow beyond a hundred unknowns.
"""

from typing import Any

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.exact import inverse
from stabbench.arithmetic.inverses import DecodingOperators
from stabbench.arithmetic.rank import independent_rows
from stabbench.arithmetic.scaling import even, normal, shifted

Array = np.ndarray[Any, np.dtype[Any]]
HEALTHY = 1e-9
"""Smallest over largest singular value above which the rounding of the SVD cannot hide a zero."""


def svd_operators(generator: Coefficients, survivors: Array) -> DecodingOperators:
    """Moore-Penrose inverses G_S^+ of chosen rows.

    Parameters
    ----------
    generator : Coefficients (n x k)
    survivors : int array, shape (P, r)

    Returns
    -------
    DecodingOperators
        From the SVD where sigma_min > 1e-9 sigma_max: errors are then below 1e-5 of the norm, and
        full rank is certain. The others are inverted in ball arithmetic, or shown to be deficient
        by their rank modulo a prime of 61 bits.

    Examples
    --------
    >>> svd_operators(Coefficients.from_array(np.diag([2.0, 4.0])), np.array([[0, 1]])).D[0]
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    generator, exponent = normal(generator)
    matrix = generator.rounded("float64")
    n, k = matrix.shape
    P, r = survivors.shape
    D = np.full((P, k, r), np.nan, dtype=matrix.dtype)
    status = np.zeros(P, dtype=bool)
    held = even(matrix, max(n - k, 0))
    for p in range(P) if r >= k else ():
        received = matrix[survivors[p]]
        if held:
            U, sigma, V = np.linalg.svd(received, full_matrices=False)
            if sigma[-1] > HEALTHY * sigma[0]:
                D[p], status[p] = (V.conj().T / sigma) @ U.conj().T + 0.0, True
                continue
            if len(independent_rows(received)) < k:
                continue
        try:
            D[p], status[p] = inverse(generator.rows(survivors[p])), True
        except ZeroDivisionError:
            continue
    return DecodingOperators(shifted(D, -exponent) if exponent else D, status)
