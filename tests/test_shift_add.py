"""Shift-and-add codes through the suite: records, decoders, edges, growth, theory."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import stabbench as sb
from stabbench.analysis.budget import Budget
from stabbench.analysis.checks import check
from stabbench.analysis.growth import exponential_sets
from stabbench.analysis.samples_operator import SamplesOperator
from stabbench.analysis.shift_add import Shifts
from stabbench.analysis.structure import Choice, Trial
from stabbench.arithmetic.banded import triangularize
from stabbench.arithmetic.peeling import Resolution, resolution
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.shift_tables import ABSENT, DESIGNS, longest_shifts, shift_table
from stabbench.arithmetic.zigzag import plan
from stabbench.codes.shift_add import ShiftAdd
from stabbench.codes.toeplitz import ShiftMap, Toeplitz, ToeplitzProduct
from stabbench.decoders.registry import decoder
from stabbench.errors import InputError
from stabbench.problems.registry import data, problem
from stabbench.report.plots.base import render
from stabbench.report.plots.shift_add import shift_add
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options

Array = np.ndarray[Any, np.dtype[Any]]
NAMED = [design for design in DESIGNS if design != "custom"]
DECODERS = ("zigzag", "zigzag[order=forward]", "lstsq")
ZIGZAGS = DECODERS[:2]
FLOATS = ("float64", "float32", "bfloat16", "float16", "float32/float64")


def gaussian(k: int, length: int, columns: int = 64) -> str:
    return f"gaussian[rows={k * length},columns={columns}]"


def measured(text: str, n: int, s: int, **others: Any) -> Record:
    settings = {"decoder": "zigzag", "precision": "float32", **others}
    return sb.evaluate(text, n=n, stragglers=s, **settings)


def exchange(text: str, n: int, s: int, task: str, source: str) -> tuple[Choice, Trial, Array]:
    """A choice, one trial on integers in float64, and every pattern of n - s survivors."""
    chosen, built = precision("float64"), sb.code(text, n=n, stragglers=s)
    work = problem(task, data(source), 2)
    operands = tuple(np.round(4 * part) for part in work.operands(chosen, 0))
    system = built.system(work.name)
    blocks = work.blocks(system, operands)
    shares = work.encode(system, blocks, chosen)
    exact = work.wanted(system, work.exact(operands, "flint"))
    trial = Trial(blocks, shares, work.work(system, shares, chosen), exact, {})
    sets = itertools.combinations(range(n), n - s)
    patterns = np.array([[int(i in alive) for i in range(n)] for alive in sets])
    return Choice(built, system, decoder("zigzag"), chosen, "use", work), trial, patterns


@pytest.mark.parametrize("task", ["matvec", "matmul"])
@pytest.mark.parametrize("chunk", [1, 3])
@pytest.mark.parametrize("design", NAMED)
def test_every_pattern_returns_integers_as_they_were(design: str, chunk: int, task: str) -> None:
    source = "gaussian[rows=38,columns=7]" if task == "matvec" else "gaussian[rows=14,columns=9]"
    text = f"sa[design={design},chunk={chunk}]"
    choice, trial, patterns = exchange(text, 6, 2, task, source)
    for name in DECODERS:
        plan = decoder(name).plan(choice.code, choice.system, patterns, choice.precision, "use")
        found = plan.decode(trial.replies)
        assert found.dtype == np.float64
        gap = np.abs(found - trial.exact.hi).max()
        assert gap < 1e-9 if name == "lstsq" else gap == 0
    assert np.array_equal(
        choice.system.reply.apply(trial.exact.hi, choice.precision), trial.replies
    )


@pytest.mark.parametrize("order", ["forward", "both-ends"])
@pytest.mark.parametrize("lengths", [(7,), (5, 7)])
@pytest.mark.parametrize("chunk", [2, 3, 4, 11])
@pytest.mark.parametrize("design", NAMED)
def test_chunks_that_do_not_divide_blocks_stay_exact(
    design: str, chunk: int, lengths: tuple[int, ...], order: str
) -> None:
    """Integers far beyond 64 bits, as of an error budget, return as they were and as integers."""
    tasks = "matvec" if len(lengths) == 1 else "matmul"
    built = sb.code(f"sa[design={design},chunk={chunk}]", n=5, stragglers=2)
    reply = built.system(tasks).reply
    assert isinstance(reply, ShiftMap)
    line = reply.line(lengths)
    count, (height, width) = line.table.shape[1], (*lengths, 1)[:2]
    whole = [(-7) ** (30 + i) for i in range(count * height * width)]
    blocks = np.array(whole, dtype=object).reshape(count, height, width)
    replies = placed(reply, blocks)
    sets = itertools.combinations(range(5), 3)
    peeling = plan(line.table, sets, line.length, order, line.grid)
    samples = line.samples(replies)
    found = line.blocks(peeling.decode(samples))
    assert {type(x) for x in (*samples.flat, *found.flat)} == {int}
    assert np.array_equal(found, np.broadcast_to(blocks, (10, *blocks.shape)))


def placed(reply: ShiftMap, blocks: Array) -> Array:
    """Replies by the definition of a reply map: every entry is added in its place."""
    if isinstance(reply, ToeplitzProduct):
        down, along = reply.left.table, reply.right.table
    else:
        assert isinstance(reply, Toeplitz)
        down, along = reply.table, np.zeros((len(reply.table), 1), np.int32)
    offsets = reply.chunk * down, reply.chunk * along
    rows, columns = (size + int(t.max()) for size, t in zip(blocks.shape[1:], offsets, strict=True))
    replies = np.zeros((len(down), rows, columns), dtype=object)
    for i, (number, row, column) in itertools.product(range(len(down)), np.ndindex(*blocks.shape)):
        a, b = divmod(number, along.shape[1])
        if down[i, a] != ABSENT and along[i, b] != ABSENT:
            place = i, row + offsets[0][i, a], column + offsets[1][i, b]
            replies[place] += blocks[number, row, column]
    return replies


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("task", ["matvec", "matmul"])
@pytest.mark.parametrize("design", NAMED)
def test_chunks_that_do_not_divide_blocks_have_a_budget(design: str, task: str, name: str) -> None:
    for rows, chunk in ((15, 2), (13, 4)):
        record = measured(
            f"sa[design={design},chunk={chunk}]",
            *(5, 2),
            precision=name,
            problem=task,
            trials=2,
            data=f"gaussian[rows={rows},columns=5]",
        )
        assert record.status == "ok"
        assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)


@pytest.mark.parametrize(("k_a", "k_b", "n"), [(2, 2, 6), (3, 2, 8)])
def test_products_decode_from_every_subset(k_a: int, k_b: int, n: int) -> None:
    text = f"sa[design=vandermonde,kA={k_a},kB={k_b}]"
    choice, trial, patterns = exchange(
        text, n, n - k_a * k_b, "matmul", "gaussian[rows=9,columns=8]"
    )
    for name in ZIGZAGS:
        plan = decoder(name).plan(choice.code, choice.system, patterns, choice.precision, "use")
        assert np.all(plan.decode(trial.replies) == trial.exact.hi)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    ("text", "n", "s", "rows", "columns", "vectors"),
    [
        ("sa[design=vandermonde]", 6, 2, 8, 5, 3),  # blocks shorter than the longest shift
        ("sa[design=vandermonde]", 6, 2, 4, 5, 1),  # blocks of one row
        ("sa", 6, 2, 40, 1, 1),  # one column
        ("sa", 6, 2, 1, 6, 2),  # a matrix of one row
        ("sa[chunk=7]", 6, 2, 40, 5, 2),  # chunks that do not divide the block
        ("sa[chunk=99]", 6, 2, 40, 5, 2),  # one chunk per block
        ("sa", 5, 0, 40, 5, 1),  # no stragglers: all data blocks arrived
        ("sa[design=vandermonde]", 5, 0, 40, 5, 1),
        ("sa", 8, 4, 40, 5, 1),  # all parities
        ("sa[k=3]", 7, 2, 40, 5, 1),  # more replies than needed
        ("sa[k=1]", 4, 3, 12, 5, 1),
        ("sa", 1, 0, 12, 5, 1),
    ],
)
def test_edges(name: str, text: str, n: int, s: int, rows: int, columns: int, vectors: int) -> None:
    source = f"gaussian[rows={rows},columns={columns}]"
    record = measured(text, n, s, decoder=name, precision="float64", data=source, vectors=vectors)
    assert record.status == "ok", record.reason
    assert record.undecodable == 0
    assert record.relative_error.worst < 1e-12


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("method", DECODERS)
def test_every_precision_rounds_as_it_says(name: str, method: str) -> None:
    record = measured("sa", 8, 3, decoder=method, precision=name, data=gaussian(5, 24, 16))
    unit = precision(name).unit
    assert record.status == "ok"
    assert unit / 20 < record.relative_error.median < 30 * unit
    assert record.test_ratio.worst < 3


@pytest.mark.parametrize("order", ["both-ends", "forward"])
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_stored_buffer_rounds_between_steps(name: str, order: str) -> None:
    source = gaussian(5, 64, 16)
    both = [
        measured(
            "sa", 8, 3, decoder=f"zigzag[order={order},buffer={kind}]", precision=name, data=source
        )
        for kind in ("working", "stored")
    ]
    assert both[0].amplification.worst == both[1].amplification.worst
    assert both[1].budget["decode"] > 100 * both[0].budget["decode"]
    # the shares and replies were rounded to the same format, so little is added to the whole
    assert 0.5 < both[1].relative_error.median / both[0].relative_error.median < 3
    assert both[1].test_ratio.worst < 3
    chosen, built = precision(name), sb.code("sa", n=8, stragglers=3)
    patterns = np.array([[0, 0, 0, 1, 1, 1, 1, 1]])
    system = built.system()
    blocks = chosen.store(np.random.default_rng(1).standard_normal((5, 64, 3)))
    replies = system.reply.apply(blocks, chosen)
    stored, working = (
        decoder(f"zigzag[order={order},buffer={kind}]")
        .plan(built, system, patterns, chosen, "use")
        .decode(replies)
        for kind in ("stored", "working")
    )
    assert stored.dtype == np.float32
    assert np.array_equal(chosen.store(stored), stored)
    assert not np.array_equal(chosen.store(working), working)


def test_a_stored_buffer_is_nothing_new_in_full_precision() -> None:
    records = [
        measured("sa", 8, 3, decoder=f"zigzag[buffer={kind}]", data=gaussian(5, 64, 16))
        for kind in ("working", "stored")
    ]
    assert records[0].relative_error.worst == records[1].relative_error.worst
    mixed = measured("sa", 8, 3, decoder="zigzag[buffer=stored]", precision="bfloat16/float64")
    assert mixed.status == "skipped"
    assert mixed.reason == "a buffer that stores bfloat16 needs decoding in float32"


def test_longdouble_runs_a_zigzag_and_no_lapack() -> None:
    record = measured("sa", 6, 2, precision="longdouble", data=gaussian(4, 8, 4), trials=2)
    assert record.status == "ok"
    assert record.relative_error.worst < 1e-17
    refused = measured("sa", 6, 2, decoder="lstsq", precision="longdouble", data=gaussian(4, 8, 4))
    assert (refused.status, "longdouble" in refused.reason) == ("skipped", True)


@pytest.mark.parametrize(
    ("text", "n", "length", "median", "worst"),
    [
        ("sa[design=vandermonde]", 6, 64, 4e-5, 2e-4),
        ("sa[design=vandermonde]", 10, 64, 4e-3, 3e-2),
        ("sa[design=vandermonde]", 10, 256, 60, 200),
        ("sa", 10, 256, 9e-7, 2e-6),
    ],
)
def test_errors_of_reference_in_single_precision(
    text: str, n: int, length: int, median: float, worst: float
) -> None:
    """Medians over 10 seeds; all subsets are decoded, norms are not asked for."""
    middle, largest = [], []
    patterns = sb_patterns(n, 2)
    for seed in range(10):
        relative = relative_errors(text, n, 2, length, seed, patterns)
        middle.append(np.median(relative))
        largest.append(relative.max())
    assert median / 4 < np.median(middle) < 4 * median
    assert worst / 4 < np.median(largest) < 4 * worst


def sb_patterns(n: int, s: int) -> Array:
    sets = itertools.combinations(range(n), n - s)
    return np.array([[int(i in alive) for i in range(n)] for alive in sets])


def relative_errors(
    text: str, n: int, s: int, length: int, seed: int, patterns: Array, name: str = "float32"
) -> Array:
    """Relative errors of every pattern, float64 reference as exact as float32 needs."""
    chosen, built = precision(name), sb.code(text, n=n, stragglers=s)
    assert isinstance(built, ShiftAdd)
    work = problem("matvec", data(gaussian(built.blocks, length)), 1)
    operands, system = work.operands(chosen, seed), built.system()
    shares = work.encode(system, work.blocks(system, operands), chosen)
    exact = work.wanted(system, work.exact(operands, "flint"))
    plan = decoder("zigzag").plan(built, system, patterns, chosen, "use")
    found = plan.decode(work.work(system, shares, chosen)).astype(float)
    gaps = (found - exact.hi).reshape(len(patterns), -1)
    return np.asarray(np.linalg.norm(gaps, axis=1) / np.linalg.norm(exact.hi))


EXPONENTIAL = np.array([[int(i not in (0, 1, 3, 18)) for i in range(20)]])


@pytest.mark.parametrize(
    ("name", "length", "low", "high"),
    [
        ("float32", 32, 1e-5 / 30, 3e-5 * 30),
        ("float32", 64, 1e-2 / 30, 3e-2 * 30),
        ("float32", 128, 1e3, 4e5 * 30),
        ("float64", 64, 0, 1e-9),
        ("float64", 128, 5e-4 / 30, 5e-4 * 30),
        ("float64", 256, 7e10 / 30, 7e10 * 30),
    ],
)
def test_the_exponential_pattern(name: str, length: int, low: float, high: float) -> None:
    found = [relative_errors("sa", 20, 4, length, seed, EXPONENTIAL, name)[0] for seed in range(10)]
    assert low < np.median(found) < high


def test_adversarial_patterns_find_exponential_growth_by_themselves() -> None:
    settings: dict[str, Any] = {"data": gaussian(16, 96), "precision": "float32"}
    found = measured("sa", 20, 4, patterns="adversarial:20", **settings)
    random = measured("sa", 20, 4, patterns=f"random:{found.patterns}", **settings)
    lost = sorted(set(range(20)) - set(found.operator_norm.worst_survivors))
    blocks, parities = [i for i in lost if i < 16], sorted({0, 1, 2, 3} - {i - 16 for i in lost})
    assert len(blocks) == len(parities) == 3
    assert len(set(np.diff(blocks))) > 1
    assert len(set(np.diff(parities))) > 1
    assert found.growth_forward.worst == pytest.approx(1.4656, rel=1e-4)
    assert found.relative_error.worst > 10
    assert found.relative_error.worst > random.relative_error.worst / 2
    by_missing = {int(e): part["relative_error"] for e, part in found.by_missing.items()}
    assert by_missing[2]["worst"] < 1e-5
    assert by_missing[4]["worst"] < by_missing[3]["worst"] / 100
    assert sum(part["patterns"] for part in found.by_missing.values()) == found.patterns
    least = measured("sa", 20, 4, patterns="adversarial:5", decoder="lstsq", **settings)
    assert least.relative_error.worst < 1e-3


def test_the_search_lists_the_pattern_of_reference_first() -> None:
    found = exponential_sets(shift_table("systematic", 20, 16), 4)
    assert found[0].stragglers == (0, 1, 3, 18)
    assert exponential_sets(shift_table("systematic", 10, 8), 2) == []
    for item in found[::40]:
        alive = sorted(set(range(20)) - set(item.stragglers))
        use = resolution(shift_table("systematic", 20, 16), alive)
        assert isinstance(use, Resolution)
        assert len(use.missing) == 3


@pytest.mark.parametrize(("order", "times"), [("forward", 2), ("both-ends", 1)])
def test_norms_of_the_operator_are_measures(order: str, times: int) -> None:
    record = measured(
        "sa[design=vandermonde]", 2, 0, decoder=f"zigzag[order={order}]", data=gaussian(2, 128)
    )
    assert record.operator_norm.worst == times * 128
    assert record.operator == "dense"
    assert record.growth_forward.worst == 1
    assert record.growth_exponent.worst == 1
    assert record.operator_norm_2.worst <= record.operator_norm.worst * np.sqrt(128)
    assert record.condition_number.worst <= record.condition_number_F.worst


def test_estimated_norms_say_so_and_the_worst_is_formed_row_by_row() -> None:
    exact = measured("sa[design=vandermonde]", 8, 2, data=gaussian(6, 64))
    large = measured("sa[design=vandermonde]", 12, 2, data=gaussian(10, 160))
    assert exact.operator == "dense"
    assert large.operator == "estimated (lower bound), dense for the worst"
    assert large.operator_norm.worst > exact.operator_norm.worst


def test_the_map_of_products_sends_every_entry_to_its_place() -> None:
    system = sb.code("shift-add[kA=2,kB=2]", 6, 2).system("matmul")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (2, size, 3)).astype(float) for size in (4, 5))
    form = precision("float64")
    left, right = (e.apply(x, form) for e, x in zip(system.encoders, (a, b), strict=True))
    line = system.reply.line((4, 5))  # type: ignore[attr-defined]
    assert line.unknowns == 2 * 2 * 4 * 5
    products = np.einsum("aij,bkj->abik", a, b)
    samples = line.samples(np.matmul(left, right.swapaxes(1, 2)))
    assert np.array_equal(line.matrix() @ products.ravel(), samples.ravel())


def test_the_least_squares_operator_is_the_pseudo_inverse() -> None:
    table, line = shift_table("vandermonde", 5, 3), None
    line = Toeplitz(table).line((9,))
    use = resolution(table, [0, 2, 4])
    assert isinstance(use, Resolution)
    operator = SamplesOperator(line, use)
    phi = line.matrix()[operator.reads]
    inverse = np.linalg.pinv(phi)
    assert np.allclose(operator.apply(np.eye(len(phi))), inverse, atol=1e-9)
    assert np.allclose(operator.apply_transpose(np.eye(27)), inverse.T, atol=1e-9)
    norms = operator.norms()
    assert norms.infinity == pytest.approx(np.abs(inverse).sum(axis=1).max())
    assert norms.amplification == pytest.approx((np.abs(inverse) @ phi).sum(axis=1).max())
    assert norms.two == pytest.approx(np.linalg.norm(inverse, 2), rel=1e-6)
    assert norms.frobenius == pytest.approx(np.linalg.norm(inverse))
    assert norms.one == pytest.approx(np.abs(inverse).sum(axis=0).max())
    estimate = operator.norms(0)
    assert estimate.infinity == pytest.approx(norms.infinity, rel=0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_banded_least_squares_is_least_squares_in_its_own_precision(dtype: type) -> None:
    rng = np.random.default_rng(0)
    dense = np.triu(np.tril(rng.standard_normal((260, 200)), 20), -70)
    dense = dense[np.abs(dense).sum(axis=1) > 0].astype(dtype)
    right: Array = rng.standard_normal((len(dense), 3)).astype(dtype)
    triangle, transformed = triangularize(scipy.sparse.csr_array(dense.astype(float)), right)
    found = triangle.solve(transformed)
    truth = np.linalg.lstsq(dense.astype(float), right.astype(float))[0]
    error = np.abs(found - truth).max() / np.abs(truth).max()
    assert found.dtype == dtype
    assert np.finfo(dtype).eps / 100 < error < 1e5 * np.finfo(dtype).eps
    assert len(triangle.windows) > 1


@pytest.mark.parametrize(("name", "task"), [*itertools.product(ZIGZAGS, ["matvec", "matmul"])])
def test_the_stages_of_the_budget_are_those_of_the_same_subtractions(name: str, task: str) -> None:
    source = gaussian(4, 12, 8) if task == "matvec" else "gaussian[rows=12,columns=10]"
    record = measured("sa[design=reflected]", 6, 2, decoder=name, problem=task, data=source)
    parts = [record.budget[stage] for stage in ("encode", "compute", "decode")]
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)
    assert sum(parts) >= record.budget["total"] * (1 - 1e-12)
    assert all(part > 0 for part in parts)


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("task", ["matvec", "matmul"])
@pytest.mark.parametrize("chunk", [1, 3])
def test_integers_are_encoded_and_computed_exactly_and_the_budget_knows(
    name: str, task: str, chunk: int
) -> None:
    """Exact decoding returns the data: half of the blocks arrive, the other half is resolved."""
    source = "gaussian[rows=38,columns=4]" if task == "matvec" else "gaussian[rows=14,columns=9]"
    choice, trial, patterns = exchange(f"sa[chunk={chunk}]", 6, 2, task, source)
    choice = dataclasses.replace(choice, decoder=decoder(name))
    split = split_of(choice, patterns[-1], trial)
    assert isinstance(split, Budget)
    assert (split.encode, split.compute) == (0, 0)
    assert split.decode == split.total < 1e-12
    assert (split.total == 0) == (name != "lstsq")


@pytest.mark.parametrize("text", ["sa", "sa[design=systematic]", "sa[chunk=2]", "sa[chunk=3]"])
@pytest.mark.parametrize("task", ["matvec", "matmul"])
def test_least_squares_has_the_budget_of_its_error(text: str, task: str) -> None:
    source = gaussian(4, 40, 8) if task == "matvec" else "gaussian[rows=12,columns=10]"
    record = measured(text, 6, 2, decoder="lstsq", problem=task, data=source)
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)
    assert record.budget["standard_error"] == 0
    assert "notes" not in record.measures


@pytest.mark.parametrize("name", ZIGZAGS)
def test_overflow_is_an_infinite_error_of_the_worst_case(name: str) -> None:
    source = gaussian(8, 700, 1)
    record = measured("sa", 12, 4, decoder=name, data=source, patterns="adversarial:1")
    assert record.status == "overflow"
    assert np.isinf(record.relative_error.worst)
    assert np.isfinite(record.relative_error.median)
    assert "error inf on" in record.reason
    assert np.isinf(record.by_missing["3"]["relative_error"]["worst"])


def test_storage_and_bytes_of_every_worker() -> None:
    record = measured("sa[design=systematic1,chunk=4]", 10, 2, data=gaussian(8, 80, 16), vectors=3)
    table = shift_table("systematic1", 10, 8)
    over = 4 * longest_shifts(table) / 80
    assert record.storage_overhead_by_worker == pytest.approx(over.tolist())
    assert record.storage_overhead["worst"] == pytest.approx(4 * 14 / 80)
    assert record.storage == pytest.approx((1 + 4 * 14 / 80) / 8)
    rows = [80 + 4 * int(shift) for shift in longest_shifts(table)]
    assert record.bytes_stored == [count * 16 * 4 for count in rows]
    assert record.bytes_sent == [count * 3 * 4 for count in rows]
    assert (record.block_length, record.units) == (80, 20)
    assert measured("gaussian", 10, 2, decoder="solve").storage == pytest.approx(1 / 8)


def test_what_decides_is_the_length_in_chunks() -> None:
    fine = measured("sa[design=vandermonde]", 6, 2, data=gaussian(4, 64), trials=3)
    coarse = measured("sa[design=vandermonde,chunk=16]", 6, 2, data=gaussian(4, 1024), trials=3)
    assert coarse.operator_norm.worst == fine.operator_norm.worst
    assert 0.2 < coarse.relative_error.median / fine.relative_error.median < 5


def test_intermediate_results_grow_along_the_decoding() -> None:
    record = measured("sa", 20, 4, data=gaussian(16, 96), patterns="adversarial:1")
    steps = record.intermediates
    assert len(steps["resolved"]) == len(steps["error"]) == 64
    assert steps["survivors"] == list(record.relative_error.worst_survivors)
    assert max(steps["error"]) > 1e5 * steps["error"][0]


def test_records_survive_json() -> None:
    record = measured("sa", 8, 3, data=gaussian(5, 20, 8))
    again = Record.from_json(record.to_json())
    assert again.by_missing == record.by_missing
    assert again.intermediates == record.intermediates


@pytest.mark.parametrize("design", NAMED)
def test_the_self_test_of_codes_passes(design: str) -> None:
    findings = check(sb.code(f"sa[design={design},chunk=2]", n=7, stragglers=3), limit=100)
    assert all(finding.passed for finding in findings), findings
    assert {
        "every threshold decodes (MDS, matvec)",
        "decodes what it encodes, matvec",
        "decodes what it encodes, matmul",
    } <= {f.name for f in findings}


@pytest.mark.parametrize("name", ["zigzag", "lstsq"])
def test_blocks_that_a_row_lacks_are_not_subtracted_from_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.csv"
    rows = [[0, -1, -1], [0, 5, -1], [-1, 0, 2], [3, -1, 0], [0, 0, 1]]
    np.savetxt(path, rows, fmt="%d", delimiter=",")
    record = measured(
        f"sa[design=custom,table='{path}']", 5, 2, decoder=name, data=gaussian(3, 16, 4)
    )
    assert record.status == "ok"
    assert record.relative_error.worst < 1e-4


def test_custom_tables(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    np.savetxt(good, [[0, 0], [0, 2], [3, 0], [0, -1]], fmt="%d", delimiter=",")
    np.savetxt(bad, np.add.outer(np.arange(4), np.arange(2)), fmt="%d", delimiter=",")
    record = measured(f"sa[design=custom,table='{good}']", 4, 2, data=gaussian(2, 16, 4))
    assert record.status == "ok"
    assert record.undecodable == 0
    assert record.case["files"].startswith("good.csv:")
    product = f"sa[design=custom,table='{good}',tableB='{good}']"
    assert sb.code(product, n=4, stragglers=0).threshold == 4
    with pytest.raises(InputError, match=r"survivors 0,1: workers 0 and 1 shift block 1 against"):
        sb.code(f"sa[design=custom,table='{bad}']", n=4, stragglers=2)
    skipped = measured(f"sa[design=custom,table='{good}']", 4, 2, problem="matmul")
    assert (skipped.status, skipped.reason) == ("skipped", "design=custom needs table and tableB")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sa[design=hankel]", "design=hankel; allowed: vandermonde"),
        ("sa[chunk=0]", "chunk=0; allowed is an integer >= 1"),
        ("sa[design=custom]", "allowed are files with design=custom"),
        ("sa[k=7]", "k=7"),
        ("sa[kA=3]", "kA=3 does not divide 4"),
        ("sa[k=4,kA=2,kB=3]", "allowed is k = kA \\* kB"),
    ],
)
def test_contradictions_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sb.code(text, n=6, stragglers=2)


def test_decoders_that_do_not_fit_are_skipped_with_the_reason() -> None:
    assert measured("sa", 6, 2, decoder="solve").status == "skipped"
    assert measured("gaussian", 6, 2).reason == "it needs a shift-and-add code"
    huge = measured(
        "sa[design=vandermonde]", 30, 6, decoder="lstsq", data="gaussian[rows=720000,columns=1]"
    )
    assert huge.status == "skipped"
    assert "operations per survivor set; allowed are" in huge.reason


def test_plots_hold_the_numbers_of_a_sweep_over_lengths(tmp_path: Path) -> None:
    store = sb.sweep(
        None,
        tmp_path,
        codes=["sa", "gaussian"],
        n=6,
        stragglers=2,
        decoder=["zigzag", "lstsq", "solve"],
        data="gaussian[rows=[16,64],columns=8]",
        patterns="all",
        options=Options(jobs=1),
    )
    records = list(store.records.values())
    length, storage, steps = shift_add(records)
    assert sorted(set(length.data.values("units"))) == [4, 16]
    assert len(length.data.rows) == 4
    assert set(storage.data.values("code")) == {"shift-add", "gaussian"}
    assert set(storage.data.values("storage")) == {1.0, 1 + 3 / 4, 1 + 3 / 16}
    assert set(steps.data.values("decoder")) == {"zigzag"}
    assert steps.data.values("resolved")[-1] == 1
    for plot in (length, storage, steps):
        assert render(plot, ["svg"])["svg"].startswith(b"<?xml")
    assert list(shift_add([r for r in records if r.case["data"].endswith("16,columns=8]")])) == []
    bare = [
        dataclasses.replace(r, measures={k: v for k, v in r.measures.items() if k != "storage"})
        if r.case["code"].startswith("gaussian")
        else r
        for r in records
    ]
    storage = list(shift_add(bare))[1]
    assert set(storage.data.values("code")) == {"shift-add"}
    assert "left out, as no share could be stored: gaussian" in storage.data.notes


def test_stages_of_a_zigzag_are_what_was_done_to_it() -> None:
    """Integers are exact; a share and its reply, or a reply alone, are then moved by one."""
    choice, trial, patterns = exchange("sa", 6, 2, "matvec", "gaussian[rows=40,columns=4]")
    pattern = patterns[-1]
    assert pattern.tolist() == [0, 0, 1, 1, 1, 1]
    shares, operand = trial.shares
    moved = shares.copy()
    moved[4, 0, 0] += 1
    replies = trial.replies.copy()
    replies[4, 0] += operand[0]
    assert np.abs(operand[0]).max() > 0
    sent = split_of(choice, pattern, with_parts(trial, (moved, operand), replies))
    assert isinstance(sent, Budget)
    assert sent.encode == sent.total > 0
    assert (sent.compute, sent.decode) == (0, 0)
    found = split_of(choice, pattern, with_parts(trial, trial.shares, replies))
    assert isinstance(found, Budget)
    assert found.compute == found.total == pytest.approx(sent.encode, rel=1e-12)
    assert (found.encode, found.decode) == (0, 0)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_only_what_arrived_need_be_finite(value: float) -> None:
    choice, trial, patterns = exchange("sa", 6, 2, "matvec", "gaussian[rows=40,columns=4]")
    clean = [split_of(choice, pattern, trial) for pattern in patterns]
    for worker in range(6):
        replies = trial.replies.copy()
        replies[worker] = value
        for pattern, split in zip(patterns, clean, strict=True):
            found = split_of(choice, pattern, with_parts(trial, trial.shares, replies))
            assert isinstance(found, str) if pattern[worker] else found == split


def split_of(choice: Choice, pattern: Array, trial: Trial) -> Budget | str:
    """The budget of one decoding."""
    task = pattern[None], choice.precision, choice.spare
    plan = choice.decoder.plan(choice.code, choice.system, *task)
    return Shifts().budget(choice, pattern, trial, plan.decode(trial.replies)[0])


def with_parts(trial: Trial, shares: tuple[Array, ...], replies: Array) -> Trial:
    return Trial(trial.blocks, shares, replies, trial.exact, {})
