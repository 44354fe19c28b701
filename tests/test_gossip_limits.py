"""Stability limits of gossip training against bisection of the second-moment map, and runs."""

from functools import partial

import numpy as np
import pytest

from stabbench.errors import InputError
from stabbench.training import api
from stabbench.training.gossip import Formats, Run, Setting, compressor, method, mixing, simulate
from stabbench.training.gossip.limits import (
    Load,
    StabilityWarning,
    breach,
    consensus_limit,
    default_consensus,
    default_rate,
    margin,
    memory_limit,
    rate_limit,
    warn,
)
from stabbench.training.gossip.moments import (
    bisect,
    consensus_limit_by_bisection,
    mode_radius,
    radius,
    second_moment,
)
from stabbench.training.gossip.problems import SquaresLocal

evaluate = partial(api.evaluate, "gossip")

GRAPHS = [("ring", 8), ("torus", 9), ("hypercube", 8), ("star", 7), ("path", 6), ("complete", 5)]
RATIOS = [0.02, 0.1, 0.5, 0.9]


@pytest.mark.parametrize("delta", RATIOS)
@pytest.mark.parametrize(("graph", "n"), GRAPHS)
def test_shared_masks_have_the_limit_of_the_formula(graph: str, n: int, delta: float) -> None:
    where = mixing(graph, n, "metropolis")
    found = consensus_limit_by_bisection(where, delta, common=True)
    assert found == pytest.approx(memory_limit(delta) / where.largest, rel=0.002)
    assert consensus_limit(where, delta, common=True) == pytest.approx(found, rel=0.002)
    load = 0.4 * memory_limit(delta)
    joint = consensus_limit_by_bisection(where, delta, load, common=True)
    assert load + joint * where.largest == pytest.approx(memory_limit(delta), rel=0.002)


@pytest.mark.parametrize("delta", [0.02, 0.1])
@pytest.mark.parametrize(
    ("graph", "n"), [("ring", 8), ("torus", 9), ("hypercube", 8), ("exponential", 8)]
)
def test_independent_masks_on_graphs_without_a_centre(graph: str, n: int, delta: float) -> None:
    where = mixing(graph, n)
    found = consensus_limit_by_bisection(where, delta)
    assert found == pytest.approx(memory_limit(delta) / where.away, rel=0.005)
    load = 0.4 * memory_limit(delta)
    joint = consensus_limit_by_bisection(where, delta, load)
    assert load + joint * where.away == pytest.approx(memory_limit(delta), rel=0.01)


def test_stated_numbers_of_the_ring() -> None:
    ring = mixing("ring", 8)
    assert consensus_limit_by_bisection(ring, 0.1, tolerance=1e-5) == pytest.approx(
        0.1577, abs=5e-5
    )
    assert consensus_limit(ring, 0.1) == pytest.approx(0.1579, abs=5e-5)


@pytest.mark.parametrize(("graph", "n"), GRAPHS)
def test_everything_kept_has_the_limit_of_plain_gossip(graph: str, n: int) -> None:
    where = mixing(graph, n, "metropolis")
    found = consensus_limit_by_bisection(where, 1.0)
    assert found == pytest.approx(2 / where.largest, rel=0.001)
    assert consensus_limit(where, 1.0) == pytest.approx(found, rel=0.001)
    if n > 5:
        assert memory_limit(1.0) / where.away > 1.02 * found


@pytest.mark.parametrize("delta", [*RATIOS, 1.0])
@pytest.mark.parametrize("private", [False, True])
def test_limit_of_the_learning_rate(delta: float, private: bool) -> None:
    alone = mixing("ring", 1)

    def stable(load: float) -> bool:
        return radius(second_moment(alone, delta, 1.0, load, private=private)) < 1 - 1e-12

    assert bisect(stable, 0.1) == pytest.approx(rate_limit(delta, 1.0, private=private), rel=1e-3)


def test_modes_of_a_common_mask_are_those_of_the_whole_map() -> None:
    ring = mixing("ring", 6)
    for private in (False, True):
        whole = radius(second_moment(ring, 0.3, 0.2, 0.1, common=True, private=private))
        assert mode_radius(0.3, 0.2 * ring.spectrum, 0.1, private=private) == pytest.approx(whole)


