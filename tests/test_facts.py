"""Facts of numerical analysis that the suite must show, measured on the decoders themselves.

The margins are a few times what was measured; the measured numbers stand beside them.
"""

import dataclasses
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.conditions import conditions
from stabbench.analysis.structure import Choice
from stabbench.analysis.structures import structure_of
from stabbench.arithmetic import dense, exact
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.sweeps.stability import Request, Setup, measure, prepare
from tests.support import Array

SEED = 12
TRIALS = 60


def vandermonde(nodes: list[Fraction]) -> Array:
    """Powers of the nodes, each rounded once."""
    return np.array([[float(x**j) for j in range(len(nodes))] for x in nodes])


def equispaced(k: int) -> list[Fraction]:
    return [Fraction(2 * i, k - 1) - 1 for i in range(k)]


TWENTIETHS = [Fraction(i, 20) for i in range(1, 21)]


def kappa(nodes: list[Fraction]) -> float:
    matrix = vandermonde(nodes)
    return float(np.linalg.norm(matrix, 2) * np.linalg.norm(exact.inverse(matrix), 2))


def ratio_of_inverse(nodes: list[Fraction]) -> float:
    """Median over codewords of the error of the explicit inverse over that of elimination."""
    matrix = vandermonde(nodes)
    rng = np.random.default_rng(SEED)
    truth = rng.standard_normal((TRIALS, len(nodes), 1))
    replies = np.matmul(matrix, truth)
    stack = np.broadcast_to(matrix, (TRIALS, *matrix.shape))
    errors = [
        np.linalg.norm(method(stack, replies) - truth, axis=(1, 2))
        for method in (dense.invert_and_multiply, dense.solve)
    ]
    return float(np.median(errors[0] / errors[1]))


def test_explicit_inverse_loses_two_to_three_digits_at_high_condition() -> None:
    """Measured: 355 at kappa 4.6e16, 2.1e3 at i/20."""
    assert kappa(equispaced(37)) == pytest.approx(4.60e16, rel=2e-3)
    assert 50 < ratio_of_inverse(equispaced(37)) < 5000
    assert 50 < ratio_of_inverse(TWENTIETHS) < 10000


@pytest.mark.parametrize("k", [6, 10, 14, 18, 20])
def test_explicit_inverse_is_as_good_at_moderate_condition(k: int) -> None:
    """Measured: 0.9 to 8."""
    assert kappa(equispaced(k)) <= 1e9
    assert ratio_of_inverse(equispaced(k)) < 30


def ideal_solution(nodes: Array, right: Array) -> Array:
    """The exact solution for the Vandermonde matrix of the nodes as rounded."""
    points = [Fraction(float(x)) for x in nodes]
    rows = [
        [flint.fmpq(p.numerator, p.denominator) ** j for j in range(len(points))] for p in points
    ]
    sides = [[flint.fmpq(*map(int, float(y).as_integer_ratio()))] for y in right[:, 0]]
    solution = flint.fmpq_mat(rows).solve(flint.fmpq_mat(sides))
    return np.array([[int(x.p) / int(x.q)] for x in solution.entries()])


def bjorck_pereyra_error(nodes: Array, right: Array, truth: Array) -> float:
    estimate = dense.vandermonde_solve(nodes[None], right[None])[0]
    return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def test_bjorck_pereyra_is_perfect_on_alternating_right_hand_sides() -> None:
    """Measured: median 1.6e-16, worst 4.3e-16, at an exact condition number of 4.40e16."""
    assert kappa(TWENTIETHS) == pytest.approx(4.40e16, rel=2e-3)
    nodes = np.array([float(x) for x in TWENTIETHS])
    rng = np.random.default_rng(SEED)
    signs = (-1.0) ** np.arange(20)[:, None]
    errors = []
    for _ in range(20):
        right = signs * np.abs(rng.standard_normal((20, 1)))
        errors.append(bjorck_pereyra_error(nodes, right, ideal_solution(nodes, right)))
    assert max(errors) < 2e-15


@pytest.mark.parametrize(
    ("nodes", "expected"), [(TWENTIETHS, 1e-1), (equispaced(37), 4e-2)], ids=["i/20", "linspace"]
)
def test_rounding_of_replies_decides_on_real_codewords(
    nodes: list[Fraction], expected: float
) -> None:
    """Measured: 0.12 and 0.015 with Bjorck-Pereyra; 0.024 and 0.015 with an exact solution."""
    matrix = vandermonde(nodes)
    points = np.array([float(x) for x in nodes])
    rng = np.random.default_rng(SEED)
    errors, unavoidable = [], []
    for _ in range(TRIALS):
        truth = rng.standard_normal((len(nodes), 1))
        right = exact.product(matrix, truth)[0]
        errors.append(bjorck_pereyra_error(points, right, truth))
        best = exact.solve(matrix, right)[0]
        unavoidable.append(np.linalg.norm(best - truth) / np.linalg.norm(truth))
    assert expected / 6 < np.median(errors) < expected * 6
    assert np.median(errors) < 20 * np.median(unavoidable)
    assert np.median(unavoidable) < 20 * np.median(errors)


