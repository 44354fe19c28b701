"""Condition numbers against independent programs, named extreme cases and closed forms."""

import csv
import math
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stabbench as sb
from stabbench.codes.base import LinearCode
from tests.support import Array

CLOSED = 1e-9


def reference_rows() -> list[dict[str, str]]:
    path = Path(__file__).parent / "data" / "condition_numbers.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


ROWS = reference_rows()


def title(row: dict[str, str]) -> str:
    return f"{row['code']}-{row['n']}-{row['s']}"


@cache
def numbers(text: str, n: int, s: int, precision: str = "float64") -> Any:
    return sb.condition_numbers(sb.code(text, n, s), "all", precision)


def without(n: int, *sets: tuple[int, ...]) -> Array:
    """Patterns with the named stragglers."""
    return np.array([[int(i not in gone) for i in range(n)] for gone in sets])


@pytest.mark.parametrize("row", [r for r in ROWS if r["worst_kappa2"]], ids=title)
def test_worst_and_mean_over_all_patterns(row: dict[str, str]) -> None:
    n, s, rtol = int(row["n"]), int(row["s"]), float(row["rtol"])
    found = numbers(row["code"], n, s)
    assert found.worst == pytest.approx(float(row["worst_kappa2"]), rel=rtol)
    assert found.mean == pytest.approx(float(row["mean_kappa2"]), rel=rtol)
    assert found.label in ("exhaustive", "symmetric")
    assert found.median <= found.worst
    at = sb.condition_numbers(sb.code(row["code"], n, s), without(n, found.worst_stragglers))
    assert at.worst == pytest.approx(found.worst, rel=1e-9)


@pytest.mark.parametrize("row", [r for r in ROWS if r["worst_at_least"]], ids=title)
def test_named_patterns_of_ideal_codes(row: dict[str, str]) -> None:
    gone = tuple(map(int, row["stragglers"].split()))
    c = sb.code(row["code"], int(row["n"]), int(row["s"]))
    found = sb.condition_numbers(c, without(c.n, gone), precision="exact")
    assert found.worst == pytest.approx(float(row["worst_at_least"]), rel=float(row["rtol"]))


def test_the_table_of_references_is_whole() -> None:
    assert len(ROWS) == 36
    assert {row["code"].partition("[")[0] for row in ROWS} == {
        "chebyshev-basis",
        "dct",
        "polynomial",
        "rotation",
        "uncoded-cyclic",
    }


NAMED = ((0, 1, 2, 3), (3, 5, 23, 28))


def test_integer_nodes_ideal_and_rounded_differ_by_a_thousand() -> None:
    c = sb.code("polynomial[nodes=integers]", n=40, stragglers=4)
    table = without(40, *NAMED)
    ideal = sb.condition_numbers(c, table, precision="exact")
    stored = sb.condition_numbers(c, table, precision="float64")
    assert ideal.values[0] == pytest.approx(7.378e71, rel=1e-3)
    assert ideal.worst_stragglers == NAMED[0]
    assert stored.values[1] == pytest.approx(2.907e68, rel=1e-3)
    assert stored.worst_stragglers == NAMED[1]


@pytest.mark.parametrize(
    ("precision", "worst", "gone"), [("exact", 7.378e71, NAMED[0]), ("float64", 2.907e68, NAMED[1])]
)
def test_integer_nodes_over_all_patterns(
    precision: str, worst: float, gone: tuple[int, ...]
) -> None:
    found = numbers("polynomial[nodes=integers]", 40, 4, precision)
    assert found.worst == pytest.approx(worst, rel=1e-3)
    assert found.worst_stragglers == gone
    assert found.label == "exhaustive"


def test_numpy_is_wrong_by_more_than_ten_digits_there() -> None:
    c = sb.code("polynomial[nodes=integers]", n=40, stragglers=4)
    assert isinstance(c, LinearCode)
    survivors = np.flatnonzero(without(40, NAMED[1])[0])
    printed = float(np.linalg.cond(c.generator.rounded("float64")[survivors]))
    truth = sb.condition_numbers(c, without(40, NAMED[1])).worst
    assert truth / printed > 1e10


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16", "float16", "exact"])
def test_condition_numbers_are_of_the_generator_as_stored(precision: str) -> None:
    c = sb.code("gaussian[seed=4]", n=7, stragglers=2)
    assert isinstance(c, LinearCode)
    found = sb.condition_numbers(c, "all", precision)
    stored = c.generator.rounded("float64" if precision == "exact" else precision).astype(float)
    for value, pattern in zip(found.values, found.patterns, strict=True):
        expected = np.linalg.cond(stored[np.flatnonzero(pattern)])
        assert value == pytest.approx(expected, rel=1e-12 * expected + 1e-12)


def circle(n: int, s: int, stragglers: tuple[int, ...]) -> float:
    """kappa_2 of the unit circle without some nodes, k = n - s > s."""
    r, j = np.array(stragglers)[:, None], np.arange(n - s, n)
    q = np.exp(2j * np.pi * r * j / n)
    return float(np.sqrt(n) / np.linalg.svd(q, compute_uv=False)[-1])


