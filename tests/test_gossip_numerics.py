"""Rounding in gossip training: formats, invariants I1 and I2, replicas, exact references."""

import math
from typing import Any

import numpy as np
import pytest

from stabbench.arithmetic.precision import precision
from stabbench.training.gossip import Formats, Run, Setting, compressor, method, mixing, simulate
from stabbench.training.gossip import kernels as k
from stabbench.training.gossip.channel import Channel, State
from stabbench.training.gossip.classifiers import built, problem
from stabbench.training.gossip.limits import default_consensus
from stabbench.training.gossip.reference import Masks, replay
from stabbench.training.gossip.simulate import Result

CODES = {"bfloat16": k.BFLOAT16, "float16": k.FLOAT16, "float32": k.FLOAT32}
SINGLE = 2.0**-24


def train(sends: str, formats: str, accumulation: str, **others: Any) -> Result:
    """ECSD on ring 8, d = 200, with the consensus step of the limits."""
    local, optimum = built("logistic", 8, 0)
    ring, chosen = mixing("ring", 8), compressor(sends)
    delta = chosen.delta(200)
    eta = 1.0 if delta == 1 else default_consensus(ring, delta)
    setting = Setting(
        ring,
        chosen,
        Formats.of(formats),
        others.get("rate", 0.02),
        eta,
        others.get("form", "difference"),
        accumulation,
        others.get("sender", "rounded"),
    )
    run = Run(others.get("steps", 2000), points=8)
    return simulate(method("ecsd"), setting, local, run, optimum=optimum)


def worst(result: Result, key: str) -> float:
    return float(max(result.trace(key)))


@pytest.mark.parametrize("carrier", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(CODES))
def test_rounding_is_that_of_the_formats_bit_for_bit(name: str, carrier: Any) -> None:
    rng = np.random.default_rng(0)
    form = precision(name).storage
    with np.errstate(over="ignore"):
        values = (rng.standard_normal(50000) * 2.0 ** rng.integers(-150, 140, 50000)).astype(
            carrier
        )
        ties = form.round(values[:5000]).astype(np.float64) * (1 + 2.0**-form.p)
        edges = [0.0, -0.0, math.inf, -math.inf, 65504, 65519.9, 65520, 3.4e38, 1e-45, 2.0**-134]
        values = np.concatenate([values, ties.astype(carrier), np.array(edges, carrier)])
    got = values.copy()
    k.store(got, CODES[name])
    unsigned = f"u{got.itemsize}"
    assert np.array_equal(got.view(unsigned), form.round(values).astype(carrier).view(unsigned))
    broken = np.array([math.nan], carrier)
    k.store(broken, CODES[name])
    assert np.isnan(broken[0])


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_arithmetic_is_that_of_the_float_type(name: str) -> None:
    """One step of ECSD against NumPy in float32 and the rounding of the formats."""
    ring, formats = mixing("ring", 8), Formats.of(name)
    setting = Setting(ring, compressor("top-k[k=5]"), formats, 0.3, 0.2)
    channel = Channel(setting, 30, 0)
    state = method("ecsd").state(channel, np.zeros(30))
    rng = np.random.default_rng(2)
    form = precision(name).storage
    state.x[:] = form.round(rng.standard_normal((8, 30)))
    assert state.e is not None
    state.e[:] = form.round(0.1 * rng.standard_normal((8, 30)))
    state.replicas[:] = state.x[ring.sender]
    x, e, g = state.x.copy(), state.e.copy(), rng.standard_normal((8, 30)).astype(np.float32)
    method("ecsd").step(channel, state, lambda point: g)
    q = np.zeros_like(x)
    for slot, (i, j) in enumerate(sorted(ring.entries)):
        q[i] += channel.flow_weight[slot] * (x[j] - x[i])
    z = e + (q - g * np.float32(0.3))
    order = np.argsort(-np.abs(z), axis=1, kind="stable")[:, :5]
    c = np.zeros_like(z)
    np.put_along_axis(c, order, form.round(np.take_along_axis(z, order, axis=1)), axis=1)
    new = np.where(c != 0, form.round(x + c), x)
    assert state.x.dtype == z.dtype == np.float32
    assert np.array_equal(state.x, new)
    assert np.array_equal(state.e, form.round(z - (new - x)))


