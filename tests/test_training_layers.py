"""Coded layers: what deu keeps, what is sent, what diverges, and whether measurements are right."""

import dataclasses
import itertools
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stabbench.analysis.conditions import conditions, stored_generator
from stabbench.arithmetic import exact, zigzag
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.arithmetic.shift_tables import shift_table
from stabbench.codes.base import Code, LinearCode
from stabbench.codes.registry import code as build_code
from stabbench.decoders.registry import decoder
from stabbench.errors import InputError
from stabbench.problems.base import cut
from stabbench.report import report
from stabbench.sweeps.case import Record
from stabbench.sweeps.store import Store
from stabbench.training import api
from stabbench.training.layers import cases, structure
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.cases import chosen_decoder, summary
from stabbench.training.layers.coding import Coding, decoding_flops
from stabbench.training.layers.layers import Deu, Naive, Plain, descended
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.network import accuracy, examples
from stabbench.training.layers.reference import product, relative_error
from stabbench.training.layers.train import Plan, Run, Scheme, train
from tests.support import CODES_UNDER_TEST, label

evaluate = partial(api.evaluate, "layers")
plan = partial(api.plan, "layers")
train_layers = partial(api.train, "layers")

Array = np.ndarray[Any, np.dtype[Any]]
SINGLE = precision("float32")
SYSTEMATIC, VANDERMONDE = (f"shift-add[design={d}]" for d in ("systematic", "vandermonde"))
INTEGERS, CHEBYSHEV = (f"polynomial[nodes={kind}]" for kind in ("integers", "chebyshev"))
TRAINABLE = (CHEBYSHEV, "chebyshev-basis", "gaussian", SYSTEMATIC, VANDERMONDE)


def scheme(name: str, mode: str, n: int = 10, s: int = 2, form: str = "float32") -> Scheme:
    code = build_code(name, n, s)
    return Scheme(code, chosen_decoder(code, "auto"), mode, precision(form), arrivals("random"))


def uncoded(form: str = "float32") -> Scheme:
    return Scheme(None, None, "local", precision(form), arrivals("none"))


def run(chosen: Scheme, seed: int = 0, **network: Any) -> Run:
    return train(chosen, Plan(**network), examples("digits", seed), seed)


# the structure that deu keeps


def shift_encoder(design: str, n: int, k: int) -> Any:
    table = shift_table(design, n, k)
    return lambda matrix: zigzag.encode(table, cut(matrix, k))


def dense_encoder(generator: Array) -> Any:
    def encode(matrix: Array) -> Array:
        blocks = cut(matrix, generator.shape[1])
        return np.tensordot(generator, blocks, axes=1)

    return encode


def integer_generator(n: int, k: int) -> Array:
    return np.array([[(i + 1) ** j for j in range(k)] for i in range(n)])


def fraction_generator(n: int, k: int) -> Array:
    values = build_code("gaussian", n, n - k)
    assert isinstance(values, LinearCode)
    rounded = values.generator.rounded("float32")
    return np.array([[Fraction(float(x)) for x in row] for row in rounded], dtype=object)


EXACT_ENCODERS = {
    "shift-add systematic": (shift_encoder("systematic", 6, 4), np.int64),
    "shift-add vandermonde": (shift_encoder("vandermonde", 6, 4), np.int64),
    "polynomial integers": (dense_encoder(integer_generator(6, 4)), np.int64),
    "gaussian in fractions": (dense_encoder(fraction_generator(6, 4)), object),
}


@pytest.mark.parametrize("name", EXACT_ENCODERS)
def test_deu_keeps_the_code_exactly_in_exact_arithmetic(name: str) -> None:
    encode, dtype = EXACT_ENCODERS[name]
    random = np.random.default_rng(3)
    weights = random.integers(-9, 10, (10, 7)).astype(dtype)
    shares, transposed = encode(weights), encode(weights.T)
    for _ in range(12):
        delta = random.integers(-5, 6, (10, 3)).astype(dtype)
        h = random.integers(-5, 6, (7, 3)).astype(dtype)
        shares = descended(shares, encode(delta), h, 2)
        transposed = descended(transposed, encode(h), delta, 2)
        weights = descended(weights, delta, h, 2)
    assert weights.dtype == dtype
    assert np.abs(weights).max() > 100
    assert np.array_equal(shares, encode(weights))
    assert np.array_equal(transposed, encode(weights.T))


