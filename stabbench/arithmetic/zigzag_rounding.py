"""Rounding of single float32 values to the 16-bit formats, for use inside compiled loops.

Whole arrays outside a loop are rounded by `precision`.
"""

import numba
import numpy as np


@numba.njit(cache=True)
def round_bfloat16(x: np.float32) -> np.float32:
    """A float32 to the nearest bfloat16, ties to even."""
    bits = np.float32(x).view(np.uint32)
    if bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000):
        return x
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    bits = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    return np.uint32(bits).view(np.float32)


@numba.njit(cache=True)
def round_float16(x: np.float32) -> np.float32:
    """A float32 to the nearest float16, ties to even; its subnormals are multiples of 2^-24."""
    bits = np.float32(x).view(np.uint32)
    sign = bits & np.uint32(0x80000000)
    size = bits ^ sign
    if size > np.uint32(0x7F800000):
        return x
    if size < np.uint32(0x38800000):
        # the last place of 0.75 is 2^-24
        up = np.uint32(size).view(np.float32) + np.float32(0.75)
        size = np.float32(up - np.float32(0.75)).view(np.uint32)
    else:
        odd = (size >> np.uint32(13)) & np.uint32(1)
        size = (size + np.uint32(0x0FFF) + odd) & np.uint32(0xFFFFE000)
        if size > np.uint32(0x477FE000):
            size = np.uint32(0x7F800000)
    return np.uint32(size | sign).view(np.float32)


@numba.njit(cache=True)
def rounded(x: np.float32, bits: int) -> np.float32:
    """A float32 rounded to bfloat16 (bits 8) or float16 (bits 11)."""
    result: np.float32 = round_bfloat16(x) if bits == 8 else round_float16(x)
    return result
