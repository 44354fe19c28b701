"""Coded matrix products: where the time goes, and decoders against each other."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.arithmetic.precision import precision
from stabbench.decoders.registry import decoder
from stabbench.problems.registry import data
from stabbench.problems.registry import problem as build

Ratio = Callable[..., float]


def test_a_coded_product_spends_its_time_in_matrix_products(benchmark: Any) -> None:
    """2000 x 2000 by 2000 x 2000 on 20 workers of a 4 x 4 code, four of them straggling.

    The matrix products are those of the workers and those of the generators with the blocks.
    """
    code, single = sb.code("polynomial[kA=4,kB=4]", n=20, stragglers=4), precision("float32")
    task = build("matmul", data("gaussian[rows=2000,columns=2000]"), 1)
    operands = task.operands(single, 0)
    system = code.system("matmul")
    pattern = np.array([[0] * 4 + [1] * 16], dtype=np.int8)
    plan = decoder("solve").plan(code, system, pattern, single, "use")
    stages: list[tuple[float, ...]] = []

    def run() -> None:
        marks = [time.perf_counter()]
        blocks = task.blocks(system, operands)
        marks.append(time.perf_counter())
        shares = task.encode(system, blocks, single)
        marks.append(time.perf_counter())
        replies = task.work(system, shares, single)
        marks.append(time.perf_counter())
        estimate = plan.decode(replies)
        marks.append(time.perf_counter())
        assert estimate.dtype == np.float32
        stages.append(tuple(np.diff(marks)))

    benchmark.pedantic(run, rounds=7, warmup_rounds=2)
    cut, encode, work, decode = np.median(stages, axis=0)
    total = cut + encode + work + decode
    share = (encode + work) / total
    benchmark.extra_info["share of matrix products"] = share
    print(  # noqa: T201
        f"\ncut {cut:.3f} s, encode {encode:.3f} s, work {work:.3f} s, decode {decode:.3f} s: "
        f"{share:.1%} in matrix products, {work / total:.1%} in those of the workers"
    )
    assert share >= 0.8


def test_products_of_workers_run_at_the_speed_of_numpy(ratio: Ratio) -> None:
    code, single = sb.code("polynomial[kA=4,kB=4]", n=20, stragglers=4), precision("float32")
    task = build("matmul", data("gaussian[rows=1000,columns=1000]"), 1)
    operands = task.operands(single, 0)
    system = code.system("matmul")
    shares = task.encode(system, task.blocks(system, operands), single)
    value = ratio(
        lambda: task.work(system, shares, single),
        lambda: [np.matmul(a, b.T) for a, b in zip(*shares, strict=True)],
        "numpy matmul loop time / workers' time (20 products of 250 x 1000 by 1000 x 250)",
    )
    assert value > 0.8


@pytest.mark.parametrize("count", [12])
def test_fft_against_elimination_of_circulant_codes(ratio: Ratio, count: int) -> None:
    code, double = sb.code("circulant", n=count, stragglers=2), precision("float64")
    system = code.system()
    patterns = np.ones((4, count), dtype=np.int8)
    patterns[np.arange(4), np.arange(4)] = 0
    patterns[np.arange(4), np.arange(4) + 5] = 0
    replies = np.random.default_rng(0).standard_normal((len(system.owner), 8, 4))

    def decode(name: str) -> None:
        decoder(name).plan(code, system, patterns, double, "use").decode(replies)

    value = ratio(
        lambda: decode("fft"),
        lambda: decode("solve"),
        "dense solve time / FFT decoding time (circulant, n = 12, 4 patterns)",
    )
    assert value > 1