def test_flows_of_an_edge_cancel_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 1000)).astype(np.float32)
    totals = {}
    for form in ("difference", "sum"):
        setting = Setting(
            mixing("path", 2), compressor("none"), Formats.of("float32"), 0.1, 0.3, form
        )
        channel = Channel(setting, 1000, 0)
        q = channel.mix(x, x[channel.sender], np.empty_like(x))
        totals[form] = np.abs(q.sum(axis=0)).max()
    assert totals["difference"] == 0
    assert totals["sum"] > 0


@pytest.mark.parametrize(
    ("formats", "accumulation", "sends"),
    [
        ("float64", "rounding-aware", "top-k[ratio=0.1]"),
        ("float32", "rounding-aware", "top-k[ratio=0.1]"),
        ("float32", "kahan", "rand-k[ratio=0.1]"),
        ("float16", "naive", "top-k[ratio=0.1]"),
        ("float16", "kahan", "top-k[ratio=0.1]"),
        ("bfloat16", "two-term", "rand-k[ratio=0.1]"),
        ("bfloat16", "kahan", "sign"),
        ("float32/float32/bfloat16", "rounding-aware", "none"),
        ("bfloat16/float32/bfloat16", "rounding-aware", "qsgd"),
        ("float64/float32/float16", "naive", "threshold"),
        ("float32/float64/bfloat16", "two-term", "top-k[ratio=0.1]"),
    ],
)
def test_replicas_are_bit_identical_over_2000_steps(
    formats: str, accumulation: str, sends: str
) -> None:
    local, ring = problem("logistic[dimension=30,samples=10]").build(8, 0), mixing("ring", 8)
    setting = Setting(
        ring, compressor(sends), Formats.of(formats), 0.02, 0.07, accumulation=accumulation
    )
    steps = 0

    def watch(step: int, state: State) -> None:
        nonlocal steps
        steps += state.x[ring.sender].tobytes() == state.replicas.tobytes()
        if state.carry is not None and state.replica_carry is not None:
            steps -= state.carry[ring.sender].tobytes() != state.replica_carry.tobytes()

    result = simulate(method("ecsd"), setting, local, Run(2000, points=4), watch=watch)
    assert steps == 2000
    assert worst(result, "replicas") == 0.0


@pytest.mark.parametrize("name", ["dcd", "choco", "choco[order=compress-first]", "d-psgd", "naive"])
@pytest.mark.parametrize("formats", ["float32", "bfloat16", "float32/float32/bfloat16"])
def test_every_method_keeps_its_replicas(name: str, formats: str) -> None:
    local, ring = problem("logistic[dimension=30,samples=10]").build(8, 0), mixing("ring", 8)
    sends = "none" if name == "d-psgd" else "top-k"
    setting = Setting(
        ring, compressor(sends), Formats.of(formats), 0.02, 0.07, accumulation="naive"
    )
    result = simulate(method(name), setting, local, Run(300, points=50))
    assert worst(result, "replicas") == 0.0


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("d-psgd", (False, False)),
        ("naive", (False, True)),
        ("dcd", (True, True)),
        ("choco", (False, False)),
        ("choco[order=compress-first]", (False, False)),
        ("deepsqueeze", (False, False)),
        ("ecsd", (False, False)),
        ("ecsd[variant=targeted]", (False, False)),
    ],
)
def test_drifts_hold_rounding_and_what_is_lost(name: str, lost: tuple[bool, bool]) -> None:
    sends = {"d-psgd": "none", "ecsd[variant=targeted]": "rand-k[shared=true]"}.get(name, "top-k")
    chosen = method(name)
    setting = Setting(
        mixing("ring", 8),
        compressor(sends),
        Formats.of("float64"),
        0.01,
        0.05,
        accumulation=chosen.accumulations[0],
    )
    local = problem("logistic[dimension=20,samples=20]").build(8, seed=0)
    last = simulate(chosen, setting, local, Run(100)).last
    for drift, loses in zip((last.local, last.common), lost, strict=True):
        assert drift > 1e-3 if loses else drift < 1e-14