@pytest.mark.parametrize("name", TRAINABLE)
def test_coded_weights_are_an_encoding_after_500_steps(name: str) -> None:
    found = run(scheme(name, "deu"), width=64, depth=1, batch=32, steps=500)
    assert found.diverged is None
    assert found.distance is not None
    assert 0 < found.distance <= 1e-5
    assert 0 < max(epoch["invariant"] for epoch in found.epochs) <= 1e-5


def test_a_worker_that_misses_an_update_breaks_the_invariant() -> None:
    coding = Coding(build_code("gaussian", 6, 2), decoder("solve"), SINGLE)
    weights = SINGLE.store(np.random.default_rng(0).standard_normal((16, 8)))
    layer = Deu(weights, coding, Ledger(SINGLE), first=False)
    delta, h = (SINGLE.store(np.random.default_rng(1).standard_normal((m, 4))) for m in (16, 8))
    stale = layer.shares[2].copy()
    layer.update(delta, h, 0.1)
    assert structure.invariant(coding, layer.shares, layer.weights) < 1e-6
    assert structure.distance(coding, layer.shares, 16) < 1e-6
    layer.shares[2] = stale
    assert structure.invariant(coding, layer.shares, layer.weights) > 1e-2
    assert structure.distance(coding, layer.shares, 16) > 1e-2


SHIFTS = [
    build_code(f"shift-add[design={design}]", 6, 2)
    for design in ("systematic", "systematic1", "systematic-reflected", "vandermonde", "reflected")
]


def amplification_of_everybody(code: Code, rows: int) -> float:
    """|| |D| |Phi| ||_inf without stragglers; shift-and-add by decoding unit replies exactly."""
    if isinstance(code, LinearCode):
        found = conditions(stored_generator(code, "float32"), np.arange(code.shape[0])[None])
        return float(found.amplification[0])
    double = precision("float64")
    coding = Coding(code, chosen_decoder(code, "auto"), double)
    length = coding.length(rows)
    unknowns = np.eye(coding.blocks * length).reshape(coding.blocks, length, -1)
    phi = coding.encoder.apply(unknowns, double)
    units = np.eye(phi.shape[0] * phi.shape[1]).reshape(*phi.shape[:2], -1)
    decoding = coding.decode(units, np.ones(code.n, dtype=np.int8), coding.blocks * length)
    assert np.array_equal(decoding @ phi.reshape(-1, phi.shape[2]), np.eye(phi.shape[2]))
    return float((np.abs(decoding) @ np.abs(phi).reshape(-1, phi.shape[2])).sum(axis=1).max())


def holds_plain_rows(code: Code) -> bool:
    if isinstance(code, LinearCode):
        G = code.generator.rounded("float64")
        return bool((((G == 0) | (G == 1)).all(axis=1) & (G.sum(axis=1) == 1)).all())
    return code.stragglers == 0


@pytest.mark.parametrize("mode", ["naive", "deu"])
@pytest.mark.parametrize("code", [*CODES_UNDER_TEST, *SHIFTS], ids=label)
def test_one_step_agrees_with_uncoded_within_the_amplification(code: Code, mode: str) -> None:
    network = Plan(width=32, depth=1, steps=1, batch=32, rate=1.0)
    data = examples("digits", 0)
    bound = min(1.0, 10 * SINGLE.unit * amplification_of_everybody(code, network.width))
    exactly = decoder("exact-weights") if isinstance(code, LinearCode) else decoder("zigzag")
    coded = train(Scheme(code, exactly, mode, SINGLE, arrivals("none")), network, data, 0)
    plain = train(uncoded(), network, data, 0)
    start = train(uncoded(), dataclasses.replace(network, rate=1e-30), data, 0).weights
    for mine, reference, before in zip(coded.weights, plain.weights, start, strict=True):
        difference = np.linalg.norm(mine.astype(np.float64) - reference)
        assert difference <= bound * np.linalg.norm(reference.astype(np.float64))
        assert difference <= bound * np.linalg.norm(reference.astype(np.float64) - before)
    if mode == "deu":
        assert coded.epochs[-1]["invariant"] <= 10 * SINGLE.unit
        # plain rows are updated by the very numbers of the master, where BLAS rounds them alike
        assert coded.epochs[-1]["invariant"] > 0 or holds_plain_rows(code)
        assert coded.distance is not None
        assert coded.distance <= 10 * SINGLE.unit


# what is sent


