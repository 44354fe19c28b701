"""Named precisions: the format that is stored and sent, and the arithmetic of workers and decoders.

Values are rounded here, once and to nearest even; arithmetic in a format is not emulated.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stabbench.errors import InputError
from stabbench.files.types import type_name

__all__ = ["ALLOWED", "Format", "Precision", "precision"]

_COMPLEX: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
    np.dtype(np.longdouble): np.dtype(np.clongdouble),
}
_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Format:
    """A binary floating-point format with subnormal numbers.

    Finite values are the multiples m 2^(e - p + 1) with |m| < 2^p and emin <= e <= emax.

    Parameters
    ----------
    name : str
        Name as in `precision`.
    p : int
        Bits of the significand, the hidden one included.
    emin, emax : int
        Exponents of the smallest normal number, 2^emin, and of the largest binade, from 2^emax.
    carrier : numpy.dtype
        Real NumPy type whose arrays hold values of the format.

    Examples
    --------
    >>> precision("bfloat16").storage.p
    8
    """

    name: str
    p: int
    emin: int
    emax: int
    carrier: np.dtype[Any]

    def holds(self, dtype: np.dtype[Any]) -> bool:
        """Whether this is the full format of a real NumPy type."""
        return self.carrier == dtype and self.p == np.finfo(dtype).nmant + 1

    @property
    def itemsize(self) -> int:
        """Bytes of a number that is stored or sent, whatever carries it in an array.

        Examples
        --------
        >>> [precision(name).storage.itemsize for name in ("bfloat16", "float16", "float64")]
        [2, 2, 8]
        """
        if self.holds(self.carrier):
            return self.carrier.itemsize
        exponents = (self.emax - self.emin + 2).bit_length()  # with those of 0 and of infinity
        return -(-(exponents + self.p) // 8)

    def round(self, x: NDArray[Any]) -> NDArray[Any]:
        """Round a real array to the format, to nearest even; overflow gives infinity.

        Parameters
        ----------
        x : ndarray of float16, float32, float64 or longdouble

        Returns
        -------
        ndarray
            New array of the shape of `x` and of the type `carrier`.

        Examples
        --------
        >>> float(precision("bfloat16").storage.round(np.array(1 + 2.0**-8 + 2.0**-40)))
        1.0078125
        """
        with np.errstate(all="ignore"):
            if self.name == "bfloat16" and x.dtype.itemsize <= _FLOAT32.itemsize:
                return _bfloat16_of_float32(x.astype(_FLOAT32))
            if self.name == "float16" and x.dtype.itemsize <= 8:
                return x.astype(np.float16).astype(self.carrier)
            if self.name in ("bfloat16", "float16"):
                return _round_significand(x, self).astype(self.carrier)
            return x.astype(self.carrier)

    def round_ratio(self, numerator: int, denominator: int) -> "float | np.longdouble":
        """Nearest value of the format to a rational number, ties to even; overflow gives infinity.

        Parameters
        ----------
        numerator, denominator : int
            The denominator is positive.

        Returns
        -------
        float, or numpy.longdouble where the carrier is longdouble

        Examples
        --------
        >>> precision("float32").storage.round_ratio(2**24 + 1, 1)
        16777216.0
        >>> precision("float64").storage.round_ratio(1, 2**1075)
        0.0
        """
        mantissa, exponent = self._nearest(abs(numerator), denominator)
        if mantissa.bit_length() + exponent > self.emax + 1:
            value: float | np.longdouble = math.inf
        elif self.carrier == np.longdouble:
            value = np.ldexp(np.longdouble(mantissa), exponent)
        else:
            value = math.ldexp(mantissa, exponent)
        return -value if numerator < 0 else value

    def _nearest(self, numerator: int, denominator: int) -> tuple[int, int]:
        """(m, e) with m 2^e the rounded value of a nonnegative ratio, m <= 2^p, no upper limit."""
        # the true binade of the ratio is this one or the one below it
        binade = numerator.bit_length() - denominator.bit_length()
        if numerator << max(-binade, 0) < denominator << max(binade, 0):
            binade -= 1
        exponent = max(binade, self.emin) - (self.p - 1)
        numerator <<= max(-exponent, 0)
        denominator <<= max(exponent, 0)
        mantissa, rest = divmod(numerator, denominator)
        odd = mantissa & 1
        return mantissa + (2 * rest + odd > denominator), exponent


def _bfloat16_of_float32(x: NDArray[np.float32]) -> NDArray[np.float32]:
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    values = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(x), x, values)


def _round_significand(x: NDArray[Any], form: Format) -> NDArray[Any]:
    """Round in the type of `x`; scaling by powers of two is exact, rint rounds ties to even."""
    finite = np.where(np.isfinite(x), x, 0)
    _, exponent = np.frexp(finite)
    quantum = np.maximum(exponent - 1, form.emin) - (form.p - 1)
    rounded = np.ldexp(np.rint(np.ldexp(finite, -quantum)), quantum)
    rounded = np.where(
        np.abs(rounded) >= np.ldexp(1.0, form.emax + 1), np.copysign(np.inf, x), rounded
    )
    return np.where(np.isfinite(x), rounded, x)


def _native(name: str, dtype: type[np.floating[Any]]) -> Format:
    info = np.finfo(dtype)
    return Format(name, info.nmant + 1, int(info.minexp), int(info.maxexp) - 1, np.dtype(dtype))


_FORMATS = {
    "bfloat16": Format("bfloat16", 8, -126, 127, _FLOAT32),
    "float16": Format("float16", 11, -14, 15, _FLOAT32),
    "float32": _native("float32", np.float32),
    "float64": _native("float64", np.float64),
    "longdouble": _native("longdouble", np.longdouble),
}


@dataclass(frozen=True)
class Precision:
    """What is stored and sent, what workers compute in and what the decoder computes in.

    Parameters
    ----------
    name : str
        Canonical name, such as "float64" or "float32/float64".
    storage : Format
        Format of data, generators, shares and replies.
    work, decode : numpy.dtype
        Real types of the arithmetic of workers and decoders; float32 for bfloat16 and float16
        unless the name says otherwise.

    Examples
    --------
    >>> mixed = precision("bfloat16/float64")
    >>> mixed.unit, mixed.work.name, mixed.decode.name, mixed.decode_dtype(True).name
    (0.00390625, 'float32', 'float64', 'complex128')
    """

    name: str
    storage: Format
    work: np.dtype[Any]
    decode: np.dtype[Any]

    @property
    def description(self) -> str:
        """Bits of the significand that is stored, and the types of the arithmetic, in words."""
        bits = self.storage.p
        work, decode = type_name(self.work), type_name(self.decode)
        both = f"computed and decoded in {work}"
        return f"stored with {bits} bits of significand (u = 2^-{bits}), " + (
            both if work == decode else f"computed in {work}, decoded in {decode}"
        )

    @property
    def unit(self) -> float:
        """Unit round-off u = 2^-p of the storage."""
        return 2.0**-self.storage.p

    def storage_dtype(self, complex_: bool) -> np.dtype[Any]:
        """NumPy type of stored arrays, real or complex."""
        return _COMPLEX[self.storage.carrier] if complex_ else self.storage.carrier

    def work_dtype(self, complex_: bool) -> np.dtype[Any]:
        """NumPy type of the workers' arithmetic, real or complex."""
        return _COMPLEX[self.work] if complex_ else self.work

    def decode_dtype(self, complex_: bool) -> np.dtype[Any]:
        """NumPy type of the decoder's arithmetic, real or complex."""
        return _COMPLEX[self.decode] if complex_ else self.decode

    @property
    def decoding(self) -> "Precision":
        """The precision that stores what the decoder computes in, such as float64."""
        return _PRECISIONS[next(name for name, form in _FORMATS.items() if form.holds(self.decode))]

    def store(self, x: ArrayLike) -> NDArray[Any]:
        """Round to the storage format, once, to nearest even; overflow gives infinity, silently.

        Parameters
        ----------
        x : array of floats, or of integers up to 2^53 in magnitude, real or complex, any shape
            Components of a complex array are rounded one by one.

        Returns
        -------
        ndarray
            New array of the type `storage_dtype`.

        Raises
        ------
        InputError
            If `x` is not numeric or has integers beyond 2^53.

        Examples
        --------
        >>> precision("float16").store([1 / 3, 1e6])
        array([0.33325195,        inf], dtype=float32)
        """
        array = _as_float(np.asarray(x))
        if array.dtype.kind != "c":
            return self.storage.round(array)
        out = np.empty(array.shape, self.storage_dtype(True))
        out.real = self.storage.round(array.real)
        out.imag = self.storage.round(array.imag)
        return out