@pytest.mark.parametrize(
    "sends", ["none", "top-k[ratio=0.1]", "top-k[ratio=0.01]", "rand-k[ratio=0.1]"]
)
def test_pass_line_of_float32(sends: str) -> None:
    result = train(sends, "float32", "rounding-aware")
    line = 20 * SINGLE * worst(result, "largest")
    assert worst(result, "local") <= line
    assert worst(result, "common") <= line
    assert worst(result, "replicas") == 0.0


def test_sums_of_rounded_weights_drift() -> None:
    """Spec of float32 over 2000 steps: sum 3e-5, sum-complement 3e-6, difference 3e-8."""
    drift = {
        form: worst(train("none", "float32", "rounding-aware", form=form), "common")
        for form in ("sum", "sum-complement", "difference")
    }
    assert drift["sum"] > 3 * drift["sum-complement"] > 100 * drift["difference"]
    assert 1e-6 < drift["sum"] < 1e-4
    assert drift["difference"] < 1e-7


@pytest.mark.parametrize(("formats", "gain"), [("float32", 1e4), ("bfloat16", 1e3)])
def test_knowing_the_rounding_repairs_the_local_invariant(formats: str, gain: float) -> None:
    naive = train("none", formats, "naive", steps=5000)
    aware = train("none", formats, "rounding-aware", steps=5000)
    assert worst(naive, "local") > gain * worst(aware, "local")


def test_objective_in_bfloat16() -> None:
    """Within 10% of float64's with the rounding-aware memory, more than 3 times without."""
    exact = train("none", "float64", "rounding-aware", steps=5000).last.gap
    aware = train("none", "bfloat16", "rounding-aware", steps=5000).last.gap
    naive = train("none", "bfloat16", "naive", steps=5000).last.gap
    assert abs(aware / exact - 1) < 0.1
    assert naive > 3 * exact


def test_what_helps_at_one_percent() -> None:
    """Random masks: the memory's rounding dominates, so Kahan's sum on x changes nothing.

    Top-k: the rounding of x dominates, and Kahan's sum does what the rounding-aware memory does.
    """
    drift = {
        (sends, kind, formats): worst(
            train(f"{sends}[ratio=0.01]", formats, kind, rate=0.004, steps=5000), "local"
        )
        for sends, kind, formats in (
            ("rand-k", "naive", "bfloat16"),
            ("rand-k", "kahan", "bfloat16"),
            ("rand-k", "rounding-aware", "bfloat16"),
            ("rand-k", "two-term", "bfloat16"),
            ("rand-k", "rounding-aware", "bfloat16/float32/bfloat16"),
            ("top-k", "naive", "bfloat16"),
            ("top-k", "kahan", "bfloat16"),
            ("top-k", "rounding-aware", "bfloat16"),
        )
    }
    random = drift["rand-k", "naive", "bfloat16"]
    assert 0.9 < drift["rand-k", "kahan", "bfloat16"] / random < 1.1
    assert 0.9 < drift["rand-k", "rounding-aware", "bfloat16"] / random < 1.1
    assert drift["rand-k", "two-term", "bfloat16"] < 1e-2 * random
    assert drift["rand-k", "rounding-aware", "bfloat16/float32/bfloat16"] < 1e-3 * random
    top = drift["top-k", "naive", "bfloat16"]
    assert drift["top-k", "kahan", "bfloat16"] < 0.1 * top
    aware = drift["top-k", "rounding-aware", "bfloat16"]
    assert 0.5 < drift["top-k", "kahan", "bfloat16"] / aware < 2


