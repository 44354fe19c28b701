"""Coded gradient descent: both errors, the iteration, what is sent, the time of an iteration."""

import json
import re
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stabbench.analysis.timemodel import TimeModel
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.approximate import ApproximateCode
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.registry import code as build_code
from stabbench.decoders.registry import decoder
from stabbench.errors import InputError
from stabbench.report import report
from stabbench.sweeps.case import Record
from stabbench.sweeps.store import Store
from stabbench.training import api
from stabbench.training.descent import cases
from stabbench.training.descent.cases import Request, Setup, chosen_decoder, time_measures
from stabbench.training.descent.descend import ERRORS, Descent, Method, Scheme, Sums, descend
from stabbench.training.descent.report import losses as shown_losses
from stabbench.training.descent.softmax import Regression, accuracy
from stabbench.training.descent.times import drawn, expected
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.curves import together
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.network import examples

evaluate = partial(api.evaluate, "descent")
plan = partial(api.plan, "descent")
train_descent = partial(api.train, "descent")

Array = np.ndarray[Any, np.dtype[Any]]
EXACT = (
    ("fractional-repetition", 9, 2),
    ("cyclic-repetition", 10, 2),
    ("cyclic-mds", 10, 2),
    ("reed-solomon", 10, 2),
    ("ye-abbe[d=5,m=3]", 10, 2),
    ("ye-abbe[variant=gaussian,d=5,m=3]", 10, 2),
    ("kadhe[generator=chebyshev,d=5,m=3]", 10, 2),
    ("kadhe[d=5,m=3]", 10, 2),
    ("heterogeneous", 10, 2),
    ("clustered", 10, 1),
    ("nested", 10, 2),
    ("block-coordinate", 10, 2),
)
APPROXIMATE = (
    ("bibd", 7, 2, "lstsq"),
    ("bibd", 7, 2, "closed-form"),
    ("expander", 10, 2, "lstsq"),
    ("expander", 10, 2, "closed-form"),
    ("bernoulli", 10, 2, "lstsq"),
    ("bernoulli", 10, 2, "closed-form"),
    ("stochastic", 10, 2, "closed-form"),
)


def gradient_code(name: str, n: int, s: int) -> GradientCode:
    code = build_code(name, n, s)
    assert isinstance(code, GradientCode)
    return code


def run(
    name: str, n: int, s: int, form: str = "float64", how: str = "auto", **method: Any
) -> Descent:
    code = gradient_code(name, n, s)
    scheme = Scheme(code, chosen_decoder(code, how), precision(form))
    chosen = Method(**{"iterations": 15, **method})
    patterns = arrivals("random").patterns(n, s, chosen.iterations, 0)
    return descend(scheme, chosen, examples("digits", 0), code.partitions, patterns)


def plain(n: int, form: str = "float64", **method: Any) -> Descent:
    chosen = Method(**{"iterations": 15, **method})
    everybody = np.ones((chosen.iterations, n), dtype=np.int8)
    return descend(Scheme(None, None, precision(form)), chosen, examples("digits", 0), n, everybody)


# the two errors


@pytest.mark.parametrize(("name", "n", "s"), EXACT)
def test_exact_codes_descend_as_uncoded(name: str, n: int, s: int) -> None:
    coded, reference = run(name, n, s), plain(n)
    assert coded.errors["decoding_error"] == [0.0] * 15
    assert coded.errors["arithmetic_error"] == coded.errors["gradient_error"]
    assert 0 < max(coded.errors["gradient_error"]) < 1e-8
    assert np.allclose(coded.weights, reference.weights, rtol=1e-7, atol=1e-9)
    assert coded.losses == pytest.approx(reference.losses, rel=1e-8)


