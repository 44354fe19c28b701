"""Decoding of circulant codes: a Fourier transform, then one system for every frequency."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import scipy.fft

from stabbench.arithmetic import dense, operations
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.codes.circulant import Circulant
from stabbench.codes.nodes import root_of_unity
from stabbench.decoders.base import Decoder, Plan, Spare, as_blocks, as_columns, width

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class FourierPlan(Plan):
    """Per pattern and frequency 1 .. (q-1)/2 the k x k system of the first k survivors.

    Attributes
    ----------
    rows : int array, shape (P, k q)
    systems : complex array, shape (P, frequencies, k, k)
    """

    rows: Array
    systems: Array

    def decode(self, replies: Array) -> Array:
        """Transform, solve every frequency, transform back, shape (P, k (q-1), L, m)."""
        count, half, k, _ = self.systems.shape
        q = self.rows.shape[1] // k
        real = self.systems.real.dtype
        received = as_columns(replies, real)[self.rows].reshape(count, k, q, -1)
        with np.errstate(all="ignore"):
            spectrum = checked(scipy.fft.rfft(received, axis=2), self.systems.dtype)
            right = spectrum[:, :, 1 : half + 1].swapaxes(1, 2)
            flat = dense.solve(self.systems.reshape(-1, k, k), right.reshape(count * half, k, -1))
            whole = np.zeros((count, k, half + 1, received.shape[3]), dtype=self.systems.dtype)
            whole[:, :, 1:] = flat.reshape(count, half, k, -1).swapaxes(1, 2)
            blocks = checked(scipy.fft.irfft(whole, n=q, axis=2), real)
        return as_blocks(blocks[:, :, : q - 1].reshape(count, k * (q - 1), -1), replies)

    def operations(self, replies: Array, sent: Array) -> Array:
        """Transforms of k replies there and back, and a complex k x k system per frequency."""
        count, half, k, _ = self.systems.shape
        columns = width(replies, self.systems.real.dtype)
        transforms = 2 * k * columns * operations.fourier(self.rows.shape[1] // k)
        solves = half * operations.solve(k, k, columns) * operations.COMPLEX
        return np.full(count, transforms + solves)


@dataclasses.dataclass(frozen=True)
class Fourier(Decoder):
    """FFT over the q sub-blocks, LU at every frequency but zero; spare replies are dropped.

    The sub-blocks of a data block add up to zero, so frequency zero holds nothing.
    """

    name: ClassVar[str] = "fft"
    source: ClassVar[str] = "Ramamoorthy, Tang, IEEE TIT 2022, arXiv:1910.06515"
    uses_spare = False

    def accepts(self, code: Code) -> str:
        """Circulant codes with q > 2."""
        if not isinstance(code, Circulant):
            return "it needs a circulant code"
        return "" if code.order > 2 else "it needs q > 2"

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Values w^(-m i j) of the first k survivors, rounded once to decoding precision."""
        assert isinstance(code, Circulant)
        q, k = code.order, code.blocks
        workers = np.array([np.flatnonzero(pattern)[:k] for pattern in patterns])
        roots = Coefficients(
            lambda bits: [[root_of_unity(-e, q) for e in range(q)]], (1, q), complex=True
        )
        values = roots.rounded(precision.decoding)[0]
        frequencies = np.arange(1, (q - 1) // 2 + 1)
        powers = np.multiply.outer(frequencies, np.arange(k))
        systems = values[workers[:, None, :, None] * powers[None, :, None, :] % q]
        rows = workers[:, :, None] * q + np.arange(q)
        return FourierPlan(rows.reshape(len(patterns), -1), systems)