def test_a_bfloat16_wire_is_free_unless_the_sender_keeps_its_digits() -> None:
    plain = train("top-k[ratio=0.1]", "float32", "rounding-aware")
    wired = train("top-k[ratio=0.1]", "float32/float32/bfloat16", "rounding-aware")
    faulty = train(
        "top-k[ratio=0.1]", "float32/float32/bfloat16", "rounding-aware", sender="unrounded"
    )
    assert abs(wired.last.gap / plain.last.gap - 1) < 1e-3
    assert worst(wired, "local") <= 20 * SINGLE * worst(wired, "largest")
    assert wired.last.bits < 0.7 * plain.last.bits
    assert wired.last.replicas == 0.0
    assert faulty.last.replicas > 1e-6
    assert faulty.last.common > 1e3 * wired.last.common


@pytest.mark.parametrize("formats", ["float64", "float32", "bfloat16"])
def test_drifts_are_those_of_exact_sums(formats: str) -> None:
    """I1 and I2 by math.fsum over all increments, to the last digits."""
    local, ring = problem("logistic[dimension=6,samples=10]").build(4, 0), mixing("ring", 4)
    setting = Setting(ring, compressor("top-k[k=2]"), Formats.of(formats), 0.05, 0.1)
    increments: list[Any] = []
    descents: list[Any] = []

    def watch(step: int, state: State) -> None:
        increments.append(state.increment.astype(float))
        descents.append(state.descent.astype(float))

    result = simulate(method("ecsd"), setting, local, Run(300), watch=watch)
    held = [part.astype(float) for part in result.state.held]
    terms = np.array([*held, *(-part for part in increments)])
    one = max(abs(math.fsum(terms[:, i, j])) for i in range(4) for j in range(6))
    terms = np.concatenate([np.array([*held, *descents])], axis=0)
    two = max(abs(math.fsum(terms[:, :, j].ravel())) / 4 for j in range(6))
    assert result.last.local == pytest.approx(one, rel=1e-9, abs=1e-30)
    assert result.last.common == pytest.approx(two, rel=1e-9, abs=1e-30)
    assert result.last.common > 0


@pytest.mark.parametrize(
    "name", ["ecsd", "ecsd[gradient=private]", "ecsd[gradient=lookahead]", "dcd"]
)
@pytest.mark.parametrize("which", ["logistic", "least-squares"])
def test_runs_follow_the_exact_replay_of_their_masks(name: str, which: str) -> None:
    local = problem(f"{which}[dimension=6,samples=7]").build(4, 0)
    how = "naive" if name == "dcd" else "rounding-aware"
    distances = {}
    for formats in ("float64", "float32"):
        setting = Setting(
            mixing("ring", 4), compressor("top-k[k=2]"), Formats.of(formats), 0.05, 0.1,
            accumulation=how,
        )  # fmt: skip
        masks = Masks()
        result = simulate(method(name), setting, local, Run(40), watch=masks)
        exact = replay(method(name), setting, local, masks.sent, bits=200)
        extended = replay(method(name), setting, local, masks.sent)
        distances[formats] = exact.distance(result.state.x)
        assert np.abs(extended.x - exact.x.astype(np.longdouble)).max() < 1e-15
        if name != "dcd":
            assert exact.local < 1e-55
            assert exact.common < 1e-55
    assert distances["float64"] < 1e-14
    assert 1e-9 < distances["float32"] < 1e-5


def test_masks_differ_between_precisions_while_trajectories_agree() -> None:
    local = problem("logistic").build(8, 0)
    seen = {}
    for formats in ("float64", "float32"):
        masks = Masks()
        setting = Setting(mixing("ring", 8), compressor("top-k"), Formats.of(formats), 0.02, 0.08)
        result = simulate(method("ecsd"), setting, local, Run(1000, points=2), watch=masks)
        seen[formats] = masks.sent, result.state.x
    assert any((a != b).any() for a, b in zip(seen["float64"][0], seen["float32"][0], strict=True))
    assert np.abs(seen["float64"][1] - seen["float32"][1]).max() < 1e-4
