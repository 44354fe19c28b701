"""Shift-and-add: every pattern decodes exactly, in the order and precision that are stated."""

import subprocess
import sys
from collections import deque
from collections.abc import Callable
from itertools import combinations
from typing import Any

import ml_dtypes
import numba
import numpy as np
import pytest

from stabbench.arithmetic import zigzag
from stabbench.arithmetic.peeling import Undecodable, resolution, undecodable
from stabbench.arithmetic.shift_tables import (
    DESIGNS,
    Array,
    Table,
    from_units,
    longest_shifts,
    shift_table,
    to_units,
)
from stabbench.arithmetic.zigzag2d import factor_tables, product_table
from stabbench.arithmetic.zigzag_rounding import rounded
from stabbench.codes.registry import code
from stabbench.codes.toeplitz import ShiftMap
from stabbench.decoders.zigzag import ZigzagPlan
from stabbench.errors import InputError

NAMED = [design for design in DESIGNS if design != "custom"]
STORED = {0: np.float32, 8: ml_dtypes.bfloat16, 11: np.float16}


def integers(table: Table, length: int, columns: int = 1, seed: int = 0) -> Array:
    """All of int64: sums wrap round, and a detour through floating point would show."""
    rng = np.random.default_rng(seed)
    return rng.integers(-(2**63), 2**63, (table.shape[1], length, columns))


def subsets(n: int, k: int, most: int = 200) -> list[tuple[int, ...]]:
    if n <= 10:
        return list(combinations(range(n), k))
    rng = np.random.default_rng(n)
    return [tuple(map(int, np.sort(rng.permutation(n)[:k]))) for _ in range(most)]


class ByDefinition:
    """The definition, sample by sample: scatter every resolved term, round after every step."""

    def __init__(
        self, table: Table, survivors: tuple[int, ...], replies: Array, length: int, store: int
    ) -> None:
        use = resolution(table, survivors)
        assert not isinstance(use, Undecodable)
        self.t, self.length, self.rounded = table.astype(int), length, STORED[store]
        self.workers, self.missing = use.rows.tolist(), use.missing.tolist()
        self.replies = {w: replies[w].copy() for w in self.workers}
        self.out: Array = np.zeros((table.shape[1], length, replies.shape[2]), replies.dtype)
        for j in range(table.shape[1]):
            if use.known[j] >= 0:
                self.out[j] = replies[use.known[j], :length]
                for p in range(length):
                    self.subtract(j, p, -1)

    def terms(self, w: int, s: int, resolved: set[tuple[int, int]]) -> list[int]:
        places = [(j, s - int(self.t[w, j])) for j in self.missing]
        return [j for j, p in places if 0 <= p < self.length and (j, p) not in resolved]

    def subtract(self, j: int, p: int, source: int) -> None:
        for w, y in self.replies.items():
            if w != source:
                at = p + self.t[w, j]
                y[at] = (y[at] - self.out[j, p]).astype(self.rounded).astype(y.dtype)

    def resolve(self, j: int, p: int, w: int) -> None:
        self.out[j, p] = self.replies[w][p + self.t[w, j]]
        self.subtract(j, p, w)

    def forward(self) -> Array:
        t, missing = self.t, self.missing
        rows = sorted(self.workers, key=lambda w: int(t[w, missing[0]] - t[w, missing[-1]]))
        lag = [0]
        for j, after, w in zip(missing, missing[1:], rows[1:], strict=False):
            lag.append(lag[-1] + int(t[w, after] - t[w, j]))
        for time in range(min(lag), max(lag) + self.length):
            for j, w, late in zip(missing, rows, lag, strict=True):
                if 0 <= time - late < self.length:
                    self.resolve(j, time - late, w)
        return self.out

    def both_ends(self) -> Array:
        resolved: set[tuple[int, int]] = set()
        samples = range(self.length + int(self.t.max()))
        queue = deque(
            (w, s) for w in self.workers for s in samples if len(self.terms(w, s, resolved)) == 1
        )
        while queue:
            w, s = queue.popleft()
            if not (left := self.terms(w, s, resolved)):
                continue
            (j,) = left
            p = s - int(self.t[w, j])
            self.resolve(j, p, w)
            resolved.add((j, p))
            touched = [(v, p + int(self.t[v, j])) for v in self.workers]
            queue.extend(key for key in touched if len(self.terms(*key, resolved)) == 1)
        return self.out


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("design", NAMED)
@pytest.mark.parametrize(("n", "k"), [(6, 4), (10, 8), (20, 16), (30, 24)])
def test_integers_decode_bit_for_bit(design: str, order: str, n: int, k: int) -> None:
    table = shift_table(design, n, k)
    data = integers(table, 48 if n <= 10 else 100)
    peeling = zigzag.plan(table, subsets(n, k), data.shape[1], order)
    decoded = peeling.decode(zigzag.encode(table, data))
    assert np.all(peeling.ok)
    assert decoded.dtype == np.int64
    assert np.array_equal(decoded, np.broadcast_to(data, decoded.shape))


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("design", ["vandermonde", "reflected", "systematic"])
@pytest.mark.parametrize("store", STORED)
def test_kernels_follow_the_definition_bit_for_bit(design: str, order: str, store: int) -> None:
    table = shift_table(design, 8, 4)
    data = np.random.default_rng(1).standard_normal((4, 40, 19)).astype(np.float32)
    replies = zigzag.encode(table, data).astype(STORED[store]).astype(np.float32)
    patterns = [(0, 1, 2, 7), (0, 4, 5, 7), (4, 5, 6, 7), (1, 2, 4, 6, 7)]
    found = zigzag.plan(table, patterns, 40, order).decode(replies, store=store)
    assert found.dtype == np.float32
    for survivors, blocks in zip(patterns, found, strict=True):
        definition = ByDefinition(table, survivors, replies, 40, store)
        want = definition.forward() if order == "forward" else definition.both_ends()
        assert np.array_equal(blocks, want), survivors


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_complex_data_are_two_real_columns(order: str, dtype: type) -> None:
    table = shift_table("systematic", 7, 4)
    real, imaginary = np.random.default_rng(2).standard_normal((2, 4, 12, 3)).astype(dtype)
    replies = zigzag.encode(table, real + 1j * imaginary)
    peeling = zigzag.plan(table, [(2, 3, 4, 5)], 12, order)
    found = peeling.decode(replies)
    assert found.dtype == replies.dtype
    assert np.array_equal(found.real, peeling.decode(replies.real.copy()))
    assert np.array_equal(found.imag, peeling.decode(replies.imag.copy()))


