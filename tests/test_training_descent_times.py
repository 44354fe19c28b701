"""Coded descent: times, messages, levels and errors of a record belong to the same iterations."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stabbench.analysis.timemodel import TimeModel, message_times
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.streams import stream
from stabbench.decoders.registry import decoder
from stabbench.decoders.weights import WeightsPlan
from stabbench.report import report
from stabbench.sweeps.store import Store
from stabbench.training import api
from stabbench.training.descent.descend import Method, Scheme, Sums, descend
from stabbench.training.descent.times import drawn, expected
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.network import examples
from tests.test_training_descent import APPROXIMATE, EXACT, gradient_code

evaluate = partial(api.evaluate, "descent")
train_descent = partial(api.train, "descent")


@pytest.mark.parametrize(
    ("name", "n", "s"), [*EXACT, *(entry[:3] for entry in APPROXIMATE[::2]), ("nested", 2, 1)]
)
def test_no_decoder_reads_a_message_that_has_not_come(name: str, n: int, s: int) -> None:
    """Of every code and decoder; nested with weights reads the level of the draw and no other."""
    code, form, model = gradient_code(name, n, s), precision("float64"), TimeModel()
    x, y = model.draw(stream("worker times", 4), (12, n))
    late = message_times(code, x, y)
    moments, counts = drawn(model, code, n, 12, 4)
    gradients = np.random.default_rng(0).standard_normal((code.partitions, 20))
    for how in ("weights", "exact-weights", "lstsq", "closed-form"):
        if decoder(how).accepts(code):
            continue
        for t, moment in enumerate(moments):
            ledger = Ledger(form)
            sums = Sums(Scheme(code, decoder(how), form), ledger, counted=True)
            sums.of(gradients, counts[t])
            (plan,) = sums.plans.values()
            assert isinstance(plan, WeightsPlan)
            come = {
                (j, q) for j in range(n) for q in range(code.messages) if late[t, j, q] <= moment
            }
            read = {divmod(int(row), code.messages) for row in plan.rows[0]}
            weighed = {
                divmod(int(row), code.messages)
                for row in np.flatnonzero(plan.weights[0].any(axis=0))
            }
            assert weighed <= read == come
            if code.name == "nested" and how != "lstsq":
                ready = [np.sort(q * x[t] + y[t])[n - q] for q in range(1, s + 2)]
                assert {q for _, q in weighed} == {int(np.argmin(ready))}


def test_measures_are_what_the_documentation_says() -> None:
    """Every number of a record again, from the run of each seed and from the definitions."""
    n, s, count, seeds = 6, 2, 12, (3, 4)
    record = evaluate(
        "nested", n=n, stragglers=s, iterations=count, trials=2, seed=3, arrivals="times",
        method="nesterov", momentum=0.8, rate=0.2,
    )  # fmt: skip
    code, data = gradient_code("nested", n, s), [examples("digits", seed) for seed in seeds]
    steps = Method("nesterov", count, 0.2, 0.8)
    scheme = Scheme(code, decoder("weights"), precision("float32"))
    runs, alone, sent = [], [], 0
    spent: list[float] = []
    for seed, split in zip(seeds, data, strict=True):
        moments, counts = drawn(TimeModel(), code, n, count, seed)
        runs.append(descend(scheme, steps, split, n, counts, counted=True))
        everybody = np.ones((count, n), dtype=np.int8)
        uncoded = Scheme(None, None, precision("float32"))
        alone.append(descend(uncoded, steps, split, n, everybody))
        sent, spent = sent + int(counts.sum()), spent + moments.tolist()
    size = 650 * 4
    for name, entries in (("gradient_error", 2 * count), ("arithmetic_error", 2 * count)):
        errors = sorted(error for run in runs for error in run.errors[name])
        assert len(errors) == entries
        assert record.measures[name] == {
            "median": errors[entries // 2 - 1],
            "q95": errors[math.ceil(0.95 * entries) - 1],
            "worst": errors[-1],
        }
        shown = [[float(f"{error:.4g}") for error in run.errors[name]] for run in runs]
        assert record.measures[f"{name}s"] == shown
    right = [
        [float(np.mean(np.argmax(run.weights.T @ np.vstack([X, np.ones(X.shape[1])]), axis=0) == c))
         for X, c in ((split.train, split.train_classes), (split.test, split.test_classes))]
        for run, split in zip(runs, data, strict=True)
    ]  # fmt: skip
    assert [record.train_accuracy, record.test_accuracy] == [
        list(part) for part in zip(*right, strict=True)
    ]
    reference = [run.test_accuracy for run in alone]
    assert record.uncoded_test_accuracy == reference
    mean = np.mean([mine[1] - other for mine, other in zip(right, reference, strict=True)])
    assert record.accuracy_difference["mean"] == pytest.approx(mean, abs=1e-15)
    assert record.loss == [run.loss for run in runs]
    assert [len(losses) for losses in record.losses] == [count, count]
    assert record.uncoded_losses == [[float(f"{x:.4g}") for x in run.losses] for run in alone]
    assert record.per_step["bytes_down"] == n * size
    complex_too = 2 if code.is_complex else 1
    assert record.per_step["bytes_up"] == sent * size * complex_too / (2 * count)
    assert record.drawn_time == pytest.approx(np.mean(spent), rel=1e-14)
    assert sum(record.levels) == 2 * count
    assert record.expected_time == expected(TimeModel(), code, n)
    assert record.uncoded_expected_time == TimeModel().expected(n, 1, 1, 0)
    assert (record.load, record.reduction, record.diverged) == (s + 1, 1, [None, None])
    assert {key: record.seconds[key] for key in ("encode", "compute")} == {
        "encode": record.per_step["worker_encode_seconds"],
        "compute": record.per_step["compute_seconds"],
    }


def test_rows_of_a_report_hold_the_times_of_their_own_model(tmp_path: Path) -> None:
    """Times drawn stand beside the errors of the same iterations, and uncoded rows are told apart.

    Without arrivals=times there is none to show.
    """
    quick, slow = "shifted[x0=0]", "shifted[x0=9]"
    given: dict[str, Any] = {
        "n": 4,
        "stragglers": 1,
        "iterations": 4,
        "trials": 1,
        "times": [quick, slow],
    }
    for arrival in ("times", "random"):
        directory = tmp_path / arrival
        train_descent(None, directory, codes=["uncoded", "nested"], arrivals=arrival, **given)
        (section,) = report(directory, tmp_path / f"{arrival}-report", formats=["svg"]).sections
        (table,) = section.tables
        rows = {(row["scheme"], row["setting"]): row for row in table.records()}
        assert len(rows) == 4
        for record in Store(directory).records.values():
            scheme = "uncoded" if record.case["code"] == "uncoded" else "nested"
            (row,) = [
                r for (name, setting), r in rows.items()
                if name == scheme and record.case["times"] in setting
            ]  # fmt: skip
            assert row["expected_time"] == record.expected_time
            assert row["drawn_time"] == record.measures.get("drawn_time")
            shown = scheme == "uncoded" or arrival == "times"
            assert (row["drawn_time"] is not None) == shown
