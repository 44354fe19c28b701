"""Ties go to the first set in order; runs repeat bit for bit; every number has its own label."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis import numbers
from stabbench.analysis.conditioning import Budget, Estimate, survey
from stabbench.analysis.conditioning.estimates import Sample
from stabbench.analysis.conditioning.survey import bad_sets
from stabbench.analysis.conditions import conditions
from stabbench.analysis.metrics import Statistic
from stabbench.analysis.survivors import All
from stabbench.analysis.ties import TIE, first_greatest, first_set, in_falling_order, tied
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import LinearCode
from tests.support import CODES_UNDER_TEST, Array, label, run

CODES = [code for code in CODES_UNDER_TEST if code.stragglers > 0]
FEW = Budget(exact=0, sample=4)


@given(
    values=st.lists(st.sampled_from([1.0, 2.0, 3.0, math.inf]), min_size=1, max_size=9),
    seed=st.integers(0, 99),
)
def test_rounding_does_not_choose_among_equal_numbers(values: list[float], seed: int) -> None:
    exact = np.array(values)
    noise = 1 + 1e-12 * np.random.default_rng(seed).uniform(-1, 1, len(exact))
    assert first_greatest(exact * noise) == values.index(max(values))
    assert (tied(exact * noise) == np.flatnonzero(exact == exact.max())).all()
    order = np.argsort(-exact, kind="stable")
    assert (in_falling_order(np.log10(exact * noise)) == order).all()


def test_of_measured_errors_the_greatest_is_the_greatest() -> None:
    patterns = All().patterns(3, 1)
    values = np.array([1.0, 1.0 + 1e-12, 1.0 + 1e-12])
    assert Statistic.of(values, patterns).worst_survivors == (0, 2)
    equal = Statistic.of(values, patterns, TIE)
    assert equal.worst_survivors == (0, 1)
    assert equal.worst == values.max() >= equal.q99
    big = Statistic.of(np.full(3, 1e308), patterns, TIE)
    assert big.mean == pytest.approx(1e308)


def owner_of(code: LinearCode) -> Array:
    return code.system("matvec").owner


@pytest.mark.parametrize("code", CODES, ids=label)
def test_lists_surveys_and_searches_name_the_same_set(
    code: LinearCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = sb.condition_numbers(code)
    first = listed.patterns[first_greatest(listed.values)]
    assert listed.worst_survivors == tuple(np.flatnonzero(first))
    generator = Coefficients.from_array(code.generator.rounded("float64"))
    lost = listed.worst_stragglers
    for budget, symmetry in itertools.product((Budget(), FEW), {None, code.symmetry}):
        found = survey(
            generator, code.stragglers, owner=owner_of(code), symmetry=symmetry, budget=budget
        )
        assert found.undecodable == listed.undecodable
        assert (found.undecodable_stragglers or (found.worst_stragglers,))[0] == lost
    sets, exhaustive = bad_sets(generator, owner_of(code), code.stragglers, 5)
    assert exhaustive
    assert tuple(sets[0].tolist()) == lost
    monkeypatch.setattr(numbers, "LISTED", 0)
    assert sb.condition_numbers(code).worst_stragglers == lost


def roots(n: int, k: int) -> Array:
    return np.asarray(np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(k)) / n))


@pytest.mark.parametrize(
    ("matrix", "s", "symmetries"),
    [
        (roots(11, 7), 4, ("cyclic", "dihedral", "reflection")),
        (roots(12, 8), 3, ("cyclic", "dihedral")),
        (np.tile(np.eye(4), (3, 1)), 5, ("cyclic", "dihedral", "reflection")),
        (np.tile(np.eye(3), (4, 1)), 3, ("cyclic",)),
    ],
    ids=["roots-11", "roots-12", "copies-4", "copies-3"],
)
def test_orbits_name_the_same_set_as_a_list(
    matrix: Array, s: int, symmetries: tuple[Any, ...]
) -> None:
    generator = Coefficients.from_array(matrix)
    patterns = All().patterns(len(matrix), s)
    alive = np.nonzero(patterns)[1].reshape(len(patterns), -1)
    kappa = conditions(generator, alive).kappa_2
    lost = tuple(np.flatnonzero(patterns[first_greatest(kappa)] == 0))
    assert np.isinf(kappa).sum() > 32 or np.isfinite(kappa).all()
    for budget in (Budget(), FEW):
        for symmetry in (None, *symmetries):
            found = survey(generator, s, symmetry=symmetry, budget=budget)
            assert found.undecodable == np.isinf(kappa).sum()
            assert (found.undecodable_stragglers or (found.worst_stragglers,))[0] == lost


def test_more_ties_than_are_kept_go_to_the_first() -> None:
    """Two copies of each of eight blocks: all sets that lose no pair of copies are equal."""
    G = np.vstack([np.eye(8), np.eye(8)])
    found = survey(Coefficients.from_array(G), 4, threads=2, budget=FEW)
    alive = (set(range(16)) - set(lost) for lost in itertools.combinations(range(16), 4))
    sigma = [(tuple(sorted(s)), np.linalg.svd(G[sorted(s)], compute_uv=False)) for s in alive]
    good = [(s, round(v[0] / v[-1], 9)) for s, v in sigma if v[-1] > 0.5]
    worst = max(kappa for _, kappa in good)
    tied_sets = [s for s, kappa in good if kappa == worst]
    assert len(tied_sets) > 1024
    assert found.worst == pytest.approx(worst)
    assert set(found.worst_stragglers) == set(range(16)) - set(min(tied_sets))


def test_first_set_is_that_of_the_list_of_all() -> None:
    patterns = All().patterns(6, 2)
    stragglers = np.nonzero(patterns == 0)[1].reshape(-1, 2)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(patterns))[:7]
        assert order[first_set(stragglers[order])] == order.min()


@pytest.mark.parametrize("decoder", ["zigzag", "lstsq"])
@pytest.mark.parametrize("design", ["systematic", "vandermonde"])
def test_nothing_is_drawn_without_a_seed(
    design: str, decoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded = np.random.default_rng

    def draws(seed: Any = None) -> Any:
        assert seed is not None, "a generator without a seed"
        return seeded(seed)

    monkeypatch.setattr(np.random, "default_rng", draws)
    code = sb.code(f"shift-add[design={design}]", 6, 3)
    data = "gaussian[rows=12,columns=2]"
    record = sb.evaluate(code, precision="float64", decoder=decoder, data=data, patterns="all")
    assert record.status == "ok"
    again = sb.evaluate(code, precision="float64", decoder=decoder, data=data, patterns="all")
    for name in ("condition_number", "condition_number_F", "operator_norm_2", "amplification"):
        assert record.measures[name] == again.measures[name]


SAMPLED = ["gaussian", "dct", "cauchy", "polynomial[nodes=equispaced]", "chebyshev-basis", "haar"]


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_numbers_say_so_and_hold_the_exact_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = sb.code(name, 13, 4)
    exact = sb.condition_numbers(code)
    assert {x.label for x in (exact.mean, exact.median)} == {exact.label} == {"exhaustive"}
    assert exact.mean.low == exact.mean.high == float(exact.mean)
    monkeypatch.setattr(numbers, "LISTED", 10)
    whole = sb.condition_numbers(code)
    assert whole.mean.label == whole.label == ("symmetric" if code.symmetry else "exhaustive")
    assert whole.mean == pytest.approx(exact.mean, rel=1e-9)
    monkeypatch.setattr(numbers, "EXACT", 10)
    found = sb.condition_numbers(code)
    assert found.label == whole.label
    assert found.worst == pytest.approx(exact.worst, rel=1e-9)
    assert found.worst_survivors == exact.worst_survivors
    for p, quantile in [*found.quantiles.items(), (None, found.mean)]:
        truth = exact.mean if p is None else exact.quantiles[p]
        assert quantile.label.startswith("sampled (")
        assert not quantile.exact
        assert quantile.low < quantile.high
        # sampled values are right to 1e-7
        assert quantile.low * (1 - 1e-7) <= truth <= quantile.high * (1 + 1e-7)


def test_means_of_some_patterns_are_no_means_of_all() -> None:
    code = sb.code("gaussian", 12, 4)
    every = sb.condition_numbers(code)
    drawn = sb.condition_numbers(code, "random:60")
    assert drawn.label == "search (lower bound)"
    assert drawn.mean.label == drawn.median.label == "sampled (60 patterns)"
    assert drawn.mean.low < drawn.mean < drawn.mean.high
    assert drawn.median.low <= every.median <= drawn.median.high
    chosen = sb.condition_numbers(code, "contiguous")
    assert chosen.mean.label == f"these {len(chosen.patterns)} patterns"
    own = sb.condition_numbers(code, every.patterns[:3])
    assert own.mean.label == own.label == "given"
    assert own.mean == pytest.approx(every.values[:3].mean())


def test_one_random_pattern_says_nothing_of_the_mean() -> None:
    one = sb.condition_numbers(sb.code("gaussian", 12, 4), "random:1")
    assert one.mean.low == 1.0
    assert one.mean.high == math.inf


@given(st.lists(st.floats(0, 300), min_size=1, max_size=8), st.integers(0, 300))
def test_means_beyond_float64_have_the_right_logarithm(logs: list[float], up: int) -> None:
    log10 = np.array(logs) + up
    with np.errstate(over="ignore"):
        sample = Sample(10.0**log10, log10, np.ones(len(log10)))
    value, found = sample.mean()
    truth = log10.max() + math.log10(np.mean(10.0 ** (log10 - log10.max())))
    assert found == pytest.approx(truth, abs=1e-9)
    assert math.isinf(value) == (truth > 308.2547155599167)
    assert sample.quantile(1.0)[1] == log10.max()


def test_estimates_are_numbers() -> None:
    estimate = Estimate(2.0, 1.0, 4.0, "sampled (9 patterns)")
    assert estimate + 1 == 3
    assert (estimate.low, estimate.high, estimate.value) == (1.0, 4.0, 2.0)
    assert estimate.log10 == math.log10(2)


def test_the_verb_prints_the_label_of_each_number() -> None:
    out = run("worst", "gaussian", "-n", "18", "-S", "5").out
    labels = {"worst kappa_2": "exhaustive", "best kappa_2": "lowest of", "mean kappa_2": "sampled"}
    labels |= {"quantile 0.5": "sampled", "mean kappa_F": "exhaustive", "worst a(F)": "exhaustive"}
    for start, word in labels.items():
        (line,) = (line for line in out.splitlines() if line.startswith(start))
        assert word in line
        assert ("95%: " in line) == (word == "sampled")


def test_adversarial_patterns_begin_with_a_set_that_does_not_decode() -> None:
    """One of 1820 sets fails: worker 0 to 3 hold the first block, and nobody else does."""
    random = np.random.default_rng(2)
    G = random.standard_normal((16, 6))
    G[4:, 0] = 0
    sets, exhaustive = bad_sets(Coefficients.from_array(G), np.arange(16), 4, 3)
    assert exhaustive
    assert sets[0].tolist() == [0, 1, 2, 3]


def test_a_worst_of_all_replies_is_none_of_the_first_ones() -> None:
    code = sb.code("gaussian[k=6]", 9, 2)
    data = "gaussian[rows=12,columns=2]"
    labels = {
        spare: sb.evaluate(
            code, precision="float64", data=data, patterns="adversarial:5", spare=spare
        ).condition_label
        for spare in ("use", "drop")
    }
    assert labels == {"use": "exhaustive", "drop": "search (lower bound)"}
