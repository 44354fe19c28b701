"""Costs: numbers held and sent against the arrays themselves, operations against the kernels."""

import itertools
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis import costs, explore
from stabbench.analysis.structure import Choice
from stabbench.arithmetic import dense, operations, zigzag, zigzag_kernels
from stabbench.arithmetic.banded import operations_of
from stabbench.arithmetic.peeling import Resolution, chain
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.shift_tables import shift_table
from stabbench.codes.base import Code
from stabbench.codes.gradient.base import GradientCode, Held
from stabbench.codes.registry import CODES
from stabbench.codes.shift_add import ShiftAdd
from stabbench.decoders import peeling
from stabbench.decoders.registry import DECODERS, decoder
from stabbench.report.costs import cost, times
from stabbench.report.entries import Entry
from stabbench.sweeps import stability
from stabbench.sweeps.case import Record
from tests.support import NEEDS_FILE

Array = np.ndarray[Any, np.dtype[Any]]
NARROW: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
SIZES = ((6, 2), (6, 1), (8, 2), (4, 0), (7, 3), (9, 2), (7, 2), (10, 1))
SPECS = {
    "polynomial": ["", "nodes=roots-of-unity"],
    "shift-add": ["", "design=vandermonde", "chunk=2"],
    "kadhe": ["", "d=3,m=1"],
    "nested": ["", "inner=cyclic-repetition"],
    "block-coordinate": ["", "inner=cyclic-repetition"],
    "lagrange": ["", "nodes=roots-of-unity"],
}
DATA = "gaussian[rows=24,columns=20]"


def every_code() -> Iterator[tuple[str, int, int]]:
    """Every registered code that needs no file, in the first size that it admits."""
    for name in CODES.members:
        if name.endswith("matrix") or name in NEEDS_FILE:
            continue
        for parameters in SPECS.get(name, [""]):
            spec = f"{name}[{parameters}]" if parameters else name
            for n, s in SIZES:
                try:
                    sb.code(spec, n=n, stragglers=s)
                except sb.InputError:
                    continue
                yield spec, n, s
                break
            else:
                raise AssertionError(f"no size for {spec}")


CODES_AND_PROBLEMS = [
    (spec, n, s, problem)
    for spec, n, s in every_code()
    for problem in sb.code(spec, n=n, stragglers=s).problems
]


def prepared(spec: str, n: int, s: int, problem: str, form: str) -> tuple[Any, Any, Any, Any]:
    """Choice, operands and trial of a case, and its setup."""
    request = stability.Request(spec, n, s, precision=form, problem=problem, data=DATA)
    setup = stability.Setup.of(request.written())
    system = setup.code.system(setup.problem.name)
    choice = Choice(setup.code, system, setup.decoder, setup.precision, "use", setup.problem)
    operands, _ = stability.reference_of(setup, 0)
    return choice, operands, stability.prepare(setup, system, 0), setup


def wire(array: Array, form: str) -> int:
    """Bytes of an array whose real numbers are written in a format."""
    parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
    return sum(part.astype(NARROW.get(form, part.dtype)).nbytes for part in parts)


def trimmed(row: Array) -> Array:
    """A row of coded blocks or replies without zeros at the ends of its axes."""
    for axis in range(row.ndim):
        others = tuple(i for i in range(row.ndim) if i != axis)
        full = np.flatnonzero((row != 0).any(axis=others))
        row = np.take(row, np.arange(full[-1] + 1 if full.size else 0), axis=axis)
    return row


def is_padded(code: Code, choice: Any) -> bool:
    return isinstance(code, ShiftAdd) or getattr(choice.system.reply, "sizes", None) is not None


def bytes_of_rows(rows: Array, owner: Array, form: str, choice: Any) -> list[int]:
    """Bytes of each worker's rows of an array."""
    code = choice.code
    found = [0] * code.n
    for row, worker in zip(rows, owner, strict=True):
        found[worker] += wire(trimmed(row) if is_padded(code, choice) else row, form)
    return found


