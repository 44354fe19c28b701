"""Second reference: the products, solutions and inverses of `exact`, by plain mpmath matrices.

The precision is doubled until two levels give the same pair; it shares no arithmetic with `exact`.
"""

import math
from collections.abc import Callable
from typing import Any

import flint
import mpmath
import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import check_finite
from stabbench.arithmetic.pairs import Pair
from stabbench.errors import InputError

__all__ = ["inverse", "least_squares", "product", "solve"]

_FIRST_BITS = 160
_DOUBLINGS = 6


def product(A: NDArray[Any], B: NDArray[Any]) -> Pair:
    """Matrix product A B as a pair; see `exact.product` for parameters, result and errors.

    Examples
    --------
    >>> product(np.array([[1e17, 1.0, -1e17]]), np.ones((3, 1)))
    (array([[1.]]), array([[0.]]))
    """
    right = _columns(B)
    _check(A.ndim == 2 and A.shape[1:] == right.shape[:1], A, B)
    bits = _FIRST_BITS + 2 * (_span(A) + _span(right))

    def compute(context: Any) -> Pair:
        result = _matrix(context, A) * _matrix(context, right)
        return _pair(context, result.tolist(), _is_complex(A, right))

    return _shaped(_settled(compute, bits), B)


def solve(G: NDArray[Any], Y: NDArray[Any]) -> Pair:
    """Solution of the square system G X = Y as a pair; see `exact.solve`.

    A system that no precision tried settles is reported as singular, by ZeroDivisionError.

    Examples
    --------
    >>> hi, lo = solve(np.array([[3.0]]), np.array([[1.0]]))
    >>> float(hi[0, 0]), float(lo[0, 0])
    (0.3333333333333333, 1.850371707708594e-17)
    """
    _check(G.ndim == 2 and G.shape[0] == G.shape[1], G, Y)
    return least_squares(G, Y)


def least_squares(G: NDArray[Any], Y: NDArray[Any]) -> Pair:
    """Solution of the normal equations as a pair; see `exact.least_squares`.

    Examples
    --------
    >>> least_squares(np.array([[1.0], [1.0]]), np.array([[0.0], [1.0]]))
    (array([[0.5]]), array([[0.]]))
    """
    right = _columns(Y)
    _check(G.ndim == 2 and G.shape[:1] == right.shape[:1] and G.shape[0] >= G.shape[1], G, Y)
    bits = _FIRST_BITS + 2 * (_span(G) + _span(right))

    def compute(context: Any) -> Pair:
        solution = _solution(context, _matrix(context, G), _matrix(context, right))
        columns = [_without_noise(context, column) for column in solution.T.tolist()]
        hi, lo = _pair(context, columns, _is_complex(G, right))
        return hi.T, lo.T

    return _shaped(_settled(compute, bits), Y)