@pytest.mark.parametrize(("name", "n", "s", "how"), APPROXIMATE)
def test_decoding_error_is_apart_from_arithmetic_error(name: str, n: int, s: int, how: str) -> None:
    found = run(name, n, s, "float32", how).errors
    decoding, arithmetic, total = (
        np.array(found[key]) for key in ("decoding_error", "arithmetic_error", "gradient_error")
    )
    assert decoding.max() > 1e-3
    assert 0 < arithmetic.max() < 1e-5
    assert np.all(np.abs(total - decoding) <= arithmetic * (1 + 1e-9))
    narrow = np.array(run(name, n, s, "bfloat16", how).errors["arithmetic_error"])
    assert narrow.max() > 100 * arithmetic.max()


@pytest.mark.parametrize(("name", "n", "s", "how"), APPROXIMATE)
def test_decoding_error_is_that_of_the_weights(name: str, n: int, s: int, how: str) -> None:
    code, form = gradient_code(name, n, s), precision("float64")
    gradients = np.random.default_rng(2).standard_normal((code.partitions, 24))
    pattern = arrivals("random").patterns(n, s, 1, 3)[0]
    sums = Sums(Scheme(code, decoder(how), form), Ledger(form))
    ideal = sums.without_rounding(gradients, pattern)
    assert ideal is not None
    A = code.encoding.rounded("float64")[pattern > 0]
    if how == "lstsq":
        weights = np.linalg.lstsq(A.T, np.ones(code.partitions), rcond=None)[0]
    else:
        weights = code.closed_form(pattern[None] > 0, np.dtype(np.float64))[0, 0][pattern > 0]
    assert np.allclose(ideal[0][0], weights @ A @ gradients, rtol=1e-10, atol=1e-10)
    assert np.allclose(sums.of(gradients, pattern), ideal[0][0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["bibd", "expander", "bernoulli", "stochastic"])
def test_decoding_without_rounding_is_right_far_below_the_last_bit(name: str) -> None:
    n, s = (7 if name == "bibd" else 10), 2
    code, form = gradient_code(name, n, s), precision("float64")
    gradients = np.random.default_rng(3).standard_normal((code.partitions, 5))
    pattern = np.array([0, 1, 1, 0, *[1] * (n - 4)], dtype=np.int8)
    sums = Sums(Scheme(code, decoder("closed-form"), form), Ledger(form))
    ideal = sums.without_rounding(gradients, pattern)
    assert ideal is not None
    assert isinstance(code, ApproximateCode)
    weights = code.rational_form(pattern > 0)
    largest = float(np.abs(ideal[0]).max() + np.abs(gradients).max()) ** 2
    bound = code.partitions * Fraction(2) ** -64 * Fraction(largest)
    rows = code.encoding.rational()[0].tolist()
    for entry, (hi, lo) in zip(gradients.T, np.array(ideal)[:, 0].T, strict=True):
        sums_of_workers = [
            sum(Fraction(int(c.p), int(c.q)) * Fraction(g) for c, g in zip(row, entry, strict=True))
            for row in rows
        ]
        exact = sum(w * x for w, x in zip(weights, sums_of_workers, strict=True))
        assert abs(Fraction(hi) + Fraction(lo) - exact) <= bound


def test_ye_abbe_is_useless_in_float32_at_twenty_workers() -> None:
    record = evaluate("ye-abbe[d=5,m=3]", n=20, stragglers=2, iterations=40, trials=2)
    sound = evaluate(
        "kadhe[generator=chebyshev,d=5,m=3]", n=20, stragglers=2, iterations=40, trials=2
    )
    assert record.gradient_error["median"] > 1
    assert record.accuracy_difference["mean"] < -0.3
    assert sound.gradient_error["worst"] < 1e-5
    assert abs(sound.accuracy_difference["mean"]) < 2 / 359


def test_precision_decides_the_arithmetic_error() -> None:
    worst = {
        form: max(run("cyclic-mds", 10, 2, form).errors["gradient_error"])
        for form in ("float64", "float32", "bfloat16")
    }
    assert worst["float64"] < 1e-13
    assert 1e-8 < worst["float32"] < 1e-5
    assert worst["bfloat16"] > 1e-3


def test_a_divergence_is_recorded_with_its_iteration() -> None:
    record = evaluate("ye-abbe[d=5,m=3]", n=30, stragglers=2, iterations=60, rate=1e30, trials=1)
    assert record.status == "overflow"
    (iteration,) = record.diverged
    assert record.reason.endswith(f"not finite at iteration {iteration}")
    assert len(record.losses[0]) == iteration <= 60
    assert np.isfinite(record.losses[0][: iteration - 1]).all()


# the iteration


@pytest.mark.parametrize("name", ["plain", "nesterov"])
def test_uncoded_descent_is_the_textbooks(name: str) -> None:
    found = plain(7, name=name, rate=0.2, momentum=0.8, iterations=6)
    data = examples("digits", 0)
    X = np.vstack([data.train, np.ones(data.train.shape[1])])
    Y = np.eye(10)[data.train_classes].T
    w = before = np.zeros((65, 10))
    for _ in range(6):
        v = w + 0.8 * (w - before) if name == "nesterov" else w
        odds = np.exp(v.T @ X)
        gradient = X @ (odds / odds.sum(axis=0) - Y).T / X.shape[1]
        w, before = v - 0.2 * gradient, w
    assert np.allclose(found.weights, w, rtol=1e-10, atol=1e-13)


def test_nesterov_is_faster() -> None:
    slow, fast = (plain(5, name=name, rate=0.1, iterations=60) for name in ("plain", "nesterov"))
    assert fast.losses[-1] < 0.7 * slow.losses[-1]


def test_partial_gradients_add_up_and_parts_hold_every_sample_once() -> None:
    data, form = examples("digits", 0), precision("float64")
    weights = np.random.default_rng(0).standard_normal((65, 10)) * 0.1
    whole, loss = Regression.of(data, 1, form).gradients(weights)
    for parts in (3, 10, 37):
        split, same = Regression.of(data, parts, form).gradients(weights)
        assert split.shape == (parts, 650)
        assert np.allclose(split.sum(axis=0), whole[0], rtol=1e-10, atol=1e-13)
        assert same == pytest.approx(loss)
    with pytest.raises(InputError, match="1439 partitions of 1438 training samples"):
        Regression.of(data, 1439, form)


def test_replies_are_shorter_by_the_reduction() -> None:
    code, form = gradient_code("kadhe[generator=chebyshev,d=5,m=3]", 10, 2), precision("float32")
    ledger = Ledger(form)
    sums = Sums(Scheme(code, decoder("weights"), form), ledger)
    pattern = arrivals("random").patterns(10, 2, 1, 0)[0]
    sums.of(np.ones((10, 650), np.float32), pattern)
    assert ledger.up == 8 * 217 * 4
    totals = run("kadhe[generator=chebyshev,d=5,m=3]", 10, 2, "float32").ledger
    assert totals["bytes_down"] == 15 * 10 * 650 * 4
    assert totals["bytes_up"] == 15 * 8 * 217 * 4


def test_blocks_of_a_gradient_are_sent_without_padding() -> None:
    code, form = gradient_code("block-coordinate", 6, 2), precision("float32")
    ledger = Ledger(form)
    pattern = np.array([1, 1, 0, 1, 0, 1])
    Sums(Scheme(code, decoder("weights"), form), ledger).of(np.ones((6, 650), np.float32), pattern)
    assert ledger.up == 4 * 650 * 8  # complex numbers


def test_bytes_per_iteration_depend_on_neither_coefficients_nor_rate() -> None:
    """Whether a descent breaks off or not; other generators of the same load send as much."""
    records = [
        evaluate(f"kadhe[generator={kind},d=5,m=3]", iterations=8, rate=rate, trials=2)
        for kind, rate in (("gaussian", 0.1), ("chebyshev", 0.1), ("chebyshev", 1e38))
    ]
    assert [record.status for record in records] == ["ok", "ok", "overflow"]
    assert all(step < 8 for step in records[-1].diverged)
    for key, numbers in (("bytes_down", 10 * 650), ("bytes_up", 8 * 217)):
        assert {record.per_step[key] for record in records} == {4.0 * numbers}


@pytest.mark.parametrize("method", ["plain", "nesterov"])
def test_loss_and_accuracy_are_of_the_same_weights(method: str) -> None:
    """The last of the losses by iteration is that of the point before the last step."""
    found = plain(10, name=method, iterations=5)
    data = examples("digits", 0)
    scores = found.weights.T @ np.vstack([data.train, np.ones(data.train.shape[1])])
    right = scores[data.train_classes, np.arange(scores.shape[1])]
    assert found.loss == pytest.approx(np.mean(np.log(np.exp(scores).sum(axis=0)) - right))
    assert found.train_accuracy == np.mean(scores.argmax(axis=0) == data.train_classes)
    assert found.loss < 0.99 * found.losses[-1]
    record = evaluate("cyclic-mds", method=method, iterations=5, precision="float64", trials=1)
    assert record.loss == [pytest.approx(found.loss, rel=1e-8)]


def test_a_loss_that_is_not_finite_is_infinite() -> None:
    record = evaluate("cyclic-mds", iterations=3, rate=1e300, trials=1)
    assert record.status == "overflow"
    assert record.loss == [np.inf]


def test_lines_of_iterations_are_of_all_seeds_or_end() -> None:
    assert together([[3.0, 2.0, 1.0], [5.0]]) == [(1, (3.0, 5.0))]
    case = Request("cyclic-mds", trials=2).case()
    levels = dict.fromkeys(("median", "q95", "worst"), 0.0)
    errors = {f"{key}s": [[0.1] * 3, [0.1]] for key in ERRORS} | dict.fromkeys(ERRORS, levels)
    losses = {"losses": [[3.0, 2.0, 1.0], [5.0]], "diverged": [None, 1]}
    plots = list(shown_losses([Record(case, measures=errors | losses)]))
    rows = plots[0].data.records()
    assert [(row["step"], row["value"], row["low"], row["high"]) for row in rows] == [(1, 4, 3, 5)]


# times


def test_expected_times_are_the_published_ones() -> None:
    def at(name: str, n: int, s: int) -> float:
        record = evaluate(name, n=n, stragglers=s, iterations=1, trials=1)
        return float(record.expected_time)

    assert at("kadhe[d=4,m=3]", 8, 1) == pytest.approx(21.370, abs=5e-4)
    assert at("uncoded", 8, 0) == pytest.approx(36.114, abs=5e-4)
    assert at("kadhe[d=8,m=1]", 8, 7) == pytest.approx(24.106, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "n", "s"),
    [("kadhe[d=4,m=3]", 8, 1), ("cyclic-mds", 8, 3), ("nested", 8, 2), ("block-coordinate", 8, 2)],
)
def test_drawn_times_have_the_expected_mean(name: str, n: int, s: int) -> None:
    code, model = gradient_code(name, n, s), TimeModel()
    moments, _ = drawn(model, code, n, 40_000, seed=1)
    spread = moments.std() / len(moments) ** 0.5
    assert abs(moments.mean() - expected(model, code, n)) < 5 * spread


