"""How errors of a zigzag grow: the operator that it applies, and what the symbol matrix says."""

from itertools import combinations

import flint
import numpy as np
import pytest

from stabbench.arithmetic.peeling import Undecodable, resolution
from stabbench.arithmetic.sample_operator import BATCH, Norms
from stabbench.arithmetic.shift_tables import Array, Table, shift_table
from stabbench.arithmetic.symbol import Symbol, symbol
from stabbench.arithmetic.zigzag import ORDERS, encode, plan
from stabbench.arithmetic.zigzag_operator import ZigzagOperator
from stabbench.errors import InputError

S20 = shift_table("systematic", 20, 16)
EXPONENTIAL = [i for i in range(20) if i not in (0, 1, 3, 18)]


def growth_factor(lengths: list[int], sizes: list[float]) -> float:
    """Growth per row: the slope of log size against length, as a factor."""
    return float(np.exp(np.polyfit(lengths, np.log(sizes), 1)[0]))


def growth_exponent(lengths: list[int], sizes: list[float]) -> float:
    """The slope of log size against log length."""
    return float(np.polyfit(np.log(lengths), np.log(sizes), 1)[0])


def without(n: int, *lost: int) -> list[int]:
    return [i for i in range(n) if i not in lost]


def norms(table: Table, survivors: list[int], length: int, order: str, limit: int = 4096) -> Norms:
    return ZigzagOperator(plan(table, [survivors], length, order), 0).norms(limit)


def symbol_of(table: Table, survivors: list[int]) -> Symbol:
    use = resolution(table, survivors)
    assert not isinstance(use, Undecodable)
    return symbol(table, use)


@pytest.mark.parametrize("length", [32, 128, 512])
@pytest.mark.parametrize(("order", "times"), [("forward", 2), ("both-ends", 1)])
def test_two_blocks_amplify_by_exactly_their_length(length: int, order: str, times: int) -> None:
    table = shift_table("vandermonde", 2, 2)
    found = norms(table, [0, 1], length, order)
    assert found.infinity == times * length
    assert not found.estimated


@pytest.mark.parametrize(
    ("design", "n", "k", "lost", "order", "expected"),
    [
        ("vandermonde", 6, 4, (4, 5), "forward", {32: 1.8e4, 128: 1.3e6, 256: 1.1e7}),
        ("vandermonde", 6, 4, (4, 5), "both-ends", {32: 2.4e3, 128: 1.7e5, 256: 1.4e6}),
        ("systematic", 10, 8, (0, 1), "forward", {32: 91, 128: 283}),
        ("systematic", 10, 8, (0, 1), "both-ends", {32: 79, 128: 175}),
        ("systematic", 10, 8, (0, 7), "forward", {32: 67, 128: 261}),
        ("systematic", 10, 8, (0, 7), "both-ends", {32: 32, 128: 128}),
        ("systematic", 20, 16, (0, 1, 3, 18), "forward", {32: 1.79e6, 64: 3.67e11}),
        ("systematic", 20, 16, (0, 1, 3, 18), "both-ends", {32: 1.24e4, 64: 4.37e7}),
    ],
)
def test_norms_of_reference(
    design: str, n: int, k: int, lost: tuple[int, ...], order: str, expected: dict[int, float]
) -> None:
    table = shift_table(design, n, k)
    for length, value in expected.items():
        found = norms(table, without(n, *lost), length, order)
        assert found.infinity == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("design", "lost"), [("systematic", (0, 2, 5)), ("reflected", (1, 4, 6))])
def test_the_operator_is_the_decoder(design: str, lost: tuple[int, ...], order: str) -> None:
    table = shift_table(design, 8, 5)
    peeling = plan(table, [without(8, *lost)], 18, order)
    operator = ZigzagOperator(peeling, 0)
    matrix = operator.matrix()
    rng = np.random.default_rng(0)
    replies = rng.integers(-9, 9, (8, 18 + int(table.max()), 1)).astype(float)
    read = replies[operator.worker, operator.sample]
    assert np.array_equal(matrix @ read, peeling.decode(replies)[0].reshape(-1, 1))
    weights = rng.integers(-9, 9, (operator.unknowns, 3)).astype(float)
    assert np.array_equal(operator.apply_transpose(weights), matrix.T @ weights)
    unit: Array = np.eye(operator.unknowns).reshape(5, 18, -1)
    phi = encode(table, unit)[operator.worker, operator.sample]
    assert np.array_equal(matrix @ phi, np.eye(operator.unknowns))
    found = operator.norms()
    assert found.infinity == np.linalg.norm(matrix, np.inf)
    assert found.two == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-6)
    assert found.amplification == np.linalg.norm(np.abs(matrix) @ np.abs(phi), np.inf)


