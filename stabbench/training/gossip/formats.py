"""Formats of a gossip run: of the model, the memory and the wire, and the arithmetic of all."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import precision
from stabbench.errors import InputError
from stabbench.grammar import near
from stabbench.training.gossip import kernels

_CODES = {"bfloat16": kernels.BFLOAT16, "float16": kernels.FLOAT16, "float32": kernels.FLOAT32}
ALLOWED = ("float64", "float32", "float16", "bfloat16")
_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}


@dataclasses.dataclass(frozen=True)
class Formats:
    """What is stored where; sums and products run in float32, or float64 if a state is float64.

    Parameters
    ----------
    model, memory, wire : str
        Formats of x and of all replicas, of e, and of the messages.

    Examples
    --------
    >>> str(Formats.of("bfloat16")), str(Formats.of("float32/float32/bfloat16"))
    ('bfloat16', 'float32/float32/bfloat16')
    >>> Formats.of("bfloat16/float64/bfloat16").work
    dtype('float64')
    """

    model: str
    memory: str
    wire: str

    @classmethod
    def of(cls, text: str) -> "Formats":
        """Read one name for all, or ``model/memory/wire``.

        Raises
        ------
        InputError
            Another number of names, or a name that is none of ``ALLOWED``.
        """
        names = text.split("/")
        if len(names) not in (1, 3):
            raise InputError(f"precision {text!r}; allowed is one name or model/memory/wire")
        for name in names:
            if name not in ALLOWED:
                raise InputError(f"precision {text!r}: {name!r}; {near(name, ALLOWED)}")
        return cls(*(names * 3 if len(names) == 1 else names))

    def __str__(self) -> str:
        names = (self.model, self.memory, self.wire)
        return self.model if len(set(names)) == 1 else "/".join(names)

    @functools.cached_property
    def work(self) -> np.dtype[Any]:
        """The type of all arithmetic and of the arrays that carry the formats."""
        return np.dtype(np.float64 if "float64" in (self.model, self.memory) else np.float32)

    def code(self, name: str) -> int:
        """The code of the kernels for a format carried in `work`."""
        if name in ("float64", self.work.name):
            return kernels.CARRIED
        return _CODES[name]

    @property
    def unit(self) -> float:
        """Unit round-off of the model's format."""
        return precision(self.model).unit

    @property
    def wire_bits(self) -> int:
        """Bits of one number in a message."""
        return _BITS[self.wire]
