"""Condition numbers of all straggler patterns, as ratios to a loop of numpy.linalg.cond.

Seconds are those of the processor, so that other processes hardly enter; threads are timed by the
clock on the wall.
"""

import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.conditioning import Budget, survey
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual
from stabbench.codes.base import LinearCode

SAMPLE = 300


def generator(spec: str, n: int, s: int) -> Coefficients:
    """A code as float64 stores it."""
    code = sb.code(spec, n, s)
    assert isinstance(code, LinearCode)
    return Coefficients.from_array(code.generator.rounded("float64"))


def from_the_start(matrix: Coefficients, **options: Any) -> Callable[[], object]:
    """A survey that keeps nothing from the one before it: preparation counts."""

    def run() -> object:
        dual.cache_clear()
        return survey(matrix, **options)

    return run


def seconds_of(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    call()
    return clock() - start


def loop_of_cond(matrix: Coefficients, patterns: int) -> float:
    """Seconds that numpy.linalg.cond, pattern by pattern, would take for all, from a sample."""
    n, k = matrix.shape
    G = matrix.rounded("float64")
    random = np.random.default_rng(0)
    chosen = [np.sort(random.choice(n, k, replace=False)) for _ in range(SAMPLE)]

    def loop() -> None:
        for rows in chosen:
            np.linalg.cond(G[rows])

    loop()
    return min(seconds_of(loop) for _ in range(3)) / SAMPLE * patterns


@pytest.mark.parametrize(
    ("spec", "n", "s", "least"),
    [
        ("gaussian", 50, 5, 500),
        ("chebyshev-basis", 50, 5, 250),
        ("polynomial[nodes=equispaced]", 50, 5, 250),
        ("polynomial[nodes=roots-of-unity]", 50, 5, 250),
        ("gaussian", 30, 4, 150),
        ("polynomial[nodes=roots-of-unity]", 30, 4, 60),
    ],
)
def test_survey_of_all_patterns_beats_a_loop_of_cond(
    benchmark: Any, spec: str, n: int, s: int, least: float
) -> None:
    matrix, patterns = generator(spec, n, s), math.comb(n, s)
    whole = from_the_start(matrix)
    extremes = Budget(exact=0, sample=2)

    def worst_and_mean() -> object:
        return survey(matrix, budget=extremes)

    whole()
    worst_and_mean()
    loop = loop_of_cond(matrix, patterns)
    ratio = loop / min(seconds_of(worst_and_mean) for _ in range(7))
    all_in = loop / min(seconds_of(whole) for _ in range(7))
    benchmark.pedantic(worst_and_mean, rounds=3)
    found = survey(matrix, budget=extremes)
    benchmark.extra_info["numpy.linalg.cond loop / worst, mean and histogram"] = ratio
    benchmark.extra_info["the same with preparation, mean and quantiles of kappa_2"] = all_in
    benchmark.extra_info["ns per pattern"] = found.seconds_per_pattern * 1e9
    print(  # noqa: T201
        f"\n{spec} n={n} s={s}, {patterns} patterns: numpy.linalg.cond loop ({loop:.3g} s) / "
        f"worst, mean and histogram: {ratio:.0f}; with preparation and all statistics: {all_in:.0f}"
    )
    assert found.label == "exhaustive"
    assert ratio > least


def test_a_second_thread_counts(benchmark: Any) -> None:
    matrix = generator("gaussian", 60, 5)

    def one() -> object:
        return survey(matrix)

    def two() -> object:
        return survey(matrix, threads=2)

    one()
    wall = time.perf_counter
    pairs = [(seconds_of(one, wall), seconds_of(two, wall)) for _ in range(5)]
    ratio = min(a for a, _ in pairs) / min(b for _, b in pairs)
    benchmark.pedantic(two, rounds=3)
    benchmark.extra_info["one thread / two threads"] = ratio
    print(f"\nn=60 s=5, 5461512 patterns, one thread / two threads: {ratio:.2f}")  # noqa: T201
    assert ratio > 1.5


@pytest.mark.parametrize("spec", ["gaussian", "chebyshev-basis"])
def test_hundred_workers_four_stragglers(benchmark: Any, spec: str) -> None:
    matrix = generator(spec, 100, 4)
    ours = from_the_start(matrix)
    ours()
    benchmark.pedantic(ours, rounds=3)
    taken = min(seconds_of(ours) for _ in range(3))
    tracemalloc.start()
    survey(matrix)
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    benchmark.extra_info["peak MB"] = megabytes
    print(  # noqa: T201
        f"\n{spec} n=100 s=4: 3921225 patterns in {taken:.2f} s, preparation included; "
        f"peak {megabytes:.0f} MB"
    )
    assert taken < 5
    assert megabytes < 500


def test_integer_nodes_at_any_magnitude(benchmark: Any) -> None:
    matrix = generator("polynomial[nodes=integers]", 40, 4)
    ours = from_the_start(matrix)
    ours()
    benchmark.pedantic(ours, rounds=3)
    taken = min(seconds_of(ours) for _ in range(3))
    found = survey(matrix)
    print(  # noqa: T201
        f"\ninteger nodes n=40 s=4: worst {found.worst:.4g} at {found.worst_stragglers}, "
        f"all 91390 patterns in {taken:.2f} s, preparation included"
    )
    assert taken < 3


def test_search_of_what_cannot_be_visited(benchmark: Any) -> None:
    matrix = generator("gaussian", 40, 4)
    budget = Budget(patterns=0)

    def ours() -> object:
        return survey(matrix, budget=budget)

    ours()
    benchmark.pedantic(ours, rounds=3)
    share = survey(matrix, budget=budget).worst / survey(matrix).worst
    benchmark.extra_info["search / truth"] = share
    print(f"\nsearch, gaussian n=40 s=4: {share:.4f} of the true worst")  # noqa: T201
    assert share > 0.99