def test_map_is_the_mean_of_random_steps() -> None:
    """One step of the second moments against the average over many drawn masks."""
    ring, delta, eta, load = mixing("ring", 3), 0.4, 0.3, 0.2
    rng = np.random.default_rng(0)
    state = rng.standard_normal(6)
    i, j = np.triu_indices(6)
    predicted = second_moment(ring, delta, eta, load) @ np.outer(state, state)[i, j]
    masks = rng.random((400000, 3)) < delta
    x, e = state[:3], state[3:]
    z = e - eta * (x - ring.matrix @ x) - load * x
    drawn = np.hstack([x + masks * z, ~masks * z])
    measured = (drawn.T @ drawn / len(drawn))[i, j]
    assert np.abs(measured - predicted).max() < 0.01 * np.abs(predicted).max()


@pytest.mark.parametrize(("share", "grows"), [(0.9, False), (2.5, True)])
@pytest.mark.parametrize("shared", ["true", "false"])
def test_runs_are_stable_inside_and_not_outside(share: float, grows: bool, shared: str) -> None:
    """Least squares with unit Hessians, whose mean square follows the map exactly.

    Between the limit and about twice of it the mean square grows by rare masks that a run of a few
    thousand steps does not meet.
    """
    ring, d, sends = mixing("ring", 8), 400, compressor(f"rand-k[ratio=0.1,shared={shared}]")
    targets = np.random.default_rng(1).standard_normal((8, d))
    local = SquaresLocal(np.tile(np.eye(d) * np.sqrt(d), (8, 1, 1)), targets * np.sqrt(d), 0.0)
    load = 0.2 * memory_limit(0.1)
    eta = share * consensus_limit_by_bisection(ring, 0.1, load, common=sends.common)
    setting = Setting(ring, sends, Formats.of("float64"), load, eta)
    result = simulate(method("ecsd"), setting, local, Run(2500, points=10, invariants=False))
    spread = result.trace("consensus")
    assert (result.diverged is not None or spread[-1] > 10 * spread[3]) == grows


def test_margin_and_warnings_name_the_limit() -> None:
    ring = mixing("ring", 8)
    inside = Load(ring, 0.1, rate=0.02, curvature=1.0, consensus=0.05)
    assert breach(inside) == ""
    assert margin(inside) == pytest.approx(1 - (0.02 + 0.05 * 2 / 3) / memory_limit(0.1))
    cases = {
        "consensus step": Load(ring, 0.1, 0.01, 1.0, 0.2),
        "learning rate": Load(ring, 0.1, 0.2, 1.0, 0.01),
        "joint stability limit": Load(ring, 0.1, 0.08, 1.0, 0.12),
        "lambda_max(I - W)": Load(ring, 0.1, 0.01, 1.0, 0.1, common=True),
        "eta < 2/lambda_max": Load(ring, 1.0, 0.01, 1.0, 1.6),
        "gamma h < 2,": Load(ring, 0.1, 2.5, 1.0, 0.01, private=True),
        "consensus step 0.3": Load(ring, 0.1, 0.02, 1.0, 0.3, private=True),
    }
    for words, load in cases.items():
        assert words in breach(load)
        assert margin(load) < 0
        with pytest.warns(StabilityWarning, match="stability limit"):
            warn(load)
    with pytest.warns(StabilityWarning, match="consensus step 1 is outside"):
        evaluate("ecsd", problem="logistic[dimension=10]", consensus=1.0, rate=0.01, steps=3)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(("graph", "n"), [*GRAPHS, ("ring", 1)])
def test_defaults_are_inside_every_limit(
    graph: str, n: int, delta: float, common: bool, private: bool
) -> None:
    where = mixing(graph, n, "metropolis")
    eta = default_consensus(where, delta, common=common)
    rate = default_rate(where, delta, 2.0, eta, common=common)
    load = Load(where, delta, rate, 2.0, eta, common=common, private=private)
    assert breach(load) == ""
    assert margin(load) > 0.05
    if n <= 6:
        moments = second_moment(where, delta, eta, 2 * rate, common=common, private=private)
        assert radius(moments) < 1


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(InputError, match="delta=0; allowed"):
        memory_limit(0)
    with pytest.raises(InputError, match=r"delta=1\.5; allowed"):
        second_moment(mixing("ring", 3), 1.5, 0.1)
    with pytest.raises(InputError, match="no learning rate follows"):
        default_rate(mixing("ring", 8), 0.1, 1.0, 0.5)
