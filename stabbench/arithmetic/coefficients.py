"""Matrices whose entries are known exactly, or to any precision asked for.

Entries are rationals or balls (numbers with a certified radius); what is computed from them
lives elsewhere.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.precision import Format, Precision, precision
from stabbench.errors import InputError

__all__ = ["Coefficients"]

Index = int | slice | Sequence[int] | NDArray[np.integer[Any]]
Parts = tuple[NDArray[Any], NDArray[Any] | None]

_FIRST_BITS = 128
_LAST_BITS = 2048
# a ball that still touches zero, or a tie, with a radius below this is taken to be that number
_NEGLIGIBLE = flint.fmpq(1, 1 << 900)


class Coefficients:
    """Matrix (n x k) known exactly, or to any precision asked for.

    Parameters
    ----------
    function : callable
        ``function(bits)`` gives an (n x k) object array, or nested lists, of entries: int, float,
        Fraction, fmpz, fmpq, complex, mpf and mpc are taken as the exact numbers they hold; arb and
        acb are balls of a radius of about 2^-bits. It is called under ``flint.ctx.workprec(bits)``,
        which is of the process, not of the thread.
    shape : tuple of int
        (n, k).
    complex : bool
        Whether entries may have an imaginary part.

    Raises
    ------
    InputError
        When entries are asked for: if the function gives another shape, an entry that is not a
        finite number, or a complex entry of a real matrix.

    Examples
    --------
    >>> nodes = [flint.fmpq(2 * i + 1, 10) for i in range(5)]
    >>> def chebyshev(bits):
    ...     return [[flint.arb.cos_pi_fmpq(node) ** j for j in range(3)] for node in nodes]
    >>> matrix = Coefficients(chebyshev, (5, 3))
    >>> matrix.is_rational
    False
    >>> matrix.rounded("bfloat16")[0]
    array([1.        , 0.94921875, 0.90625   ], dtype=float32)
    """

    def __init__(
        self, function: Callable[[int], Any], shape: tuple[int, int], complex: bool = False
    ) -> None:
        self.shape = (int(shape[0]), int(shape[1]))
        self.is_complex = bool(complex)
        self._function = function
        self._array: NDArray[Any] | None = None
        self._parts_of: dict[int, Parts] = {}
        self._balls_of: dict[int, Parts] = {}
        self._rounded_to: dict[str, NDArray[Any]] = {}
        self._rational: bool | None = None

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> "Coefficients":
        """Coefficients that are exactly the entries of a floating-point or integer matrix.

        Parameters
        ----------
        array : ndarray (n x k), real or complex

        Returns
        -------
        Coefficients

        Raises
        ------
        InputError
            If the array is not a matrix of finite numbers.

        Examples
        --------
        >>> Coefficients.from_array(np.array([[0.1, 2.0]])).rational()[0][0, 0]
        3602879701896397/36028797018963968
        """
        matrix = np.array(array)
        if matrix.ndim != 2:
            raise InputError(f"coefficients of {matrix.ndim} dimensions: allowed is a matrix")
        if matrix.dtype.kind not in "fciub":
            raise InputError(f"coefficients of type {matrix.dtype}: allowed are numbers of NumPy")
        if not np.all(np.isfinite(matrix)):
            raise InputError("coefficients with inf or NaN: allowed are finite numbers")
        complex_ = matrix.dtype.kind == "c"
        self = cls(lambda bits: matrix, (matrix.shape[0], matrix.shape[1]), complex_)
        self._array = matrix if matrix.dtype.kind in "fc" else None
        self._rational = True
        return self

    def rows(self, index: Index) -> "Coefficients":
        """Sub-matrix of the rows named by an integer, a slice or a sequence of integers.

        Parameters
        ----------
        index : int, slice, sequence of int or integer array
            As in NumPy, except that one integer gives a matrix of one row.

        Returns
        -------
        Coefficients

        Examples
        --------
        >>> Coefficients.from_array(np.eye(4)).rows([0, 3]).shape
        (2, 4)
        """
        return _Rows(self, np.atleast_1d(np.arange(self.shape[0])[index]))

    @property
    def is_rational(self) -> bool:
        """Whether every entry is known as a rational number."""
        if self._rational is None:
            re, im = self._parts(_FIRST_BITS)
            entries = [*re.flat, *(() if im is None else im.flat)]
            self._rational = all(type(entry) is flint.fmpq for entry in entries)
        return self._rational

    def balls(self, bits: int) -> "flint.arb_mat | flint.acb_mat":
        """Matrix of balls that contain the entries, of a radius of about 2^-bits of each entry.

        Parameters
        ----------
        bits : int

        Returns
        -------
        flint.arb_mat (n x k), or flint.acb_mat for complex coefficients

        Examples
        --------
        >>> Coefficients.from_array(np.array([[0.5]])).balls(100)
        [0.500000000000000]
        """
        re, im = self._ball_parts(bits)
        with flint.ctx.workprec(bits):
            if im is None:
                return flint.arb_mat(*self.shape, re.ravel().tolist())
            entries = [flint.acb(a, b) for a, b in zip(re.flat, im.flat, strict=True)]
            return flint.acb_mat(*self.shape, entries)

    def rational(self) -> "tuple[flint.fmpq_mat, flint.fmpq_mat | None]":
        """Real and imaginary part as exact matrices; the imaginary one is None if real.

        Returns
        -------
        tuple of flint.fmpq_mat (n x k)

        Raises
        ------
        ValueError
            If the coefficients are not rational (see `is_rational`).

        Examples
        --------
        >>> Coefficients.from_array(np.array([[0.5]])).rational()
        ([1/2], None)
        """
        if not self.is_rational:
            raise ValueError("coefficients are not rational")
        re, im = self._parts(_FIRST_BITS)
        imaginary = None if im is None else flint.fmpq_mat(*self.shape, im.ravel().tolist())
        return flint.fmpq_mat(*self.shape, re.ravel().tolist()), imaginary

    def rounded(self, to: Precision | str) -> NDArray[Any]:
        """Entries (n x k), each rounded once to the storage of a precision, to nearest even.

        A ball that touches zero, or the middle of two neighbours, with a radius below 2^-900 is
        taken to be that number.

        Parameters
        ----------
        to : Precision or str

        Returns
        -------
        ndarray (n x k)
            In the carrier type of the storage, infinite where the storage overflows.

        Raises
        ------
        ArithmeticError
            If 2048 bits do not say how to round an entry.

        Examples
        --------
        >>> Coefficients(lambda bits: [[flint.arb.pi()]], (1, 1)).rounded("float32")
        array([[3.1415927]], dtype=float32)
        """
        target = precision(to)
        if target.storage.name not in self._rounded_to:
            if self._array is not None:
                values = target.store(self._array)
            elif self.is_complex:
                values = np.empty(self.shape, target.storage_dtype(True))
                values.real = self._rounded_part(0, target.storage)
                values.imag = self._rounded_part(1, target.storage)
            else:
                values = self._rounded_part(0, target.storage)
            self._rounded_to[target.storage.name] = values
        return self._rounded_to[target.storage.name].copy()

    def _rounded_part(self, part: int, form: Format) -> NDArray[Any]:
        out = np.zeros(self.shape, form.carrier)
        waiting = list(np.ndindex(self.shape))
        bits = _FIRST_BITS
        while waiting and bits <= _LAST_BITS:
            entries = self._parts(bits)[part]
            assert entries is not None
            undecided = []
            with flint.ctx.workprec(bits):
                for at in waiting:
                    value = _round(entries.item(at), form)
                    if value is None:
                        undecided.append(at)
                    else:
                        out[at] = value
            waiting, bits = undecided, 2 * bits
        if waiting:
            raise ArithmeticError(f"entry {waiting[0]}: {_LAST_BITS} bits do not say how to round")
        return out

    def _evaluated(self, bits: int) -> Parts:
        with flint.ctx.workprec(bits):
            entries = self._function(bits)
            lists = entries.tolist() if hasattr(entries, "tolist") else entries
            given = np.array(lists, dtype=object)
            if given.shape != self.shape:
                raise InputError(f"coefficients of shape {given.shape}: allowed is {self.shape}")
            split = [_split(entry) for entry in given.flat]
        re = _objects([a for a, _ in split], self.shape)
        if self.is_complex:
            return re, _objects([_ZERO if b is None else b for _, b in split], self.shape)
        if any(b is not None for _, b in split):
            raise InputError("complex entry of real coefficients: allowed are real numbers")
        return re, None

    def _parts(self, bits: int) -> Parts:
        if bits not in self._parts_of:
            self._parts_of[bits] = self._evaluated(bits)
        return self._parts_of[bits]

    def _ball_parts(self, bits: int) -> Parts:
        if bits not in self._balls_of:
            re, im = self._parts(bits)
            with flint.ctx.workprec(bits):
                balls = [
                    None
                    if part is None
                    else _objects([flint.arb(x) for x in part.flat], self.shape)
                    for part in (re, im)
                ]
            assert balls[0] is not None
            self._balls_of[bits] = balls[0], balls[1]
        return self._balls_of[bits]


class _Rows(Coefficients):
    """Rows of a matrix that keeps what it has computed."""

    def __init__(self, whole: Coefficients, chosen: NDArray[np.integer[Any]]) -> None:
        super().__init__(whole._function, (len(chosen), whole.shape[1]), whole.is_complex)
        self._whole = whole
        self._chosen = chosen
        self._rational = whole._rational or None

    def rows(self, index: Index) -> Coefficients:
        return _Rows(self._whole, np.atleast_1d(self._chosen[index]))

    def rounded(self, to: Precision | str) -> NDArray[Any]:
        chosen: NDArray[Any] = self._whole.rounded(to)[self._chosen]
        return chosen

    def _parts(self, bits: int) -> Parts:
        return _take(self._whole._parts(bits), self._chosen)

    def _ball_parts(self, bits: int) -> Parts:
        return _take(self._whole._ball_parts(bits), self._chosen)


_ZERO = flint.fmpq(0)

_EXACT: dict[type, Callable[[Any], flint.fmpq]] = {
    flint.fmpq: lambda x: x,
    flint.fmpz: flint.fmpq,
    int: flint.fmpq,
    bool: lambda x: flint.fmpq(int(x)),
    float: lambda x: flint.fmpq(*_finite(x, math.isfinite(x)).as_integer_ratio()),
    Fraction: lambda x: flint.fmpq(x.numerator, x.denominator),
}


def _split(entry: Any) -> "tuple[flint.fmpq | flint.arb, flint.fmpq | flint.arb | None]":
    """Real part and imaginary part of an entry, exact or as balls; None where there is none."""
    if isinstance(entry, flint.acb | complex | np.complexfloating) or hasattr(entry, "_mpc_"):
        return _real(entry.real), _real(entry.imag)
    return _real(entry), None


def _real(entry: Any) -> Any:
    if type(entry) in _EXACT:
        return _EXACT[type(entry)](entry)
    if isinstance(entry, flint.arb):
        ball = _finite(entry, entry.is_finite())
        return ball.fmpq() if ball.is_exact() else ball
    if hasattr(entry, "_mpf_"):
        sign, mantissa, exponent, _ = entry._mpf_
        _finite(entry, bool(mantissa) or exponent == 0)
        signed = -int(mantissa) if sign else int(mantissa)
        return flint.fmpq(signed << max(exponent, 0), 1 << max(-exponent, 0))
    if isinstance(entry, np.integer):
        return flint.fmpq(int(entry))
    if isinstance(entry, np.floating):
        return flint.fmpq(
            *(int(part) for part in _finite(entry, bool(np.isfinite(entry))).as_integer_ratio())
        )
    raise InputError(f"coefficient of type {type(entry).__name__}: allowed are numbers and balls")


def _finite(entry: Any, finite: bool) -> Any:
    if not finite:
        raise InputError(f"coefficient {entry}: allowed are finite numbers")
    return entry


def _round(entry: "flint.fmpq | flint.arb", form: Format) -> "float | np.longdouble | None":
    """Rounded number, or None if the ball holds numbers that round differently."""
    if isinstance(entry, flint.fmpq):
        return form.round_ratio(int(entry.p), int(entry.q))
    low, high = entry.lower().fmpq(), entry.upper().fmpq()
    below = form.round_ratio(int(low.p), int(low.q))
    above = form.round_ratio(int(high.p), int(high.q))
    if below == above:
        return below
    if high - low >= _NEGLIGIBLE:
        return None
    if low <= 0 <= high:
        return 0.0
    middle = (Fraction(*below.as_integer_ratio()) + Fraction(*above.as_integer_ratio())) / 2
    return form.round_ratio(middle.numerator, middle.denominator)


def _objects(entries: list[Any], shape: tuple[int, int]) -> NDArray[Any]:
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def _take(parts: Parts, chosen: NDArray[np.integer[Any]]) -> Parts:
    re, im = parts
    return re[chosen], None if im is None else im[chosen]
