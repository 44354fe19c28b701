"""The stages of an error add up to it exactly, in rationals, for every code and precision."""

import dataclasses
import math
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis.budget import STAGES, Budget
from stabbench.analysis.linear import linear_budget, linear_stages
from stabbench.analysis.stages import stage_vectors
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.arithmetic.quotients import LeftInverse, acting
from stabbench.codes.base import LinearCode
from stabbench.decoders.registry import decoder
from tests.support import Array

CODES = ("polynomial[nodes=chebyshev]", "polynomial[nodes=roots-of-unity]", "rotation", "gaussian")


def exchange(
    text: str, name: str, decoder_name: str, arrived: int, seed: int
) -> tuple[tuple[Array, ...], Array]:
    """The arguments of `budget` for a random exchange of `arrived` of 6 workers, s = 3."""
    chosen = precision(name)
    c = sb.code(text, n=6, stragglers=3)
    assert isinstance(c, LinearCode)
    rng = np.random.default_rng(seed)
    system = c.system()
    blocks = chosen.store(rng.standard_normal((c.shape[1], 2, 4)))
    operand = chosen.store(rng.standard_normal((4, 2)))
    shares = system.encoders[0].apply(blocks, chosen)
    replies = chosen.store(
        (shares.reshape(-1, 4).astype(chosen.work_dtype(c.is_complex)) @ operand).reshape(
            len(shares), 2, 2
        )
    )
    pattern = np.zeros((1, 6), dtype=int)
    pattern[0, rng.permutation(6)[:arrived]] = 1
    plan = decoder(decoder_name).plan(c, system, pattern, chosen, "use")
    rows = plan.rows[0]
    received = c.generator.rounded(chosen)[rows]
    estimate = plan.decode(replies)[0]
    return (received, shares[rows], operand, replies[rows], blocks, estimate), estimate


def stacked(values: Array, is_complex: bool) -> Any:
    """A float array as a rational matrix, real part above imaginary part."""
    flat = values.reshape(len(values), -1)
    parts = [flat.real, flat.imag] if is_complex else [flat.real]
    entries = [flint.fmpq(*map(int, x.as_integer_ratio())) for p in parts for x in p.ravel()]
    return flint.fmpq_mat(len(values) * len(parts), flat.shape[1], entries)


def sandwich(*matrices: Array) -> Any:
    """Product of real float arrays as rational matrices."""
    result = stacked(matrices[0], False)
    for matrix in matrices[1:]:
        result = result * stacked(matrix, False)
    return result


def budget(*arguments: Array) -> Budget:
    received, shares, operand, replies, blocks, estimate = arguments
    found = linear_budget(received, shares, operand, replies, blocks, estimate)
    assert isinstance(found, Budget)
    return found


def stage_errors(received: Array, *arrays: Array) -> tuple[dict[str, Any], Any]:
    """The vectors of the stages and the exact result, in rationals."""
    is_complex = any(map(np.iscomplexobj, (received, *arrays)))
    stages = linear_stages(arrays, slice(None), is_complex)
    vectors = stage_vectors(LeftInverse(acting(received, is_complex), is_complex), stages)
    return {name: v.rational() for name, v in vectors.items()}, stages.exact.rational()


@settings(max_examples=60)
@given(
    text=st.sampled_from(CODES),
    name=st.sampled_from(["float64", "float32", "bfloat16", "float16", "float32/float64"]),
    decoder_name=st.sampled_from(["solve", "inverse", "lstsq", "exact-weights"]),
    arrived=st.integers(3, 6),
    seed=st.integers(0, 10_000),
)
def test_stages_add_up_to_the_error_without_remainder(
    text: str, name: str, decoder_name: str, arrived: int, seed: int
) -> None:
    arguments, estimate = exchange(text, name, decoder_name, arrived, seed)
    is_complex = np.iscomplexobj(estimate)
    stages, exact = stage_errors(*arguments)
    total = stages["encode"] + stages["compute"] + stages["decode"]
    assert total == stacked(estimate, is_complex) - exact
    split = budget(*arguments)
    assert split.total <= sum(getattr(split, stage) for stage in STAGES) * (1 + 1e-12)
    assert split.dominant in STAGES
    assert getattr(split, split.dominant) >= split.total / 3 * (1 - 1e-12)