@pytest.mark.parametrize(("spec", "n", "s", "problem"), CODES_AND_PROBLEMS)
def test_storage_and_bytes_are_those_of_the_arrays(spec: str, n: int, s: int, problem: str) -> None:
    for form in ("float32", "bfloat16"):
        choice, operands, trial, _ = prepared(spec, n, s, problem, form)
        found = costs.traffic(choice, operands, trial)
        measures = found.measures()
        if isinstance(choice.code, GradientCode):
            table = choice.code.encoding.rounded("float64").reshape(len(found.owner), -1)
            read = (table != 0).reshape(len(table), choice.code.partitions, -1).any(axis=2)
            stored = [
                wire(operands[0][read[found.owner == worker].any(axis=0)], form)
                for worker in range(n)
            ]
            whole = wire(operands[0], form)
        else:
            parts = [
                bytes_of_rows(trial.shares[i], choice.system.holder(i), form, choice)
                for i in range(len(choice.system.encoders))
            ]
            stored = [sum(part) for part in zip(*parts, strict=True)]
            whole = sum(wire(trial.blocks[i], form) for i in range(len(parts)))
        assert measures["bytes_stored"] == stored
        assert measures["storage"] == max(stored) / whole
        sent = bytes_of_rows(trial.replies, found.owner, form, choice)
        assert measures["bytes_sent"] == sent
        everyone = costs.arrivals(choice, np.ones((1, n), int))
        assert found.received(everyone) == {"mean": sum(sent), "most": sum(sent)}


def evaluated(spec: str, n: int, s: int, **changes: Any) -> Record:
    chosen = {"precision": "float32", "data": DATA} | changes
    return sb.evaluate(spec, n=n, stragglers=s, **chosen)


def test_codes_of_several_messages() -> None:
    blocks, nested = evaluated("block-coordinate", 6, 2), evaluated("nested", 6, 2)
    assert (blocks.storage, blocks.communication, blocks.load) == (1.0, 1.0, 6)
    assert (nested.storage, nested.communication, nested.load) == (0.5, 3.0, 3)
    assert (blocks.sent, nested.sent) == (2.0, 6.0)  # cyclic-mds sends complex numbers
    real = evaluated("block-coordinate[inner=cyclic-repetition]", 6, 2)
    assert (real.communication, real.sent) == (1.0, 1.0)
    assert real.bytes_sent == [20 * 4] * 6
    assert "by block: d = 3 >= s + m = 3 (met with equality), d = 4" in blocks.tradeoff
    assert evaluated("kadhe[d=5,m=3]", 10, 2).communication == 1 / 3


def test_what_arrives_follows_the_messages() -> None:
    choice, operands, trial, _ = prepared("nested", 6, 2, "gradient", "float32")
    found = costs.traffic(choice, operands, trial)
    patterns = np.array([[3, 3, 3, 3, 0, 0], [2, 2, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1]])
    each = 20 * 8
    counts = [12 * each, 10 * each, 6 * each]
    received = found.received(costs.arrivals(choice, patterns))
    assert received == {"mean": sum(counts) / 3, "most": max(counts)}


def test_shares_that_differ_in_length_are_counted_apart() -> None:
    record = evaluated("shift-add[design=vandermonde]", 5, 2, data="gaussian[rows=30,columns=4]")
    rows = [10 + 2 * worker for worker in range(5)]
    assert record.bytes_stored == [4 * 4 * count for count in rows]
    assert record.bytes_sent == [4 * count for count in rows]
    assert record.bytes_received["most"] == 4 * sum(rows[2:])
    assert record.bytes_received["mean"] == pytest.approx(4 * 3 * np.mean(rows))
    assert record.storage == pytest.approx(18 / 30)


def test_the_front_has_no_code_that_sends_and_stores_more() -> None:
    schemes = ["block-coordinate", "nested", "fractional-repetition", "kadhe", "cyclic-mds"]
    rows = explore.gradient(6, schemes, stragglers=[2], precisions=["float32"])
    found = {row.code: row for row in rows}
    assert (found["block-coordinate"].storage, found["block-coordinate"].sent) == (1.0, 2.0)
    assert (found["nested"].storage, found["nested"].communication) == (0.5, 3.0)
    assert found["cyclic-mds"].sent == 2 * found["cyclic-mds"].communication == 2.0
    assert not found["block-coordinate"].pareto
    assert not found["nested"].pareto
    assert found["fractional-repetition"].pareto


class Nothing(float):
    """The imaginary part of a real number: to add it is no operation."""

    def __abs__(self) -> "Nothing":
        return self


