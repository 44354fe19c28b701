"""Gradient codes: stages of the budget by other means, weights where replies are missing."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.budget import Budget
from stabbench.analysis.gradient import (
    Gradient,
    gradient_budget,
    gradient_stages,
    ideal_weights,
)
from stabbench.analysis.gradient_conditions import exact_conditions
from stabbench.analysis.stages import stage_vectors
from stabbench.analysis.structure import Choice, Trial
from stabbench.arithmetic import exact
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.quotients import Quotient
from stabbench.codes.gradient.base import Held
from stabbench.decoders.registry import decoder
from stabbench.decoders.weights import _minimum_norm, families, rows_of
from stabbench.problems.registry import data, problem

Array = np.ndarray[Any, np.dtype[Any]]
PATTERN = np.array([[0, 1, 1, 1, 0, 1, 1, 1, 1, 1]], dtype=np.int8)


def exchange(spec: str, name: str, columns: int = 30) -> tuple[Choice, Trial]:
    single = precision("float32")
    code: Any = sb.code(spec, n=10, stragglers=2)
    task: Any = problem("gradient", data(f"gaussian[columns={columns}]"), 1, code.partitions)
    system = code.system("gradient")
    operands = task.operands(single, 0)
    blocks = task.blocks(system, operands)
    replies = task.work(system, task.encode(system, blocks, single), single)
    wanted = task.wanted(system, task.exact(operands, "flint"))
    trial = Trial(blocks, (replies,), replies, wanted, {})
    return Choice(code, system, decoder(name), single, "use"), trial


def decoded(choice: Choice, trial: Trial) -> Array:
    plan = choice.decoder.plan(choice.code, choice.system, PATTERN, choice.precision, "use")
    return np.asarray(plan.decode(trial.replies)[0])


def ideal(choice: Choice) -> tuple[Array, Array]:
    code: Any = choice.code
    hi, lo = ideal_weights(choice, code.arrived(PATTERN))
    return hi[0], lo[0]


def blocks_of(matrix: Array) -> Array:
    """The fractions [[Re, -Im], [Im, Re]] of a complex matrix."""
    re, im = (np.vectorize(Fraction, otypes=[object])(x) for x in (matrix.real, matrix.imag))
    return np.block([[re, -im], [im, re]])


def size(matrix: Array) -> float:
    """Frobenius norm of a matrix in block form."""
    return math.sqrt(sum(x * x for x in matrix.ravel()) / 2)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("ye-abbe[m=3]", "weights"),
        ("ye-abbe[variant=roots-of-unity]", "weights"),
        ("cyclic-mds[roots=adjacent]", "closed-form"),
        ("reed-solomon", "weights"),
        ("bernoulli", "lstsq"),
    ],
)
def test_stages_are_those_of_their_definitions(spec: str, name: str) -> None:
    choice, trial = exchange(spec, name)
    estimate, weights = decoded(choice, trial), ideal(choice)
    held = choice.system.reply
    assert isinstance(held, Held)
    phi = blocks_of(held.coefficients.rounded(choice.precision))
    D = blocks_of(weights[0]) + blocks_of(weights[1])
    blocks = trial.blocks[0]
    pieces = np.vectorize(Fraction, otypes=[object])(blocks)
    wanted = blocks_of(np.zeros((blocks.shape[2], blocks.shape[1]))) + 0
    for half in (0, 1):
        m, L = blocks.shape[2], blocks.shape[1]
        wanted[half * m : half * m + m, half * L : half * L + L] = pieces.sum(axis=0).T
    z = blocks_of(blocks.swapaxes(1, 2).reshape(-1, blocks.shape[1]))
    replies = blocks_of(trial.replies[:, :, 0])
    computed = blocks_of(estimate[:, :, 0])
    expected = {
        "approximation": D @ (phi @ z) - wanted,
        "encode": D @ replies - D @ (phi @ z),
        "compute": D @ replies - D @ replies,
        "decode": computed - D @ replies,
    }
    decode, stages = gradient_stages(choice, weights, trial, estimate)
    whole = stages(slice(None))
    vectors = stage_vectors(decode, whole)
    assert vectors.keys() == expected.keys()
    for stage, value in expected.items():
        assert same(vectors[stage], value)
    assert same(whole.estimate - whole.exact, computed - wanted)
    assert same(whole.exact, wanted)
    split = gradient_budget(choice, weights, trial, estimate)
    for stage, value in expected.items():
        assert getattr(split, stage) == pytest.approx(size(value) / size(wanted), rel=1e-12)
    assert split.total == pytest.approx(size(computed - wanted) / size(wanted), rel=1e-12)
    assert split.compute == 0.0


def same(found: Quotient, expected: Array) -> bool:
    """Whether a vector, stacked if it is complex, is that of a matrix in block form."""
    rows = [[Fraction(int(x.p), int(x.q)) for x in row] for row in found.rational().tolist()]
    half = expected[:, : expected.shape[1] // 2]
    return rows == half[: len(rows)].tolist() and not half[len(rows) :].any()


def test_budgets_of_a_sum_that_is_zero_are_absolute() -> None:
    choice, trial = exchange("reed-solomon", "weights")
    trial = dataclasses.replace(trial, blocks=(0 * trial.blocks[0],))
    estimate = decoded(choice, trial)
    split = gradient_budget(choice, ideal(choice), trial, estimate)
    assert split.total == pytest.approx(float(np.linalg.norm(estimate)), rel=1e-6)
    assert split.approximation == 0


def test_replies_that_are_missing_may_be_anything() -> None:
    for spec, name in (("reed-solomon", "weights"), ("cyclic-mds", "closed-form")):
        choice, trial = exchange(spec, name)
        clean = decoded(choice, trial)
        assert np.isfinite(clean).all()
        replies = trial.replies.copy()
        for value in (np.inf, np.nan):
            replies[[0, 4]] = value
            lost = dataclasses.replace(trial, replies=replies)
            np.testing.assert_allclose(decoded(choice, lost), clean, rtol=1e-4, atol=1e-4)
            whole = [Gradient().budget(choice, PATTERN[0], t, clean) for t in (trial, lost)]
            assert isinstance(whole[0], Budget)
            assert whole[0] == whole[1]
            replies[1] = value
            lost = dataclasses.replace(trial, replies=replies.copy())
            assert isinstance(Gradient().budget(choice, PATTERN[0], lost, clean), str)
            replies[1] = trial.replies[1]


PARTS = [
    ("ye-abbe", 6, 2),
    ("kadhe[generator=chebyshev,d=3,m=2]", 6, 1),
    ("kadhe[generator=hamming]", 7, 2),
    ("fractional-repetition", 6, 2),
    ("cyclic-repetition", 6, 2),
    ("cyclic-mds", 6, 2),
    ("reed-solomon", 6, 2),
]


@pytest.mark.parametrize("name", ["weights", "exact-weights"])
@pytest.mark.parametrize(("spec", "n", "s"), PARTS)
def test_weights_exist_exactly_where_the_parts_have_full_rank(
    spec: str, n: int, s: int, name: str
) -> None:
    code: Any = sb.code(spec, n=n, stragglers=s)
    patterns = np.array(list(np.ndindex(*[2] * n)), dtype=np.int8)
    form = precision("float64")
    plan: Any = decoder(name).plan(code, code.system("gradient"), patterns, form, "use")
    weights = plan.weights
    arrived = code.arrived(patterns)
    full = np.array(
        [
            all(
                np.linalg.matrix_rank(part.matrix.rounded("float64")[row[part.rows]], tol=1e-9)
                == part.matrix.shape[1]
                for part in code.parts
            )
            for row in arrived
        ]
    )
    finite = np.isfinite(weights).all(axis=(1, 2))
    assert np.array_equal(np.isnan(weights).any(axis=(1, 2)), ~full)
    assert finite[patterns.sum(axis=1) >= n - s].mean() > 0.7
    assert not finite[0]
    phi = code.encoding.rounded("float64")
    aim = np.tile(np.eye(code.reduction), code.partitions)
    for row, values in zip(arrived[finite], weights[finite], strict=True):
        assert not values[:, ~row].any()
        assert np.abs(values @ phi - aim).max() < 1e-8
    replies = np.ones((arrived.shape[1], 2, 1))
    assert np.array_equal(np.isnan(plan.decode(replies)).any(axis=(1, 2, 3)), ~finite)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("seed", range(4))
def test_singular_values_of_rounding_errors_count_as_none(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(-4, 5, (9, 3)) @ rng.integers(-4, 5, (3, 6)).astype(dtype)
    right = rng.standard_normal((9, 2)).astype(dtype)
    found = _minimum_norm(low.astype(dtype), right)
    assert found.dtype == dtype
    best = np.linalg.pinv(low, rcond=1e-5) @ right
    assert np.abs(found - best).max() <= 1e3 * np.finfo(dtype).eps * np.abs(best).max()
    # a small one that is above them counts
    eps = np.finfo(dtype).eps
    graded = np.diag([1, 100 * eps]).astype(dtype)
    assert _minimum_norm(graded, graded)[1, 1] == pytest.approx(1, rel=1e-3)


def test_matrices_that_overflow_have_no_least_squares() -> None:
    for value in (np.inf, np.nan):
        matrix = np.array([[1.0, 2], [value, 1], [0, 1]])
        assert np.isnan(_minimum_norm(matrix, np.ones((3, 1)))).all()
    assert _minimum_norm(np.zeros((3, 0)), np.ones((3, 1))).shape == (0, 1)


def test_parts_of_one_matrix_and_one_target_go_together() -> None:
    code: Any = sb.code("fractional-repetition", n=6, stragglers=2)
    one = code.parts[0]
    ye_abbe: Any = sb.code("ye-abbe", n=6, stragglers=2)
    other = dataclasses.replace(one, target=ye_abbe.parts[0].target)
    assert families((one, one, other)) == [[one, one], [other]]


def test_rows_of_patterns_are_padded_behind() -> None:
    arrived = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    assert rows_of(arrived).tolist() == [[0, 2, -1], [-1, -1, -1], [0, 1, 2]]


def test_near_singular_systems_of_stragglers_are_inverted_exactly() -> None:
    code: Any = sb.code("cyclic-mds", n=60, stragglers=10)
    arrived = np.ones((1, 60), dtype=bool)
    arrived[0, :10] = False
    found = exact_conditions(code, arrived)
    matrix = code.parts[0].lost.rounded("float64")[:10]
    sigma = np.linalg.svd(matrix, compute_uv=False)
    assert sigma[-1] < 1e-7 * sigma[0]
    inverse = exact.inverse(matrix)
    assert found.kappa_2[0] == pytest.approx(sigma[0] * np.linalg.norm(inverse, 2), rel=1e-10)
    fewer = arrived.copy()
    fewer[0, 10] = False
    assert np.isinf(exact_conditions(code, fewer).kappa_2[0])
