"""Speed of gossip training: one step of a large model, thousands of steps of a small one."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stabbench.training.gossip import Formats, Run, Setting, compressor, method, mixing, simulate
from stabbench.training.gossip.channel import Channel
from stabbench.training.gossip.classifiers import built
from stabbench.training.gossip.select import largest

WORKERS, PARAMETERS = 16, 1_000_000


def best(
    function: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


@pytest.mark.parametrize("graph", ["ring", "hypercube"])
@pytest.mark.parametrize("formats", ["float32", "bfloat16"])
def test_step_of_a_million_parameters(benchmark: Any, graph: str, formats: str) -> None:
    """16 workers, top-k 1%: at most 10 times a NumPy copy of x, e and all replicas."""
    chosen = method("ecsd")
    where = mixing(graph, WORKERS)
    setting = Setting(where, compressor("top-k[ratio=0.01]"), Formats.of(formats), 0.01, 0.005)
    channel = Channel(setting, PARAMETERS, 0)
    state = chosen.state(channel, np.zeros(PARAMETERS))
    gradient = np.random.default_rng(0).standard_normal(state.x.shape).astype(state.x.dtype)
    held = [state.x, state.e, state.replicas]
    copies = [np.empty_like(array) for array in held if array is not None]

    def copy() -> None:
        for array, target in zip(held, copies, strict=True):
            assert array is not None
            np.copyto(target, array)

    def step() -> None:
        assert chosen.step(channel, state, lambda point: gradient)

    step()
    benchmark.pedantic(step, rounds=5, warmup_rounds=1)
    ratio = best(step) / best(copy)
    benchmark.extra_info["copies"] = round(ratio, 2)
    assert ratio <= 10


def test_selection_is_faster_than_a_sort(benchmark: Any) -> None:
    z = np.random.default_rng(0).standard_normal((4, PARAMETERS)).astype(np.float32)
    benchmark.pedantic(lambda: largest(z, PARAMETERS // 100), rounds=5, warmup_rounds=1)
    chosen = best(lambda: largest(z, PARAMETERS // 100), 3)
    assert chosen < best(lambda: np.argsort(-np.abs(z), axis=1), 1) / 5
    assert chosen < best(lambda: np.argpartition(np.abs(z), -PARAMETERS // 100, axis=1), 2)


@pytest.mark.parametrize("formats", ["float64", "bfloat16"])
def test_three_thousand_small_steps(benchmark: Any, formats: str) -> None:
    """Ring 8, d = 200, top-k 10%, all measures: under 3 seconds of one core."""
    local, optimum = built("logistic", 8, 0)
    setting = Setting(mixing("ring", 8), compressor("top-k"), Formats.of(formats), 0.025, 0.0789)

    def train() -> None:
        simulate(method("ecsd"), setting, local, Run(3000), optimum=optimum)

    simulate(method("ecsd"), setting, local, Run(3), optimum=optimum)
    benchmark.pedantic(train, rounds=2)
    assert best(train, 2, time.process_time) < 3