@pytest.mark.parametrize(("k", "length"), [(1, 1), (3, BATCH // 3 + 1), (3, 2 * BATCH // 3)])
def test_matrices_are_formed_to_the_last_column(k: int, length: int) -> None:
    operator = ZigzagOperator(plan(shift_table("vandermonde", 6, k), [range(1, k + 1)], length), 0)
    unit = np.eye(operator.unknowns)
    assert np.array_equal(operator.matrix(), operator.apply(unit))
    assert np.array_equal(operator.matrix().T, operator.apply_transpose(unit))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("table", "lost"), [(S20, (0, 1, 3, 18)), (S20, (0, 1, 2, 3)), (S20, ())])
def test_estimates_are_close_and_from_below(
    table: Table, lost: tuple[int, ...], order: str
) -> None:
    exact = norms(table, without(20, *lost), 48, order)
    found = norms(table, without(20, *lost), 48, order, limit=100)
    assert found.estimated
    assert not exact.estimated
    assert 0.9 * exact.infinity <= found.infinity <= exact.infinity
    assert 0.9 * exact.amplification <= found.amplification <= exact.amplification
    assert found.two == exact.two


@pytest.mark.parametrize("limit", [4096, 0])
def test_norms_beyond_the_range_of_float64(limit: int) -> None:
    table = shift_table("systematic", 8, 4)
    survivors = without(8, 0, 1, 3, 6)
    large = norms(table, survivors, 700, "forward", limit)
    assert 1e110 < large.two < large.infinity < large.amplification < 1e130
    assert norms(table, survivors, 2000, "forward", 0) == Norms(np.inf, np.inf, np.inf, True)


def test_an_undecodable_pattern_has_no_operator() -> None:
    with pytest.raises(InputError, match="survivors 0,1: "):
        ZigzagOperator(plan(S20, [(0, 1)], 8), 0)


def test_growth_of_the_exponential_pattern() -> None:
    found = symbol_of(S20, EXPONENTIAL)
    root = max(np.roots([1, -1, 0, -1]).real)
    assert found.exponential
    assert found.forward == pytest.approx(root, rel=1e-12)
    assert found.backward == pytest.approx(1.2106, rel=1e-4)
    assert found.determinant == (-1, 0, 2, 0, 0, -1, 0, 0, -1, 1)
    lengths = [48, 64, 80, 96]
    sizes = {
        order: [norms(S20, EXPONENTIAL, length, order).infinity for length in lengths]
        for order in ORDERS
    }
    assert growth_factor(lengths, sizes["forward"]) == pytest.approx(root, rel=0.01)
    assert growth_factor(lengths, sizes["both-ends"]) == pytest.approx(1.29, rel=0.01)


@pytest.mark.parametrize(("design", "n", "k"), [("vandermonde", 6, 4), ("reflected", 8, 6)])
def test_all_blocks_missing_grow_like_a_power(design: str, n: int, k: int) -> None:
    table = shift_table(design, n, k)
    for survivors in combinations(range(n), k):
        found = symbol_of(table, list(survivors))
        assert not found.exponential
        assert (found.forward, found.backward, found.exponent) == (1, 1, k - 1)


def test_the_exponent_is_measured() -> None:
    table, lengths = shift_table("vandermonde", 6, 4), [64, 128, 256]
    for order in ORDERS:
        sizes = [norms(table, [0, 1, 2, 3], length, order).infinity for length in lengths]
        assert growth_exponent(lengths, sizes) == pytest.approx(3, abs=0.15)


def test_two_missing_blocks_are_benign_and_all_parities_polynomial() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        pair = rng.choice(16, 2, replace=False)
        spare = 16 + rng.choice(4, 2, replace=False)
        assert symbol_of(S20, without(20, *pair, *spare)).exponent == 1
        found = symbol_of(S20, without(20, *rng.choice(16, 4, replace=False)))
        assert (found.exponential, found.exponent) == (False, 3)


@pytest.mark.parametrize("design", ["systematic", "systematic1", "systematic-reflected"])
def test_theory_and_measurement_agree_on_every_triple(design: str) -> None:
    table = shift_table(design, 12, 8)
    lengths = [80, 120]
    for lost in [(0, 1, 3, 10), (0, 1, 2, 10), (0, 2, 3, 9), (0, 1, 7, 9), (2, 4, 7, 8)]:
        found = symbol_of(table, without(12, *lost))
        sizes = [norms(table, without(12, *lost), length, "forward").infinity for length in lengths]
        measured = growth_factor(lengths, sizes)
        if found.exponential:
            assert measured == pytest.approx(found.forward, rel=0.02)
        else:
            assert growth_exponent(lengths, sizes) < found.exponent + 0.5


@pytest.mark.parametrize("survivors", [EXPONENTIAL, without(20, 0, 5, 6, 11), without(20, 1, 15)])
def test_the_determinant_is_that_of_the_matrix(survivors: list[int]) -> None:
    use = resolution(S20, survivors)
    assert not isinstance(use, Undecodable)
    sub = S20[np.ix_(use.rows, use.missing)].tolist()
    found = symbol_of(S20, survivors).determinant
    assert {abs(found[0]), abs(found[-1])} == {1}
    for z in (2, 3, -5):
        value = int(flint.fmpz_mat([[z**t for t in row] for row in sub]).det())
        polynomial = sum(c * z**power for power, c in enumerate(found))
        quotient, remainder = divmod(value, polynomial)
        assert remainder == 0
        assert quotient in {z**power for power in range(100)}


def test_a_singular_symbol_is_refused() -> None:
    hankel = shift_table("custom", 3, 2, np.add.outer(np.arange(3), np.arange(2)))
    with pytest.raises(ValueError, match="determinant"):
        symbol_of(hankel, [0, 1])
