"""Proof that exact decoding gives what is wanted: D_F Phi_F = T for all survivor sets at once.

Where M R = Y with one R for all replies, every left inverse of M_F makes the images Y_F into R. So
M R = Y, T R = W and the full rank of M_F, which is asked for elsewhere, prove a code.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import flint
import numpy as np

from stabbench.analysis.product import sums
from stabbench.arithmetic.balls import adjoint
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import embedded
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import System
from stabbench.codes.gradient.base import GradientCode, entries
from stabbench.codes.gradient.parts import Part
from stabbench.codes.kronecker import row_products
from stabbench.codes.lagrange import FunctionSystem
from stabbench.codes.operators import Dense, Operator
from stabbench.codes.product import ProductSystem
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
BITS = (256, 512, 1024, 2048, 4096)
TINY = 2.0**-60
"""Largest radius of a ball about zero, in units of what is compared, that counts as a proof."""
MOST_UNKNOWNS = 400
POINTS = 8


@dataclasses.dataclass(frozen=True)
class Piece:
    """Replies that are decoded together.

    Attributes
    ----------
    matrix : Coefficients, rows x unknowns
        M, which decoding inverts.
    images : Coefficients, rows x c
        Y, what the workers compute; combinations M R of the unknowns.
    target : Coefficients, optional
        T, what decoding makes of the unknowns; the unknowns themselves where there is none.
    """

    matrix: Coefficients
    images: Coefficients
    target: Coefficients | None = None


@dataclasses.dataclass(frozen=True)
class Claim:
    """That the sum of T R over the pieces is W.

    Attributes
    ----------
    pieces : sequence of Piece
    wanted : Coefficients, wanted x c
        W.
    """

    pieces: Sequence[Piece]
    wanted: Coefficients

    def proof(self) -> tuple[bool, str]:
        """Whether it holds, and how that is known or what contradicts it.

        Examples
        --------
        >>> one, ones = (Coefficients.from_array(np.ones((n, 1))) for n in (1, 3))
        >>> Claim([Piece(ones, ones)], one).proof()
        (True, 'exactly')
        >>> Claim([Piece(ones, Coefficients.from_array(np.full((3, 1), 2.0)))], one).proof()
        (False, 'what is decoded differs from what is wanted by 1')
        """
        if self.is_plain:
            return True, "exactly"
        matrices = [self.wanted]
        for piece in self.pieces:
            if piece.matrix.shape[1] > MOST_UNKNOWNS and piece.matrix is not piece.images:
                return (
                    False,
                    f"{piece.matrix.shape[1]} unknowns: at most {MOST_UNKNOWNS} are proved",
                )
            matrices += [piece.matrix, piece.images]
            matrices += [] if piece.target is None else [piece.target]
        is_complex = any(x.is_complex for x in matrices)
        try:
            if all(x.is_rational for x in matrices):
                self._compare(lambda x: _exact(x, is_complex))
                return True, "exactly"
            for bits in BITS:
                try:
                    with flint.ctx.workprec(bits):
                        self._compare(lambda x: _enclosed(x, bits, is_complex))  # noqa: B023
                except _UndecidedError:
                    continue
                return True, f"in balls of {bits} bits"
        except _RefutedError as refuted:
            return False, str(refuted)
        return False, f"{BITS[-1]} bits do not prove it"

    @property
    def is_plain(self) -> bool:
        """Whether M = Y and all unknowns are wanted, so that there is nothing to compare."""
        if len(self.pieces) != 1 or self.pieces[0].target is not None:
            return False
        (piece,) = self.pieces
        wanted = self.wanted.rounded("float64")
        return piece.matrix is piece.images and np.array_equal(wanted, np.eye(len(wanted)))

    def _compare(self, made: Callable[[Coefficients], Any]) -> None:
        """Raise unless both equations hold for the matrices that `made` makes."""
        total = None
        for number, piece in enumerate(self.pieces):
            where = f" of part {number}" if len(self.pieces) > 1 else ""
            decoded = _represented(piece, made, where)
            if piece.target is not None:
                decoded = made(piece.target) * decoded
            total = decoded if total is None else total + decoded
        _agree(total, made(self.wanted), "what is decoded differs from what is wanted by")


class _RefutedError(Exception):
    """An equation does not hold."""


class _UndecidedError(Exception):
    """The bits do not tell."""


def _represented(piece: Piece, made: Callable[[Coefficients], Any], where: str) -> Any:
    """R with M R = Y."""
    if piece.matrix is piece.images:
        return made(identity(piece.matrix.shape[1]))
    M, Y = made(piece.matrix), made(piece.images)
    is_exact = isinstance(M, flint.fmpq_mat)
    turned = M.transpose() if is_exact else adjoint(M)
    try:
        R = (turned * M).solve(turned * Y)
    except ZeroDivisionError:
        if not is_exact:
            raise _UndecidedError from None
        raise _RefutedError(f"the decoding matrix{where} lacks full column rank") from None
    _agree(M * R, Y, f"the replies{where} differ from what their decoding matrix holds by")
    return R


def _agree(left: Any, right: Any, words: str) -> None:
    if (left.nrows(), left.ncols()) != (right.nrows(), right.ncols()):
        raise _RefutedError(f"{left.nrows()} x {left.ncols()} numbers, wanted are "
                       f"{right.nrows()} x {right.ncols()}")  # fmt: skip
    rest = (left - right).entries()
    if isinstance(left, flint.fmpq_mat):
        if any(rest):
            raise _RefutedError(f"{words} {max(abs(float(flint.arb(x))) for x in rest):.3g}")
        return
    if any(not x.contains(0) for x in rest):
        raise _RefutedError(f"{words} {max(float(abs(x).mid()) for x in rest):.3g}")
    size = max(1.0, *(float(abs(x).mid()) for x in right.entries()))
    if any(not float(abs(x).abs_upper()) <= TINY * size for x in rest):
        raise _UndecidedError


def _exact(matrix: Coefficients, is_complex: bool) -> Any:
    """A rational matrix; of complex ones the real matrix that multiplies alike."""
    real, imaginary = matrix.rational()
    if not is_complex:
        return real
    return embedded(real, imaginary or flint.fmpq_mat(*matrix.shape))


def _enclosed(matrix: Coefficients, bits: int, is_complex: bool) -> Any:
    balls = matrix.balls(bits)
    return flint.acb_mat(balls) if is_complex and not matrix.is_complex else balls


def claim(system: System) -> Claim:
    """What a dense reply map claims: that decoding gives the blocks, products or values of f.

    Of functions, powers of combinations of random integers up to 2^31 are compared, at 8 points: a
    false identity of degree d passes with a probability of at most (d / 2^31)^8.

    Raises
    ------
    InputError
        If encoders or reply map are no matrices of coefficients.

    Examples
    --------
    >>> import stabbench as sb
    >>> claim(sb.code("lagrange", n=5, stragglers=0).system("evaluate")).proof()
    (True, 'in balls of 256 bits')
    """
    reply = matrix_of(system.reply)
    encoders = [matrix_of(encoder) for encoder in system.encoders]
    if isinstance(system, ProductSystem):
        images = _products(encoders[0], encoders[1], system.pairs)
        return Claim([Piece(reply, images, system.target)], sums(system))
    if isinstance(system, FunctionSystem):
        count = encoders[0].shape[1]
        points = stream("points of an identity").integers(-(2**31), 2**31, (count, POINTS)).tolist()
        images = _powers(encoders[0], points, system.degree or 1)
        wanted = _powers(identity(count), points, system.degree or 1)
        return Claim([Piece(reply, images, system.target)], wanted)
    return Claim([Piece(reply, encoders[0], system.target)], identity(encoders[0].shape[1]))


def gradient_claim(code: GradientCode, parts: Sequence[Part]) -> Claim:
    """That the weights of some parts of a gradient code give the sum.

    Examples
    --------
    >>> import stabbench as sb
    >>> code = sb.code("cyclic-mds", n=5, stragglers=2)
    >>> gradient_claim(code, code.parts).proof()
    (True, 'in balls of 256 bits')
    """
    m = code.reduction
    columns = np.arange(code.partitions * m)
    pieces = [Piece(part.matrix, code.encoding.rows(part.rows), part.target) for part in parts]
    return Claim(pieces, Coefficients.from_array(columns % m == np.arange(m)[:, None]))


def matrix_of(operator: Operator) -> Coefficients:
    """The coefficients of a dense operator."""
    if not isinstance(operator, Dense):
        raise InputError(
            f"{type(operator).__name__} is no matrix of coefficients; allowed is Dense"
        )
    return operator.coefficients


def identity(count: int) -> Coefficients:
    """The identity."""
    return Coefficients.from_array(np.eye(count))


def _products(left: Coefficients, right: Coefficients, pairs: Array) -> Coefficients:
    """Products of the entries of every pair of rows, one column per pair of blocks."""
    one, two = left.rows(pairs[:, 0]), right.rows(pairs[:, 1])
    is_complex = one.is_complex or two.is_complex

    def rows(bits: int) -> Any:
        if one.is_rational and two.is_rational and not is_complex:
            return row_products(one.rational()[0], two.rational()[0])
        return row_products(one.balls(bits), two.balls(bits))

    return Coefficients(rows, (len(pairs), one.shape[1] * two.shape[1]), complex=is_complex)


def _powers(matrix: Coefficients, points: list[list[int]], degree: int) -> Coefficients:
    """Powers 0 .. degree of the matrix times every point."""

    def rows(bits: int) -> Any:
        table = entries(matrix, bits)
        values = [[sum(a * x for a, x in zip(row, column, strict=True)) for column in columns]
                  for row in table]  # fmt: skip
        return [[v**e for v in row for e in range(degree + 1)] for row in values]

    columns = list(zip(*points, strict=True))
    shape = matrix.shape[0], POINTS * (degree + 1)
    return Coefficients(rows, shape, complex=matrix.is_complex)
