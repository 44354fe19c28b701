"""What must hold of an environment, measured: float32 solvers, threads, caches, formats."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stabbench.analysis.checks import Finding
from stabbench.arithmetic import dense, exact
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.files.caches import writable


def examine() -> Iterator[Finding]:
    """Examine the environment, one finding at a time."""
    yield _float32("scipy.linalg.solve", dense.solve)
    yield _float32("Householder QR", dense.least_squares)
    yield _numpy_trap()
    yield _kernels()
    yield _caches()
    yield _longdouble()


def hilbert_error(solver: object) -> float:
    """The error of a solver on the 6 x 6 Hilbert system in float32, against the exact solution.

    A solver that really works in float32 loses nearly all digits; one that works in float64
    inside keeps them.
    """
    assert callable(solver)
    i = np.arange(6)
    matrix = (1 / (1 + i[:, None] + i)).astype(np.float32)
    right = matrix.sum(axis=1, keepdims=True)
    hi, _ = exact.solve(matrix, right)
    return float(np.abs(solver(matrix[None], right[None])[0] - hi).max() / np.abs(hi).max())


def _float32(name: str, solver: object) -> Finding:
    error = hilbert_error(solver)
    return Finding(
        f"{name} computes float32 in float32", error > 1e-4, f"Hilbert system error {error:.1e}"
    )


def _numpy_trap() -> Finding:
    error = hilbert_error(np.linalg.solve)
    inside = "float64" if error < 1e-4 else "float32"
    detail = f"Hilbert system error {error:.1e}: it computes in {inside}; the suite does not use it"
    return Finding("numpy.linalg.solve on float32", True, detail)


def _kernels() -> Finding:
    """Run every compiled solver in every dtype, which also fills the kernel cache."""
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        matrix = np.array([[[2.0, 1.0], [1.0, 3.0]]], dtype=dtype)
        solution = dense.least_squares(matrix, matrix)
        if not np.allclose(solution, np.eye(2), atol=1e-6):
            return Finding("compiled kernels", False, f"QR in {np.dtype(dtype)} is wrong")
        if np.finfo(dtype).dtype == np.float64:
            dense.elimination_size(matrix)
    return Finding("compiled kernels", True, "QR and elimination, real and complex")


def _longdouble() -> Finding:
    if "longdouble" in ALLOWED:
        return Finding("longdouble", True, precision("longdouble").description)
    bits = np.finfo(np.longdouble).nmant + 1
    detail = f"not offered: its significand has {bits} bits, as float64's"
    return Finding("longdouble", True, detail)


def _caches() -> Finding:
    places = [Path(dense.__file__).parent / "__pycache__"]
    if "NUMBA_CACHE_DIR" in os.environ:
        places.insert(0, Path(os.environ["NUMBA_CACHE_DIR"]))
    usable = [place for place in places if writable(place)]
    if usable:
        return Finding("kernel cache", True, f"{usable[0]} is writable")
    return Finding("kernel cache", False, f"{places[0]} cannot be written; set NUMBA_CACHE_DIR")