def _as_float(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind in "fc":
        return array
    if array.dtype.kind in "iub":
        if np.any(array > 2**53) or np.any(array < -(2**53)):
            raise InputError("array of integers: allowed are magnitudes up to 2^53")
        return array.astype(np.float64)
    raise InputError(f"array of type {array.dtype}: allowed are NumPy floats, complex and integers")


def _registered() -> dict[str, Precision]:
    single, double = _FLOAT32, np.dtype(np.float64)
    table = {}
    for name in ("bfloat16", "float16", "float32"):
        form = _FORMATS[name]
        table[name] = Precision(name, form, single, single)
        table[f"{name}/float64"] = Precision(f"{name}/float64", form, single, double)
    table["float64"] = Precision("float64", _FORMATS["float64"], double, double)
    extended = _FORMATS["longdouble"]
    # where longdouble is float64 under another name, it is not offered
    if extended.p > _FORMATS["float64"].p:
        table["longdouble"] = Precision("longdouble", extended, extended.carrier, extended.carrier)
    return table


_PRECISIONS = _registered()

ALLOWED: tuple[str, ...] = tuple(_PRECISIONS)
"""Names that `precision` accepts; `longdouble` only where it is wider than float64."""


def precision(name: "str | Precision") -> Precision:
    """Precision of that name: a storage format, or `storage/decode` with a wider decoder.

    Parameters
    ----------
    name : str or Precision
        One of `ALLOWED`; a `Precision` is returned as it is.

    Returns
    -------
    Precision

    Raises
    ------
    InputError
        If the name is not one of `ALLOWED`.

    Examples
    --------
    >>> precision("float32").unit == 2.0**-24
    True
    """
    if isinstance(name, Precision):
        return name
    if name not in _PRECISIONS:
        raise InputError(f"precision {name!r}: allowed are {', '.join(ALLOWED)}")
    return _PRECISIONS[name]
