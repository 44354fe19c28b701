"""Survivor sets: each policy lists what it says, once, whatever the code."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.analysis.survivors import POLICIES, All, policy
from stabbench.errors import InputError
from tests.support import Array

SIZES = st.integers(1, 11).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


def stragglers(patterns: Array) -> list[tuple[int, ...]]:
    return [tuple(np.flatnonzero(row == 0).tolist()) for row in patterns]


@pytest.mark.parametrize("name", sorted(POLICIES))
@given(size=SIZES, seed=st.integers(0, 9))
def test_patterns_are_distinct_sets_of_the_right_size(
    name: str, size: tuple[int, int], seed: int
) -> None:
    n, s = size
    rule = policy(name)
    patterns = rule.patterns(n, s, seed)
    assert patterns.shape[1] == n
    assert len(patterns) >= 1
    assert set(np.unique(patterns)) <= {0, 1}
    assert (patterns.sum(axis=1) == n - s).all()
    assert len(np.unique(patterns, axis=0)) == len(patterns)
    assert np.array_equal(rule.patterns(n, s, seed), patterns)
    assert policy(str(rule)) == rule
    if rule.label(n, s) == "exhaustive":
        assert len(patterns) == math.comb(n, s)


@given(SIZES)
def test_all_is_every_set_in_lexicographic_order(size: tuple[int, int]) -> None:
    n, s = size
    survivors = [tuple(np.flatnonzero(row).tolist()) for row in policy("all").patterns(n, s)]
    assert survivors == list(itertools.combinations(range(n), n - s))


@given(SIZES)
def test_bad_families_are_what_they_are_called(size: tuple[int, int]) -> None:
    n, s = size
    assert stragglers(policy("first").patterns(n, s)) == [tuple(range(s))]
    assert stragglers(policy("last").patterns(n, s)) == [tuple(range(n - s, n))]
    intervals = {tuple(sorted((a + i) % n for i in range(s))) for a in range(n)}
    assert set(stragglers(policy("contiguous").patterns(n, s))) == intervals
    progressions = {
        tuple(sorted({(a + d * i) % n for i in range(s)}))
        for a in range(n)
        for d in range(1, max(n, 2))
    }
    expected = {gone for gone in progressions if len(gone) == s}
    assert set(stragglers(policy("strided").patterns(n, s))) == expected


def test_random_sets_depend_on_the_seed_and_nothing_else() -> None:
    rule = policy("random:50")
    assert len(rule.patterns(20, 5, 1)) == 50
    assert np.array_equal(rule.patterns(20, 5, 1), rule.patterns(20, 5, 1))
    assert not np.array_equal(rule.patterns(20, 5, 1), rule.patterns(20, 5, 2))
    assert rule.label(20, 5) == "search (lower bound)"


def test_random_sets_are_uniform() -> None:
    rule = policy("random:400")
    counts = sum(rule.patterns(30, 10, seed).sum(axis=0) for seed in range(10))
    share = counts / 4000
    assert np.abs(share - 2 / 3).max() < 5 * math.sqrt(2 / 9 / 4000)


def test_random_becomes_exhaustive_where_sets_are_few() -> None:
    assert np.array_equal(policy("random:1000").patterns(8, 2), policy("all").patterns(8, 2))
    assert policy("random:28").label(8, 2) == "exhaustive"
    assert policy("random:27").label(8, 2) == "search (lower bound)"


def test_auto_holds_every_bad_family_beyond_its_limit() -> None:
    rule = policy("auto:100")
    listed = set(stragglers(rule.patterns(18, 4)))
    for name in ("first", "last", "contiguous", "strided"):
        assert set(stragglers(policy(name).patterns(18, 4))) <= listed
    assert 100 <= len(listed) < math.comb(18, 4)
    assert len(policy("auto:100").patterns(9, 2)) == math.comb(9, 2)


@given(size=SIZES.filter(lambda size: size[1] > 0), data=st.data())
def test_spare_survivors_are_counted(size: tuple[int, int], data: st.DataObject) -> None:
    n, s = size
    count = data.draw(st.integers(n - s, n))
    patterns = policy(f"all[survivors={count}]").patterns(n, s)
    assert (patterns.sum(axis=1) == count).all()
    assert len(patterns) == math.comb(n, count)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("al", "unknown patterns 'al'; did you mean all?"),
        ("random:0", "number=0; allowed is >= 1"),
        ("random:-3", "number=-3; allowed is >= 1"),
        ("random:many", "number=many; allowed: an integer"),
        ("auto[limit=0]", "limit=0; allowed is >= 1"),
        ("all[number=3]", "unknown parameter 'number'; allowed: survivors"),
        ("random[", "expected a parameter name"),
        ("first:3", "unknown patterns 'first:3'"),
    ],
)
def test_wrong_names_and_numbers_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        policy(text)


@pytest.mark.parametrize("count", [0, 3, 8])
def test_impossible_numbers_of_survivors_are_refused(count: int) -> None:
    with pytest.raises(InputError, match=r"allowed is 4 \.\. 7"):
        policy(f"all[survivors={count}]").patterns(7, 3)


def test_exhaustive_listing_has_a_limit() -> None:
    assert math.comb(50, 10) > All.LIMIT
    with pytest.raises(InputError, match=r"random\[number=N\] or auto"):
        policy("all").patterns(50, 10)