def test_survivors_of_the_time_model_are_the_fastest() -> None:
    request = Request(
        "kadhe[generator=chebyshev,d=4,m=3]", n=8, stragglers=1, arrivals="times", iterations=30
    )
    setup = Setup.of(dict(request.case().parameters))
    x, y = TimeModel().draw(stream("worker times", 5), (30, 8))
    workers = 4 * x + y / 3
    patterns = setup.patterns(5)
    assert (patterns.sum(axis=1) == 7).all()
    assert (patterns.argmin(axis=1) == workers.argmax(axis=1)).all()
    assert np.array_equal(setup.drawn(5)[0], np.sort(workers, axis=1)[:, 6])


@pytest.mark.parametrize(("n", "s"), [(6, 2), (2, 1)])
def test_error_time_and_level_are_of_the_same_iterations(n: int, s: int) -> None:
    """Runs of adaptive codes decode at the level of their own draw, and count its messages.

    Of two workers, one message of each is often all that has come.
    """
    given: dict[str, Any] = {"n": n, "stragglers": s, "arrivals": "times", "iterations": 40}
    record = evaluate("nested", **given, trials=2)
    setup = Setup.of(dict(Request("nested", **given).case().parameters))
    code, orders = gradient_code("nested", n, s), range(1, s + 2)
    moments, levels, numbers = [], [], 0
    for seed in (0, 1):
        x, y = TimeModel().draw(stream("worker times", seed), (40, n))
        ready = np.stack([np.sort(q * x + y, axis=1)[:, n - q] for q in orders])
        moments += ready.min(axis=0).tolist()
        levels += (ready.argmin(axis=0) + 1).tolist()
        numbers += sum(int((q * x + y <= ready.min(axis=0)[:, None]).sum()) for q in orders)
    assert record.drawn_time == pytest.approx(np.mean(moments), rel=1e-14)
    assert record.levels == [levels.count(q) for q in orders]
    assert min(record.levels) > 0
    size = 8 if code.is_complex else 4
    assert record.per_step["bytes_up"] == pytest.approx(numbers / 80 * 650 * size)
    assert record.gradient_error["worst"] < 1e-5
    counts = np.concatenate([setup.patterns(seed) for seed in (0, 1)])
    found = code.level(code.arrived(counts, counted=True))  # type: ignore[attr-defined]
    assert found.tolist() == levels


