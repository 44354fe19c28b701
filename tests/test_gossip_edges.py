"""Borders of gossip training: one worker, broken graphs, wrong ratios, ties, weights, formats."""

import dataclasses
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.errors import InputError
from stabbench.training.gossip import (
    Formats,
    Mixing,
    Run,
    Setting,
    compressor,
    kernels,
    method,
    mixing,
    problem,
    simulate,
)
from stabbench.training.gossip.compressors import Wire
from stabbench.training.gossip.problems import SquaresLocal
from stabbench.training.gossip.select import largest

DOUBLE = Formats.of("float64")
PLAIN = Wire(0, 64)


@pytest.mark.parametrize(
    "graph",
    ["ring", "torus", "hypercube", "complete", "exponential", "path", "star", "erdos-renyi"],
)
@pytest.mark.parametrize("name", ["d-psgd", "naive", "dcd", "choco", "deepsqueeze", "ecsd"])
def test_one_worker_trains_alone(graph: str, name: str) -> None:
    local = problem("logistic[dimension=10,samples=20]").build(1, 0)
    sends = "none" if name == "d-psgd" else "top-k[ratio=0.5]"
    setting = Setting(mixing(graph, 1), compressor(sends), DOUBLE, 0.1, accumulation="naive")
    result = simulate(method(name), setting, local, Run(100))
    assert result.last.consensus == 0
    assert result.last.replicas == 0
    if name != "naive":
        assert result.last.gap < result.points[0].gap


@pytest.mark.parametrize(
    ("graph", "n", "edges", "transitive"),
    [
        ("ring", 8, 8, True),
        ("ring", 2, 1, True),
        ("torus", 12, 24, True),
        ("torus[rows=2]", 6, 9, True),
        ("hypercube", 16, 32, True),
        ("complete", 5, 10, True),
        ("exponential", 8, 20, True),
        ("path", 6, 5, False),
        ("star", 6, 5, False),
    ],
)
def test_graphs_and_weights(graph: str, n: int, edges: int, transitive: bool) -> None:
    built = mixing(graph, n, "metropolis")
    assert len(built.entries) == 2 * edges
    assert built.transitive == transitive
    assert all(built.entries[j, i] == value for (i, j), value in built.entries.items())
    assert all(value > 0 for value in built.own())
    totals = [Fraction(own) for own in built.own()]
    for (i, _), value in built.entries.items():
        totals[i] += value
    assert totals == [1] * n
    assert 0 < built.spectrum[1] <= built.largest < 2
    if transitive:
        assert mixing(graph, n, "uniform").entries == built.entries


def test_random_graphs_repeat() -> None:
    first, again = mixing("erdos-renyi", 10, "metropolis"), mixing("erdos-renyi", 10, "metropolis")
    assert first.entries == again.entries
    assert mixing("erdos-renyi[seed=4]", 10, "metropolis").entries != first.entries