@pytest.mark.parametrize("text", ["polynomial[nodes=roots-of-unity]", "rotation"])
@pytest.mark.parametrize(("n", "s"), [(5, 2), (9, 1), (11, 3), (12, 2), (14, 4)])
def test_unit_circle(text: str, n: int, s: int) -> None:
    found = numbers(text, n, s, "exact")
    for value, pattern in zip(found.values, found.patterns, strict=True):
        gone = tuple(np.flatnonzero(pattern == 0).tolist())
        assert value == pytest.approx(circle(n, s, gone), rel=CLOSED)
    assert found.worst == pytest.approx(circle(n, s, tuple(range(s))), rel=CLOSED)
    if s == 2:
        assert found.worst == pytest.approx(
            math.sqrt(n) / (2 * math.sin(math.pi / (2 * n))), rel=CLOSED
        )
    if s == 1:
        assert found.worst == pytest.approx(math.sqrt(n), rel=CLOSED)


@pytest.mark.parametrize(("n", "s"), [(5, 2), (9, 1), (11, 3), (12, 2), (14, 4)])
def test_chebyshev_basis_on_its_grid(n: int, s: int) -> None:
    found = numbers("chebyshev-basis[t0=1/sqrt2]", n, s, "exact")
    angles = (2 * np.arange(n) + 1) * np.pi / (2 * n)
    j = np.arange(n - s, n)
    for value, pattern in zip(found.values, found.patterns, strict=True):
        q = np.cos(np.outer(angles[pattern == 0], j))
        smallest = np.linalg.svd(q, compute_uv=False)[-1]
        assert value == pytest.approx(math.sqrt(n / 2) / smallest, rel=CLOSED)
    ends = [gone for gone in combinations(range(n), s) if is_end(gone, n)]
    assert found.worst_stragglers in ends
    if s == 1:
        closed = math.sqrt(n / 2) / math.sin(math.pi / (2 * n))
        assert found.worst == pytest.approx(closed, rel=CLOSED)


def is_end(gone: tuple[int, ...], n: int) -> bool:
    """Whether the stragglers are the s nodes at one end."""
    return gone == tuple(range(len(gone))) or gone == tuple(range(n - len(gone), n))


@pytest.mark.parametrize("text", ["dct", "haar", "haar[seed=9]"])
@pytest.mark.parametrize("k", [3, 7])
def test_one_straggler_of_an_orthonormal_design(text: str, k: int) -> None:
    spec = f"{text[:-1]},k={k}]" if text.endswith("]") else f"{text}[k={k}]"
    c = sb.code(spec, n=9, stragglers=1)
    assert isinstance(c, LinearCode)
    found = sb.condition_numbers(c, "all", "exact")
    g = c.generator.rounded("float64")
    lengths = np.sum(g * g, axis=1)
    assert found.worst == pytest.approx((1 / np.sqrt(1 - lengths)).max(), rel=CLOSED)


@pytest.mark.parametrize(("n", "m"), [(8, 5), (9, 6), (12, 2)])
def test_one_straggler_of_equal_rows(n: int, m: int) -> None:
    for text in (f"polynomial[nodes=roots-of-unity,k={m}]", f"rotation[k={m}]"):
        found = sb.condition_numbers(sb.code(text, n, 1), "all", "exact")
        assert np.allclose(found.values, math.sqrt(n / (n - m)), rtol=CLOSED, atol=0)


@pytest.mark.parametrize(("blocks", "copies"), [(2, 2), (3, 3), (2, 4)])
def test_uncoded_cyclic(blocks: int, copies: int) -> None:
    found = sb.condition_numbers(sb.code("uncoded-cyclic", blocks * copies, copies - 1))
    assert found.worst == pytest.approx(math.sqrt(copies), rel=CLOSED)


def growth(text: str, s: int, sizes: tuple[int, int]) -> float:
    """Exponent of the growth in n, from the worst pattern that theory names."""
    worst = [
        sb.condition_numbers(sb.code(text, n, s), without(n, tuple(range(s))), "exact").worst
        for n in sizes
    ]
    return math.log(worst[1] / worst[0]) / math.log(sizes[1] / sizes[0])


@pytest.mark.parametrize("s", [1, 2, 3])
def test_growth_exponents(s: int) -> None:
    assert growth("polynomial[nodes=roots-of-unity]", s, (40, 80)) == pytest.approx(
        s - 0.5, abs=0.02
    )
    assert growth("chebyshev-basis[t0=1/sqrt2]", s, (40, 80)) == pytest.approx(
        2 * s - 0.5, abs=0.02
    )


def test_real_vandermonde_grows_exponentially() -> None:
    worst = [numbers("polynomial[nodes=equispaced]", n, 1).worst for n in (8, 16, 24, 32)]
    ratios = [b / a for a, b in pairwise(worst)]
    assert min(ratios) > 1e2
    assert max(ratios) < 10 * min(ratios)


@settings(max_examples=15)
@given(n=st.integers(3, 9), s=st.integers(0, 2), seed=st.integers(0, 1000))
def test_random_codes_agree_with_numpy_where_numpy_can_tell(n: int, s: int, seed: int) -> None:
    c = sb.code(f"gaussian[seed={seed}]", n, s)
    assert isinstance(c, LinearCode)
    found = sb.condition_numbers(c)
    g = c.generator.rounded("float64")
    expected = np.array([np.linalg.cond(g[np.flatnonzero(row)]) for row in found.patterns])
    assert np.allclose(found.values, expected, rtol=1e-13 * expected.max() + 1e-12, atol=0)
    assert found.worst == found.values.max()
    assert found.mean == pytest.approx(found.values.mean())
    assert found.median == np.sort(found.values)[(len(found.values) - 1) // 2]
