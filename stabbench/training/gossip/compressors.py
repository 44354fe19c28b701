"""Sparsifiers and quantizers: what of a vector is sent, and how many bits that takes.

A ratio always means the fraction that is kept.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse
from stabbench.training.gossip import kernels
from stabbench.training.gossip.select import largest

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Wire:
    """The format of the numbers in a message.

    Attributes
    ----------
    code : int
        Code of the kernels.
    bits : int
        Bits per number.
    """

    code: int
    bits: int


@dataclasses.dataclass(frozen=True)
class Message:
    """What every worker sends in one step.

    Attributes
    ----------
    start : int64 array, shape (n + 1,)
        Where the entries of each worker begin.
    index : int64 array
        Their coordinates.
    value : float array
        Their values, rounded to the wire.
    bits : float
        Bits of one message, on average over the workers.
    """

    start: NDArray[np.int64]
    index: NDArray[np.int64]
    value: Array
    bits: float

    def dense(self, shape: tuple[int, int], out: Array) -> Array:
        """The messages as rows with zeros where nothing is sent."""
        out[:] = 0
        rows = np.repeat(np.arange(shape[0]), np.diff(self.start))
        out[rows, self.index] = self.value
        return out


@dataclasses.dataclass(frozen=True)
class Compressor(ABC):
    """A map C that makes vectors cheap to send."""

    name: ClassVar[str]
    source: ClassVar[str]
    common: ClassVar[bool] = False
    """Whether all workers send the same entries."""
    masking: ClassVar[bool] = True
    """Whether the entries sent are those of the vector, unchanged."""

    def check(self, d: int) -> None:
        """Raise InputError if vectors of d entries cannot be compressed so."""
        if d < 1:
            raise InputError(f"{self.name}: d={d} entries; allowed is d >= 1")

    @abstractmethod
    def delta(self, d: int) -> float:
        """The contraction E ||z - C(z)||^2 = (1 - delta) ||z||^2, nominal if z decides it.

        At most 0 where C(z) may miss z by more than its length.
        """

    @abstractmethod
    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Compress every row.

        Parameters
        ----------
        z : float array, shape (n, d)
        wire : Wire
        rng : numpy.random.Generator
            Used by random compressors only.
        """


@dataclasses.dataclass(frozen=True)
class Everything(Compressor):
    """Nothing is left out."""

    name: ClassVar[str] = "none"
    source: ClassVar[str] = "identity"
    common: ClassVar[bool] = True

    def delta(self, d: int) -> float:
        """Return 1."""
        return 1.0

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send all entries; see `Compressor.compress`."""
        n, d = z.shape
        return _message(z, *_full(n, d), wire, float(d * wire.bits))


@dataclasses.dataclass(frozen=True)
class Sparsifier(Compressor):
    """Keeps k entries of d.

    Parameters
    ----------
    ratio : float, optional
        Fraction kept, 0 < ratio <= 1; at least one entry. Default 0.1 unless k is given.
    k : int, optional
        Number of entries kept instead.
    """

    ratio: float | None = dataclasses.field(default=None, metadata={"help": "fraction kept"})
    k: int | None = dataclasses.field(default=None, metadata={"help": "number of entries kept"})

    def __post_init__(self) -> None:
        """Settle the fraction and check both numbers."""
        if self.k is None and self.ratio is None:
            object.__setattr__(self, "ratio", 0.1)
        if self.k is not None and self.ratio is not None:
            raise InputError(f"{self.name}: both ratio and k are given; allowed is one of them")
        if self.ratio is not None and not 0 < self.ratio <= 1:
            raise InputError(
                f"{self.name}: ratio={self.ratio:g}; allowed is above 0 up to 1, the fraction kept"
            )
        if self.k is not None and self.k < 1:
            raise InputError(f"{self.name}: k={self.k}; allowed is an integer >= 1")

    def kept(self, d: int) -> int:
        """The number of entries kept of d."""
        if self.k is not None:
            return self.k
        assert self.ratio is not None
        return max(1, round(self.ratio * d))

    def check(self, d: int) -> None:
        """Refuse k above d."""
        if self.kept(d) > d:
            raise InputError(f"{self.name}: k={self.k} of d={d} entries; allowed is 1 .. d")

    def delta(self, d: int) -> float:
        """Return k / d, for top-k the least possible value."""
        return self.kept(d) / d


@dataclasses.dataclass(frozen=True)
class TopK(Sparsifier):
    """The k entries of largest magnitude; ties to the smallest index.

    Examples
    --------
    >>> message = TopK(k=2).compress(np.array([[3.0, -5.0, 1.0]]), Wire(0, 64), None)
    >>> message.index, message.value, message.bits
    (array([0, 1]), array([ 3., -5.]), 132.0)
    """

    name: ClassVar[str] = "top-k"
    source: ClassVar[str] = "A. F. Aji, K. Heafield, EMNLP 2017"

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send values and indices; see `Compressor.compress`."""
        n, d = z.shape
        k = self.kept(d)
        return _message(z, *_rows(largest(z, k), n), wire, float(k * (wire.bits + _index_bits(d))))


