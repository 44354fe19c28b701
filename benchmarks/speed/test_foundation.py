"""Encoding, decoding, references and condition numbers, as ratios to plain NumPy in one run."""

from collections.abc import Callable
from typing import Any

import numpy as np

import stabbench as sb
from stabbench.analysis.survivors import policy
from stabbench.arithmetic import exact, multiprecision
from stabbench.arithmetic.precision import precision
from stabbench.decoders.registry import decoder
from stabbench.problems.base import cut
from stabbench.problems.registry import data

Ratio = Callable[..., float]
Array = np.ndarray[Any, np.dtype[Any]]


def generator_of(code: sb.Code, storage: str) -> Array:
    assert isinstance(code, sb.LinearCode)
    return code.generator.rounded(storage)


def test_encoding_runs_at_the_speed_of_a_matrix_product(ratio: Ratio) -> None:
    code, single = sb.code("gaussian", n=30, stragglers=4), precision("float32")
    blocks = single.store(cut(data("gaussian[rows=26000,columns=64]").matrix(0), 26))
    system = code.system()
    generator = generator_of(code, "float32")
    value = ratio(
        lambda: system.encoders[0].apply(blocks, single),
        lambda: generator @ blocks.reshape(26, -1),
        "numpy matmul time / encoding time (float32, 26 blocks of 1000 x 64)",
    )
    assert value > 0.2


def test_batched_decoding_beats_a_loop_over_patterns(ratio: Ratio) -> None:
    code, single = sb.code("gaussian", n=12, stragglers=3), precision("float32")
    patterns = policy("all").patterns(12, 3)
    system = code.system()
    replies = np.random.default_rng(0).standard_normal((12, 16, 1)).astype(np.float32)
    generator = generator_of(code, "float32")
    rows = system.rows(patterns)

    def loop() -> None:
        for chosen in rows:
            np.linalg.solve(generator[chosen], replies[chosen].reshape(9, 16))

    def batched() -> None:
        decoder("solve").plan(code, system, patterns, single, "use").decode(replies)

    value = ratio(batched, loop, "numpy.linalg.solve loop / batched solve (220 patterns of 9 x 9)")
    assert value > 1


def test_least_squares_beats_a_loop_over_patterns(ratio: Ratio) -> None:
    code, single = sb.code("gaussian[k=7]", n=12, stragglers=3), precision("float32")
    patterns = policy("all").patterns(12, 3)
    system = code.system()
    replies = np.random.default_rng(0).standard_normal((12, 16, 1)).astype(np.float32)
    generator = generator_of(code, "float32")
    rows = system.rows(patterns)

    def loop() -> None:
        for chosen in rows:
            np.linalg.lstsq(generator[chosen], replies[chosen].reshape(9, 16), rcond=None)

    def batched() -> None:
        decoder("lstsq").plan(code, system, patterns, single, "use").decode(replies)

    value = ratio(batched, loop, "numpy.linalg.lstsq loop / batched QR (220 patterns of 9 x 7)")
    assert value > 1


def test_exact_reference_against_mpmath(ratio: Ratio) -> None:
    matrix = data("digits").matrix(0)[:200]
    vector = data("digits").vector(0, 64, 1)
    value = ratio(
        lambda: exact.product(matrix, vector),
        lambda: multiprecision.product(matrix, vector),
        "mpmath time / flint time (exact product 200 x 64 times 64 x 1)",
        rounds=3,
    )
    assert value > 5


def test_exact_reference_of_the_digits(ratio: Ratio) -> None:
    matrix, vector = data("digits").matrix(0), data("digits").vector(0, 64, 1)
    ratio(
        lambda: exact.product(matrix, vector),
        lambda: matrix.astype(np.longdouble) @ vector,
        "longdouble product time / exact product time (1797 x 64 times 64 x 1)",
    )


def test_condition_numbers_of_given_patterns(ratio: Ratio) -> None:
    code = sb.code("gaussian", n=20, stragglers=3)
    generator = generator_of(code, "float64")
    rows = code.system().rows(policy("all").patterns(20, 3))

    def loop() -> None:
        for chosen in rows:
            np.linalg.cond(generator[chosen])

    value = ratio(
        lambda: sb.condition_numbers(code, "all"),
        loop,
        "numpy.linalg.cond loop / condition_numbers (1140 patterns of 17 x 17)",
        rounds=3,
    )
    assert value > 0.3


def test_exact_weights_share_one_dual(ratio: Ratio) -> None:
    code, double = sb.code("gaussian", n=30, stragglers=4), precision("float64")
    generator, system = generator_of(code, "float64"), code.system()
    patterns = policy("random:100").patterns(30, 4)
    rows = system.rows(patterns)

    def loop() -> None:
        for chosen in rows:
            exact.inverse(generator[chosen])

    value = ratio(
        lambda: decoder("exact-weights").plan(code, system, patterns, double, "use"),
        loop,
        "loop of exact inverses / exact weights (float64, 100 patterns of 26 x 26)",
        rounds=3,
    )
    assert value > 4