def test_one_message_of_everybody_is_not_all_of_them() -> None:
    code, form = gradient_code("nested", 4, 2), precision("float64")
    pattern, gradients = np.ones(4, dtype=np.int64), np.ones((4, 10))
    for counted, sent in ((True, 4), (False, 12)):
        ledger = Ledger(form)
        total = Sums(Scheme(code, decoder("weights"), form), ledger, counted).of(gradients, pattern)
        assert ledger.up == sent * 10 * 16
        assert np.allclose(total, 4)


def test_drawn_time_is_the_mean_over_the_iterations_that_were_run() -> None:
    given: dict[str, Any] = {"n": 8, "stragglers": 3, "iterations": 30, "trials": 2, "seed": 5}
    setup = Setup.of(dict(Request("cyclic-mds", arrivals="times", **given).case().parameters))
    runs = [Descent(losses=[1.0] * count) for count in (30, 7)]
    moments = [setup.drawn(seed)[0][:count] for seed, count in ((5, 30), (6, 7))]
    found = time_measures(setup, runs)
    assert found["drawn_time"] == pytest.approx(np.concatenate(moments).mean(), rel=1e-14)
    assert "levels" not in found
    random = Setup.of(dict(Request("cyclic-mds", **given).case().parameters))
    assert "drawn_time" not in time_measures(random, runs)  # time has not decided who replied
    alone = Setup.of(dict(Request("uncoded", **given | {"stragglers": 0}).case().parameters))
    assert time_measures(alone, runs)["drawn_time"] > found["drawn_time"] / 10