@dataclasses.dataclass(frozen=True)
class RandomK(Sparsifier):
    """k random entries, not scaled up; the receivers draw the same masks, so no index is sent.

    Parameters
    ----------
    shared : bool
        Whether all workers keep the same entries.
    """

    shared: bool = dataclasses.field(default=False, metadata={"help": "one mask for all"})

    name: ClassVar[str] = "rand-k"
    source: ClassVar[str] = "S. U. Stich, J.-B. Cordonnier, M. Jaggi, NeurIPS 2018"

    @property
    def common(self) -> bool:  # type: ignore[override]
        """Whether all workers send the same entries."""
        return self.shared

    def mask(self, n: int, d: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the indices kept, shape (n, k), rising in every row."""
        k = self.kept(d)
        chosen = np.empty((1 if self.shared else n, k), np.int64)
        _subsets(rng.random(chosen.shape), d, chosen)
        chosen.sort(axis=1)
        return np.broadcast_to(chosen, (n, k))

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send values; see `Compressor.compress`."""
        n, d = z.shape
        return self.take(z, self.mask(n, d, rng), wire)

    def take(self, z: Array, mask: NDArray[np.int64], wire: Wire) -> Message:
        """Send the values at a mask drawn before."""
        return _message(z, *_rows(mask, len(z)), wire, float(mask.shape[1] * wire.bits))


@dataclasses.dataclass(frozen=True)
class Threshold(Compressor):
    """The entries of magnitude at least `value`; what is left behind never exceeds it.

    Parameters
    ----------
    value : float
    """

    value: float = dataclasses.field(default=1e-3, metadata={"help": "least magnitude sent"})

    name: ClassVar[str] = "threshold"
    source: ClassVar[str] = "N. Strom, Interspeech 2015"

    def __post_init__(self) -> None:
        """Check the value."""
        if not 0 < self.value < math.inf:
            raise InputError(f"threshold: value={self.value:g}; allowed are positive numbers")

    def delta(self, d: int) -> float:
        """Return 1: the rest is bounded, so it limits no step."""
        return 1.0

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send values and indices; see `Compressor.compress`."""
        mask = np.abs(z) >= self.value
        start = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        index = np.nonzero(mask)[1]
        bits = len(index) / len(z) * (wire.bits + _index_bits(z.shape[1]))
        return _message(z, start, index, wire, bits)


@dataclasses.dataclass(frozen=True)
class Sign(Compressor):
    """Signs times the mean magnitude; zero counts as positive."""

    name: ClassVar[str] = "sign"
    source: ClassVar[str] = "S. P. Karimireddy, Q. Rebjock, S. U. Stich, M. Jaggi, ICML 2019"
    masking: ClassVar[bool] = False

    def delta(self, d: int) -> float:
        """Return 2 / pi, the value of Gaussian vectors; it is ||z||_1^2 / (d ||z||_2^2)."""
        return 2 / math.pi if d > 1 else 1.0

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send one bit per entry and a scale; see `Compressor.compress`."""
        scale = np.abs(z).mean(axis=1, keepdims=True, dtype=z.dtype)
        kernels.store(scale, wire.code)
        value = np.where(z < 0, -scale, scale).ravel()
        n, d = z.shape
        return Message(*_full(n, d), value, float(d + wire.bits))


@dataclasses.dataclass(frozen=True)
class Qsgd(Compressor):
    """Random rounding of magnitudes to multiples of norm / levels.

    Parameters
    ----------
    levels : int
    scaled : bool
        Whether the result is divided by 1 + min(d / levels^2, sqrt(d) / levels), which makes it a
        contraction, as memories need it.
    """

    levels: int = dataclasses.field(default=16, metadata={"help": "levels of the magnitudes"})
    scaled: bool = dataclasses.field(default=True, metadata={"help": "divide to contract"})

    name: ClassVar[str] = "qsgd"
    source: ClassVar[str] = "D. Alistarh and others, NIPS 2017"
    masking: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the levels."""
        if self.levels < 1:
            raise InputError(f"qsgd: levels={self.levels}; allowed is an integer >= 1")

    def variance(self, d: int) -> float:
        """The bound omega of the variance over ||z||^2."""
        return min(d / self.levels**2, math.sqrt(d) / self.levels)

    def delta(self, d: int) -> float:
        """Return 1 / (1 + omega); 1 - omega if not scaled, which may be no contraction at all."""
        omega = self.variance(d)
        return 1 / (1 + omega) if self.scaled else 1 - omega

    def compress(self, z: Array, wire: Wire, rng: np.random.Generator) -> Message:
        """Send a sign and a level per entry and the norm; see `Compressor.compress`."""
        n, d = z.shape
        norm = np.sqrt(np.square(z).sum(axis=1, keepdims=True))
        share = np.divide(np.abs(z), norm, out=np.zeros_like(z), where=norm > 0)
        level = np.floor(
            share * z.dtype.type(self.levels) + rng.random(z.shape, dtype=z.dtype.type)
        )
        np.minimum(level, self.levels, out=level)  # the sum above may round up to one more
        factor = self.levels * (1 + self.variance(d) if self.scaled else 1.0)
        value = (np.copysign(level, z) * (norm / z.dtype.type(factor))).ravel()
        kernels.store(value, wire.code)
        bits = d * (1 + math.ceil(math.log2(self.levels + 1))) + wire.bits
        return Message(*_full(n, d), value, float(bits))


COMPRESSORS: dict[str, type[Compressor]] = {
    compressor.name: compressor for compressor in (Everything, TopK, RandomK, Threshold, Sign, Qsgd)
}


def compressor(text: str) -> Compressor:
    """The compressor that a grammar string names.

    Raises
    ------
    InputError
        Unknown name or parameter, a value that is not allowed.

    Examples
    --------
    >>> compressor("top-k[ratio=0.01]").delta(200)
    0.01
    >>> compressor("top-k[ratio=0]")
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: top-k: ratio=0; allowed is above 0 up to 1, the fraction kept
    """
    spec = parse(text)
    if spec.name not in COMPRESSORS:
        raise InputError(f"unknown compressor {spec.name!r}; {near(spec.name, COMPRESSORS)}")
    return bind(COMPRESSORS[spec.name], spec)


def compressor_spec(text: str) -> str:
    """The grammar string of a compressor with every parameter."""
    built = compressor(text)
    return canonical(built, built.name, full=True)


def _index_bits(d: int) -> int:
    return max(1, (d - 1).bit_length())


def _full(n: int, d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.arange(n + 1) * d, np.tile(np.arange(d), n)


def _rows(chosen: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.arange(n + 1) * chosen.shape[1], np.ascontiguousarray(chosen).ravel()


def _message(z: Array, start: Array, index: Array, wire: Wire, bits: float) -> Message:
    value = np.empty(len(index), z.dtype)
    kernels.gather(z, start, index, wire.code, value)
    return Message(start, index, value, bits)


@numba.njit(cache=True)
def _subsets(uniform, d, out):  # type: ignore[no-untyped-def]
    """Random k-subsets of d by the first k swaps of a shuffle."""
    pool = np.empty(d, np.int64)
    for i in range(uniform.shape[0]):
        for t in range(d):
            pool[t] = t
        for t in range(uniform.shape[1]):
            other = t + int(uniform[i, t] * (d - t))
            pool[t], pool[other] = pool[other], pool[t]
            out[i, t] = pool[t]