def inverse(G: Coefficients | NDArray[Any], bits: int | None = None) -> NDArray[Any]:
    """Inverse or left inverse, rounded to double precision; see `exact.inverse`.

    Examples
    --------
    >>> inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    coefficients = G if isinstance(G, Coefficients) else Coefficients.from_array(G)
    r, k = coefficients.shape
    if r < k:
        raise InputError(f"matrix of shape {r} x {k}: allowed are at least as many rows as columns")

    def compute(context: Any) -> Pair:
        middles = [
            [_middle(context, ball) for ball in row]
            for row in coefficients.balls(context.prec).tolist()
        ]
        solution = _solution(context, context.matrix(middles), context.eye(r))
        rows = [_without_noise(context, row) for row in solution.tolist()]
        return _pair(context, rows, coefficients.is_complex)

    return _settled(compute, bits or _FIRST_BITS)[0]


def _settled(compute: Callable[[Any], Pair], bits: int) -> Pair:
    before: Pair | None = None
    for doubling in range(_DOUBLINGS + 1):
        context = mpmath.MPContext()
        context.prec = bits << doubling
        try:
            now: Pair | None = compute(context)
        except ZeroDivisionError:
            now = None
        if before and now and all(map(np.array_equal, before, now)):
            return now
        before = now
    raise ZeroDivisionError(f"singular matrix, as far as {bits << _DOUBLINGS} bits tell")


def _solution(context: Any, matrix: Any, right: Any) -> Any:
    if matrix.rows > matrix.cols:
        matrix, right = matrix.H * matrix, matrix.H * right
    factors, order = context.LU_decomp(matrix)
    solution = context.matrix(matrix.cols, right.cols)
    for j in range(right.cols):
        column = context.L_solve(factors, right[:, j], order)
        solution[:, j] = context.U_solve(factors, column)
    return solution


def _without_noise(context: Any, numbers: list[Any]) -> list[Any]:
    """Rounded to the upper half of the digits of the largest, so that exact zeros are zero."""
    largest = max((abs(part) for x in numbers for part in (x.real, x.imag)), default=context.zero)
    if not largest:
        return numbers
    grid = context.mag(largest) - context.prec // 2

    def snapped(x: Any) -> Any:
        return context.ldexp(context.nint(context.ldexp(x, -grid)), grid)

    return [
        context.mpc(snapped(x.real), snapped(x.imag)) if isinstance(x, context.mpc) else snapped(x)
        for x in numbers
    ]


def _pair(context: Any, rows: list[list[Any]], complex_: bool) -> Pair:
    shape = len(rows), len(rows[0]) if rows else 0
    hi = np.empty(shape, np.complex128 if complex_ else np.float64)
    lo = np.empty_like(hi)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            high, low = _split(context, x.real)
            if complex_:
                high_imag, low_imag = _split(context, x.imag)
                hi[i, j], lo[i, j] = complex(high, high_imag), complex(low, low_imag)
            else:
                hi[i, j], lo[i, j] = high, low
    return hi, lo


def _split(context: Any, x: Any) -> tuple[float, float]:
    high = _nearest(context, x)
    return (high, 0.0) if math.isinf(high) else (high, _nearest(context, x - high))


def _nearest(context: Any, x: Any) -> float:
    if not x:
        return 0.0
    quantum = max(context.mag(x) - 53, -1074)
    try:
        return math.ldexp(int(context.nint(context.ldexp(x, -quantum))), quantum)
    except OverflowError:
        return math.copysign(math.inf, x)


def _matrix(context: Any, array: NDArray[Any]) -> Any:
    return context.matrix([[_number(context, x) for x in row] for row in array])


def _number(context: Any, x: Any) -> Any:
    if isinstance(x, np.complexfloating):
        return context.mpc(_number(context, x.real), _number(context, x.imag))
    numerator, denominator = x.as_integer_ratio()
    return context.ldexp(int(numerator), 1 - int(denominator).bit_length())


def _middle(context: Any, ball: Any) -> Any:
    if isinstance(ball, flint.acb):
        return context.mpc(_middle(context, ball.real), _middle(context, ball.imag))
    mantissa, exponent = ball.mid().man_exp()
    return context.ldexp(int(mantissa), int(exponent))


def _span(array: NDArray[Any]) -> int:
    """Bits between the largest number and the last digit of the smallest."""
    check_finite(array)
    values = np.concatenate([array.real.ravel(), array.imag.ravel()])
    values = values[values != 0]
    if not values.size:
        return 0
    exponents = np.frexp(values)[1]
    return int(exponents.max()) - int(exponents.min()) + np.finfo(values.dtype).nmant + 1


def _columns(array: NDArray[Any]) -> NDArray[Any]:
    return array[:, None] if array.ndim == 1 else array


def _shaped(pair: Pair, like: NDArray[Any]) -> Pair:
    return (pair[0][:, 0], pair[1][:, 0]) if like.ndim == 1 else pair


def _is_complex(*arrays: NDArray[Any]) -> bool:
    return any(array.dtype.kind == "c" for array in arrays)


def _check(fits: bool, left: NDArray[Any], right: NDArray[Any]) -> None:
    if not fits:
        shapes = f"shapes {left.shape} and {right.shape}"
        raise InputError(f"{shapes}: allowed are matrices that fit together")