@pytest.mark.parametrize(("n", "s"), [(10, 2), (6, 2)])
@pytest.mark.parametrize("name", ["gaussian", SYSTEMATIC, VANDERMONDE])
def test_bytes_are_those_of_the_block_sizes(name: str, n: int, s: int) -> None:
    k, batch, width, steps, item = n - s, 8, 96, 3, 4
    widths = (64, width, width, 10)
    shifts = np.zeros(n, dtype=int)
    if name.startswith("shift-add"):
        shifts = shift_table(name.partition("=")[2][:-1], n, k).max(axis=1)

    def coded_rows(rows: int) -> Any:
        return -(-rows // k) + shifts

    found = {
        mode: run(scheme(name, mode, n, s), width=width, batch=batch, steps=steps).totals
        for mode in ("naive", "deu")
    }
    operands, matrices, first, setup = 0, 0, 0, 0
    for number, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        forward, backward = coded_rows(outputs).sum() * inputs, coded_rows(inputs).sum() * outputs
        operands += n * batch * (inputs + (outputs if number else 0))
        matrices += forward + (backward if number else 0)
        first += 0 if number else coded_rows(outputs).sum() * batch
    setup = matrices
    assert found["naive"]["bytes_down"] == steps * item * (operands + matrices)
    assert found["deu"]["bytes_down"] == steps * item * (operands + first)
    assert found["deu"]["bytes_setup"] == item * setup
    assert found["naive"]["bytes_setup"] == 0
    assert found["deu"]["bytes_down"] < found["naive"]["bytes_down"]
    factor = (operands + matrices) / (operands + first)
    assert found["naive"]["bytes_down"] / found["deu"]["bytes_down"] == pytest.approx(factor)


def test_what_is_counted_is_what_workers_compute_with(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Array] = []
    monkeypatch.setattr(Ledger, "send", lambda self, *arrays: sent.extend(arrays))
    coding = Coding(build_code("gaussian", 6, 2), decoder("solve"), SINGLE)
    weights = SINGLE.store(np.random.default_rng(0).standard_normal((8, 5)))
    h = SINGLE.store(np.random.default_rng(1).standard_normal((5, 3)))
    pattern = np.array([1, 1, 0, 1, 0, 1], dtype=np.int8)
    estimate = Naive(weights, coding, Ledger(SINGLE)).forward(h, pattern)
    shares, operands = sent[:6], sent[6:]
    replies = np.stack([share @ x for share, x in zip(shares, operands, strict=True)])
    assert np.allclose(coding.decode(replies, pattern, 8), estimate, rtol=1e-5, atol=1e-5)
    sent.clear()
    layer = Deu(weights, coding, Ledger(SINGLE), first=False)
    layer.forward(h, pattern)
    layer.backward(estimate, pattern)
    layer.update(estimate, h, 0.1)
    assert [array.shape for array in sent] == [(5, 3)] * 6 + [(8, 3)] * 6


def test_replies_of_stragglers_are_not_received() -> None:
    coding = Coding(
        build_code(VANDERMONDE, 6, 2), chosen_decoder(build_code(VANDERMONDE, 6, 2), "auto"), SINGLE
    )
    layer = Naive(np.ones((8, 5), np.float32), coding, ledger := Ledger(SINGLE))
    layer.forward(np.ones((5, 3), np.float32), np.array([1, 0, 1, 1, 0, 1], dtype=np.int8))
    rows = 2 + np.arange(6) * 3
    assert ledger.up == 4 * 3 * rows[[0, 2, 3, 5]].sum()


@pytest.mark.parametrize(("form", "width"), [("float64", 8), ("float32", 4), ("bfloat16", 2)])
def test_numbers_on_the_wire_have_the_bytes_of_their_format(form: str, width: int) -> None:
    ledger = Ledger(precision(form))
    ledger.send(precision(form).store(np.ones((3, 5))))
    ledger.receive(precision(form).store(np.ones(2)) * 1j)
    assert (ledger.down, ledger.up) == (15 * width, 4 * width)


@pytest.mark.parametrize("name", ["gaussian", SYSTEMATIC, VANDERMONDE])
def test_deu_takes_work_from_the_master(name: str) -> None:
    naive, deu = (run(scheme(name, m), width=128, steps=4).totals for m in ("naive", "deu"))
    assert deu["master_flops"] < 0.7 * naive["master_flops"]
    assert deu["worker_flops"] > naive["worker_flops"]
    assert deu["master_update_seconds"] == 0
    assert naive["worker_update_seconds"] == 0


def test_seconds_of_a_case_are_those_of_its_steps() -> None:
    record = evaluate("gaussian", n=6, stragglers=2, width=16, steps=3, trials=1)
    for stage in ("encode", "compute", "decode"):
        assert record.measures["seconds"][stage] == record.per_step[f"{stage}_seconds"] > 0


def test_flops_of_a_product_are_those_of_its_blocks() -> None:
    coding = Coding(build_code(INTEGERS, 6, 2), decoder("solve"), SINGLE)
    layer = Naive(np.ones((8, 5), np.float32), coding, ledger := Ledger(SINGLE))
    layer.forward(np.ones((5, 3), np.float32), np.array([1, 1, 1, 1, 0, 0], dtype=np.int8))
    products = 5 * 3  # the first column and the first worker have factors 1
    encode = (products + 6 * 3) * 2 * 5
    assert ledger.worker_flops == 2 * 6 * 2 * 5 * 3
    assert ledger.master_flops == pytest.approx(encode + 2 * 64 / 3 + 2 * 16 * 2 * 3)


@pytest.mark.parametrize("first", [False, True])
def test_flops_of_an_update_fall_on_those_who_encode(first: bool) -> None:
    coding = Coding(build_code(INTEGERS, 6, 2), decoder("solve"), SINGLE)
    layer = Deu(np.ones((8, 5), np.float32), coding, ledger := Ledger(SINGLE), first=first)
    layer.update(np.ones((8, 3), np.float32), np.ones((5, 3), np.float32), 0.5)
    encode = (5 * 3 + 6 * 3) * 2 * 3  # four blocks of two rows and three columns
    coded_rows = 6 * 2
    own, other = 2 * coded_rows * 5 * 3, 2 * coded_rows * 8 * 3
    assert ledger.worker_flops == own + (0 if first else other + 2 * encode)
    assert ledger.master_flops == (encode if first else 0)


@pytest.mark.parametrize(
    ("name", "received", "flops"),
    [
        ("solve", 4, Fraction(128, 3) + 320),
        ("inverse", 4, 128 + 320),
        ("lstsq", 4, Fraction(256, 3) + 480),
        ("refined[steps=2]", 4, Fraction(128, 3) + 320 + 2 * (64 + 4) * 10),
        ("bjorck-pereyra", 4, 12 + 240),
        ("zigzag", 4, 120),
        ("exact-weights", 4, 320),
        ("exact-weights", 6, 480),
        *((name, 6, Fraction(448, 3) + 800) for name in ("solve", "inverse", "refined", "lstsq")),
    ],
)
def test_flops_of_decoding_are_the_leading_terms(name: str, received: int, flops: Any) -> None:
    assert decoding_flops(decoder(name), received, 4, 10) == pytest.approx(float(flops), rel=1e-15)


def test_scores_that_are_not_finite_are_wrong() -> None:
    features = np.array([[2.0, np.nan, np.inf, 3.0], [1.0, 1.0, 1.0, 4.0]])
    for classes, share in (([0, 0, 0, 0], 0.25), ([0, 0, 0, 1], 0.5)):
        assert accuracy([np.eye(2)], [np.zeros(2)], features, np.array(classes)) == share


# what training does with the errors


@pytest.mark.parametrize("mode", ["naive", "deu"])
def test_integer_points_diverge_where_uncoded_trains(mode: str) -> None:
    record = evaluate(INTEGERS, mode=mode, width=256, steps=30, trials=2)
    assert record.status == "overflow"
    assert record.reason.startswith("2 of 2 trials diverged, trial 0: ")
    assert record.reason.endswith(f"not finite at step {record.diverged[0]}")
    assert all(2 <= step <= 20 for step in record.diverged)
    assert min(record.uncoded_test_accuracy) > 0.8
    assert record.accuracy_difference["mean"] < -0.5
    errors = record.layer_errors["forward 2"][0]
    assert len(errors) in (record.diverged[0] - 1, record.diverged[0])


@pytest.mark.parametrize("name", TRAINABLE)
def test_stable_schemes_train_as_uncoded_at_short_blocks(name: str) -> None:
    coded, plain = (run(c, width=256, steps=66) for c in (scheme(name, "naive"), uncoded()))
    assert coded.diverged is None
    assert max(max(errors) for errors in coded.errors.values()) < 1e-2
    assert abs(coded.test_accuracy - plain.test_accuracy) <= 2 / 359
    assert coded.epochs[-1]["loss"] == pytest.approx(plain.epochs[-1]["loss"], rel=1e-2)


def test_long_blocks_break_vandermonde_shifts_and_not_systematic_ones() -> None:
    network = {"width": 2048, "batch": 32, "steps": 8}
    broken, sound = (run(scheme(name, "naive"), **network) for name in (VANDERMONDE, SYSTEMATIC))
    assert broken.diverged is not None
    assert sound.diverged is None
    assert max(max(errors) for errors in sound.errors.values()) < 1e-3


def test_layer_errors_are_in_the_order_of_the_schemes() -> None:
    names = ("gaussian", SYSTEMATIC, VANDERMONDE, INTEGERS)
    found = {name: run(scheme(name, "naive"), width=256, steps=6).errors for name in names}
    medians = {
        name: float(np.median(np.concatenate(list(errors.values()))))
        for name, errors in found.items()
    }
    assert 1e-7 < medians[SYSTEMATIC] < 3e-6
    assert 3e-5 < medians[VANDERMONDE] < 1e-3
    assert medians[INTEGERS] > 1e-2
    assert medians["gaussian"] < 1e-4


def test_uncoded_weights_follow_plain_gradient_descent() -> None:
    """Against the same network written out in float64."""
    found = run(uncoded("float64"), width=12, depth=1, steps=5, batch=16, rate=0.3)
    data, random = examples("digits", 0), np.random.default_rng([0, 12])
    W = random.standard_normal((12, 64)) * np.sqrt(2 / 64)
    V = random.standard_normal((10, 12)) * np.sqrt(2 / 12)
    b, c = np.zeros(12), np.zeros(10)
    order = np.random.default_rng([0, 13]).permutation(data.train.shape[1])
    for step in range(5):
        columns = order[16 * step : 16 * step + 16]
        X, y = data.train[:, columns], np.eye(10)[data.train_classes[columns]].T
        hidden = np.maximum(W @ X + b[:, None], 0)
        odds = np.exp(V @ hidden + c[:, None])
        error = (odds / odds.sum(axis=0) - y) / 16
        back = (V.T @ error) * (hidden > 0)
        V, c = V - 0.3 * error @ hidden.T, c - 0.3 * error.sum(axis=1)
        W, b = W - 0.3 * back @ X.T, b - 0.3 * back.sum(axis=1)
    for mine, reference in zip(found.weights + found.biases, [W, V, b, c], strict=True):
        assert np.allclose(mine, reference, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", ["naive", "deu"])
@pytest.mark.parametrize(
    ("name", "n", "form"),
    [
        ("polynomial[nodes=roots-of-unity]", 8, "float32"),
        ("rotation", 8, "float32"),
        ("dct", 8, "bfloat16"),
        ("dct", 8, "float32/float64"),
        (SYSTEMATIC, 8, "float64"),
        (SYSTEMATIC, 8, "float16"),
    ],
)
def test_codes_of_every_kind_train_in_every_precision(
    name: str, n: int, form: str, mode: str
) -> None:
    coded, plain = (
        run(c, width=32, steps=44) for c in (scheme(name, mode, n, 2, form), uncoded(form))
    )
    unit = precision(form).unit
    assert coded.diverged is None
    assert max(max(errors) for errors in coded.errors.values()) < 1e3 * unit
    assert coded.test_accuracy > plain.test_accuracy - 0.1
    if form == "float32/float64":
        assert max(coded.errors["forward 2"]) > 1e-9


@pytest.mark.parametrize("form", [f for f in ("float64", "longdouble") if f in ALLOWED])
def test_elementwise_decoders_reach_the_precision_beyond_lapack(form: str) -> None:
    found = run(scheme(SYSTEMATIC, "naive", 6, 2, form), width=16, depth=1, steps=2)
    assert max(found.errors["forward 1"]) < 50 * precision(form).unit


# measurements


@pytest.mark.parametrize("form", ["float32", "float64"])
def test_reference_products_agree_with_exact_arithmetic(form: str) -> None:
    random = np.random.default_rng(5)
    A = precision(form).store(
        random.standard_normal((6, 50)) * 10.0 ** random.integers(-4, 5, (6, 1))
    )
    B = precision(form).store(random.standard_normal((50, 4)))
    hi, lo = product(A, B)
    true_hi, true_lo = exact.product(A, B)
    scale = np.abs(A).max(axis=1)[:, None].astype(float) * np.abs(B).max(axis=0).astype(float)
    allowed = 50 * 2.0 ** (-64 if form == "float64" else -53)
    assert np.all(np.abs((hi - true_hi) + (lo - true_lo)) <= allowed * scale)


def test_relative_error_is_infinite_where_anything_is_not_finite() -> None:
    pair = np.ones((2, 2)), np.zeros((2, 2))
    assert relative_error(np.array([[1.0, np.nan], [1.0, 1.0]]), pair) == np.inf
    assert relative_error(np.ones((2, 2)), pair) == 0
    assert relative_error(np.full((2, 2), 0.5), (np.zeros((2, 2)), np.zeros((2, 2)))) == 1


def test_measured_errors_are_those_of_the_decoded_products() -> None:
    chosen = scheme("gaussian", "naive", 6, 2)
    found = run(chosen, width=24, depth=1, steps=1)
    coding = Coding(build_code("gaussian", 6, 2), decoder("solve"), SINGLE)
    start = run(uncoded(), width=24, depth=1, steps=1, rate=1e-30).weights
    columns = np.random.default_rng([0, 13]).permutation(1438)[:64]
    X = SINGLE.store(examples("digits", 0).train[:, columns])
    pattern = arrivals("random").patterns(6, 2, 1, 0)[0]
    estimate = Naive(start[0], coding, Ledger(SINGLE)).forward(X, pattern)
    true = start[0].astype(np.float64) @ X.astype(np.float64)
    error = np.linalg.norm(estimate - true) / np.linalg.norm(true)
    assert found.errors["forward 1"][0] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("model", ["random", "latency", "latency[spread=0]", "none"])
def test_survivors_are_seeded_and_of_the_right_number(model: str) -> None:
    patterns = arrivals(model).patterns(7, 2, 40, seed=4)
    assert np.array_equal(patterns, arrivals(model).patterns(7, 2, 40, seed=4))
    assert set(patterns.sum(axis=1)) == ({7} if model == "none" else {5})
    if model != "none":
        assert not np.array_equal(patterns, arrivals(model).patterns(7, 2, 40, seed=5))
        assert len(np.unique(patterns, axis=0)) > 1


def test_slow_workers_straggle_more_often() -> None:
    counts = arrivals("latency[spread=1]").patterns(8, 2, 400, seed=0).sum(axis=0)
    even = arrivals("random").patterns(8, 2, 400, seed=0).sum(axis=0)
    assert counts.min() < 150
    assert even.min() > 250


# cases, store, report


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("layers")
    train_layers(
        None,
        directory,
        codes=["uncoded", INTEGERS, "gaussian", SYSTEMATIC],
        mode=["naive", "deu"],
        width=64,
        steps=22,
        trials=2,
    )
    return directory


def test_a_divergence_is_a_record_and_the_others_go_on(stored: Path) -> None:
    records = list(Store(stored).records.values())
    by_code = {(r.case["code"].partition("[")[0], r.case["mode"]): r.status for r in records}
    assert by_code.pop(("polynomial", "naive")) == "overflow"
    assert by_code.pop(("polynomial", "deu")) == "overflow"
    assert by_code == {
        ("uncoded", "local"): "ok",
        **{(name, mode): "ok" for name in ("gaussian", "shift-add") for mode in ("naive", "deu")},
    }


def test_the_first_call_of_kernels_is_no_measured_time(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[Any, int]] = []

    def watched(scheme: Scheme, plan: Plan, data: Any, seed: int) -> Run:
        if scheme.code is not None:
            trained.append((plan.steps, seed))
        return train(scheme, plan, data, seed)

    monkeypatch.setattr(cases, "train", watched)
    record = evaluate("gaussian", width=8, depth=1, steps=3, trials=2, seed=5)
    assert trained == [(1, 5), (3, 5), (3, 6)]
    assert len(record.layer_errors["forward 1"]) == 2


def test_products_that_the_first_trial_never_formed_are_kept() -> None:
    whole = train(uncoded(), Plan(width=8, depth=1, steps=2), examples("digits", 1), 1)
    ended = dataclasses.replace(whole, errors={"forward 1": [np.inf]}, diverged=1, reason="x")
    found = summary([ended, whole], [whole, whole])["layer_errors"]
    assert list(found) == ["forward 1", "forward 2", "backward 2"]
    assert found["backward 2"][0] == []
    assert len(found["backward 2"][1]) == 2


def test_records_survive_json(stored: Path) -> None:
    for record in Store(stored).records.values():
        again = Record.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
        assert again.measures == record.measures
        assert again.case.id == record.case.id


def test_finished_cases_are_not_trained_again(stored: Path) -> None:
    seen: list[Record] = []
    train_layers(
        None,
        stored,
        progress=seen.append,
        codes=["uncoded", INTEGERS, "gaussian", SYSTEMATIC],
        mode=["naive", "deu"],
        width=64,
        steps=22,
        trials=2,
    )
    assert seen == []


def test_differences_pair_the_same_seeds(stored: Path) -> None:
    records = Store(stored).records.values()
    reference = next(r for r in records if r.case["code"] == "uncoded")
    for record in records:
        assert record.uncoded_test_accuracy == reference.test_accuracy
        pairs = zip(record.test_accuracy, reference.test_accuracy, strict=True)
        assert record.accuracy_difference["values"] == [a - b for a, b in pairs]
        assert len({len(e["step"]) for e in record.epochs if record.status == "ok"}) <= 1


def test_report_shows_accuracy_errors_and_costs(stored: Path, tmp_path: Path) -> None:
    written = report(stored, tmp_path, formats=["svg"])
    (section,) = written.sections
    tables = {table.name: table for table in section.tables}
    plots = {plot.name: plot.data for plot in section.plots}
    accuracy = tables["training-accuracy"].records()
    assert {row["scheme"] for row in accuracy if row["diverged"]} == {
        f"{INTEGERS} naive",
        f"{INTEGERS} deu",
    }
    costs = {row["code"]: row for row in tables["training-costs"].records()}
    assert all(row["bytes_ratio"] > 1 for row in costs.values())
    bars = plots["training-costs"].records()
    assert [row["bytes"] for row in bars if row["code"] == "gaussian"] == [
        costs["gaussian"]["naive_bytes"],
        costs["gaussian"]["deu_bytes"],
    ]
    errors = plots["training-layer-error"].records()
    assert max(row["step"] for row in errors if row["scheme"] == "gaussian deu") == 22
    runs = plots["training-accuracy-against-error"].records()
    assert len(runs) == 2 * (len(accuracy) - 1)
    curves = plots["training-accuracy-by-epoch"].records()
    ends = {row["scheme"]: (row["step"], row["value"], row["diverged"]) for row in curves}
    sound = next(row for row in accuracy if row["scheme"] == "gaussian naive")
    step, value, diverged = ends["gaussian naive"]
    assert (step, diverged) == (22, 0)
    assert value == pytest.approx(sound["accuracy"], rel=1e-3)
    broken = next(row for row in accuracy if row["scheme"] == f"{INTEGERS} naive")
    assert ends[f"{INTEGERS} naive"][2] == 2
    assert ends[f"{INTEGERS} naive"][1] == pytest.approx(broken["accuracy"], abs=1e-3)


def test_a_line_of_errors_is_of_all_seeds_or_ends(tmp_path: Path) -> None:
    """Seeds that diverge late are no sample of all seeds: without the others a line would fall."""
    train_layers(None, tmp_path, codes=[INTEGERS], mode="naive", width=256, steps=15, trials=3)
    (record,) = Store(tmp_path).records.values()
    assert len(set(record.diverged)) > 1
    (section,) = report(tmp_path, tmp_path / "report", formats=["svg"]).sections
    plots = {plot.name: plot.data.records() for plot in section.plots}
    rows, products = plots["training-layer-error"], record.layer_errors.values()
    assert [row["step"] for row in rows] == list(range(1, min(record.diverged) + 1))
    for row in rows:
        medians = [
            np.median([e[trial][row["step"] - 1] for e in products if len(e[trial]) >= row["step"]])
            for trial in range(3)
        ]
        assert row["value"] == pytest.approx(np.mean(medians))
        assert (row["low"], row["high"]) == pytest.approx((min(medians), max(medians)))
    accuracies = plots["training-accuracy-by-epoch"]
    assert accuracies[-1]["value"] == pytest.approx(np.mean(record.test_accuracy), rel=1e-3)


def test_presets_hold_six_schemes_and_five_seeds() -> None:
    cases = plan("standard", {}).cases
    assert {case["trials"] for case in cases} == {5}
    assert {case["data"] for case in cases} == {"digits"}
    first = {case["code"] for case in cases if case["n"] in (1, 10) and case["width"] == 256}
    assert len(first) == 6
    assert len(plan("smoke", {"trials": 1}).cases) == 11


def test_uncoded_is_one_case_whatever_the_workers() -> None:
    cases = plan(None, {"codes": ["uncoded"], "n": [6, 10], "mode": ["naive", "deu"]}).cases
    assert len(cases) == 1


def test_any_archive_with_features_and_classes_trains(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    classes = random.integers(0, 3, 200) * 5 + 2
    features = random.standard_normal((200, 6)) * 50 + classes[:, None] * np.arange(6) * 30
    np.savez(tmp_path / "own.npz", X=features, y=classes)
    record = evaluate(
        "gaussian", n=6, stragglers=2, data=str(tmp_path / "own.npz"), width=16, steps=40, trials=2
    )
    assert record.status == "ok"
    assert min(record.test_accuracy) > 0.9
    assert record.case["files"].startswith("own.npz:")


WRONG: Sequence[tuple[dict[str, Any], str]] = (
    ({"code": "gaussiann"}, "unknown code 'gaussiann'"),
    ({"mode": "dew"}, "mode='dew'"),
    ({"width": 0}, "width=0"),
    ({"rate": -1.0}, "rate=-1.0"),
    ({"rate": 0.0}, "rate=0.0"),
    ({"rate": np.inf}, "rate=inf"),
    ({"trials": 0}, "trials=0"),
    ({"arrivals": "late"}, "unknown arrivals 'late'"),
    (
        {"arrivals": "latency[rate=0]"},
        "arrivals latency[shift=1.0,rate=0.0,spread=0.5]: allowed are shift >= 0",
    ),
    ({"data": "gaussian"}, "labels"),
    ({"decoder": "zigzagg"}, "unknown decoder"),
    ({"precision": "float8"}, "precision 'float8'"),
    ({"code": "reed-solomon"}, "decoder auto"),
    ({"code": "uncoded", "mode": "dew"}, "mode='dew'; did you mean deu?"),
    ({"code": "uncoded", "decoder": "zigzagg"}, "unknown decoder"),
    ({"code": "uncoded", "n": 0}, "n=0; allowed is an integer >= 1"),
    ({"code": "uncoded", "stragglers": -1}, "stragglers=-1; allowed is an integer >= 0"),
    ({"mode": "local"}, "mode='local'"),
)


@pytest.mark.parametrize(("change", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_input_is_told_in_one_line(change: dict[str, Any], words: str) -> None:
    request: dict[str, Any] = {"code": "gaussian", "steps": 1, "trials": 1, "width": 8}
    fields = request | change
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        evaluate(fields.pop("code"), **fields)
    assert "\n" not in str(caught.value)


def test_unknown_keys_of_a_grid_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[grid]]\ncodes = ["uncoded"]\nwidht = 8\n', encoding="utf-8")
    with pytest.raises(InputError, match="unknown key 'widht'; did you mean width"):
        plan(str(file), {})
    with pytest.raises(InputError, match="codes is missing"):
        plan(None, {"width": 8})
    file.write_text('[[grid]]\ncodes = ["dct"]\ncode = "haar"\n', encoding="utf-8")
    with pytest.raises(InputError, match="grid 1: both code and codes; give one of them"):
        plan(str(file), {})


@pytest.mark.parametrize("name", ["code", "codes"])
def test_options_replace_the_codes_of_a_file_under_either_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / "own.toml"
    for first, second in (("code", "codes"), ("codes", "code")):
        file.write_text(f'{first} = "dct"\n[[grid]]\n{second} = "gaussian"\n', encoding="utf-8")
        assert [case["code"] for case in plan(str(file), {}).cases] == ["gaussian[seed=0,select=1]"]
        assert [case["code"] for case in plan(str(file), {name: "uncoded"}).cases] == ["uncoded"]


def test_combinations_that_do_not_exist_are_skipped() -> None:
    found = plan(None, {"codes": ["uncoded-cyclic"], "n": [6, 7], "stragglers": 2, "steps": 1})
    assert len(found.cases) == 2
    assert [record.status for record in found.skipped.values()] == ["skipped"]
    record = evaluate("gaussian", decoder="bjorck-pereyra", steps=1, trials=1)
    assert record.status == "skipped"


def test_plain_layers_are_the_masters_work() -> None:
    layer = Plain(np.ones((4, 3), np.float32), SINGLE, ledger := Ledger(SINGLE))
    layer.forward(np.ones((3, 2), np.float32), np.ones(1, np.int8))
    assert (ledger.down, ledger.up, ledger.worker_flops) == (0, 0, 0)
    assert ledger.master_flops == 2 * 4 * 3 * 2
