"""The protocol of timing, by a clock of its own: no test here waits for or asserts real seconds."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.decoders.base import Plan
from stabbench.sweeps import stability, timing
from stabbench.sweeps.timing import Stages, decoding, timed

Array = np.ndarray[Any, np.dtype[Any]]


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work(clock: Clock, seconds: list[float]) -> Callable[[], int]:
    """A call that takes these times, one after the other, the last one from then on."""
    calls: list[int] = []

    def call() -> int:
        clock.now += seconds[min(len(calls), len(seconds) - 1)]
        calls.append(1)
        return len(calls)

    return call


def test_the_first_call_is_discarded_and_gives_the_result() -> None:
    clock = Clock()
    result, found = timed(work(clock, [5.0, 1e-3]), clock)
    assert result == 1
    assert (found.low, found.median, found.high) == pytest.approx((1e-3,) * 3)
    assert found.repeats == 5


@pytest.mark.parametrize(
    ("each", "repeats"), [(1e-6, 5), (4e-3, 5), (6e-3, 4), (7e-3, 3), (0.3, 3), (0.6, 1), (9.0, 1)]
)
def test_repeats_are_bounded(each: float, repeats: int) -> None:
    clock = Clock()
    _, found = timed(work(clock, [each]), clock)
    assert found.repeats == repeats
    assert clock.now == pytest.approx((repeats + 1) * each)


def test_median_and_range_are_those_of_the_repeats() -> None:
    clock = Clock()
    _, found = timed(work(clock, [0.9, 1e-3, 9e-3, 2e-3, 4e-3, 3e-3]), clock)
    assert (found.low, found.median, found.high) == pytest.approx((1e-3, 3e-3, 9e-3))
    assert found.each(2) == pytest.approx(
        {"low": 5e-4, "median": 1.5e-3, "high": 4.5e-3, "repeats": 5}
    )


@dataclasses.dataclass
class Slow(Plan):
    """A plan that takes 2 ms and 30 us per survivor set when it is new, then 1 ms and 10 us."""

    clock: Clock
    count: int
    calls: list[int]
    decoded: list[int]

    def ready(self, replies: Array) -> "Slow":
        self.clock.now += 0.5
        return self

    def decode(self, replies: Array) -> Array:
        self.decoded.append(self.count)
        new = self.decoded.count(self.count) == 1
        self.clock.now += 7.0 if new else 1e-3 + 1e-5 * self.count
        return replies


def parts(
    most: int, count: int, ready: float = 0.0
) -> tuple[dict[str, Any], list[Array], list[int]]:
    clock = Clock()
    planned: list[Array] = []
    decoded: list[int] = []

    def plan(patterns: Array) -> Plan:
        planned.append(patterns)
        clock.now += 2e-4 * len(patterns)
        made = Slow(clock, len(patterns), [], decoded)
        return made if ready else Ready(made, clock)

    patterns = np.arange(3 * count).reshape(count, 3)
    found = decoding(plan, patterns, 2, np.zeros(1), most, clock)
    return found, planned, decoded


@dataclasses.dataclass
class Ready(Plan):
    """A plan that needs nothing of the replies."""

    plan: Slow
    clock: Clock

    def decode(self, replies: Array) -> Array:
        return self.plan.decode(replies)


def test_planning_decoding_single_and_batch_are_apart() -> None:
    found, planned, decoded = parts(most=64, count=20)
    assert found["batch"] == 20
    assert found["plan_single"]["median"] == pytest.approx(2e-4)
    assert found["decode_single"]["median"] == pytest.approx(1.01e-3)
    assert found["plan_batch"]["median"] == pytest.approx(2e-4)
    assert found["decode_batch"]["median"] == pytest.approx((1e-3 + 2e-4) / 20)
    assert found["decode_batch"]["high"] < 1e-3  # the 7 s of the first call are in no time
    assert {len(p) for p in planned} == {1, 20}
    assert planned[0].tolist() == [[6, 7, 8]]
    assert set(decoded) == {1, 20}


def test_what_planning_needs_of_the_replies_is_planning() -> None:
    found, _, _ = parts(most=64, count=20, ready=0.5)
    assert found["plan_single"]["median"] == pytest.approx(0.5 + 2e-4)
    assert found["decode_single"]["median"] == pytest.approx(1.01e-3)


def test_batches_are_bounded() -> None:
    assert parts(most=7, count=20)[0]["batch"] == 7
    assert parts(most=500, count=500)[0]["batch"] == int(0.03 / (1.01e-3 + 2e-4))
    found, planned, _ = parts(most=64, count=20, ready=0.5)
    assert found["batch"] == 1  # half a second each
    assert found["decode_batch"] == found["decode_single"]
    assert {len(p) for p in planned} == {1}


def test_a_batch_is_spread_over_the_patterns() -> None:
    _, planned, _ = parts(most=3, count=21)
    assert planned[-1][:, 0].tolist() == [0, 30, 60]


def test_stages_are_timed_for_the_first_trial_alone() -> None:
    calls: list[int] = []
    off = Stages(enabled=False)
    off.run("encode", lambda: calls.append(1))
    assert (len(calls), off.seconds) == (1, {})
    on = Stages(enabled=True)
    on.run("encode", lambda: calls.append(1))
    assert on.seconds["encode"]["repeats"] == len(calls) - 2 == 5
    setup = stability.Setup.of(stability.Request("gaussian", 6, 2, trials=2).written())
    first, second = (stability.prepare(setup, setup.code.system(), trial) for trial in (0, 1))
    assert set(first.seconds) == {"encode", "compute"}
    assert second.seconds == {}


@pytest.mark.parametrize(
    ("spec", "decoder"), [("gaussian", "solve"), ("shift-add", "zigzag"), ("nested", "weights")]
)
def test_timing_changes_no_result(spec: str, decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def measures() -> dict[str, Any]:
        record = sb.evaluate(
            spec, n=6, stragglers=2, decoder=decoder, trials=2, data="gaussian[rows=16,columns=6]"
        )
        assert record.status == "ok"
        # ARPACK's spectral norms differ in the last bit from call to call
        dropped = ("seconds", "condition_number", "operator_norm_2")
        return {k: v for k, v in record.measures.items() if k not in dropped}

    often = measures()
    monkeypatch.setattr(
        timing, "timed", lambda call, clock=None: (call(), timing.Timing(1, 1, 1, 0))
    )
    monkeypatch.setattr(timing, "decoding", lambda *_: {})
    assert measures() == often