@pytest.mark.parametrize(
    ("graph", "n", "weights", "words"),
    [
        ("erdos-renyi[p=0.05]", 12, "metropolis", "parts without a link; allowed are connected"),
        ("star", 5, "uniform", "not symmetric, as degrees differ (1 to 4); allowed is metropolis"),
        ("path", 5, "uniform", "not symmetric"),
        ("hypercube", 6, "uniform", "n=6; allowed are powers of two"),
        ("torus[rows=5]", 12, "uniform", "rows=5; allowed are divisors of n=12"),
        ("ring", 0, "uniform", "n=0 workers; allowed is an integer >= 1"),
        ("rings", 5, "uniform", "did you mean ring?"),
        ("ring", 5, "mean", "allowed: metropolis, uniform"),
        ("erdos-renyi[p=2]", 5, "metropolis", "p=2.0; allowed is 0 .. 1"),
    ],
)
def test_graphs_that_are_refused(graph: str, n: int, weights: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        mixing(graph, n, weights)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.5], [0.4, 0.6]], "W[0,1]=0.5 but W[1,0]=0.4; allowed are symmetric"),
        ([[0.5, 0.4], [0.4, 0.5]], "row 0 sums to 0.9; allowed is 1"),
        ([[1.5, -0.5], [-0.5, 1.5]], "allowed are numbers from 0"),
        ([[1.0, 0.0], [0.0, 1.0]], "2 parts without a link"),
        ([[1.0, 0.0]], "allowed is (n, n)"),
        ([[np.nan]], "not finite"),
    ],
)
def test_matrices_that_are_refused(matrix: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        Mixing.from_matrix(np.array(matrix))
    assert words in str(caught.value)


def test_a_matrix_of_the_user_is_used() -> None:
    w = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    built = Mixing.from_matrix(w)
    assert np.array_equal(built.matrix, w)
    assert built.largest == pytest.approx(0.75)
    assert np.array_equal(Mixing.from_matrix(np.eye(1)).matrix, np.eye(1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("top-k[ratio=0]", "ratio=0; allowed is above 0 up to 1, the fraction kept"),
        ("rand-k[ratio=1.5]", "ratio=1.5; allowed is above 0 up to 1"),
        ("top-k[ratio=-0.1]", "ratio=-0.1; allowed"),
        ("top-k[k=0]", "k=0; allowed is an integer >= 1"),
        ("top-k[k=3,ratio=0.1]", "both ratio and k are given"),
        ("threshold[value=0]", "allowed are positive numbers"),
        ("qsgd[levels=0]", "levels=0; allowed is an integer >= 1"),
        ("topk", "did you mean top-k?"),
    ],
)
def test_compressors_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        compressor(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["top-k", "rand-k"])
def test_k_above_d_is_refused(name: str) -> None:
    local = problem("logistic[dimension=10,samples=5]").build(4, 0)
    setting = Setting(mixing("ring", 4), compressor(f"{name}[k=11]"), DOUBLE, 0.1)
    with pytest.raises(InputError, match="k=11 of d=10 entries"):
        simulate(method("ecsd"), setting, local, Run(5))
    with pytest.raises(InputError, match="k=3 of d=2"):
        largest(np.zeros((1, 2)), 3)
    assert compressor(f"{name}[ratio=0.001]").delta(10) == 0.1


def by_sort(values: Any, k: int) -> Any:
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :k]
    return np.sort(order, axis=1)


@given(
    st.lists(
        st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e-40, 3e38]), min_size=1, max_size=40
    ),
    st.integers(1, 40),
    st.sampled_from([np.float32, np.float64]),
)
def test_ties_of_top_k_go_to_the_smallest_index(values: list[float], k: int, kind: Any) -> None:
    row = np.array([values, values[::-1]], dtype=kind)
    k = min(k, row.shape[1])
    assert np.array_equal(largest(row, k), by_sort(row, k))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 2049, 30000])
