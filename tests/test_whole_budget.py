"""Budgets are those of the errors that were measured: the same estimate, all of its entries."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis import gradient, linear, product, shift_add, stages
from stabbench.analysis.budget import EVERY_STAGE
from stabbench.analysis.metrics import Worst
from stabbench.analysis.stages import SKETCHES, Sketch, Stages, stage_vectors
from stabbench.arithmetic.quotients import Quotient
from stabbench.codes.registry import CODES
from stabbench.decoders.base import Plan
from stabbench.decoders.weights import WeightsPlan
from stabbench.errors import InputError
from stabbench.sweeps.case import Record
from tests.support import NEEDS_FILE, Array

SIZES = ((7, 2), (6, 2), (6, 1))


def small_codes() -> list[Any]:
    """Every registered code with each of its problems, at the first size that it takes."""
    found = []
    for name, cls in sorted(CODES.members.items()):
        if name in NEEDS_FILE:
            continue
        for n, s in SIZES:
            try:
                code = sb.code(name, n, s)
            except InputError:
                continue
            found += [pytest.param(code, task, id=f"{name}-{task}") for task in cls.problems]
            break
        else:
            raise AssertionError(f"{name}: no size of {SIZES}")
    return found


def check_whole(record: Record) -> None:
    assert record.status == "ok"
    split, error = record.budget, record.relative_error.worst
    assert split["standard_error"] == 0
    assert split["total"] == pytest.approx(error, rel=1e-6, abs=1e-300)
    assert error <= sum(split.get(stage, 0.0) for stage in EVERY_STAGE) * (1 + 1e-12)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("code", "task"), small_codes())
def test_a_budget_is_that_of_the_whole_error(
    code: Any, task: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the stage of the decoder is the estimate less exact decoding of the replies."""
    seen = []

    def checked(decode: Any, found: Stages) -> Any:
        vectors = stage_vectors(decode, found)
        total, *rest = (vector.rational() for vector in vectors.values())
        for vector in rest:
            total = total + vector
        assert total == found.estimate.rational() - found.exact.rational()
        assert vectors["decode"].rational() == (found.estimate - decode(found.computed)).rational()
        seen.append(vectors)
        return vectors

    monkeypatch.setattr(stages, "stage_vectors", checked)
    source = "gaussian[rows=14,columns=6]"
    check_whole(
        sb.evaluate(code, problem=task, precision=precision, data=source, patterns="auto:12")
    )
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("text", "decoder", "options"),
    [
        ("polynomial[nodes=roots-of-unity]", "refined", {}),
        ("gaussian[k=4]", "lstsq", {"spare": "use"}),
        ("gaussian[k=4]", "solve", {"spare": "drop"}),
        ("polynomial", "bjorck-pereyra", {"precision": "bfloat16"}),
        ("lt[k=5]", "peeling", {}),
        ("shift-add[chunk=2]", "zigzag", {"precision": "float64"}),
        ("shift-add[chunk=2]", "lstsq", {"precision": "float64"}),
        ("orthomatdot", "barycentric", {"problem": "matmul"}),
        ("bibd", "closed-form", {}),
    ],
)
def test_budgets_of_other_decoders_are_whole(
    text: str, decoder: str, options: dict[str, Any], tmp_path: Path
) -> None:
    drawn = np.random.default_rng(0).standard_normal((2, 15, 5))
    np.save(tmp_path / "complex.npy", drawn[0] + 1j * drawn[1])
    for source in ("gaussian[rows=15,columns=5]", str(tmp_path / "complex.npy")):
        if text == "bibd" and source.endswith("npy"):
            continue  # gradients are real
        code = sb.code(text, 7, 2)
        check_whole(sb.evaluate(code, decoder=decoder, data=source, trials=2, **options))


def test_errors_below_rows_of_zeros_are_in_the_budget(tmp_path: Path) -> None:
    """The first 16 rows of each of 5 blocks are zero."""
    blocks = np.random.default_rng(0).standard_normal((5, 40, 8))
    blocks[:, :16] = 0
    np.save(tmp_path / "rows.npy", blocks.reshape(200, 8))
    record = sb.evaluate(sb.code("gaussian", 7, 2), data=str(tmp_path / "rows.npy"))
    check_whole(record)
    assert all(record.budget[stage] > 1e-8 for stage in ("encode", "compute", "decode"))