class Counted:
    """A number that counts its arithmetic; operations on constants alone are none."""

    total = 0

    def __init__(self, value: float, *, constant: bool = False) -> None:
        self.value, self.constant = float(value), constant

    def _with(self, other: Any, value: float) -> "Counted":
        constant = self.constant and (not isinstance(other, Counted) or other.constant)
        Counted.total += not constant
        return Counted(value, constant=constant)

    def __add__(self, other: Any) -> "Counted":
        if isinstance(other, Nothing):
            return self
        return self._with(other, self.value + float(other))

    def __sub__(self, other: Any) -> "Counted":
        return self._with(other, self.value - float(other))

    def __mul__(self, other: Any) -> "Counted":
        return self._with(other, self.value * float(other))

    def __truediv__(self, other: Any) -> "Counted":
        return self._with(other, self.value / float(other))

    def sqrt(self) -> "Counted":
        return self._with(self, self.value**0.5)

    def __neg__(self) -> "Counted":
        return Counted(-self.value, constant=self.constant)

    def __abs__(self) -> "Counted":
        return Counted(abs(self.value), constant=self.constant)

    def conjugate(self) -> "Counted":
        return self

    def __float__(self) -> float:
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value == float(other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    __radd__ = __add__
    __rmul__ = __mul__
    real = property(lambda self: self)
    imag = Nothing()


def numbers(*shape: int) -> Array:
    random = np.random.default_rng(shape)
    return np.asarray(np.vectorize(Counted, otypes=[object])(random.standard_normal(shape)))


def counted(call: Any) -> int:
    Counted.total = 0
    call()
    return Counted.total


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled kernels run as Python, on any objects."""
    for module in (dense, zigzag_kernels, peeling):
        for name, kernel in vars(module).copy().items():
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_elimination_is_counted(k: int, interpreted: None) -> None:
    order = np.empty(k, dtype=int)
    found = counted(lambda: dense._eliminate(numbers(k, k), order))
    assert found == operations.lu(k)


@pytest.mark.parametrize(("r", "k", "m"), [(1, 1, 1), (4, 4, 2), (6, 3, 1), (5, 2, 4)])
def test_least_squares_is_counted(r: int, k: int, m: int, interpreted: None) -> None:
    one = np.array([Counted(1, constant=True)], dtype=object)
    solution = np.empty((1, k, m), dtype=object)
    call = lambda: dense._householder(numbers(1, r, k), numbers(1, r, m), solution, one)  # noqa: E731
    # the last reflection of a square matrix divides constants, which is not counted here
    assert counted(call) == operations.least_squares(r, k, m) - (r == k)


@pytest.mark.parametrize(("k", "m"), [(1, 1), (3, 2), (6, 1)])
def test_bjorck_pereyra_is_counted(k: int, m: int) -> None:
    found = counted(lambda: dense.vandermonde_solve(numbers(1, k), numbers(1, k, m)))
    assert found == operations.vandermonde(k, m)


def test_solving_is_elimination_and_two_substitutions() -> None:
    for k, m in ((1, 1), (3, 2), (6, 4)):
        factors, right = numbers(k, k), numbers(k, m)

        def substitute(factors: Array = factors, right: Array = right, k: int = k) -> None:
            for i in range(k):
                for j in range(i):
                    right[i] = right[i] - right[j] * factors[i, j]
            for i in reversed(range(k)):
                for j in range(i + 1, k):
                    right[i] = right[i] - right[j] * factors[i, j]
                right[i] = right[i] / factors[i, i]

        assert counted(substitute) + operations.lu(k) == operations.solve(k, k, m)
        steps = operations.refine(k, k, m, 3) - operations.solve(k, k, m)
        assert steps == 3 * (operations.solve(k, k, m) + 2 * k * k * m + 2 * k * m)
        inverse = operations.invert_and_multiply(k, k, m)
        assert inverse == operations.solve(k, k, k) + 2 * k * k * m


def test_peeling_is_counted(interpreted: None) -> None:
    code = sb.code("lt[k=4]", n=10, stragglers=2)
    patterns = np.array([[int(i not in lost) for i in range(10)] for lost in [(0, 1), (3, 7)]])
    form = precision("float64")
    plan = decoder("peeling").plan(code, code.system(), patterns, form, "use")
    assert isinstance(plan, peeling.PeelingPlan)
    replies = np.zeros((10, 3, 1))
    expected = []
    for taken, unknown, source in zip(plan.taken, plan.unknown, plan.source, strict=True):
        found, rest = np.empty((4, 3), dtype=object), numbers(10, 3)
        matrix = plan.matrix
        expected.append(
            counted(lambda: peeling.substitute(matrix, rest, taken, unknown, source, found))  # noqa: B023
        )
    assert plan.operations(replies, np.full(10, 3)).tolist() == expected
    assert min(expected) > 0


@pytest.mark.parametrize("order", ["forward", "both-ends"])
@pytest.mark.parametrize(("design", "grid"), [("systematic", (1, 1)), ("vandermonde", (1, 1))])
def test_zigzag_is_counted(
    order: str, design: Any, grid: tuple[int, int], interpreted: None
) -> None:
    table = shift_table(design, 6, 4)
    replies = numbers(6, 5 + int(table.max()), 2)
    for alive in ((0, 1, 2, 3), (0, 2, 4, 5), (1, 3, 4, 5)):
        plan = zigzag.plan(table, [alive], 5, order, grid)
        (use,) = plan.uses
        assert isinstance(use, Resolution)
        out = np.full((4, 5, 2), Counted(0), dtype=object)

        def decode(use: Any = use, plan: Any = plan, out: Array = out) -> None:
            if not len(use.missing):
                return
            if plan.closed[0]:
                rows = chain(table, use.rows, use.missing)
                zigzag_kernels.forward(replies, table, use.known, rows, grid, out, 0)
            else:
                unknown, row = plan.schedule(0)
                zigzag_kernels.scheduled(replies, table, use.known, use.rows, unknown, row, out, 0)

        assert 2 * plan.terms(0) == counted(decode)


def test_shifted_sums_are_counted() -> None:
    code = sb.code("shift-add", n=6, stragglers=2)
    (encoder,) = code.system().encoders
    blocks = numbers(4, 5, 2)
    found = counted(lambda: zigzag.encode(encoder._shifts, blocks))  # type: ignore[attr-defined]
    assert found == encoder.operations(np.ones((4, 5, 2)), precision("float64")).sum() > 0


def test_banded_least_squares_is_near_the_dense_one() -> None:
    import scipy.sparse

    random = np.random.default_rng(0)
    matrix = scipy.sparse.csr_array(random.standard_normal((60, 30)))
    assert operations_of(matrix, 3) == pytest.approx(operations.least_squares(60, 30, 3), rel=0.25)


def test_complex_arithmetic_counts_four_times() -> None:
    real = evaluated("polynomial", 6, 2)
    other = evaluated("polynomial[nodes=roots-of-unity]", 6, 2)
    for stage in ("encode", "worker"):
        assert other.operations[stage] == 4 * real.operations[stage]
    assert other.storage == 2 * real.storage


@pytest.mark.parametrize("name", sorted(DECODERS.members))
def test_every_decoder_counts_its_operations(name: str) -> None:
    candidates = ["gaussian", "lt[k=3]", "shift-add", "circulant", "lagrange", "cyclic-repetition"]
    candidates += ["fractional-repetition", "polynomial"]
    for spec, (n, s) in itertools.product(candidates, ((6, 2), (7, 2), (8, 3))):
        try:
            code = sb.code(spec, n=n, stragglers=s)
        except sb.InputError:
            continue
        if decoder(name).accepts(code):
            continue
        record = evaluated(spec, n, s, decoder=name)
        assert record.status == "ok", record.reason
        assert 0 < record.operations["decode_mean"] <= record.operations["decode_most"]
        return
    raise AssertionError(f"nothing for {name}")


def test_reports_show_costs_and_times_apart() -> None:
    record = evaluated("gaussian", 6, 2)
    (costs_table,), (times_table,) = list(cost([record])), list(times([record]))
    (row,) = costs_table.records()
    assert row["storage"] == record.storage
    assert row["bytes_sent"] == max(record.bytes_sent)
    assert row["decode_mean"] == record.operations["decode_mean"]
    (row,) = times_table.records()
    for stage in ("plan_single", "decode_single", "plan_batch", "decode_batch"):
        assert row[stage] == record.seconds[stage]["median"] > 0
    assert row["batch"] == record.seconds["batch"]


def test_times_that_hold_compilation_are_not_shown() -> None:
    record = evaluated("gaussian", 6, 2)
    old = {"encode": 5.23, "compute": 1e-3, "decode": 1e-3}
    before = Record(record.case, "ok", "", dict(record.measures) | {"seconds": old})
    assert Entry(before).seconds("encode") is None
    assert list(times([before])) == []


def test_held_replies_are_those_of_the_map() -> None:
    system = sb.code("block-coordinate", n=5, stragglers=1).system("gradient")
    assert isinstance(system.reply, Held)
    assert system.reply.sent(97).reshape(5, -1).sum(axis=1).tolist() == [97] * 5