@dataclasses.dataclass(frozen=True)
class Measured:
    """Errors of every pattern and what predicts them."""

    error: Array
    amplification: Array
    elimination: Array
    unit: float
    decoder_unit: float

    @property
    def trusted(self) -> Array:
        """Where first-order theory holds."""
        return self.decoder_unit * self.elimination < 0.1


def measured(text: str, n: int, s: int, **choices: Any) -> Measured:
    source = {"data": "gaussian[rows=240,columns=24]", "patterns": "auto[limit=150]"}
    setup = Setup.of(dataclasses.asdict(Request(text, n, s, **(source | choices))))
    patterns = setup.policy.patterns(n, s, 0)
    system = setup.code.system()
    choice = Choice(setup.code, system, setup.decoder, setup.precision, setup.spare)
    found = structure_of(setup.code).conditions(choice, patterns)
    trial = prepare(setup, system, 0)
    errors = measure(setup, system, patterns[found.decodable], [trial])[0][0]
    return Measured(
        errors,
        found.amplification,
        found.elimination,
        setup.precision.unit,
        setup.precision.decoding.unit,
    )


FAMILIES = (
    "gaussian",
    "polynomial[nodes=equispaced]",
    "polynomial[nodes=chebyshev]",
    "polynomial[nodes=roots-of-unity]",
)


@pytest.mark.parametrize("text", FAMILIES)
@pytest.mark.parametrize("n", [10, 20, 30])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_ratio_of_elimination_is_at_most_two_and_a_half(text: str, n: int, precision: str) -> None:
    """Measured: at most 0.15 with the elimination term and 0.95 without, where theory holds."""
    m = measured(text, n, 2, precision=precision)
    ok = m.trusted
    assert (m.error[ok] <= 2.5 * m.unit * m.elimination[ok]).all()
    assert (m.error[ok] <= 2.5 * m.unit * m.amplification[ok]).all()
    assert ok.any() or precision == "float32"


@pytest.mark.parametrize("n", [8, 12, 16, 20])
def test_integer_nodes_need_the_elimination_term(n: int) -> None:
    """Measured: with it 0.08 to 0.15; without it 3, 40, 276, 1.1e3."""
    m = measured("polynomial[nodes=integers]", n, 2, precision="float64")
    assert (m.error / (m.unit * m.elimination)).max() < 0.8
    without = (m.error / (m.unit * m.amplification)).max()
    assert without > {8: 1, 12: 10, 16: 100, 20: 500}[n]


def test_amplification_predicts_over_six_orders_of_magnitude() -> None:
    """Over all codes and patterns errors follow a(F), never far above it and seldom far below."""
    predicted, error = [], []
    for text in (*FAMILIES, "dct", "cauchy", "haar", "rotation", "chebyshev-basis"):
        m = measured(text, 20, 2, precision="float64", decoder="lstsq")
        predicted.append(m.unit * m.amplification)
        error.append(m.error)
    a, b = np.concatenate(predicted), np.concatenate(error)
    assert a.max() / a.min() > 1e6
    assert (b <= 2.5 * a).all()
    assert np.median(b / a) > 1e-3
    assert np.corrcoef(np.log(a), np.log(b))[0, 1] > 0.99


def test_condition_numbers_alone_mispredict_what_amplification_tells() -> None:
    """Badly scaled rows raise kappa and change neither a(F) nor the error of exact weights."""
    rng = np.random.default_rng(SEED)
    g = rng.standard_normal((8, 6))
    scaled = g * np.array([2.0**-40, 1, 1, 2.0**30, 1, 1, 2.0**-20, 1])[:, None]
    rows = np.arange(8)[None, :6]
    plain, graded = (conditions(Coefficients.from_array(x), rows) for x in (g, scaled))
    assert graded.kappa_2[0] > 1e15 * plain.kappa_2[0]
    assert graded.amplification[0] == pytest.approx(plain.amplification[0], rel=1e-12)
    truth = rng.standard_normal((1, 6, 1))
    replies = np.matmul(scaled[None, :6], truth)
    error = np.linalg.norm(exact.inverse(scaled[:6]) @ replies - truth)
    assert error < 1e-12


def test_exact_weights_cure_the_decoder_and_not_the_replies() -> None:
    errors = {
        d: sb.evaluate(
            sb.code("polynomial[nodes=equispaced]", n=20, stragglers=2),
            precision="float64",
            decoder=d,
            patterns="auto[limit=100]",
            data="gaussian[rows=90,columns=16]",
        ).budget
        for d in ("inverse", "exact-weights")
    }
    assert errors["exact-weights"]["total"] <= errors["inverse"]["total"]
    assert errors["inverse"]["decode"] > errors["inverse"]["compute"] / 10
