"""Shift-and-add: every pattern decodes exactly, in the order and precision that are stated."""

from itertools import combinations

import numpy as np
import pytest

from stabbench.arithmetic import shift_tables, zigzag
from stabbench.arithmetic.shift_tables import Array, Table, shift_table

DESIGNS = [design for design in shift_tables.DESIGNS if design != "custom"]


def integers(table: Table, length: int, columns: int = 1, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(-(2**30), 2**30, (table.shape[1], length, columns))


def random_patterns(n: int, k: int, count: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(n)
    return [tuple(np.sort(rng.permutation(n)[:k])) for _ in range(count)]


@pytest.mark.parametrize("order", zigzag.ORDERS)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("n", "k"), [(6, 4), (10, 8), (20, 16), (30, 24)])
def test_integers_decode_bit_for_bit(design: str, order: str, n: int, k: int) -> None:
    table = shift_table(design, n, k)
    every = n <= 10
    patterns = list(combinations(range(n), k)) if every else random_patterns(n, k, 200)
    data = integers(table, 48 if every else 100)
    decoded = zigzag.plan(table, patterns, data.shape[1], order).decode(zigzag.encode(table, data))
    assert decoded.dtype == np.int64
    assert np.array_equal(decoded, np.broadcast_to(data, decoded.shape))
