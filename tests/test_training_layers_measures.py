"""Measures of coded layers by their definitions: whose accuracy and errors, what a step costs."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest

from stabbench.arithmetic.precision import precision
from stabbench.codes.base import Code
from stabbench.codes.registry import code as build_code
from stabbench.training import api
from stabbench.training.layers import structure
from stabbench.training.layers import train as training
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.cases import chosen_decoder
from stabbench.training.layers.coding import Coding
from stabbench.training.layers.layers import Deu
from stabbench.training.layers.network import Examples, examples, loss_and_error
from stabbench.training.layers.train import Plan, Run, Scheme
from tests.support import CODES_UNDER_TEST, label

Array = np.ndarray[Any, np.dtype[Any]]
evaluate = partial(api.evaluate, "layers")
NODES = [f"polynomial[nodes={kind}]" for kind in ("integers", "equispaced", "chebyshev")]
SHIFTS = [build_code(f"shift-add[design={d}]", 6, 2) for d in ("systematic", "vandermonde")]


class Watched(Deu):
    """A layer of mode deu that keeps what it was given and what it gave."""

    made: list["Watched"] = []  # noqa: RUF012 - emptied by the fixture

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seen: list[tuple[str, Array, Array, Array]] = []
        self.made.append(self)

    def forward(self, h: Array, pattern: Array) -> Array:
        estimate = super().forward(h, pattern)
        self.seen.append(("forward", self.shares, h, estimate))
        return estimate

    def backward(self, delta: Array, pattern: Array) -> Array:
        assert self.transposed is not None
        estimate = super().backward(delta, pattern)
        self.seen.append(("backward", self.transposed, delta, estimate))
        return estimate


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    monkeypatch.setattr(Watched, "made", [])
    monkeypatch.setattr(training, "Deu", Watched)
    return Watched.made


def weights_of(coding: Coding, shares: Array, rows: int) -> Array:
    """Least squares over the images of unit vectors, all workers, real weights."""
    length = coding.length(rows)
    units = coding.encode(np.eye(coding.blocks * length, dtype=coding.precision.storage.carrier))
    A, b = (x.reshape(-1, x.shape[2]) for x in (units, shares))
    A, b = (np.concatenate([x.real, x.imag]).astype(np.float64) for x in (A, b))
    return np.linalg.lstsq(A, b, rcond=None)[0][:rows]


def share_right(weights: list[Array], biases: list[Array], X: Array, classes: Array) -> float:
    h = X
    for W, b in zip(weights, biases, strict=True):
        z = W @ h + b[:, None]
        h = np.maximum(z, 0)
    return float(np.mean(z.argmax(axis=0) == classes))


def norm_ratio(value: Array, reference: Array) -> float:
    return float(np.linalg.norm(value - reference) / np.linalg.norm(reference))


def train_deu(code: Code, form: str, seed: int = 0, **network: Any) -> tuple[Run, Examples]:
    scheme = Scheme(code, chosen_decoder(code, "auto"), "deu", precision(form), arrivals("random"))
    data = examples("digits", seed)
    return training.train(scheme, Plan(**network), data, seed), data


# the weights that workers hold


@pytest.mark.parametrize("code", [*CODES_UNDER_TEST, *SHIFTS], ids=label)
def test_deu_is_measured_by_the_weights_that_the_shares_hold(
    code: Code, watched: list[Watched]
) -> None:
    found, _ = train_deu(code, "bfloat16", width=24, depth=1, steps=6, batch=32, rate=0.05)
    unit = precision("bfloat16").unit
    assert found.diverged is None
    errors: dict[str, list[float]] = {}
    assert len(found.copy_distance) == 1  # the first layer has one copy only
    for number, layer in enumerate(watched, start=1):
        held = weights_of(layer.coding, layer.shares, layer.weights.shape[0])
        assert np.allclose(found.weights[number - 1], held, rtol=2 * unit, atol=1e-8)
        distance = norm_ratio(held, layer.weights.astype(np.float64))
        assert found.shadow_distance[number - 1] == pytest.approx(distance, rel=1e-3)
        if layer.transposed is not None:
            other = weights_of(layer.coding, layer.transposed, layer.weights.shape[1]).T
            assert found.copy_distance[number - 2] == pytest.approx(
                norm_ratio(other, held), rel=1e-3
            )
        for name, shares, operand, estimate in layer.seen:
            rows = layer.weights.shape[0 if name == "forward" else 1]
            exact = weights_of(layer.coding, shares, rows) @ operand.astype(np.float64)
            errors.setdefault(f"{name} {number}", []).append(norm_ratio(estimate, exact))
    assert found.errors == {
        name: pytest.approx(values, rel=1e-3) for name, values in errors.items()
    }


def test_accuracy_is_not_that_of_a_model_which_nobody_holds(watched: list[Watched]) -> None:
    code = build_code("polynomial[nodes=chebyshev]", 10, 2)
    record = evaluate(code.spec, precision="bfloat16", mode="deu", width=128, steps=66, trials=1)
    del watched[:3]  # the layers of the first call, which is not measured
    run, data = train_deu(code, "bfloat16", width=128, steps=66)
    X = precision("bfloat16").store(data.test).astype(np.float64)
    held, shadow = (
        share_right(weights, run.biases, X, data.test_classes)
        for weights in (
            [weights_of(x.coding, x.shares, x.weights.shape[0]) for x in watched[-3:]],
            [x.weights.astype(np.float64) for x in watched[-3:]],
        )
    )
    assert record.test_accuracy[0] == pytest.approx(held, abs=1.5 / len(data.test_classes))
    assert abs(held - shadow) > 10 / len(data.test_classes)
    assert record.accuracy_difference["values"] == [
        record.test_accuracy[0] - record.uncoded_test_accuracy[0]
    ]
    assert record.epochs[0]["test_accuracy"][-1] == pytest.approx(record.test_accuracy[0], rel=1e-3)
    (far,) = record.shadow_distance["by_layer"]
    assert record.shadow_distance["worst"] == max(far)
    assert min(far) > 0.05


@pytest.mark.parametrize("form", ["float32", "float64", "longdouble"])
@pytest.mark.parametrize("name", [NODES[0], "rotation", "gaussian", "shift-add"])
def test_reading_weights_adds_no_error_of_their_size(name: str, form: str) -> None:
    """Weights and integer codes whose encodings are exact, and one that rounds."""
    code, store = build_code(name, 6, 2), precision(form).store
    coding = Coding(code, chosen_decoder(code, "auto"), precision(form))
    random = np.random.default_rng(2)
    weights = store(random.integers(-9, 10, (10, 3)).astype(np.float64))
    operand = store(random.integers(-9, 10, (3, 2)).astype(np.float64))
    shares = coding.encode(weights)
    nearest = structure.Nearest(coding, 10)
    hi, lo = nearest.weights(shares)
    allowed = 1e-12 if form == "float32" else 1e-24
    if name in ("rotation", "gaussian"):  # encoding rounds
        allowed = 50 * precision(form).unit
    assert np.abs((hi - weights) + lo).max() <= allowed * np.abs(weights).max()
    product = nearest.product(shares, operand)
    assert np.abs((product[0] - weights @ operand) + product[1]).max() <= 100 * allowed
    assert nearest.distance(shares) <= min(allowed, 2 * precision(form).unit)
    assert structure.departure((hi, lo), weights) <= allowed
    assert structure.departure((hi, lo), 2 * weights) == pytest.approx(0.5)


def test_shares_that_are_not_finite_hold_no_weights() -> None:
    code = build_code("gaussian", 6, 2)
    coding = Coding(code, chosen_decoder(code, "auto"), precision("float32"))
    shares = coding.encode(np.ones((8, 3), np.float32))
    shares[1, 0, 0] = np.inf
    assert np.isnan(structure.Nearest(coding, 8).weights(shares)[0]).all()
    assert structure.distance(coding, shares, 8) == np.inf


def test_a_code_with_dependent_columns_determines_no_weights() -> None:
    code = build_code("gaussian", 6, 2)
    coding = Coding(code, chosen_decoder(code, "auto"), precision("float32"))
    shares = coding.encode(np.ones((8, 3), np.float32))
    matrix = coding.factored(8)[0].copy()
    matrix[:, 3] = 0
    coding.factored = lambda rows: (matrix, *np.linalg.qr(matrix.astype(float)))  # type: ignore[method-assign]
    assert np.isnan(structure.Nearest(coding, 8).weights(shares)[0]).all()


def test_the_two_copies_of_deu_part_in_few_bits_and_not_in_exact_arithmetic() -> None:
    """Their distance counts the rounding of both; it is no part of the layer errors."""
    found = {
        form: evaluate(NODES[2], mode="deu", precision=form, width=64, steps=44, trials=2)
        for form in ("bfloat16", "float32", "float64")
    }
    worst = {form: record.copy_distance["worst"] for form, record in found.items()}
    assert worst["bfloat16"] > 0.1
    assert 1e-8 < worst["float32"] < 1e-4
    assert 0 < worst["float64"] < 1e-12
    for record in found.values():
        assert [len(layers) for layers in record.copy_distance["by_layer"]] == [2, 2]
        assert max(map(max, record.copy_distance["by_layer"])) == record.copy_distance["worst"]
    naive = evaluate("dct", mode="naive", width=16, steps=2, trials=1)
    assert "copy_distance" not in naive.measures


# what a step costs


def test_bytes_received_are_those_of_the_survivors_of_whole_steps() -> None:
    """Replies differ in length between the workers of a shift-and-add code, so steps differ too."""
    code = build_code("shift-add[design=vandermonde]", 6, 2)
    run, _ = train_deu(code, "float32", width=16, depth=1, steps=9, batch=8, rate=1e20)
    assert run.diverged is not None
    assert run.whole_steps == run.diverged - 1 > 0
    coding = Coding(code, chosen_decoder(code, "auto"), precision("float32"))
    patterns = arrivals("random").patterns(6, 2, 9, 0)[: run.whole_steps]
    numbers = sum(np.array(coding.lengths(rows)) for rows in (16, 10, 16))
    assert run.whole["bytes_up"] == 4 * 8 * (patterns * numbers).sum()


def test_a_code_whose_coefficients_overflow_is_a_divergence_and_no_failure() -> None:
    record = evaluate(
        NODES[0], mode="deu", precision="float16", n=10, stragglers=2, width=16, steps=3, trials=1
    )
    assert record.status == "overflow"
    assert record.whole_steps == [0]
    assert record.test_accuracy == [0.0]
    assert record.shadow_distance["worst"] == record.distance["worst"] == np.inf


def test_measures_of_a_record_agree_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    losses: list[float] = []

    def watched_loss(scores: Array, classes: Array) -> tuple[float, Array]:
        found = loss_and_error(scores, classes)
        losses.append(found[0])
        return found

    monkeypatch.setattr(training, "loss_and_error", watched_loss)
    record = evaluate("dct", mode="deu", width=24, steps=25, batch=128, trials=2)
    coded = losses[1:26], losses[26:51]  # after the first call, before the uncoded runs
    for trial, epochs in enumerate(record.epochs):
        assert epochs["step"] == [11, 22, 25]
        ends = itertools.pairwise([0, *epochs["step"]])
        means = [np.mean(coded[trial][a:b]) for a, b in ends]
        assert epochs["loss"] == pytest.approx(means, rel=1e-3)
        assert sum(epochs["bytes_down"]) == record.totals["bytes_down"][trial]
        assert epochs["train_accuracy"][-1] == pytest.approx(record.train_accuracy[trial], rel=1e-3)
    errors = sorted(x for trials in record.layer_errors.values() for x in itertools.chain(*trials))
    assert len(errors) == 25 * 2 * 5
    ranks = {"median": 0.5, "q95": 0.95, "worst": 1.0}
    expected = {name: errors[int(np.ceil(share * 250)) - 1] for name, share in ranks.items()}
    assert record.layer_error == pytest.approx(expected, rel=1e-3)
    invariants = [x for epochs in record.epochs for x in epochs["invariant"]]
    assert record.invariant["worst"] == pytest.approx(max(invariants), rel=1e-3)
    for key, totals in record.totals.items():
        assert record.per_step[key] * 50 == sum(totals)
    assert record.whole_steps == [25, 25]
