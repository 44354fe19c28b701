"""Zigzag decoding, k = 10, L = 20000, 16 columns in float64, against plain NumPy in one run."""

from collections.abc import Callable

import numpy as np
import pytest

from stabbench.arithmetic.shift_tables import Array, shift_table
from stabbench.arithmetic.zigzag import encode, plan

Ratio = Callable[..., float]
TABLE = shift_table("vandermonde", 12, 10)
SURVIVORS = [[0, 1, 3, 4, 5, 6, 7, 9, 10, 11]]
LENGTH = 20_000


@pytest.fixture(scope="module")
def blocks() -> Array:
    found: Array = np.random.default_rng(0).standard_normal((10, LENGTH, 16))
    return found


@pytest.fixture(scope="module")
def replies(blocks: Array) -> Array:
    return encode(TABLE, blocks)


def test_forward_beats_a_dense_solve(ratio: Ratio, blocks: Array, replies: Array) -> None:
    generator = np.random.default_rng(1).standard_normal((10, 10))
    flat = blocks.reshape(10, -1)
    peeling = plan(TABLE, SURVIVORS, LENGTH, "forward")
    value = ratio(
        lambda: peeling.decode(replies),
        lambda: np.linalg.solve(generator, flat),
        "numpy.linalg.solve time / forward zigzag time",
    )
    assert value >= 2


def test_forward_is_as_fast_as_its_subtractions(
    ratio: Ratio, blocks: Array, replies: Array
) -> None:
    peeling = plan(TABLE, SURVIVORS, LENGTH, "forward")
    scratch = np.zeros_like(blocks)

    def subtractions() -> None:
        for i in range(10):
            for j in range(10):
                if i != j:
                    scratch[i] -= scratch[j]

    value = ratio(
        lambda: peeling.decode(replies),
        subtractions,
        "90 in-place subtractions of 20000 x 16 / forward zigzag time",
        21,
    )
    assert value >= 1 / 1.3


def test_both_ends_take_at_most_four_times_forward(ratio: Ratio, replies: Array) -> None:
    forward = plan(TABLE, SURVIVORS, LENGTH, "forward")
    value = ratio(
        lambda: plan(TABLE, SURVIVORS, LENGTH, "both-ends").decode(replies),
        lambda: forward.decode(replies),
        "forward zigzag time / time of both ends with their planning",
        21,
    )
    assert value >= 1 / 4


def test_many_patterns_share_one_set_of_replies(ratio: Ratio) -> None:
    table = shift_table("systematic", 20, 16)
    rng = np.random.default_rng(2)
    patterns = [np.sort(rng.permutation(20)[:16]) for _ in range(200)]
    data: Array = rng.standard_normal((16, 256, 1))
    received = encode(table, data)
    peeling = plan(table, patterns, 256, "forward")
    generator = rng.standard_normal((200, 16, 16))
    value = ratio(
        lambda: peeling.decode(received),
        lambda: np.linalg.solve(generator, data[None, :, :, 0]),
        "batched numpy.linalg.solve / forward zigzag (200 patterns, 16 x 16, L = 256)",
    )
    assert value > 0.1
