"""Closed forms of condition numbers, growth exponents, and sizes of errors that are no rounding."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.conditions import conditions
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.published.spectra import spectra

Array = np.ndarray[Any, np.dtype[Any]]


def kappas(text: str, n: int, s: int) -> tuple[Array, list[tuple[int, ...]]]:
    """Condition numbers and straggler sets of all patterns."""
    found = sb.condition_numbers(sb.code(text, n, s))
    lost = [tuple(np.flatnonzero(row == 0).tolist()) for row in found.patterns]
    return found.values, lost


def smallest(matrix: Array) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


@pytest.mark.parametrize("text", ["polynomial[nodes=roots-of-unity]", "rotation"])
@pytest.mark.parametrize(("n", "s"), [(7, 1), (9, 2), (11, 3), (10, 3)])
def test_roots_of_unity_and_rotation(text: str, n: int, s: int) -> None:
    """kappa_2 = sqrt n / sigma_min(Q), Q = [w^(rj)], r straggling, j = k..n-1."""
    k = n - s
    values, lost = kappas(text, n, s)
    for value, stragglers in zip(values, lost, strict=True):
        Q = np.exp(2j * np.pi * np.multiply.outer(np.array(stragglers), np.arange(k, n)) / n)
        assert value == pytest.approx(math.sqrt(n) / smallest(Q), rel=1e-9)
    adjacent = lost.index(tuple(range(s)))
    assert values[adjacent] == pytest.approx(values.max(), rel=1e-9)
    if s == 2:
        assert values.max() == pytest.approx(
            math.sqrt(n) / (2 * math.sin(math.pi / (2 * n))), rel=1e-9
        )


@pytest.mark.parametrize(("n", "s"), [(7, 1), (9, 2), (11, 3)])
def test_chebyshev_grid_with_t0_over_sqrt_2(n: int, s: int) -> None:
    """kappa_2 = sqrt(n/2) / sigma_min(Q), Q = [T_j(x_r)], j = k..n-1; worst: s end nodes."""
    k = n - s
    values, lost = kappas("chebyshev-basis[t0=1/sqrt2]", n, s)
    angles = (2 * np.arange(n) + 1) * np.pi / (2 * n)
    for value, stragglers in zip(values, lost, strict=True):
        Q = np.cos(np.multiply.outer(angles[list(stragglers)], np.arange(k, n)))
        assert value == pytest.approx(math.sqrt(n / 2) / smallest(Q), rel=1e-9)
    ends = lost.index(tuple(range(s)))
    assert values[ends] == pytest.approx(values.max(), rel=1e-9)
    if s == 1:
        formula = math.sqrt(n / 2) / math.sin(math.pi / (2 * n))
        assert values.max() == pytest.approx(formula, rel=1e-9)


@pytest.mark.parametrize("s", [1, 2, 3])
@pytest.mark.parametrize(
    ("text", "slope", "offset"),
    [("polynomial[nodes=roots-of-unity]", 1, -0.5), ("chebyshev-basis[t0=1/sqrt2]", 2, -0.5)],
)
def test_growth_exponents_between_100_and_200(text: str, slope: int, offset: float, s: int) -> None:
    worst = []
    for n in (100, 200):
        generator = sb.code(text, n, s).generator.rounded("float64")  # type: ignore[attr-defined]
        sigma = np.linalg.svd(generator[s:], compute_uv=False)
        worst.append(sigma[0] / sigma[-1])
    exponent = math.log2(worst[1] / worst[0])
    assert exponent == pytest.approx(slope * s + offset, abs=0.02)


@pytest.mark.parametrize("text", ["rotation[k=6]", "polynomial[nodes=roots-of-unity,k=6]"])
def test_one_straggler_of_an_orthonormal_design_of_equal_rows(text: str) -> None:
    """sqrt(n / (n - m)) for m of n columns."""
    found = sb.condition_numbers(sb.code(text, 9, 1))
    assert found.values == pytest.approx(np.full(9, math.sqrt(9 / 3)), rel=1e-9)


@pytest.mark.parametrize("text", ["haar[k=5]", "dct[k=5]"])
def test_one_straggler_of_any_orthonormal_design(text: str) -> None:
    """Max over i of 1 / sqrt(1 - ||g_i||^2)."""
    code = sb.code(text, 9, 1)
    rows = code.generator.rounded("float64")  # type: ignore[attr-defined]
    expected = 1 / np.sqrt(1 - np.square(rows).sum(axis=1))
    found = sb.condition_numbers(code)
    assert found.worst == pytest.approx(expected.max(), rel=1e-9)


def test_uncoded_cyclic_is_the_root_of_its_copies() -> None:
    for blocks, copies in ((3, 2), (4, 3), (2, 4)):
        found = sb.condition_numbers(sb.code("uncoded-cyclic", blocks * copies, copies - 1))
        assert found.worst == pytest.approx(math.sqrt(copies), rel=1e-9)


def test_rotation_products_are_conditioned_as_the_unit_circle() -> None:
    for left, right in ((2, 3), (3, 2)):
        text = f"rotation[kA={left},kB={right}]"
        code = sb.code(text, 8, 2)
        system = code.system("matmul")
        matrix = system.reply.coefficients.rounded("float64")  # type: ignore[attr-defined]
        rows = system.rows(np.array([[0, 0, *[1] * 6]]))
        sigma = np.linalg.svd(matrix[rows[0]], compute_uv=False)
        circle = math.sqrt(8) / (2 * math.sin(math.pi / 16))
        assert sigma[0] / sigma[-1] == pytest.approx(circle, rel=1e-9)


@pytest.mark.parametrize(("workers", "size"), [(20, 3e-2), (50, 1.4e-2), (100, 6e-3)])
def test_approximation_error_of_berrut(workers: int, size: float) -> None:
    found = []
    for seed in range(3):
        record = sb.evaluate(
            sb.code("berrut[k=4]", workers, 0),
            problem="evaluate",
            decoder="barycentric",
            precision="float64",
            data="gaussian[rows=128,columns=64]",
            seed=seed,
        )
        found.append(record.relative_error.worst)
        assert record.budget["approximation"] == pytest.approx(record.budget["total"], rel=1e-9)
        arithmetic = record.budget["encode"] + record.budget["compute"] + record.budget["decode"]
        assert 0 < arithmetic < 1e-14
    assert size / 1.5 < np.median(found) < size * 1.5


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_peeling_of_lt_codes_is_measured_not_assumed_exact(
    precision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    record = sb.evaluate(
        sb.code("lt[k=1000]", 1300, 60),
        decoder="peeling",
        precision=precision,
        patterns="random:1",
        data="gaussian[rows=1000,columns=4]",
    )
    assert record.status == "ok"
    unit = 2.0 ** -(53 if precision == "float64" else 24)
    error = record.relative_error.worst
    with capsys.disabled():
        print(f"\nLT, k = 1000, {precision}: {error:.1e}, {error / unit:.0f} u")  # noqa: T201
    assert 5 * unit < error < 1e4 * unit


def test_robust_soliton_distribution() -> None:
    from stabbench.codes.luby import robust_soliton

    chances = robust_soliton(1000, 0.03, 0.5)
    assert chances.sum() == pytest.approx(1)
    scale = 0.03 * math.log(2000) * math.sqrt(1000)
    spike = round(1000 / scale)
    assert chances[spike - 1] > 10 * chances[spike]
    assert chances[1] == chances.max()


def test_spectra_by_projector_agree_with_duality() -> None:
    """The short way of tight frames, and that by cyclic symmetry, against every set."""
    code = sb.code("rotation", 9, 3)
    for survivors in (6, 7, 8, 9):
        short = spectra(code, "matvec", survivors)
        chosen = sb.condition_numbers(code, patterns=f"all[survivors={survivors}]")
        assert np.sort(short.kappa) == pytest.approx(np.sort(chosen.values), rel=1e-9)
        assert short.kappa.mean() == pytest.approx(chosen.mean, rel=1e-9)


def test_circulant_energy_by_frequencies_is_that_of_the_whole_matrix() -> None:
    code = sb.code("circulant[q=7]", 7, 2)
    short = spectra(code, "matvec", 5)
    matrix = code.generator.rounded("float64")  # type: ignore[attr-defined]
    energies = []
    for kept in combinations(range(7), 5):
        rows = np.flatnonzero(np.isin(np.arange(49) // 7, kept))
        decoder = np.linalg.pinv(matrix[rows])
        energies.append(np.square(decoder).sum() / matrix.shape[1])
    assert short.energy.max() == pytest.approx(max(energies), rel=1e-9)
    assert short.energy.mean() == pytest.approx(np.mean(energies), rel=1e-9)


def test_condition_numbers_of_many_unknowns_are_right_at_any_magnitude() -> None:
    """Blocks 2^10 B and 2^-10 B, B of singular values 1, 1, 1 and 2^-51, and one row twice."""
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    block = hadamard @ np.diag([1, 1, 1, 2.0**-51]) @ hadamard
    k = 132
    matrix = np.kron(np.diag(2.0 ** (10 * (-1) ** np.arange(k // 4))), block)
    matrix = np.vstack([matrix, matrix[:1]])
    rows = np.array([np.arange(k), np.delete(np.arange(k + 1), 1), np.arange(1, k + 1)])
    found = conditions(Coefficients.from_array(matrix), rows)
    assert found.decodable.tolist() == [True, False, True]
    assert found.kappa_2 == pytest.approx([2.0**71, np.inf, 2.0**71], rel=1e-12)


def test_condition_numbers_of_many_unknowns_agree_with_duality(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from stabbench.analysis import conditions as module

    # the second is far from healthy
    codes = [
        sb.code("convolutional[gamma=1/3]", 6, 2),
        sb.code("polynomial[nodes=integers]", 10, 2),
    ]
    exact = [sb.condition_numbers(code).values for code in codes]
    assert exact[1].min() > 5e8
    monkeypatch.setattr(module, "MOST_UNKNOWNS", 1)
    for code, values in zip(codes, exact, strict=True):
        assert sb.condition_numbers(code).values == pytest.approx(values, rel=1e-6)
    failing = sb.condition_numbers(sb.code("orthopoly-shifted[kA=2,kB=2]", 6, 2))
    assert np.isinf(failing.values).sum() == 6