def test_scores_that_are_not_finite_are_wrong() -> None:
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    features = np.array([[2.0, np.nan, np.inf, 3.0], [1.0, 1.0, 1.0, 4.0]])
    assert accuracy(weights, features, np.array([0, 0, 0, 0])) == 0.25
    assert accuracy(weights, features, np.array([0, 0, 0, 1])) == 0.5


# cases, store, report


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("descent")
    train_descent(None, directory, **GRID)
    return directory


GRID: dict[str, Any] = {
    "codes": ["uncoded", "kadhe[generator=chebyshev,d=5,m=3]", "bernoulli"],
    "method": ["plain", "nesterov"],
    "iterations": 12,
    "rate": 0.1,
    "trials": 2,
}


def test_records_survive_json_and_are_not_computed_again(stored: Path) -> None:
    records = Store(stored).records
    assert len(records) == 6
    for record in records.values():
        again = Record.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
        assert again.measures == record.measures
    seen: list[Record] = []
    train_descent(None, stored, progress=seen.append, **GRID)
    assert seen == []


def test_report_shows_both_errors(stored: Path, tmp_path: Path) -> None:
    (section,) = report(stored, tmp_path, formats=["svg"]).sections
    (table,) = section.tables
    rows = {(row["scheme"], row["setting"].partition(",")[0]): row for row in table.records()}
    approximate = rows["bernoulli", "method=plain"]
    assert approximate["decoding_error"] > 1e3 * approximate["arithmetic_error"] > 0
    assert all(row["decoding_error"] == 0 for key, row in rows.items() if key[0] != "bernoulli")
    plots = {plot.name: plot.data for plot in section.plots}
    assert set(plots) == {"descent-loss", "descent-decoding-error", "descent-arithmetic-error"}
    assert set(plots["descent-decoding-error"].values("scheme")) == {"bernoulli"}
    assert max(plots["descent-loss"].values("step")) == 12


