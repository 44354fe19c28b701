"""The compiled elimination of the scan: its sums, and the bounds that run along with them."""

from typing import Any

import numpy as np
import pytest

from stabbench.analysis.conditioning.elimination import (
    UNIT,
    Layout,
    complete_block,
    complete_single,
    load,
    normalise,
    push,
)
from stabbench.analysis.conditioning.scan import Rows, rows_of, workspace
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual

Array = np.ndarray[Any, np.dtype[Any]]
N, K = 6, 2
SMALL = 2.0**-20
"""An error of a row that is no doubt about its rank."""
OWNERS = {
    "single": np.arange(N),
    "block": np.repeat(np.arange(4), 2),
    "ragged": np.array([0, 1, 1, 1, 2, 2, 3]),
    "vacant": np.array([0, 2, 4, 5, 6, 7]),
}


def drawn(kind: str, is_complex: bool, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    owner = OWNERS[kind]
    G = rng.standard_normal((len(owner), K))
    if is_complex:
        G = G + 1j * rng.standard_normal(G.shape)
    return rows_of(dual(Coefficients.from_array(G)), owner)[0]


def of_workers(rows: Rows, workers: list[int]) -> tuple[Array, Array, Array]:
    """Rows h and w of some workers, and where in Z each lies."""
    taken = [(b, w) for w in workers for b in np.flatnonzero(~rows.absent[:, w])]
    places = np.array(taken, dtype=int).reshape(-1, 2)
    Z = rows.Z[places[:, 0], :, places[:, 1]]
    h, w = Z[:, : rows.m], Z[:, rows.m :]
    if rows.twin:
        (x, y), (u, v) = np.split(h, 2, axis=1), np.split(w, 2, axis=1)
        h, w = x - 1j * y, u - 1j * v
    return h, w, places


def eliminated(rows: Rows, workers: list[int], slack: Array | None) -> list[tuple[float, float]]:
    """The sum of a pattern and its error from given errors of the rows, on each path there is."""
    s, first, found = len(workers), workers[-1], []
    for path in ("block", "single") if len(rows.Z) == 1 and s > 1 else ("block",):
        at, F = prepared(rows, s, slack)
        if path == "single":
            for level in range(s - 2):
                push(F, at, level, workers[level], workers[level] + 1)
            load(F, at, s - 2, workers[-2])
            errors = normalise(F, at, s - 2, workers[-2], 0)
            complete_single(F, at, s - 2, errors, (first, at.n))
        else:
            for level in range(s - 1):
                push(F, at, level, workers[level], workers[level] + 1)
            complete_block(F, at, s - 1, (first, at.n))
        found.append((float(F[at.total]), float(F[at.error])))
    return found


def prepared(rows: Rows, s: int, slack: Array | None) -> tuple[Layout, Array]:
    at, F = workspace(rows, s)
    F[at.part :] = np.nan  # nothing may depend on what an earlier pattern has left
    if slack is not None:
        F[at.slack : at.slack + slack.size] = slack.ravel()
    return at, F


def turned(row: Array) -> Array:
    """(-y, x) of a row (x, y)."""
    x, y = np.split(row, 2)
    return np.concatenate([-y, x])


def reference(rows: Rows, places: Array, slack: Array) -> float:
    """The bound row by row: what errors of |h|, of the factors and of w may add up to."""
    Z = [rows.Z[b, :, w].copy() for b, w in places]
    dh, dw = (np.array([slack[b, part, w] for b, w in places]) for part in (0, 1))
    bound, m = 0.0, rows.m
    for i, own in enumerate(Z):
        size = np.linalg.norm(own[:m])
        h, w = own[:m] / size, own[m:] / size
        y, turn = np.linalg.norm(w), dh[i] / size + UNIT
        error = dw[i] / size + y * turn
        bound += float(2 * y * error)
        for direction in ((h, w), (turned(h), turned(w))) if rows.twin else ((h, w),):
            for a in range(i + 1, len(Z)):
                factor = direction[0] @ Z[a][:m]
                Z[a] -= factor * np.concatenate(direction)
                rest = np.linalg.norm(Z[a][:m])
                dw[a] += abs(factor) * error + (dh[a] + rest * turn) * y
                dh[a] += abs(factor) * turn
    return bound


PATTERNS = ([1], [0, 2], [0, 1, 3])


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("kind", OWNERS)
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_exact_and_their_bounds_hold_to_first_order(
    kind: str, is_complex: bool, seed: int
) -> None:
    """With P = H_C H_C^H and Y = P^-1 W_C, d tr(W_C^H Y) = 2 <Y, dW> - 2 <Y Y^H H, dH>."""
    rows = drawn(kind, is_complex, seed)
    assert rows.twin == (is_complex and kind == "single")
    for workers in PATTERNS:
        h, w, places = of_workers(rows, workers)
        assert len(h) <= h.shape[1]
        Y = np.linalg.solve(h @ h.conj().T, w)
        total = float(np.vdot(w, Y).real)
        begin = np.full((len(rows.Z), 2, rows.Z.shape[2]), 8 * UNIT)
        begin[:, 1] *= np.linalg.norm(rows.Z[:, rows.m :], axis=1)
        bound = reference(rows, places, begin)
        for found, error in eliminated(rows, workers, None):
            assert abs(found - total) <= error <= 1e-9 * total
            assert error == pytest.approx(bound, rel=1e-10, abs=0)
        change = np.linalg.norm(2 * Y @ Y.conj().T @ h, axis=1), np.linalg.norm(2 * Y, axis=1)
        for part, apart in enumerate(change):
            for (b, worker), least in zip(places, apart, strict=True):
                slack = np.zeros((len(rows.Z), 2, rows.Z.shape[2]))
                slack[b, part, worker] = SMALL
                bound = reference(rows, places, slack)
                assert bound >= SMALL * least * (1 - 1e-12)
                for found, error in eliminated(rows, workers, slack):
                    assert found == pytest.approx(total, rel=1e-10)
                    assert error == pytest.approx(bound, rel=1e-10, abs=0)
        nothing = np.zeros((len(rows.Z), 2, rows.Z.shape[2]))
        bound = reference(rows, places, nothing)
        for _, error in eliminated(rows, workers, nothing):
            assert error == pytest.approx(bound, rel=1e-10, abs=0)


def test_bounds_hold_where_a_row_is_nearly_in_the_span_of_others() -> None:
    """The first row of worker 1 is nearly a row of worker 0; the second one is orthogonal."""
    rows, rest = drawn("block", False, 0), 0.01
    Z = rows.Z.copy()
    Z[:, :, :2] = 0
    Z[[0, 1], [0, 1], 0] = 1
    Z[0, [0, 2, rows.m], 1] = (1 - rest**2) ** 0.5, rest, rest
    Z[1, [3, rows.m], 1] = 1, 100
    rows = rows._replace(Z=Z)
    h, w, places = of_workers(rows, [0, 1])
    Y = np.linalg.solve(h @ h.T, w)
    slack = np.zeros((2, 2, Z.shape[2]))
    slack[0, 0, 1] = 1
    ((found, error),) = eliminated(rows, [0, 1], slack)
    assert found == pytest.approx(np.vdot(w, Y), rel=1e-10)
    change = np.linalg.norm(2 * Y @ Y.T @ h, axis=1)[(places == [0, 1]).all(axis=1)]
    assert error >= change[0] > 1e4


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("kind", OWNERS)
def test_rows_of_the_scan_have_one_scale(kind: str, is_complex: bool) -> None:
    rng = np.random.default_rng(5)
    owner = OWNERS[kind]
    G = rng.standard_normal((len(owner), K)) * 2.0**300
    if is_complex:
        G = G + 1j * rng.standard_normal(G.shape) * 2.0**300
    rows, exponent = rows_of(dual(Coefficients.from_array(G)), owner)
    assert exponent % 2 == 0
    inverse = np.linalg.pinv(G)
    scale = 2.0 ** (exponent / 2)
    sizes = np.linalg.norm(G, axis=1) * np.linalg.norm(inverse) / scale
    energy = np.bincount(owner, weights=sizes**2)
    np.testing.assert_allclose(rows.energy, energy, rtol=1e-12)
    norm, of_inverse = np.linalg.norm(G, 2), np.linalg.norm(inverse, 2)
    share = of_inverse / np.linalg.norm(inverse)
    assert rows.inverse2 == pytest.approx(share**2, rel=1e-12)
    product = norm * np.linalg.norm(inverse) / scale
    assert rows.generator2 == pytest.approx(product**2, rel=1e-12)