@pytest.mark.parametrize("order", zigzag.ORDERS)
def test_longdouble_and_exact_integers(order: str) -> None:
    table = shift_table("vandermonde", 6, 3)
    peeling = zigzag.plan(table, [(1, 2, 5)], 12, order)
    data = np.random.default_rng(3).standard_normal((3, 12, 2)).astype(np.longdouble) / 3
    found = peeling.decode(zigzag.encode(table, data))
    assert found.dtype == np.longdouble
    assert np.max(np.abs(found[0] - data)) < 1e5 * np.finfo(np.longdouble).eps
    double = zigzag.encode(table, data.astype(float))
    by_python = peeling.decode(double.astype(object)).astype(float)
    assert np.array_equal(peeling.decode(double), by_python)
    huge = integers(table, 12).astype(object) ** 9
    assert np.array_equal(peeling.decode(zigzag.encode(table, huge))[0], huge)


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("design", NAMED)
@pytest.mark.parametrize(("n", "k"), [(6, 4), (5, 5), (4, 1), (1, 1), (7, 2)])
@pytest.mark.parametrize(("length", "columns"), [(1, 1), (1, 5), (3, 1), (2, 70), (9, 8)])
def test_edges(design: str, order: str, n: int, k: int, length: int, columns: int) -> None:
    table = shift_table(design, n, k)
    data = integers(table, length, columns)
    patterns = [tuple(range(n)), tuple(range(k)), tuple(range(n - k, n))]
    found = zigzag.plan(table, patterns, length, order).decode(zigzag.encode(table, data))
    assert np.array_equal(found, np.broadcast_to(data, found.shape))


def test_wide_tiles_and_batches_of_replies() -> None:
    table = shift_table("systematic1", 6, 3)
    data = np.stack([integers(table, 20, 137, seed) for seed in range(2)])
    replies = np.stack([zigzag.encode(table, one) for one in data])
    patterns = [(0, 4, 5), (3, 4, 5), (1, 2, 3)]
    for order in zigzag.ORDERS:
        peeling = zigzag.plan(table, patterns, 20, order)
        before = replies.copy()
        assert np.array_equal(peeling.decode(replies, source=[1, 0, 1]), data[[1, 0, 1]])
        assert np.array_equal(replies, before)
        assert np.array_equal(peeling.select(1).decode(replies[1])[0], data[1])