def test_presets_expand() -> None:
    assert len(plan("standard", {}).cases) > 40
    assert plan("smoke", {}).skipped == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": "gaussian"}, "gaussian: no gradient code"),
        ({"method": "newton"}, "method='newton'"),
        ({"momentum": 1.0}, "momentum=1.0"),
        ({"momentum": -0.1}, "momentum=-0.1"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": float("inf")}, "rate=inf"),
        ({"trials": 0}, "trials=0"),
        ({"seed": -1}, "seed=-1"),
        ({"iterations": 0}, "iterations=0"),
        ({"spare": "keep"}, "spare='keep'"),
        ({"times": "normal"}, "unknown times 'normal'"),
        ({"times": "shifted[x_rate=0]"}, "shifts >= 0 and rates > 0"),
        ({"arrivals": "late"}, "unknown arrivals 'late'"),
        ({"data": "graded"}, "labels"),
        ({"code": "uncoded", "decoder": "weight"}, "unknown decoder 'weight'"),
        ({"code": "uncoded", "stragglers": -1}, "stragglers=-1; allowed is an integer >= 0"),
    ],
)
def test_wrong_input_is_told_in_one_line(change: dict[str, Any], words: str) -> None:
    request: dict[str, Any] = {"code": "cyclic-mds", "iterations": 1, "trials": 1}
    fields = request | change
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        evaluate(fields.pop("code"), **fields)
    assert "\n" not in str(caught.value)


def test_a_decoder_that_does_not_apply_is_a_skipped_record() -> None:
    record = evaluate("bernoulli", decoder="weights", iterations=1, trials=1)
    assert record.status == "skipped"
    assert "approximate" in record.reason


def test_more_partitions_than_samples_are_refused_before_any_run() -> None:
    with pytest.raises(InputError, match="1439 partitions of 1438 training samples; allowed"):
        Request("uncoded", n=1439).case()
    assert Request("uncoded", n=1438).case()["n"] == 1438


def test_the_first_call_of_kernels_is_no_measured_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def watched(scheme: Scheme, method: Method, *rest: Any) -> Descent:
        if scheme.code is not None:
            lengths.append(method.iterations)
        return descend(scheme, method, *rest)

    monkeypatch.setattr(cases, "descend", watched)
    record = evaluate("cyclic-mds", iterations=3, trials=2)
    assert lengths == [1, 3, 3]
    assert [len(errors) for errors in record.gradient_errors] == [3, 3]