def test_top_k_agrees_with_a_stable_sort(kind: Any, d: int) -> None:
    rng = np.random.default_rng(d)
    rows = (rng.standard_normal((3, d)) * 2.0 ** rng.integers(-30, 30, (3, d))).astype(kind)
    rows[1] = np.round(rng.standard_normal(d), 1)
    for k in {1, max(1, d // 100), max(1, d // 3), d}:
        assert np.array_equal(largest(rows, k), by_sort(rows, k))
    rows[0, d // 2] = np.nan
    assert largest(rows, 1)[0, 0] == d // 2


def test_random_masks_are_uniform() -> None:
    z, rng = np.ones((4, 6)), np.random.default_rng(0)
    hits = np.zeros((4, 6))
    for _ in range(3000):
        message = compressor("rand-k[k=2]").compress(z, PLAIN, rng)
        np.add.at(hits, (np.repeat(np.arange(4), 2), message.index), 1)
    assert np.abs(hits / 3000 - 1 / 3).max() < 0.04
    shared = compressor("rand-k[k=2,shared=true]").compress(z, PLAIN, rng)
    assert (shared.index.reshape(4, 2) == shared.index[:2]).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["naive", "choco", "d-psgd"])
def test_a_model_beyond_the_ceiling_on_either_side_is_divergence(name: str, sign: float) -> None:
    local = SquaresLocal(np.ones((4, 1, 3)), np.full((4, 1), sign * 3e12), 0.0)
    how = Setting(
        mixing("ring", 4),
        compressor("none"),
        DOUBLE,
        rate=1 / 2,
        consensus=0.5,
        accumulation="naive",
    )
    near = dataclasses.replace(local, targets=local.targets / 4)
    result = simulate(method(name), how, local, Run(3, points=2))
    assert result.diverged == 1
    assert simulate(method(name), how, near, Run(3, points=2)).diverged is None


def test_the_greatest_difference_of_a_replica_has_no_sign() -> None:
    x = np.array([[1.0, 5.0], [2.0, 3.0]], np.float32)
    sender = np.array([1, 0])
    copies = x[sender]
    assert kernels.apart(copies, x, sender) == 0.0
    copies[0, 1] -= 0.5
    assert kernels.apart(copies, x, sender) == 0.5
    copies[1, 0] += 0.75
    assert kernels.apart(copies, x, sender) == 0.75
    copies[0, 0] = np.nan
    assert np.isnan(kernels.apart(copies, x, sender))


@pytest.mark.parametrize("scaled", ["true", "false"])
def test_qsgd_is_unbiased_up_to_its_scale(scaled: str) -> None:
    sends = compressor(f"qsgd[levels=3,scaled={scaled}]")
    z, rng = np.random.default_rng(1).standard_normal((1, 20)), np.random.default_rng(0)
    drawn = [sends.compress(z, PLAIN, rng).value for _ in range(20000)]
    scale = sends.delta(20) if scaled == "true" else 1.0
    assert np.abs(np.mean(drawn, axis=0) - scale * z[0]).max() < 0.03
    errors = np.square(np.array(drawn) - z[0]).sum(axis=1).mean() / np.square(z).sum()
    assert errors < 1 - sends.delta(20) + 0.02


def test_qsgd_without_scale_may_be_no_contraction() -> None:
    assert compressor("qsgd[levels=2,scaled=false]").delta(200) < 0
    assert 0 < compressor("qsgd[levels=16,scaled=false]").delta(200) < 1


def test_qsgd_has_no_level_above_the_last() -> None:
    class Highest:
        def random(self, shape: Any, dtype: Any) -> Any:
            return np.full(shape, np.nextafter(dtype(1), dtype(0)))

    sends = compressor("qsgd[levels=16,scaled=false]")
    z = np.ones((1, 1), np.float32)
    assert sends.compress(z, Wire(0, 32), cast(Any, Highest())).value.tolist() == [1.0]


@pytest.mark.parametrize(("levels", "d", "omega"), [(4, 100, 2.5), (4, 4, 0.25), (1, 9, 3.0)])
def test_qsgd_contracts_by_the_smaller_of_its_two_bounds(levels: int, d: int, omega: float) -> None:
    assert compressor(f"qsgd[levels={levels}]").delta(d) == 1 / (1 + omega)


def test_sign_threshold_and_bits() -> None:
    z = np.array([[0.5, -0.25, 0.0, 0.01]])
    sign = compressor("sign").compress(z, Wire(0, 32), np.random.default_rng(0))
    assert np.array_equal(np.sign(sign.value), [1, -1, 1, 1])
    assert np.allclose(np.abs(sign.value), 0.19)
    assert sign.bits == 4 + 32
    some = compressor("threshold[value=0.25]").compress(z, Wire(0, 16), np.random.default_rng(0))
    assert some.index.tolist() == [0, 1]
    assert some.bits == 2 * (16 + 2)
    zero = compressor("qsgd").compress(0 * z, PLAIN, np.random.default_rng(0))
    assert not zero.value.any()
    bits = {
        text: compressor(text)
        .compress(np.ones((2, 200)), Wire(0, 32), np.random.default_rng(0))
        .bits
        for text in ("none", "top-k[ratio=0.1]", "rand-k[ratio=0.1]", "qsgd[levels=15]")
    }
    assert bits == {
        "none": 6400, "top-k[ratio=0.1]": 20 * 40, "rand-k[ratio=0.1]": 640, "qsgd[levels=15]": 1032
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"form": "differences"}, "did you mean difference?"),
        ({"accumulation": "exact"}, "allowed: kahan, naive, rounding-aware, two-term"),
        ({"sender": "exact"}, "allowed: rounded, unrounded"),
        ({"rate": 0.0}, "rate=0; allowed are positive numbers"),
        ({"consensus": -1.0}, "consensus=-1; allowed are positive numbers"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Setting(mixing("ring", 4), compressor("none"), DOUBLE, **({"rate": 0.1} | changes))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "sends", "changes", "words"),
    [
        ("d-psgd", "top-k", {}, "compressor 'top-k'; allowed is none"),
        ("dcd", "top-k", {"accumulation": "two-term"}, "allowed: kahan, naive"),
        ("choco", "top-k", {"accumulation": "rounding-aware"}, "allowed: naive"),
        ("ecsd[variant=targeted]", "rand-k", {}, "allowed is rand-k[shared=true]"),
        ("ecsd", "sign", {"sender": "unrounded"}, "allowed with sparsifiers"),
        ("naive", "top-k", {"sender": "unrounded"}, "allowed is rounded"),
    ],
)
def test_methods_refuse_what_they_do_not_have(
    name: str, sends: str, changes: dict[str, Any], words: str
) -> None:
    local = problem("logistic[dimension=10,samples=5]").build(4, 0)
    kept: dict[str, Any] = {"rate": 0.1, "accumulation": "naive"} | changes
    with pytest.raises(InputError) as caught:
        simulate(
            method(name),
            Setting(mixing("ring", 4), compressor(sends), DOUBLE, **kept),
            local,
            Run(5),
        )
    assert words in str(caught.value)