def test_replies_of_other_layouts_are_read() -> None:
    table = shift_table("vandermonde", 4, 2)
    data = np.random.default_rng(8).integers(-9, 9, (2, 9, 3)).astype(float)
    replies = zigzag.encode(table, data)
    for other in (
        np.asfortranarray(replies),
        replies.astype(">f8"),
        replies[:, :, ::-1][:, :, ::-1],
    ):
        found = zigzag.plan(table, [(1, 3)], 9).decode(other)
        assert found.dtype == np.float64
        assert found.dtype.isnative
        assert np.array_equal(found[0], data)


def test_a_unit_of_several_rows_moves_as_one() -> None:
    table, chunk, length = shift_table("vandermonde", 5, 3), 4, 10
    data = integers(table, length, 2)
    coded = zigzag.encode(table, to_units(data, chunk))
    rows = np.pad(data, ((0, 0), (0, 2), (0, 0)))
    assert np.array_equal(coded.reshape(5, -1, 2), zigzag.encode(table * chunk, rows))
    found = zigzag.plan(table, [(1, 2, 4)], 3).decode(coded)
    assert np.array_equal(from_units(found, chunk, length)[0], data)


def test_storage_of_the_designs() -> None:
    longest = {design: longest_shifts(shift_table(design, 10, 6)) for design in NAMED}
    assert longest["vandermonde"].max() == 9 * 5
    assert longest["reflected"].tolist() == [20, 15, 10, 5, 0, 5, 10, 15, 20, 25]
    assert longest["systematic"].max() == 3 * 5
    assert longest["systematic1"].max() == 4 * 5
    assert longest["systematic-reflected"].tolist() == [0] * 6 + [5, 0, 5, 10]
    assert longest_shifts(shift_table("systematic1", 10, 6)).max() == 20


def test_a_hankel_table_is_refused_with_the_pair_at_fault() -> None:
    hankel = shift_table("custom", 6, 4, np.add.outer(np.arange(6), np.arange(4)))
    found = undecodable(hankel, subsets(6, 4), 64)
    assert found is not None
    assert (found.survivors, found.workers, found.blocks) == ((0, 1, 2, 3), (0, 1), (0, 1))
    for order in zigzag.ORDERS:
        peeling = zigzag.plan(hankel, [(1, 2, 4, 5)], 64, order)
        assert not peeling.ok[0]
        assert "workers 1 and 2 shift block 1 against block 0 by 1 and 1" in str(peeling.uses[0])
        assert np.all(np.isnan(peeling.decode(np.zeros((6, 72, 1)))))


def test_too_few_parities_are_a_reason() -> None:
    peeling = zigzag.plan(shift_table("systematic", 6, 4), [(0, 1, 4), (0, 1, 4, 5)], 8)
    assert peeling.ok.tolist() == [False, True]
    assert str(peeling.uses[0]) == (
        "survivors 0,1,4: 2 missing blocks, 1 replies that combine them"
    )


