"""A fixture that times two functions in turn in one run and reports their ratio."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def ratio(benchmark: Any) -> Callable[..., float]:
    """Benchmark ours, time the other in the same run, print and return other / ours."""

    def run(ours: Callable[[], Any], other: Callable[[], Any], name: str, rounds: int = 7) -> float:
        ours()
        other()
        pairs = []
        for _ in range(rounds):
            start = time.perf_counter()
            other()
            middle = time.perf_counter()
            ours()
            pairs.append((middle - start) / (time.perf_counter() - middle))
        benchmark.pedantic(ours, rounds=rounds)
        result = statistics.median(pairs)
        benchmark.extra_info[name] = result
        print(f"\n{name}: {result:.3g}")  # noqa: T201
        return result

    return run