def test_other_refusals() -> None:
    local = problem("logistic[dimension=10,samples=5]").build(4, 0)
    with pytest.raises(InputError, match="problem of 4 workers, graph of 5"):
        simulate(
            method("ecsd"),
            Setting(mixing("ring", 5), compressor("none"), DOUBLE, 0.1),
            local,
            Run(5),
        )
    for text, words in (("float8", "'float8'"), ("float32/float32", "model/memory/wire")):
        with pytest.raises(InputError, match=words):
            Formats.of(text)
    for arguments, words in (((0,), "steps=0"), ((5, -1), "batch=-1"), ((5, 0, -2), "seed=-2")):
        with pytest.raises(InputError, match=words):
            Run(*arguments)
    for text in (
        "logistic[label_skew=2]",
        "softmax[label_skew=2]",
        "perceptron[hidden=0]",
        "logit",
    ):
        with pytest.raises(InputError, match="allowed"):
            problem(text)
    with pytest.raises(InputError, match="1797 samples; allowed is n=2000 or more"):
        problem("softmax").build(2000, 0)
    with pytest.raises(InputError, match="unknown method"):
        method("adpsgd")


def test_overflow_in_float16_is_recorded_with_its_step() -> None:
    local = problem("logistic[dimension=10,samples=20]").build(4, 0)
    setting = Setting(mixing("ring", 4), compressor("top-k[k=1]"), Formats.of("float16"), 0.1, 30.0)
    result = simulate(method("ecsd"), setting, local, Run(500))
    assert result.diverged is not None
    assert 1 < result.diverged < 500
    assert [point.step for point in result.points][-1] == result.diverged
    assert np.isinf(result.last.largest) or np.isnan(result.last.largest)