@pytest.mark.parametrize("order", zigzag.ORDERS)
def test_custom_tables_that_are_not_increasing(order: str) -> None:
    swapped = shift_table("vandermonde", 6, 4)[[3, 0, 5, 1, 4, 2]][:, [0, 2, 1, 3]]
    sparse = np.array([[0, 5, -1], [-1, 0, 2], [3, -1, 0], [0, 0, 0], [0, 1, 2]], np.int32)
    for table in (swapped, shift_table("custom", 5, 3, sparse)):
        n, k = table.shape
        data = integers(table, 30, 2)
        peeling = zigzag.plan(table, subsets(n, k), 30, order)
        found = peeling.decode(zigzag.encode(table, data))
        assert peeling.ok.sum() >= 5
        ok = found[peeling.ok]
        assert np.array_equal(ok, np.broadcast_to(data, ok.shape))
    assert undecodable(swapped, subsets(6, 4), 200) is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1]], "shape"),
        ([[0, 0.5], [0, 1]], "integer shifts"),
        ([[0, -2], [0, 1]], "worker 0, block 1: -2"),
        ([[-1, -1], [0, 1]], "worker 0: holds no block"),
    ],
)
def test_faulty_tables_are_refused(table: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        shift_table("custom", 2, 2, table)


@numba.njit
def each_rounded(values: Array, bits: int) -> Array:
    found = np.empty_like(values)
    for c in range(len(values)):
        found[c] = rounded(values[c], bits)
    return found


def peeling_of(table: Any, patterns: Any = ((0, 1),), length: int = 3) -> Any:
    return zigzag.plan(np.asarray(table, np.int32), patterns, length)


TWO = ((0, 0), (0, 1), (0, 2))
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: shift_table("slanted", 3, 2), "design 'slanted': allowed are"),
    (lambda: shift_table("vandermonde", 3, 4), "k=4 data blocks for n=3 workers"),
    (lambda: shift_table("vandermonde", 3, 0), "k=0 data blocks for n=3 workers"),
    (lambda: shift_table("systematic", 3, 2, TWO), "allowed only with custom"),
    (lambda: shift_table("custom", 3, 2), "needs a table of n x k integer shifts"),
    (lambda: factor_tables("systematic", 5, 2, 3), "kA\\*kB=6 block products for n=5"),
    (
        lambda: product_table(*2 * (shift_table("vandermonde", 3, 2),), 2**29),
        "longest shift 1073741826 of a product",
    ),
    (
        lambda: zigzag.plan(shift_table("custom", 3, 2, TWO), [(0, 1)], 3, "backward"),
        "order 'backward': allowed are",
    ),
    (lambda: peeling_of(TWO, length=2**30), "2 blocks of 1073741824 units"),
    (lambda: peeling_of(np.zeros((1, 1025))), "1025 blocks of 3 units: allowed are 1024"),
    (lambda: peeling_of(TWO).decode(np.ones((2, 5, 1))), "replies of shape"),
    (lambda: peeling_of(TWO).decode(np.ones((3, 4, 1))), "rows at least 5"),
    (lambda: peeling_of(TWO).decode(np.ones((2, 3, 5, 1)), [0, 1]), "2 sets of replies for 1"),
    (lambda: peeling_of(TWO, [(0,)]).schedule(0), "survivors 0: 2 missing blocks, 1 replies"),
    (
        lambda: peeling_of(TWO, [(0,)]).in_order(0, np.ones((2, 3, 1))),
        "survivors 0: 2 missing blocks, 1 replies",
    ),
]