def test_the_estimate_is_the_one_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that round otherwise in a batch of many patterns than alone, made visible."""
    alone = WeightsPlan.decode

    def decode(self: WeightsPlan, replies: Array) -> Array:
        return alone(self, replies) * (1 + 1e-5 * np.float32(len(self.weights)))

    monkeypatch.setattr(WeightsPlan, "decode", decode)
    code = sb.code("cyclic-repetition", 12, 2)
    record = sb.evaluate(code, precision="float32", data="gaussian[rows=12,columns=120]")
    check_whole(record)
    assert record.patterns == 66
    assert record.budget["decode"] > 5e-4


def test_a_budget_that_fails_leaves_the_errors_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sb.evaluate(sb.code("gaussian", 6, 2), data="gaussian[rows=20,columns=4]")
    for kind in (OverflowError, MemoryError, ZeroDivisionError, AssertionError):

        def fails(*arguments: Any, kind: type[Exception] = kind) -> Any:
            raise kind("beyond")

        monkeypatch.setattr(linear.Linear, "budget", fails)
        record = sb.evaluate(sb.code("gaussian", 6, 2), data="gaussian[rows=20,columns=4]")
        assert record.status == "ok"
        assert "budget" not in record.measures
        assert record.notes == [f"no error budget: it failed, {kind.__name__}: beyond"]
        assert record.relative_error == whole.relative_error


def test_answers_of_many_entries_are_whole_piece_by_piece() -> None:
    record = sb.evaluate(
        sb.code("gaussian", 5, 1), data="gaussian[rows=200000,columns=2]", patterns="first"
    )
    check_whole(record)


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("gaussian", "matvec"),
        ("rotation", "matvec"),
        ("matdot", "matmul"),
        ("lagrange", "evaluate"),
    ],
)
def test_larger_answers_say_how_well_their_stages_are_known(
    text: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, source = sb.code(text, 7, 2), "gaussian[rows=120,columns=36]"
    vectors = 40 if task == "matvec" else 1
    options: dict[str, Any] = {"problem": task, "vectors": vectors, "data": source}
    whole = sb.evaluate(code, **options)
    check_whole(whole)
    monkeypatch.setattr(stages, "PIECE", 500)
    assert sb.evaluate(code, **options).budget == whole.budget
    monkeypatch.setattr(stages, "MOST_WORK", 3e4 if text == "rotation" else 3e3)
    sketched = sb.evaluate(code, **options)
    assert sketched.budget["total"] == whole.budget["total"]
    error = sketched.budget["standard_error"]
    assert error in [1 / np.sqrt(2 * t) for t in SKETCHES]
    for stage in whole.budget.keys() & set(EVERY_STAGE):
        ratio = sketched.budget[stage] / whole.budget[stage]
        assert ratio == pytest.approx(1, abs=4 * error), stage
        assert ratio != 1
    monkeypatch.setattr(stages, "MOST_WORK", 1.0)
    (note,) = sb.evaluate(code, **options).notes
    assert "products of words; exact arithmetic takes up to" in note


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_sums_of_random_sign_keep_norms_as_well_as_they_say(rank: int) -> None:
    """Over draws the squared norm is right in the mean, and spreads by at most its bound.

    Rank 0 stands for errors that are all alike, which sums without signs would add up.
    """
    rng = np.random.default_rng(7)
    array = rng.integers(-9, 10, (3, rank)) @ rng.integers(-9, 10, (rank, 400)) / 1.0
    if rank == 0:
        array += 1
    vector = Quotient.of(array)
    nothing = vector - vector
    ratios = []
    for seed in range(200):
        sketch = Sketch(32)
        sketch._random = np.random.default_rng(seed)
        for part in (array[:, :150], array[:, 150:]):
            sketch.add(Stages(*[Quotient.of(part)] * 4))
        found = sketch.stages().exact
        assert found.shape == (3, 32)
        ratios.append(float(found.square() / vector.square()))
    bound = 2 * sketch.standard_error
    assert abs(np.mean(ratios) - 1) < 4 * bound / np.sqrt(200)
    assert bound * 0.5 < np.std(ratios) < bound * 1.15
    assert nothing.square() == 0


def test_the_first_of_equal_errors_is_the_worst() -> None:
    estimates = np.arange(12.0).reshape(3, 1, 2, 2)
    worst = Worst.of(None, np.array([1.0, 3.0, 3.0]), estimates, (1, 4))
    assert (worst.error, worst.trial, worst.pattern) == (3.0, 1, 5)
    assert np.array_equal(worst.estimate, estimates[1])
    for errors, first, expected in (
        ([3.0, 0.0, 0.0], (1, 7), (1, 5)),
        ([0.0, 3.0, 0.0], (0, 7), (0, 8)),
        ([2.0, 2.9, 0.0], (0, 0), (1, 5)),
        ([0.0, 0.0, np.inf], (2, 0), (2, 2)),
    ):
        found = Worst.of(worst, np.array(errors), estimates, first)
        assert (found.trial, found.pattern) == expected
    estimates[:] = 0
    assert worst.estimate.any()


def test_no_budget_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a plan would decode alone, the budget does not ask for it."""
    for module, text, task in (
        (linear.Linear, "gaussian", "matvec"),
        (product.Product, "orthopoly", "matmul"),
        (gradient.Gradient, "reed-solomon", "gradient"),
        (shift_add.Shifts, "shift-add", "matvec"),
    ):
        with monkeypatch.context() as patch:
            budget = module.budget

            def watched(*arguments: Any, budget: Any = budget, patch: Any = patch) -> Any:
                for kind in plans(Plan):
                    patch.setattr(kind, "decode", None)
                return budget(*arguments)

            patch.setattr(module, "budget", watched)
            source = "gaussian[rows=14,columns=6]"
            check_whole(sb.evaluate(sb.code(text, 7, 2), problem=task, data=source))


def plans(kind: Any) -> list[Any]:
    """A class of plans and all that derive from it."""
    found = [kind]
    for one in kind.__subclasses__():
        found += plans(one)
    return found


def test_the_fields_of_a_budget_are_floats() -> None:
    for text in ("gaussian", "orthopoly", "reed-solomon", "shift-add"):
        record = sb.evaluate(sb.code(text, 7, 2), data="gaussian[rows=14,columns=6]")
        assert all(type(value) is float for value in record.budget.values())
        assert dataclasses.is_dataclass(record.relative_error)
