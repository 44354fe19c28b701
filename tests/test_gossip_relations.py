"""Exact relations between the methods of gossip training, against independent formulas."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stabbench.arithmetic.streams import stream
from stabbench.training.gossip import Formats, Run, Setting, compressor, method, mixing, simulate
from stabbench.training.gossip.channel import State
from stabbench.training.gossip.classifiers import problem
from stabbench.training.gossip.compressors import RandomK
from stabbench.training.gossip.problems import Local
from stabbench.training.gossip.reference import Masks

Array = Any
STEPS = 200
DOUBLE = Formats.of("float64")
TOLERANCE = 1e-12


def small(n: int = 8) -> Local:
    return problem("logistic[dimension=12,samples=20]").build(n, seed=3)


def setting(sends: str, **others: Any) -> Setting:
    steps: dict[str, Any] = {"rate": 0.05, "consensus": 0.1, "accumulation": "naive"}
    return Setting(mixing("ring", 8), compressor(sends), DOUBLE, **(steps | others))


def trajectory(name: str, how: Setting, local: Local, seed: int = 5) -> Array:
    """All models by step, shape (STEPS, n, d)."""
    seen: list[Array] = []

    def watch(step: int, state: State) -> None:
        seen.append(state.x.copy())

    simulate(method(name), how, local, Run(STEPS, seed=seed, points=2), watch=watch)
    return np.array(seen)


def masks_of(name: str, how: Setting, local: Local) -> list[Array]:
    masks = Masks()
    simulate(method(name), how, local, Run(STEPS, seed=5, points=2), watch=masks)
    return masks.sent


def test_a_run_is_measured_at_its_start_and_at_the_steps_that_it_names() -> None:
    run = Run(STEPS, points=6)
    result = simulate(method("ecsd"), setting("none"), small(), run)
    assert [point.step for point in result.points] == run.measured().tolist()
    assert run.measured()[[0, -1]].tolist() == [0, STEPS]
    assert 6 <= len(result.points) <= 8


def test_mini_batches_change_the_path_and_whole_gradients_have_none() -> None:
    paths = [
        simulate(method("ecsd"), setting("none"), small(), Run(5, batch=size)).state.x
        for size in (0, 0, 4, 20)
    ]
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])
    assert not np.array_equal(paths[2], paths[3])


def test_measures_of_the_last_step_are_those_of_its_state() -> None:
    local, way = small(), method("ecsd")
    how, best = setting("top-k[ratio=0.2]"), local.optimum()
    result = simulate(way, how, local, Run(40, points=3), optimum=best)
    x, last = result.state.x, result.last
    apart = x - x.mean(axis=0)
    assert last.consensus == pytest.approx(np.linalg.norm(apart) / np.sqrt(8), rel=1e-14)
    memory = way.memory(result.state)
    assert memory is not None
    assert last.memory == pytest.approx(np.linalg.norm(memory) / np.sqrt(8), rel=1e-14)
    assert last.largest == np.abs(x).max()
    assert last.gap == local.pooled().objective(x.mean(axis=0)) - best
    assert min(last.consensus, last.memory, last.gap) > 1e-3


def test_everything_kept_with_full_step_is_d_psgd() -> None:
    local, w = small(), mixing("ring", 8).matrix
    how = setting("none", consensus=1.0, accumulation="rounding-aware")
    x, expected = np.zeros((8, 12)), []
    for _ in range(STEPS):
        x = w @ x - 0.05 * local.gradient(x)
        expected.append(x)
    got = trajectory("ecsd", how, local)
    assert np.abs(got - np.array(expected)).max() < TOLERANCE
    shipped = trajectory("d-psgd", dataclasses.replace(how, accumulation="naive"), local)
    assert np.abs(got - shipped).max() < TOLERANCE
    assert np.abs(got[-1]).max() > 0.01


@pytest.mark.parametrize("ratio", [0.25, 0.5])
def test_without_memory_it_is_dcd(ratio: float) -> None:
    local, w = small(), mixing("ring", 8).matrix
    how = setting(f"rand-k[ratio={ratio}]", consensus=1.0)
    masks = masks_of("ecsd", how, local)  # the draws depend on the seed only
    x, expected = np.zeros((8, 12)), []
    for mask in masks:
        x = x + mask * (w @ x - x - 0.05 * local.gradient(x))
        expected.append(x)
    assert np.abs(trajectory("dcd", how, local) - np.array(expected)).max() < TOLERANCE


def test_dcd_forgets_what_ecsd_remembers() -> None:
    """The step of ECSD, with e set to 0 before each step, is the step of DCD, to the last bit."""
    local, how = small(), setting("top-k[k=3]", consensus=1.0)
    seen: list[Array] = []

    def forget(step: int, state: State) -> None:
        assert state.e is not None
        state.e[:] = 0
        seen.append(state.x.copy())

    simulate(method("ecsd"), how, local, Run(STEPS, points=2), watch=forget)
    plain: list[Array] = []
    watch: Callable[[int, State], None] = lambda step, state: plain.append(state.x.copy())  # noqa: E731
    simulate(method("dcd"), how, local, Run(STEPS, points=2), watch=watch)
    assert np.array_equal(np.array(seen), np.array(plain))


@pytest.mark.parametrize(
    ("point", "order"), [("private", "gossip-first"), ("lookahead", "compress-first")]
)
def test_gradients_at_private_points_are_choco(point: str, order: str) -> None:
    """CHOCO from its paper's formulas, the shipped CHOCO, and ECSD, with the same random masks."""
    local, w = small(), mixing("ring", 8).matrix
    how = setting("rand-k[ratio=0.25]")
    masks = masks_of("ecsd", how, local)
    x, public = np.zeros((8, 12)), np.zeros((8, 12))
    privates, publics = [], []
    for mask in masks:
        if order == "gossip-first":
            x = x + 0.1 * (w @ public - public) - 0.05 * local.gradient(x)
            public = public + mask * (x - public)
        else:
            half = x - 0.05 * local.gradient(x)
            public = public + mask * (half - public)
            x = half + 0.1 * (w @ public - public)
        privates.append(x)
        publics.append(public)
    shipped = trajectory(f"choco[order={order}]", how, local)
    assert np.abs(shipped - np.array(privates)).max() < TOLERANCE
    ours = trajectory(f"ecsd[gradient={point}]", how, local)
    assert np.abs(ours - np.array(publics)).max() < TOLERANCE
    assert np.abs(privates[-1] - publics[-1]).max() > 1e-6


