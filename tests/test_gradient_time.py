"""The time model and the design explorer."""

from typing import Any

import flint
import mpmath
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis import explore, timemodel
from stabbench.analysis.timemodel import (
    TimeModel,
    best,
    expected_time,
    iterations,
    message_times,
    work,
)
from stabbench.codes.gradient.base import GradientCode
from stabbench.decoders.ideal import part_weights


def test_published_optimum_of_eight_workers() -> None:
    rows = best(TimeModel(), 8)
    assert rows[0][1:] == (4, 3)
    assert rows[0][0] == pytest.approx(21.370, rel=5e-3)
    times = {(d, m): time for time, d, m in rows}
    assert times[1, 1] == pytest.approx(36.114, rel=5e-3)
    assert min((time, d) for time, d, m in rows if m == 1)[1] == 8
    assert times[8, 1] == pytest.approx(24.106, rel=5e-3)


def test_one_exponential_has_harmonic_order_statistics() -> None:
    model = TimeModel(x0=2.0, x_rate=0.5, y0=1.0, y_rate=float("inf"))
    for s in range(5):
        harmonic = sum(1 / i for i in range(s + 1, 7))
        assert model.expected(6, 3, 1, s) == pytest.approx(7 + 3 / 0.5 * harmonic, rel=1e-9)


@pytest.mark.parametrize("apart", [0.0, 1e-12, 2e-9, 1e-7, 1e-4, 5.0, -0.9])
def test_sums_of_two_exponentials_at_close_rates(apart: float) -> None:
    model, t = TimeModel(y_rate=0.1 * (1 + apart)), np.array([0.0, 1e-3, 1.0, 10.0, 100.0, 2000.0])
    with mpmath.workdps(60):
        a, b = mpmath.mpf(model.x_rate / 8), mpmath.mpf(model.y_rate)
        for x, late in zip(t.tolist(), model.late(8, 1, t).tolist(), strict=True):
            if a == b:
                exact = mpmath.exp(-a * x) * (1 + a * x)
            else:
                exact = (b * mpmath.exp(-a * x) - a * mpmath.exp(-b * x)) / (b - a)
            assert late == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("n", "d", "m"), [(8, 4, 3), (12, 6, 2), (10, 1, 1), (6, 5, 1)])
