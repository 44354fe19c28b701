"""The dual of a generator: its null space and pseudo-inverse, by balls and rounded once.

What follows from it for given patterns is in `inverses`, for all patterns in `conditioning`.
"""

import dataclasses
import functools
import math
from typing import Any

import flint
import numpy as np
import scipy.linalg

from stabbench.arithmetic.balls import adjoint, flat, orthonormal, paired, rounded
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.norms import frobenius_norm, row_norms
from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.rank import independent_rows
from stabbench.arithmetic.scaling import balanced, even
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
FIRST_BITS = 192
LAST_BITS = 1 << 13
GUARD_BITS = 62
PAIR_BITS = 110
CERTAIN = 1e-8  # far above the rounding errors of an elimination with pivoting
HELD, LARGEST = 250, 1000
"""Exponents of ratios that may be squared twice over, and of condition numbers, in float64."""


@dataclasses.dataclass(frozen=True)
class Dual:
    """Generator G (n x k) with W = G (G^H G)^-1 and H (n x m), m = n - k, H^H H = 1, H^H G = 0.

    For any set C of rows lost, with H_C = L Q^H (L square, Q with orthonormal columns), the
    pseudo-inverse of the rest is the adjoint of the rows S of W - H X, X = H_C^+ W_C, and
    ||G_S^+||_F^2 = ||W||_F^2 + ||L^-1 W_C||_F^2. The rows S have rank k if and only if those of
    H_C are independent.

    Attributes
    ----------
    generator, inverse, null : float64 or complex128 arrays, shapes (n, k), (n, k), (n, m)
        G, W and H, each entry rounded once from a ball; a row of H is accurate relative to its
        own norm, an entry of W relative to itself or to its column.
    essential : bool array, shape (n,)
        Rows without which nothing decodes: h_i = 0, exactly.
    exact : ExactDual
        The same to any precision.
    """

    generator: Array
    inverse: Array
    null: Array
    essential: Array
    exact: "ExactDual" = dataclasses.field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows n and columns k of the generator."""
        return self.generator.shape[0], self.generator.shape[1]

    @functools.cached_property
    def generator_spectrum(self) -> tuple[Array, Array]:
        """Right singular vectors (as columns) and singular values of G."""
        return _spectrum(self.generator)

    @functools.cached_property
    def inverse_spectrum(self) -> tuple[Array, Array]:
        """Right singular vectors (as columns) and singular values of W."""
        return _spectrum(self.inverse)

    @property
    def norms(self) -> tuple[float, float]:
        """||G||_2 and ||W||_2."""
        return float(self.generator_spectrum[1][0]), float(self.inverse_spectrum[1][0])

    @functools.cached_property
    def room(self) -> int:
        """The largest e for which ||G_S^+|| up to 2^e ||W|| can be served in float64; below 0 none.

        For what lies beyond, squares included, see `extended`.
        """
        n, k = self.shape
        top = np.abs(self.inverse).max(initial=0)
        if not (top < 2.0**LARGEST and even(self.generator, n - k)):
            return -1
        length = row_norms(self.null)[~self.essential]
        lost = row_norms(self.inverse)[~self.essential]
        size = frobenius_norm(self.inverse)
        if (length < 2.0**-HELD).any():
            return -1
        product = math.frexp(size)[1] + math.frexp(frobenius_norm(self.generator))[1]
        room = min(HELD, LARGEST - product)
        return room if room > 0 and (lost / size <= 2.0**room * length).all() else -1

    @functools.cached_property
    def pairs(self) -> tuple[Pair, Pair]:
        """W and H as pairs, to 2^-110 in the measures that they are accurate in as floats.

        Raises
        ------
        ArithmeticError
            If 8192 bits do not suffice.
        """
        bits = 2 * self.exact.bits
        length = row_norms(self.null)[:, None]
        size = np.abs(self.inverse) + row_norms(self.inverse.T) * length
        essential = self.essential[:, None]
        while bits <= LAST_BITS:
            try:
                N, S, W = self.exact.parts(bits)
                with flint.ctx.workprec(bits):
                    H = orthonormal(N, S)
                    null, null_radius = paired(H)
                    inverse, inverse_radius = paired(W)
            except (ZeroDivisionError, ValueError):
                bits *= 2
                continue
            precise = (null_radius <= 2.0**-PAIR_BITS * length) | essential
            if precise.all() and (inverse_radius <= 2.0**-PAIR_BITS * size).all():
                for part in null:
                    part[self.essential] = 0
                return inverse, null
            bits *= 2
        raise ArithmeticError(f"pairs of a dual: {LAST_BITS} bits do not suffice")


class ExactDual:
    """Projector P = H H^H and inverse W of a generator as balls, and exact tests of independence.

    Parameters
    ----------
    generator : Coefficients (n x k)
        Of rank k.

    Attributes
    ----------
    bits : int
        Bits that sufficed to round the dual; harder questions begin with twice as many.
    """

    def __init__(self, generator: Coefficients) -> None:
        self.generator = generator
        self.basis = _row_basis(generator)
        self.rest = np.setdiff1d(np.arange(generator.shape[0]), self.basis)
        self.bits = FIRST_BITS
        self._balls: dict[int, tuple[list[list[Any]], list[list[Any]]]] = {}
        self._gram: dict[int, tuple[list[list[Any]], list[list[Any]], Any]] = {}
        self._rank_of: dict[tuple[int, ...], int] = {}

    def parts(self, bits: int) -> tuple[Any, Any, Any]:
        """N (n x m) with N^H G = 0, S = N^H N and W (n x k) as matrices of balls.

        Raises
        ------
        ZeroDivisionError
            If the bits do not suffice.
        """
        with flint.ctx.workprec(bits):
            inverse = self.generator.rows(self.basis).balls(bits).inv()
            X = self.generator.rows(self.rest).balls(bits) * inverse
            XH, matrix = adjoint(X), type(X)
            m, k = len(self.rest), len(self.basis)
            S = matrix(m, m, 1) + X * XH
            T = adjoint(inverse)
            if m:
                T = T - XH * S.solve(X * T)
            N = self._merge((-XH).tolist(), matrix(m, m, 1).tolist())
            W = self._merge(T.tolist(), (X * T).tolist())
            return matrix(m + k, m, flat(N)), S, matrix(m + k, k, flat(W))

    def _merge(self, of_basis: list[Any], of_rest: list[Any]) -> list[Any]:
        rows: list[Any] = [None] * self.generator.shape[0]
        for i, row in zip([*self.basis, *self.rest], [*of_basis, *of_rest], strict=True):
            rows[i] = row
        return rows

    def balls(self, bits: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """Rows of the projector P (n x n) and of W (n x k) as balls, of these bits or more."""
        enough = bits
        while bits not in self._balls:
            with flint.ctx.workprec(enough):
                try:
                    N, S, W = self.parts(enough)
                    self._balls[bits] = (N * S.solve(adjoint(N))).tolist(), W.tolist()
                except ZeroDivisionError:
                    if enough > LAST_BITS:
                        raise
                    enough *= 2
        return self._balls[bits]

    def gram(self, bits: int) -> tuple[list[list[Any]], list[list[Any]], Any]:
        """Rows of P and of K = W W^H (n x n) as balls, and the trace of K."""
        if bits not in self._gram:
            P, rows = self.balls(bits)
            with flint.ctx.workprec(bits):
                W: Any = flint.acb_mat(rows) if self.generator.is_complex else flint.arb_mat(rows)
                K = W * adjoint(W)
                size = K.trace().real if self.generator.is_complex else K.trace()
                self._gram[bits] = P, K.tolist(), size
        return self._gram[bits]

    def independent(self, rows: tuple[int, ...]) -> bool:
        """Whether the rows of H are independent; exact for rational generators.

        Other generators are asked for balls of up to 8192 bits that exclude dependence.
        """
        if len(rows) > len(self.rest):
            return False
        if self.generator.is_rational:
            if rows not in self._rank_of:
                taken = _take(self._null, rows)
                self._rank_of[rows] = taken.rank() // (taken.nrows() // len(rows))
            return self._rank_of[rows] == len(rows)
        bits = 2 * self.bits
        while bits <= LAST_BITS:
            P = self.balls(bits)[0]
            with flint.ctx.workprec(bits):
                if not _determinant(P, rows).contains(0):
                    return True
            bits *= 4
        return False

    @functools.cached_property
    def _null(self) -> tuple[Any, Any]:
        """Rational N, real and imaginary part."""
        A, AI = self.generator.rows(self.basis).rational()
        B, BI = self.generator.rows(self.rest).rational()
        m, k = len(self.rest), len(self.basis)
        one = flint.fmpq_mat(m, m, [int(i == j) for i in range(m) for j in range(m)])
        if AI is None or BI is None:
            X = A.transpose().solve(B.transpose()).transpose()
            return self._whole(-X.transpose(), one), None
        # conj(X)^T solves the real form of A^H Y = B^H
        real = _stack(A.transpose(), AI.transpose(), -AI.transpose(), A.transpose())
        right = flint.fmpq_mat([*B.transpose().tolist(), *(-BI.transpose()).tolist()])
        Y = real.solve(right).tolist()
        zero = flint.fmpq_mat(m, m)
        return (
            self._whole(-flint.fmpq_mat(Y[:k]), one),
            self._whole(-flint.fmpq_mat(Y[k:]), zero),
        )

    def _whole(self, of_basis: Any, of_rest: Any) -> Any:
        return flint.fmpq_mat(self._merge(of_basis.tolist(), of_rest.tolist()))


@functools.lru_cache(maxsize=8)
def dual(generator: Coefficients) -> Dual:
    """Dual of a generator, computed with balls at rising precision and rounded once.

    Parameters
    ----------
    generator : Coefficients (n x k)

    Returns
    -------
    Dual

    Raises
    ------
    InputError
        If the generator has no rank k.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> np.abs(dual(parity).null.ravel()) * 3**0.5
    array([1., 1., 1.])
    """
    exact = ExactDual(generator)
    n, k = generator.shape
    essential = np.zeros(n, dtype=bool)
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        try:
            N, S, W = exact.parts(bits)
            with flint.ctx.workprec(bits):
                H = orthonormal(N, S)
        except (ZeroDivisionError, ValueError):
            bits *= 2
            continue
        null, null_radius = rounded(H)
        inverse, inverse_radius = rounded(W)
        length = row_norms(null)
        doubtful = length <= row_norms(null_radius)
        for i in np.flatnonzero(doubtful & ~essential):
            essential[i] = not exact.independent((int(i),))
        null[essential] = 0
        length[essential] = 1
        if not float(np.abs(inverse).max(initial=0)) < 2.0**LARGEST:  # of no use as floats
            return Dual(generator.rounded("float64"), inverse, null, essential, exact)
        column = row_norms(inverse.T)
        allowed = 2.0**-GUARD_BITS
        precise = (null_radius <= allowed * length[:, None]) | essential[:, None]
        with np.errstate(over="ignore"):
            sound = inverse_radius <= allowed * (np.abs(inverse) + column * length[:, None])
        if precise.all() and sound.all():
            exact.bits = bits
            return Dual(generator.rounded("float64"), inverse, null, essential, exact)
        bits *= 2
    raise ArithmeticError(f"dual of a {n} x {k} generator: {LAST_BITS} bits do not suffice")


def _spectrum(matrix: Array) -> tuple[Array, Array]:
    top = np.abs(matrix).max()
    _, values, vectors = np.linalg.svd(matrix / top, full_matrices=False)
    return vectors.conj().T, values * top


def _determinant(matrix: list[list[Any]], rows: tuple[int, ...]) -> Any:
    """Real part of a principal minor of a Hermitian matrix of balls."""
    minor = [[matrix[i][j] for j in rows] for i in rows]
    if isinstance(minor[0][0], flint.acb):
        return flint.acb_mat(minor).det().real
    return flint.arb_mat(minor).det()


def _take(null: tuple[Any, Any], rows: tuple[int, ...]) -> Any:
    """Real form of chosen rows of a rational matrix."""
    re, im = (flint.fmpq_mat([part.tolist()[i] for i in rows]) if part else None for part in null)
    return re if im is None else _stack(re, -im, im, re)


def _stack(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The block matrix [[a, b], [c, d]]."""
    upper = [[*x, *y] for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    lower = [[*x, *y] for x, y in zip(c.tolist(), d.tolist(), strict=True)]
    return flint.fmpq_mat(upper + lower)


def _row_basis(generator: Coefficients) -> Array:
    """Indices of k rows that are independent for certain and as well conditioned as pivoting finds.

    Raises
    ------
    InputError
        If there are none, or the generator overflows float64.
    """
    n, k = generator.shape
    if n < k:
        raise InputError(f"generator {n} x {k}: allowed are no more columns than rows")
    G = generator.rounded("float64")
    if not np.isfinite(G).all():
        raise InputError(f"generator {n} x {k}: entries overflow; allowed are float64 numbers")
    _, exponent = np.frexp(np.abs(G).max(axis=0, initial=0))
    scaled = np.ldexp(G.real, -exponent) + (1j * np.ldexp(G.imag, -exponent) if G.imag.any() else 0)
    R, pivots = scipy.linalg.qr(scaled.conj().T, mode="r", pivoting=True)
    rows, diagonal = np.sort(pivots[:k]), np.abs(np.diagonal(R))
    if diagonal.min(initial=1) > CERTAIN * diagonal.max(initial=0) or _invertible(generator, rows):
        return np.asarray(rows)
    for matrix in (G, balanced(generator)):
        rows = independent_rows(matrix)
        if len(rows) == k and _invertible(generator, rows):
            return rows
    raise InputError(f"generator {n} x {k}: rank below {k}; allowed are independent columns")


def _invertible(generator: Coefficients, rows: Array) -> bool:
    square = generator.rows(rows)
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with flint.ctx.workprec(bits):
            try:
                square.balls(bits).inv()
                return True
            except ZeroDivisionError:
                bits *= 4
    return False