@pytest.mark.parametrize(("request_", "message"), REFUSED, ids=[words for _, words in REFUSED])
def test_requests_that_do_not_fit_are_refused(request_: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        request_()


@pytest.mark.parametrize(("store", "dtype"), [(8, ml_dtypes.bfloat16), (11, np.float16)])
def test_rounding_is_that_of_ml_dtypes_and_numpy(store: int, dtype: type) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(dtype).astype(np.float32)
    finite = np.unique(every[np.isfinite(every)])
    bits = np.random.default_rng(3).integers(0, 2**32, 400_000, dtype=np.uint32)
    ties = ((finite[1:].astype(float) + finite[:-1]) / 2).astype(np.float32)
    near = np.concatenate(
        [np.nextafter(ties, np.float32(-np.inf)), np.nextafter(ties, np.float32(np.inf))]
    )
    small = np.random.default_rng(4).standard_normal(100_000).astype(np.float32) * np.float32(
        2**-18
    )
    x = np.concatenate([every, ties, near, small, bits.view(np.float32)])
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(dtype).astype(np.float32)
    found = each_rounded(x, store)
    assert found.dtype == np.float32
    same = found.view(np.uint32) == want.view(np.uint32)
    assert np.all(same | (np.isnan(found) & np.isnan(want)))


def test_only_sixteen_bits_beside_float32_are_stored() -> None:
    peeling = zigzag.plan(shift_table("vandermonde", 5, 3), [(0, 1, 2)], 8)
    with pytest.raises(InputError, match="store=8 of float64: allowed are float32, complex64"):
        peeling.decode(np.zeros((5, 16, 1)), store=8)
    with pytest.raises(InputError, match="store=9: allowed are 0, 8"):
        peeling.decode(np.zeros((5, 16, 1), np.float32), store=9)


def relative_errors(
    table: Table, patterns: list[tuple[int, ...]], length: int, dtype: type
) -> Array:
    """Relative errors (patterns, 10 seeds) of encode, multiply, decode from both ends."""
    n, k = table.shape
    replies: Array = np.zeros((n, length + int(table.max()), 10), dtype)
    exact = np.zeros((k, length, 10))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        blocks: Array = rng.standard_normal((k, length, 64)).astype(dtype)
        x: Array = rng.standard_normal(64).astype(dtype)
        replies[..., seed] = zigzag.encode(table, blocks) @ x
        exact[..., seed] = blocks.astype(np.longdouble) @ x.astype(np.longdouble)
    found = zigzag.plan(table, patterns, length).decode(replies)
    assert found.dtype == dtype
    squares = np.sum((found.astype(float) - exact) ** 2, axis=(1, 2))
    return np.asarray(np.sqrt(squares / np.sum(exact**2, axis=(0, 1))))


@pytest.mark.parametrize(
    ("design", "n", "k", "length", "middle", "worst"),
    [
        ("vandermonde", 6, 4, 64, 4e-5, 2e-4),
        ("vandermonde", 10, 8, 64, 4e-3, 3e-2),
        ("vandermonde", 10, 8, 256, 60, 200),
        ("systematic", 10, 8, 256, 9e-7, 2e-6),
    ],
)
def test_float32_errors_of_all_subsets(
    design: str, n: int, k: int, length: int, middle: float, worst: float
) -> None:
    errors = relative_errors(shift_table(design, n, k), subsets(n, k), length, np.float32)
    assert middle / 4 < np.median(errors) < middle * 4
    assert worst / 4 < np.median(errors.max(axis=0)) < worst * 4


@pytest.mark.parametrize(
    ("dtype", "length", "error"),
    [
        (np.float32, 32, 2e-5),
        (np.float32, 64, 2e-2),
        (np.float32, 128, 3.5e5),
        (np.float64, 128, 5e-4),
        (np.float64, 256, 7e10),
    ],
)
def test_errors_of_an_exponential_pattern(dtype: type, length: int, error: float) -> None:
    survivors = tuple(i for i in range(20) if i not in (0, 1, 3, 18))
    errors = relative_errors(shift_table("systematic", 20, 16), [survivors], length, dtype)
    assert error / 30 < np.median(errors) < error * 30


def test_overflow_is_a_result() -> None:
    table = shift_table("systematic", 20, 16)
    survivors = tuple(i for i in range(20) if i not in (0, 1, 3, 18))
    data = np.random.default_rng(6).standard_normal((16, 500, 2)).astype(np.float32)
    replies = zigzag.encode(table, data)
    for order in zigzag.ORDERS:
        found = zigzag.plan(table, [survivors], 500, order).decode(replies)
        assert not np.all(np.isfinite(found))


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("design", NAMED)
@pytest.mark.parametrize(("k_a", "k_b", "n"), [(2, 2, 6), (3, 2, 8)])
def test_products_decode_bit_for_bit(design: str, order: str, k_a: int, k_b: int, n: int) -> None:
    rows, columns = factor_tables(design, n, k_a, k_b)
    text = f"shift-add[design={design},kA={k_a},kB={k_b}]"
    reply = code(text, n=n, stragglers=n - k_a * k_b).system("matmul").reply
    assert isinstance(reply, ShiftMap)
    rng = np.random.default_rng(7)
    patterns = tuple(combinations(range(n), k_a * k_b))
    assert len(patterns) == {6: 15, 8: 28}[n]
    for height, width in ((9, 14), (1, 1), (1, 6), (7, 1)):
        a = rng.integers(-(2**62), 2**62, (k_a, height, 5))
        b = rng.integers(-(2**62), 2**62, (k_b, 5, width))
        shares_b = zigzag.encode(columns, np.ascontiguousarray(b.swapaxes(1, 2)))
        replies = zigzag.encode(rows, a) @ shares_b.swapaxes(1, 2)
        found = ZigzagPlan(reply, patterns, np.dtype("int64"), order=order).decode(replies)
        assert found.dtype == np.int64
        wanted = (a[:, None] @ b[None]).reshape(-1, height, width)
        assert np.array_equal(found, np.broadcast_to(wanted, found.shape))


PEAK = """
import sys
from pathlib import Path
import numpy as np
from stabbench.arithmetic import zigzag
from stabbench.arithmetic.shift_tables import shift_table

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

order, dtype = sys.argv[1:]
table = shift_table("vandermonde", 10, 10)
zigzag.plan(table, [range(10)], 8, order).decode(np.zeros((10, 89, 16), dtype))
replies = np.ones((10, 60_000 + 81, 16), dtype)
before = peak()
zigzag.plan(table, [range(10)], 60_000, order).decode(replies)
print(1 + (peak() - before) / replies.nbytes)
"""


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_peak_memory_of_planning_and_decoding(order: str, dtype: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PEAK, order, dtype], check=True, capture_output=True, text=True
    )
    assert 1.5 < float(run.stdout) < 2.5
