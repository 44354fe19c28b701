"""The sums that workers form of their partitions: exact in integers, and what overflow does."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import stabbench as sb
from stabbench.arithmetic.precision import ALLOWED
from stabbench.arithmetic.sparse import LEAST_WIDTH, combine_held

Array = np.ndarray[Any, np.dtype[Any]]
KINDS = ("float32", "float64", "longdouble", "complex64", "complex128", "clongdouble")


def held(placement: Array) -> tuple[Array, Array]:
    start = np.concatenate([[0], np.cumsum(placement.sum(axis=1))])
    return start, np.nonzero(placement)[1]


def groups(rows: int, size: int) -> Array:
    """Rows in groups of `size`, each of which holds the same `size` partitions."""
    each = np.arange(rows) // size
    return np.asarray(each[:, None] == each)


@given(
    rows=st.integers(1, 7),
    count=st.integers(1, 7),
    m=st.integers(1, 7),
    length=st.sampled_from([1, 2, 63, LEAST_WIDTH - 1, LEAST_WIDTH + 1, 2 * LEAST_WIDTH + 5]),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
)
def test_sums_of_small_integers_are_exact(
    rows: int, count: int, m: int, length: int, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    placement = rng.random((rows, count)) < 0.6
    coefficients = rng.integers(-9, 10, (rows, count, m)).astype(kind)
    if coefficients.dtype.kind == "c":
        coefficients += 1j * rng.integers(-9, 10, (rows, count, m))
    vectors = rng.integers(-9, 10, (count, length, m)).astype("float32")
    found = combine_held(coefficients, held(placement), vectors, np.dtype(kind))
    expected = np.einsum("ri,riu,ivu->rv", placement, coefficients, vectors)
    assert found.dtype == kind
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", ["float32", "float64", "longdouble", "complex64"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_groups_that_share_a_sum_are_exact_in_integers(kind: str, size: int, m: int) -> None:
    rng = np.random.default_rng(size * m)
    rows, length = 2 * size, 2 * LEAST_WIDTH + 3
    coefficients = np.repeat(rng.integers(-9, 10, (rows, 1, m)), rows, axis=1).astype(kind)
    vectors = rng.integers(-9, 10, (rows, length, m)).astype("float64")
    placement = groups(rows, size)
    found = combine_held(coefficients, held(placement), vectors, np.dtype(kind))
    assert found.dtype == kind
    assert np.array_equal(found, np.einsum("ri,riu,ivu->rv", placement, coefficients, vectors))


def test_a_group_forms_its_sum_before_it_multiplies() -> None:
    large = np.float32(2.0**24)
    vectors = np.array([large, 1, -large], dtype=np.float32).reshape(3, 1, 1)
    shared = np.full((3, 3, 1), 3, dtype=np.float32)
    everything = np.ones((3, 3), dtype=bool)
    found = combine_held(shared, held(everything), vectors, np.dtype("float32"))
    assert found.tolist() == [[3.0]] * 3
    assert vectors[0] * shared[0, 0] + vectors[1] * 3 + vectors[2] * 3 == 4.0


def test_a_shared_sum_serves_only_rows_that_combine_nothing_else() -> None:
    """The first row multiplies the sum of its partitions; others differ in terms or partitions."""
    vectors = np.array([2.0, 3.0, 5.0]).reshape(3, 1, 1)
    for other in ([[1, 1, 7]], [[7, 1, 1]], [[4, 4, 4], [1, 7, 1]], [[1, 1, 0]], [[0, 0, 0]]):
        rows = np.array([[1, 1, 1], *other], dtype=np.float64)
        found = combine_held(rows[..., None], held(rows != 0), vectors, np.dtype("float64"))
        assert np.array_equal(found, rows @ vectors[..., 0])


@pytest.mark.parametrize("terms", range(1, 12))
def test_an_infinite_entry_stays_infinite(terms: int) -> None:
    for infinite in range(terms):
        vectors = np.ones((terms, 3, 1), dtype=np.float32)
        vectors[infinite, 1] = np.inf
        coefficients = np.arange(1, terms + 1, dtype=np.float32).reshape(1, terms, 1)
        everything = np.ones((1, terms), dtype=bool)
        found = combine_held(coefficients, held(everything), vectors, np.dtype("float32"))
        assert np.isposinf(found[0, 1])
        assert np.isfinite(found[0, [0, 2]]).all()


def test_a_row_without_partitions_is_zero() -> None:
    placement = held(np.array([[False] * 3, [True] * 3]))
    found = combine_held(np.ones((2, 3, 2)), placement, np.ones((3, 4, 2)), np.dtype("float64"))
    assert found.tolist() == [[0.0] * 4, [6.0] * 4]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        combine_held(np.ones((1, 2, 1)), held(np.ones((1, 2))), np.ones((3, 4, 1)), np.dtype("f8"))


@pytest.mark.skipif("longdouble" not in ALLOWED, reason="longdouble is float64 here")
@pytest.mark.parametrize("text", ["fractional-repetition", "cyclic-repetition", "ye-abbe"])
def test_gradient_codes_run_in_longdouble(text: str) -> None:
    record = sb.evaluate(sb.code(text, 6, 2), decoder="exact-weights", precision="longdouble")
    assert record.status == "ok", record.reason
    assert 0 < record.relative_error.worst < 1e-16
    assert record.test_ratio.worst < 10