def test_public_gradients_are_not_choco() -> None:
    local, how = small(), setting("rand-k[ratio=0.25]")
    public = trajectory("ecsd", how, local)
    private = trajectory("ecsd[gradient=private]", how, local)
    assert np.abs(public - private).max() > 1e-6


def test_one_worker_is_error_feedback() -> None:
    local = small(1)
    how = Setting(mixing("ring", 1), compressor("top-k[k=3]"), DOUBLE, 0.05, accumulation="naive")
    x, e, expected = np.zeros(12), np.zeros(12), []
    for _ in range(STEPS):
        z = e - 0.05 * local.gradient(x[None])[0]
        chosen = np.argsort(-np.abs(z), kind="stable")[:3]
        c = np.zeros(12)
        c[chosen] = z[chosen]
        x, e = x + c, z - c
        expected.append(x)
    got = trajectory("ecsd", how, local)[:, 0]
    assert np.abs(got - np.array(expected)).max() < TOLERANCE


def test_naive_and_deepsqueeze_follow_their_formulas() -> None:
    local, w = small(), mixing("ring", 8).matrix
    how = setting("rand-k[ratio=0.5]")
    masks = masks_of("ecsd", how, local)
    x, expected = np.zeros((8, 12)), []
    for mask in masks:
        x = w @ (mask * x) - 0.05 * local.gradient(x)
        expected.append(x)
    full = dataclasses.replace(how, consensus=1.0)
    assert np.abs(trajectory("naive", full, local) - np.array(expected)).max() < TOLERANCE
    x, e, expected = np.zeros((8, 12)), np.zeros((8, 12)), []
    for mask in masks:
        slope = 0.05 * local.gradient(x)
        v = x - slope + e
        c = mask * v
        e = v - c
        x = x - slope + 0.1 * (w @ c - c)
        expected.append(x)
    assert np.abs(trajectory("deepsqueeze", how, local) - np.array(expected)).max() < TOLERANCE


def test_targeted_memory_remembers_gradients_only() -> None:
    local, w = small(), mixing("ring", 8).matrix
    how = setting("rand-k[ratio=0.25,shared=true]")
    sender = compressor("rand-k[ratio=0.25,shared=true]")
    assert isinstance(sender, RandomK)
    rng = stream("gossip masks", 5)
    x, e, expected = np.zeros((8, 12)), np.zeros((8, 12)), []
    for _ in range(STEPS):
        mask = np.zeros(12, dtype=bool)
        mask[sender.mask(8, 12, rng)[0]] = True
        q = 0.1 * (w @ x - x)
        remembered = e - 0.05 * local.gradient(x)
        x = x + mask * (remembered + q)
        e = np.where(mask, 0.0, remembered)
        expected.append(x)
    got = trajectory("ecsd[variant=targeted]", how, local)
    assert np.abs(got - np.array(expected)).max() < TOLERANCE


@pytest.mark.parametrize("form", ["sum", "sum-complement", "difference"])
def test_forms_of_mixing_agree_up_to_rounding(form: str) -> None:
    local = small()
    plain = trajectory("ecsd", setting("rand-k[ratio=0.5]"), local)
    other = trajectory("ecsd", setting("rand-k[ratio=0.5]", form=form), local)
    assert np.abs(plain - other).max() < TOLERANCE


@pytest.mark.parametrize("accumulation", ["rounding-aware", "two-term", "kahan"])
def test_accumulations_agree_up_to_rounding(accumulation: str) -> None:
    local = small()
    plain = trajectory("ecsd", setting("rand-k[ratio=0.5]"), local)
    other = trajectory("ecsd", setting("rand-k[ratio=0.5]", accumulation=accumulation), local)
    assert np.abs(plain - other).max() < TOLERANCE


def test_masks_replay_and_runs_repeat() -> None:
    local, how = small(), setting("rand-k[ratio=0.25]")
    assert all(map(np.array_equal, masks_of("ecsd", how, local), masks_of("dcd", how, local)))
    once, again = trajectory("ecsd", how, local), trajectory("ecsd", how, local)
    assert np.array_equal(once, again)
    assert not np.array_equal(once, trajectory("ecsd", how, local, seed=6))