def test_quadrature_agrees_with_simulation(n: int, d: int, m: int) -> None:
    model = TimeModel()
    x, y = model.draw(np.random.default_rng(1), (40_000, n))
    times = np.sort(d * x + y / m, axis=1)[:, n - (d - m) - 1]
    half = 4 * times.std() / 200
    assert abs(times.mean() - model.expected(n, d, m, d - m)) < half
    if n % d == 0:
        groups = np.sort((d * x + y / m).reshape(len(x), n // d, d), axis=2)[:, :, m - 1]
        ready = groups.max(axis=1)
        assert abs(ready.mean() - model.expected_groups(n, d, m)) < 4 * ready.std() / 200


def test_equal_rates_are_no_special_case() -> None:
    near = TimeModel(x_rate=0.4, y_rate=0.1000001).expected(8, 4, 1, 2)
    assert TimeModel(x_rate=0.4, y_rate=0.1).expected(8, 4, 1, 2) == pytest.approx(near, rel=1e-5)


def test_adaptive_schemes_are_simulated_with_an_interval() -> None:
    model = TimeModel()
    for spec, s in (("nested", 3), ("block-coordinate", 0)):
        code: Any = sb.code(spec, n=8, stragglers=s)
        time = expected_time(code, model, draws=4000)
        again = expected_time(code, model, draws=4000, seed=1)
        assert time.method == "simulation"
        assert 0 < time.half_width < 0.05 * time.value
        assert abs(time.value - again.value) < 2 * (time.half_width + again.half_width)


def test_nested_is_never_later_than_any_of_its_levels() -> None:
    code: Any = sb.code("nested", n=8, stragglers=3)
    x, y = TimeModel().draw(np.random.default_rng(0), (500, 8))
    found, _ = iterations(code, x, y)
    for q in range(1, 5):
        assert (found <= np.sort(q * x + y, axis=1)[:, 8 - q]).all()


def test_blocks_without_spread_are_due_together() -> None:
    code: Any = sb.code("block-coordinate", n=5, stragglers=0)
    order = np.array([[float(code.order_statistic(q)) for q in range(1, 6)]])
    time = iterations(code, order, np.zeros((1, 5)))[0][0]
    assert time == pytest.approx(
        float(code.order_statistic(5)) * code.sizes(10**6)[0] / 1e6, rel=1e-4
    )


def recovers(code: GradientCode, counts: list[int]) -> bool:
    """Whether the messages that came give the sum, by the exact rank of every part."""
    arrived = code.arrived(np.array([counts]), counted=True)
    for _, parts in code.stages(arrived):
        for part in parts:
            try:
                part_weights(part, np.flatnonzero(arrived[0][part.rows]))
            except ZeroDivisionError:
                return False
    return True


@pytest.mark.parametrize(
    ("spec", "n", "s"),
    [
        ("nested", 5, 2),
        ("nested[inner=cyclic-repetition]", 4, 3),
        ("block-coordinate", 5, 1),
        ("block-coordinate[inner=cyclic-repetition]", 4, 0),
        ("cyclic-mds", 5, 2),
        ("kadhe[generator=chebyshev,d=3,m=2]", 6, 1),
        ("fractional-repetition", 6, 2),
    ],
)
def test_time_messages_and_recovery_are_of_one_draw(spec: str, n: int, s: int) -> None:
    """Message by message: the sum is there at the moment that is told, with what has come by then.

    Codes without levels wait for n - s workers, whether fewer would have done or not.
    """
    code: Any = sb.code(spec, n=n, stragglers=s)
    x, y = TimeModel().draw(np.random.default_rng(3), (12, n))
    moments, counts = iterations(code, x, y)
    times = message_times(code, x, y)
    for moment, count, ready in zip(moments, counts, times, strict=True):
        events = sorted((float(t), j) for j in range(n) for t in ready[j])
        have, first = [0] * n, np.inf
        for at, worker in events:
            have[worker] += 1
            enough = recovers(code, have) if code.messages > 1 else sum(have) >= n - s
            if enough:
                first = at
                break
        assert moment == first
        assert count.tolist() == have
        assert recovers(code, have)


def spans_the_sum(level: GradientCode, workers: list[int]) -> bool:
    """Whether 1 is in the span of these rows of B, by exact rank."""
    table = level.encoding.rational()[0].tolist()
    rows = [table[worker] for worker in workers]
    ones = [[flint.fmpq(1)] * level.partitions]
    return bool(rows) and flint.fmpq_mat(rows).rank() == flint.fmpq_mat(rows + ones).rank()


def slow_times(code: Any, x: list[float], y: list[float]) -> list[list[float]]:
    """When message u of every worker is there, a list per u, from the definitions."""
    if code.name == "nested":
        return [[(u + 1) * a + b for a, b in zip(x, y, strict=True)] for u in range(code.messages)]
    times, read, sent = [], 0.0, 0.0
    for u, size in enumerate(code.sizes(10**6)):
        read, sent = read + (code.stragglers + u + 1) * size / 1e6, sent + size / 1e6
        times.append([read * a + sent * b for a, b in zip(x, y, strict=True)])
    return times


@pytest.mark.parametrize(
    ("spec", "n", "s"),
    [
        ("nested[inner=cyclic-repetition]", 6, 3),
        ("nested[inner=cyclic-repetition]", 2, 1),
        ("block-coordinate[inner=cyclic-repetition]", 5, 0),
        ("block-coordinate[inner=cyclic-repetition]", 6, 2),
    ],
)
def test_no_moment_before_the_one_told_decodes_by_exact_rank(spec: str, n: int, s: int) -> None:
    """Every level by the rank of its own rows, moment by moment; no number of messages enters."""
    code: Any = sb.code(spec, n=n, stragglers=s)
    enough = any if code.name == "nested" else all
    x, y = TimeModel().draw(np.random.default_rng(8), (12, n))
    moments, counts = iterations(code, x, y)
    for draw, moment in enumerate(moments):
        times = slow_times(code, x[draw].tolist(), y[draw].tolist())
        for at in sorted(at for ready in times for at in ready):
            sets = [[j for j in range(n) if ready[j] <= at] for ready in times]
            spanned = [spans_the_sum(code.levels[u], workers) for u, workers in enumerate(sets)]
            if enough(spanned):
                break
        assert enough(spanned)
        assert moment == pytest.approx(at, rel=1e-13)
        assert counts[draw].tolist() == [sum(j in workers for workers in sets) for j in range(n)]
        if code.name == "nested":
            arrived = code.arrived(counts[draw][None], counted=True)
            assert code.level(arrived).tolist() == [spanned.index(True) + 1]


class InHalves(GradientCode):
    """Every worker holds two of 2 n partitions and sends them one after the other."""

    name = "in-halves"

    @property
    def messages(self) -> int:
        return 2

    @property
    def partitions(self) -> int:
        return 6

    @property
    def placement(self) -> Any:
        return np.eye(6, dtype=bool)

    def coefficients(self, bits: int) -> Any:
        return np.eye(6, dtype=int).tolist()


def test_codes_of_several_messages_without_levels_send_all_of_them() -> None:
    code = InHalves(3, 0)
    x, y = TimeModel().draw(np.random.default_rng(0), (20, 3))
    moments, counts = iterations(code, x, y)
    assert np.allclose(moments, (x + y).max(axis=1), rtol=1e-14)
    assert (counts == 2).all()
    assert code.arrived(counts, counted=True).all()


@pytest.mark.parametrize(
    ("spec", "n", "s"),
    [("graph[d=3]", 12, 2), ("bernoulli[d=4,K=20]", 10, 2), ("heterogeneous[K=24]", 8, 2)],
)
def test_times_are_those_of_the_share_of_the_data(spec: str, n: int, s: int) -> None:
    """Smaller partitions are not as much work each as those of the uncoded workers."""
    code: Any = sb.code(spec, n=n, stragglers=s)
    share = code.placement.sum(axis=1).max() / code.partitions
    assert code.partitions != n
    assert work(code) == pytest.approx(share * n, rel=1e-14)
    model = TimeModel(y0=0.0, y_rate=float("inf"))
    late = sum(1 / i for i in range(s + 1, n + 1))
    expected = share * n * (model.x0 + late / model.x_rate)
    assert expected_time(code, model).value == pytest.approx(expected, rel=1e-9)
    x = np.arange(1.0, n + 1)[None]
    assert iterations(code, x, 0 * x)[0] == pytest.approx([share * n * (n - s)], rel=1e-14)


@pytest.mark.parametrize("spec", ["nested", "block-coordinate", "cyclic-mds"])
def test_draws_in_parts_are_those_at_once(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code: Any = sb.code(spec, n=6, stragglers=2)
    x, y = TimeModel().draw(np.random.default_rng(0), (31, 6))
    whole, largest = iterations(code, x, y), []
    made = timemodel.message_times

    def watched(*given: Any) -> Any:
        largest.append(made(*given).size)
        return made(*given)

    monkeypatch.setattr(timemodel, "AT_ONCE", 100)
    monkeypatch.setattr(timemodel, "message_times", watched)
    for one, other in zip(iterations(code, x, y), whole, strict=True):
        assert np.array_equal(one, other)
    assert max(largest) <= 100


def test_a_worker_of_nested_and_of_blocks_is_done_when_its_definition_says() -> None:
    nested: Any = sb.code("nested", n=4, stragglers=2)
    blocks: Any = sb.code("block-coordinate", n=3, stragglers=1)
    x, y = np.array([[2.0, 3.0, 5.0, 7.0]]), np.array([[10.0, 20.0, 30.0, 40.0]])
    assert message_times(nested, x, y)[0, 1].tolist() == [23.0, 26.0, 29.0]
    first, second = (size / 10**6 for size in blocks.sizes(10**6))
    found = message_times(blocks, x[:, :3], y[:, :3])[0, 2]
    assert found == pytest.approx([5 * 2 * first + 30 * first, 5 * (2 * first + 3 * second) + 30])


def test_explorer_lists_what_schemes_admit() -> None:
    rows = explore.gradient(6, ["kadhe[generator=chebyshev]", "fractional-repetition", "ye-abbe"])
    found = {(row.code.partition("[")[0], row.load, row.stragglers, row.reduction) for row in rows}
    pairs = [(d, d - m, m) for d in (2, 3, 6) for m in range(1, d)]
    assert {one[1:] for one in found if one[0] == "kadhe"} == set(pairs)
    assert {one[1:3] for one in found if one[0] == "fractional-repetition"} == {
        (2, 1),
        (3, 2),
        (6, 5),
    }
    assert {one[1:] for one in found if one[0] == "ye-abbe"} == {
        (s + m, s, m) for s in range(1, 6) for m in range(1, 7 - s)
    }
    assert any(row.pareto for row in rows)
    assert not all(row.pareto for row in rows)
    for row in rows:
        assert row.error["float64"] < row.error["float32"]
        assert row.communication == 1 / row.reduction


def test_pareto_front_by_brute_force() -> None:
    rows = explore.gradient(4, ["kadhe", "cyclic-repetition", "ye-abbe"])
    for row in rows:
        dominated = any(
            other.load <= row.load
            and other.stragglers >= row.stragglers
            and other.reduction >= row.reduction
            and all(round(other.digits[p], 1) >= round(row.digits[p], 1) for p in row.error)
            and explore._costs(other) != explore._costs(row)
            for other in rows
        )
        assert row.pareto == (not dominated)


def test_explorer_says_what_is_wrong() -> None:
    with pytest.raises(sb.InputError, match="no scheme admits"):
        explore.gradient(5, ["fractional-repetition"], stragglers=[1])
    with pytest.raises(sb.InputError, match="no gradient code"):
        explore.gradient(5, ["gaussian"], stragglers=[1])
    with pytest.raises(sb.InputError, match="unknown code"):
        explore.gradient(5, ["kadhee"])
    with pytest.raises(sb.InputError, match="unknown parameter 'generatr'"):
        explore.gradient(4, ["fractional-repetition", "kadhe[generatr=chebyshev]"], stragglers=[1])
    with pytest.raises(sb.InputError, match="'d' is given twice"):
        explore.gradient(4, ["fractional-repetition", "kadhe[d=2]"], stragglers=[1])