def test_stages_are_those_of_their_definitions() -> None:
    """With real square systems each stage is written out here in rationals."""
    arguments, estimate = exchange("gaussian", "bfloat16", "solve", 3, 5)
    received, shares, operand, replies, blocks, _ = arguments
    stages, exact = stage_errors(*arguments)

    def decoded(block_row: Any) -> Any:
        return stacked(received, False).solve(block_row)

    def rows_times_operand(stack: Array) -> Any:
        products = [sandwich(part, operand).entries() for part in stack]
        return flint.fmpq_mat(len(stack), len(products[0]), [x for row in products for x in row])

    wanted = rows_times_operand(blocks)
    through_shares = decoded(rows_times_operand(shares))
    through_replies = decoded(stacked(replies, False))
    assert exact == wanted
    assert stages["encode"] == through_shares - wanted
    assert stages["compute"] == through_replies - through_shares
    assert stages["decode"] == stacked(estimate, False) - through_replies
    assert all(any(x != 0 for x in stages[stage].entries()) for stage in STAGES)


def test_a_stage_without_rounding_has_no_error() -> None:
    """Small integers pass every stage exactly; each stage is then disturbed in turn."""
    received = np.array([[1.0, 0], [1, 1]])
    blocks = np.array([[[1.0, 2]], [[3, 4]]])
    operand = np.array([[1.0], [2]])
    shares = np.einsum("rk,klc->rlc", received, blocks)
    replies = shares @ operand
    estimate = blocks @ operand
    clean = (received, shares, operand, replies, blocks, estimate)
    assert budget(*clean) == Budget(0.0, 0.0, 0.0, 0.0)
    size = float(np.linalg.norm(estimate))
    off = budget(received, shares, operand, replies, blocks, estimate + np.array([[[0.5]], [[0]]]))
    assert off == Budget(0.0, 0.0, 0.5 / size, 0.5 / size)
    wrong = replies.copy()
    wrong[1] += 0.25
    off = budget(received, shares, operand, wrong, blocks, estimate)
    assert off.compute == pytest.approx(0.25 / size)
    assert off.decode == pytest.approx(0.25 / size)
    assert off.total == 0.0
    assert off.encode == 0.0


def test_rows_without_full_rank_have_no_budget() -> None:
    one = np.ones((2, 1, 1))
    with pytest.raises(ZeroDivisionError):
        budget(np.ones((2, 2)), one, one[0], one, one, one)


def test_an_exact_result_of_zero_gives_absolute_errors() -> None:
    zero, one = np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    assert budget(one[0], zero, one[0], zero, zero, one * 0.5).total == 0.5


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float16", "float32/float64"])
@pytest.mark.parametrize("text", CODES)
def test_records_carry_the_budget_of_their_worst_pattern(text: str, name: str) -> None:
    """Data with few rows, so that the budget covers all of them and its total is the error."""
    record = sb.evaluate(
        sb.code(text, n=8, stragglers=2), precision=name, data="gaussian[rows=30,columns=5]"
    )
    split = record.budget
    assert set(split) == {field.name for field in dataclasses.fields(Budget)}
    assert split["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)
    assert split["total"] <= sum(split[stage] for stage in STAGES)
    if name == "float32/float64":
        assert split["decode"] < split["compute"]


@pytest.mark.skipif("longdouble" not in ALLOWED, reason="longdouble is float64 here")
@pytest.mark.parametrize("text", CODES)
def test_stages_in_longdouble_are_those_of_its_own_generator(text: str) -> None:
    """A generator rounded to float64 on the way would show as larger errors that cancel."""
    code = sb.code(text, n=8, stragglers=2)
    data = "gaussian[rows=30,columns=5]"
    record = sb.evaluate(code, precision="longdouble", decoder="exact-weights", data=data)
    limit = precision("longdouble").unit * record.amplification.worst
    assert all(record.budget[stage] < limit for stage in (*STAGES, "total"))


def test_many_unknowns_have_a_budget_while_the_work_allows_it() -> None:
    record = sb.evaluate(
        sb.code("dct", n=132, stragglers=2), data="gaussian[rows=130,columns=26]", patterns="first"
    )
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)
    count = 513
    ones = np.ones((count, 1, 1))
    found = linear_budget(np.eye(count), ones, ones[0], ones, ones, ones)
    assert found == "513 real unknowns; exact arithmetic takes up to 512"
    dense = np.random.default_rng(0).standard_normal((300, 300))
    ones, many = ones[:300], np.ones((300, 500, 1))
    found = linear_budget(dense, many, ones[0], many, many, many)
    assert isinstance(found, str)
    assert found.startswith("300 unknowns take ")
    assert found.endswith("products of words; exact arithmetic takes up to 1e+08")


def test_overflow_has_no_budget() -> None:
    huge = sb.evaluate(
        sb.code("polynomial[nodes=integers]", n=8, stragglers=1),
        precision="float16",
        data="gaussian[rows=20,columns=4]",
    )
    assert huge.status == "overflow"
    assert "budget" not in huge.measures
    assert math.isinf(huge.relative_error.worst)
