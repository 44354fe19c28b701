"""What types of numbers are called in messages."""

from typing import Any

import numpy as np

_WIDE = {64: "x87 extended", 106: "double-double", 113: "IEEE quadruple"}


def type_name(dtype: np.dtype[Any]) -> str:
    """The name of a NumPy type; of a longdouble wider than float64, what it really is.

    NumPy calls it float128 for the memory that it takes: where it is x87 extended, 80 bits and
    padding, 64 of them the significand.

    Examples
    --------
    >>> type_name(np.dtype(np.float32)), type_name(np.dtype(np.complex64))
    ('float32', 'complex64')
    """
    if dtype.char not in "gG":
        return dtype.name
    bits = int(np.finfo(dtype).nmant) + 1
    name = "longdouble" if dtype.kind == "f" else "complex longdouble"
    return f"{name} ({_WIDE.get(bits, 'wide')}, {bits} bits of significand)"
