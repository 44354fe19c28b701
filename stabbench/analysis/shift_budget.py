"""The error budget of one decoding of a shift-and-add code, all stages without rounding."""

import math
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget, budget, exact_products
from stabbench.analysis.product import block_products, share_products
from stabbench.analysis.structure import OVERFLOWED, Trial, beyond
from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.zigzag import Peeling
from stabbench.codes.toeplitz import Line
from stabbench.decoders.zigzag import Samples

Array = np.ndarray[Any, np.dtype[Any]]
MOST_STEPS = 300_000
"""Exact subtractions of one budget."""
MOST_UNKNOWNS = 96
"""Unknown samples of exact least squares."""


def zigzag_budget(line: Line, peeling: Peeling, trial: Trial, estimate: Array) -> Budget | str:
    """Stages of a zigzag: D_ex is the same subtractions on integers, a common power of two apart.

    Parameters
    ----------
    line : Line
    peeling : Peeling
        Of one pattern.
    trial : Trial
    estimate : array, shape (k, L, m)
        What the decoder returned; finite.

    Returns
    -------
    Budget or str
        Why there is none, where a share or reply that arrived is not finite, or for too many
        subtractions.
    """
    use = peeling.uses[0]
    assert isinstance(use, Resolution)
    workers = np.unique(np.concatenate([use.known[use.known >= 0], use.rows]))
    taken = [part[workers] for part in trial.shares[: 1 + bool(line.pitch)]]
    replies = trial.replies[workers]
    is_complex = any(map(np.iscomplexobj, (*taken, *trial.shares, replies)))
    depth = 1 + is_complex
    steps = len(use.missing) * len(line.positions) * line.table.shape[1] * estimate.shape[-1]
    if reason := beyond(depth * steps, MOST_STEPS, "subtractions"):
        return reason
    if not all(np.isfinite(x).all() for x in (*taken, replies)):
        return OVERFLOWED
    if line.pitch:
        products = share_products(taken[0], taken[1], is_complex)
        exact = block_products(trial.blocks[0], trial.blocks[1], is_complex)
    else:
        products = exact_products(taken[0], trial.shares[1], is_complex)
        exact = exact_products(trial.blocks[0], trial.shares[1], is_complex)
    floats = [_floats(array, is_complex) for array in (replies, estimate)]
    parts = [_fractions(products), floats[0], _fractions(exact), floats[1]]
    whole, shift = _integers(parts)
    sent = np.zeros((2, depth, *trial.replies.shape), dtype=object)
    sent[0][:, workers] = whole[0].reshape(depth, *replies.shape)
    sent[1][:, workers] = whole[1].reshape(depth, *replies.shape)
    decoded = [
        np.stack([line.blocks(peeling.decode(line.samples(part)))[0] for part in stage])
        for stage in sent
    ]
    true, found = (part.reshape(depth, *estimate.shape) for part in whole[2:])
    vectors = {
        "encode": decoded[0] - true,
        "compute": decoded[1] - decoded[0],
        "decode": found - decoded[1],
        "total": found - true,
    }
    size = _norm(true, shift) or 1.0
    return Budget(**{name: _norm(vector, shift) / size for name, vector in vectors.items()})


def least_squares_budget(
    line: Line, use: Resolution, trial: Trial, estimate: Array
) -> Budget | str:
    """Stages of least squares on samples, each sample a reply of its own; none for many unknowns.

    Parameters and what is returned are those of `zigzag_budget`.
    """
    if line.pitch or line.chunk > 1:
        return "least squares of products, or of shifts in chunks of rows"
    if reason := beyond(line.unknowns, MOST_UNKNOWNS):
        return reason
    longest = line.length + int(line.table.max())
    _, places = Samples(line, use).matrix()
    i, sample = np.divmod(places, longest)
    known = np.flatnonzero(use.known >= 0)
    plain = [use.known[j] * longest + line.places(int(use.known[j]), int(j)) for j in known]
    numbers = np.concatenate([*plain, use.rows[i] * longest + sample]).astype(np.int64)
    worker, at = np.divmod(numbers, longest)
    shares, replies = trial.shares[0][worker, at], trial.replies[worker, at]
    if not all(np.isfinite(x).all() for x in (shares, replies)):
        return OVERFLOWED
    columns, count = trial.blocks[0].shape[2], estimate.shape[2]
    return budget(
        line.sparse()[numbers].toarray(),
        shares[:, None],
        trial.shares[1],
        replies[:, None],
        trial.blocks[0].reshape(-1, 1, columns),
        estimate.reshape(-1, 1, count),
    )


def _fractions(matrix: Any) -> list[tuple[int, int]]:
    """Numerators and denominators, which are powers of two."""
    return [(int(entry.p), int(entry.q)) for entry in matrix.entries()]


def _floats(array: Array, is_complex: bool) -> list[tuple[int, int]]:
    """Numerators and denominators of the real parts, then of the imaginary ones if there are."""
    parts = (array.real, array.imag) if is_complex else (array,)
    pairs = (x.as_integer_ratio() for part in parts for x in part.ravel())
    return [(int(p), int(q)) for p, q in pairs]


def _integers(parts: list[list[tuple[int, int]]]) -> tuple[list[Array], int]:
    """All numbers times one power of two, and that power."""
    shift = max(q.bit_length() - 1 for part in parts for _, q in part)
    found = []
    for part in parts:
        values = np.empty(len(part), dtype=object)
        values[:] = [p << (shift - q.bit_length() + 1) for p, q in part]
        found.append(values)
    return found, shift


def _norm(vector: Array, shift: int) -> float:
    """Euclidean norm of integers divided by 2^shift."""
    total = sum(int(x) ** 2 for x in vector.ravel())
    extra = max(0, total.bit_length() - 120) // 2
    try:
        return math.ldexp(math.sqrt(total >> (2 * extra)), extra - shift)
    except OverflowError:
        return math.inf
