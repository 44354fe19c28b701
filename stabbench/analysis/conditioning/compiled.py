"""How the loops of this package are compiled: without the lock of Python, dividing like NumPy."""

import numba

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
"""For parts of loops: a call that is not inlined counts references to all its arrays."""
