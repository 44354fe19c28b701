"""Powers of two: numbers that do not feel a scale, and graded systems beyond the range of float64.

Scaled generators are built from exact fractions here, without the code under test.
"""

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis.conditioning import Budget, Survey, survey
from stabbench.analysis.conditioning.survey import bad_sets
from stabbench.analysis.conditions import Conditions, conditions
from stabbench.analysis.worst import worst_amplification
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.extended import extended
from stabbench.arithmetic.inverses import condition_numbers, decoding_operators
from stabbench.codes.base import LinearCode
from tests.support import CODES_UNDER_TEST, Array, label, run

SCALES = (500, -500, 1000, -1000)
MEASURES = ("kappa_2", "kappa_F", "kappa_1", "amplification", "elimination", "rms_amplification")
ALL, VISITS = Budget(), Budget(exact=0, sample=4)
SEARCH = Budget(patterns=0, sample=6)
CODES = [code for code in CODES_UNDER_TEST if code.stragglers == 2]
REAL = [code for code in CODES if not code.generator.is_complex and code.shape[1] <= 12]


def dyadic(x: float, exponent: int) -> Any:
    """The fraction x 2^exponent."""
    return flint.fmpq(*map(int, float(x).as_integer_ratio())) * flint.fmpq(2) ** exponent


def scaled(matrix: Array, rows: Any = 0, columns: Any = 0) -> Coefficients:
    """Entry (i, j) of a float matrix times 2^(rows_i + columns_j), exactly."""
    shift = np.broadcast_to(np.add.outer(np.atleast_1d(rows), np.atleast_1d(columns)), matrix.shape)
    pairs = zip(matrix.ravel().tolist(), shift.ravel().tolist(), strict=True)
    if np.iscomplexobj(matrix):
        parts = [(dyadic(z.real, e), dyadic(z.imag, e)) for z, e in pairs]
        with flint.ctx.workprec(64):
            entries = [flint.acb(flint.arb(a), flint.arb(b)) for a, b in parts]
    else:
        entries = [dyadic(x, e) for x, e in pairs]
    table = [entries[i : i + matrix.shape[1]] for i in range(0, len(entries), matrix.shape[1])]
    return Coefficients(lambda bits: table, matrix.shape, bool(np.iscomplexobj(matrix)))


def rows_of(code: LinearCode) -> Array:
    """The rows of every survivor set that brings as many rows as the first."""
    owner = code.system("matvec").owner
    sets = itertools.combinations(range(code.n), code.n - code.stragglers)
    rows = [np.flatnonzero(np.isin(owner, alive)) for alive in sets]
    return np.array([one for one in rows if len(one) == len(rows[0])])


def surveyed(code: LinearCode, generator: Coefficients, budget: Budget) -> Survey:
    owner = code.system("matvec").owner
    return survey(generator, 2, owner=owner, symmetry=code.symmetry, budget=budget)


def assert_same(found: Survey, truth: Survey) -> None:
    for name in ("worst", "best", "mean", "kappa_F_mean", "log10_worst"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=1e-9)
    for p, value in truth.quantiles.items():
        assert found.quantiles[p] == pytest.approx(value, rel=1e-9)
    for name in ("worst_stragglers", "undecodable", "undecodable_stragglers", "label", "patterns"):
        assert getattr(found, name) == getattr(truth, name)


@pytest.mark.parametrize("code", CODES, ids=label)
def test_no_number_feels_a_power_of_two(code: LinearCode) -> None:
    G, rows = code.generator.rounded("float64"), rows_of(code)
    plain = conditions(Coefficients.from_array(G), rows)
    whole = [surveyed(code, Coefficients.from_array(G), budget) for budget in (ALL, VISITS)]
    operators = decoding_operators(Coefficients.from_array(G), rows[:3])
    for e in SCALES:
        generator = scaled(G, e)
        found = conditions(generator, rows)
        assert (found.decodable == plain.decodable).all()
        for name in MEASURES:
            np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-9)
        for budget, truth in zip((ALL, VISITS), whole, strict=True):
            assert_same(surveyed(code, generator, budget), truth)
        D = decoding_operators(generator, rows[:3])
        assert (D.status == operators.status).all()
        expected = operators.D[D.status] * 2.0 ** (-e // 2) * 2.0 ** (-e // 2)
        np.testing.assert_allclose(D.D[D.status], expected, rtol=1e-9, atol=2.0 ** (-e - 60))


@pytest.mark.parametrize("e", SCALES)
@pytest.mark.parametrize("name", ["gaussian", "polynomial[nodes=roots-of-unity]"])
def test_search_bad_sets_and_bounds_do_not_feel_a_power_of_two(
    name: str, e: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = sb.code(name, 10, 3)
    assert isinstance(code, LinearCode)
    G = code.generator.rounded("float64")
    both = Coefficients.from_array(G), scaled(G, e)
    owner = np.arange(10)
    found = [survey(matrix, 3, budget=SEARCH) for matrix in both]
    assert found[0].label == "search (lower bound)"
    assert_same(found[1], found[0])
    sets = [bad_sets(matrix, owner, 3, 12)[0].tolist() for matrix in both]
    assert sets[0] == sets[1]
    whole = survey(both[0], 3)
    system = code.system("matvec")
    for few in (20_000, 1):
        monkeypatch.setattr("stabbench.analysis.worst.ENUMERATED", few)
        grown = [worst_amplification(code, system, matrix, whole) for matrix in both]
        assert grown[1].worst == pytest.approx(grown[0].worst, rel=1e-9)
        assert grown[1].bound == pytest.approx(grown[0].bound, rel=1e-9)
        assert grown[1].stragglers == grown[0].stragglers


@pytest.mark.parametrize("e", SCALES)
@pytest.mark.parametrize("name", ["gaussian", "polynomial[nodes=roots-of-unity]", "haar"])
def test_systems_of_many_unknowns_do_not_feel_a_power_of_two(
    name: str, e: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stabbench.analysis.conditions.MOST_UNKNOWNS", 2)
    code = sb.code(name, 7, 2)
    assert isinstance(code, LinearCode)
    G, rows = code.generator.rounded("float64"), rows_of(code)
    plain, found = (conditions(m, rows) for m in (Coefficients.from_array(G), scaled(G, e)))
    for measure in MEASURES:
        np.testing.assert_allclose(getattr(found, measure), getattr(plain, measure), rtol=1e-9)


class Exact:
    """Measures of one square system of fractions, as logarithms of exact values."""

    def __init__(self, system: Coefficients) -> None:
        G = system.rational()[0]
        self.decodes = G.rank() == G.ncols()
        if self.decodes:
            D = G.inv()
            squares = (sum(x * x for x in m.entries()) for m in (G, D))
            self.kappa_F = logarithm(math.prod(squares)) / 2
            self.kappa_1 = logarithm(math.prod(map(largest_column, (G, D))))
            energies = [sum(fraction(x) ** 2 for x in row) for row in G.tolist()]
            pairs = [
                (fraction(x), y) for row in D.tolist() for x, y in zip(row, energies, strict=True)
            ]
            energy = sum(x * x * y for x, y in pairs)
            self.rms_amplification = logarithm(energy / G.ncols()) / 2
            sizes = [sum(abs(fraction(x)) for x in row) for row in G.tolist()]
            self.amplification = logarithm(
                max(
                    sum(abs(fraction(x)) * y for x, y in zip(row, sizes, strict=True))
                    for row in D.tolist()
                )
            )


def fraction(x: Any) -> Any:
    return Fraction(int(x.p), int(x.q))


def largest_column(matrix: Any) -> Any:
    return max(sum(abs(fraction(x)) for x in column) for column in matrix.transpose().tolist())


def logarithm(x: Any) -> float:
    """Decimal logarithm of a fraction of any magnitude."""
    value = x if isinstance(x, Fraction) else fraction(x)
    with mpmath.workprec(80):
        return float(mpmath.log10(mpmath.mpf(value.numerator) / value.denominator))


def told(found: Conditions, measure: str, name: str) -> Array:
    """The logarithm of a measure, by its own name where float64 cannot hold the value."""
    return np.asarray(found.others.get(f"log10_{name}", np.log10(getattr(found, measure))))


@pytest.mark.parametrize("code", REAL, ids=label)
def test_graded_rows_and_columns_are_right_to_the_last_magnitude(code: LinearCode) -> None:
    G, rows = code.generator.rounded("float64"), rows_of(code)
    if G.shape[1] != rows.shape[1]:
        rows = rows[:, : G.shape[1]]
    n, k = G.shape
    rows = rows[:: max(1, len(rows) // 4)]
    up, across = (size * (-1) ** np.arange(count) for size, count in ((300, n), (300, k)))
    for shift in ((up, 0), (0, across), (3 * up, 2 * across)):
        generator = scaled(G, *shift)
        found = conditions(generator, rows)
        for measure, name in (
            ("kappa_F", "condition_number_F"),
            ("kappa_1", "condition_number_1"),
            ("amplification", "amplification"),
        ):
            values = told(found, measure, name)
            for p, chosen in enumerate(rows):
                truth = Exact(generator.rows(chosen))
                assert bool(found.decodable[p]) == truth.decodes
                if truth.decodes:
                    log10 = getattr(truth, measure)
                    assert values[p] == pytest.approx(log10, abs=1e-9)
                    assert np.isfinite(getattr(found, measure)[p]) == (log10 < 308.25)


def exact_kappa_2(matrix: Coefficients, rows: Array) -> float:
    """log10 kappa_2 by singular values in 6000 bits."""
    with mpmath.workprec(6000):
        entries = matrix.rows(rows).balls(6000)
        k = matrix.shape[1]
        context = mpmath.mp
        numbers = [
            [context.mpc(number(x.real), number(x.imag)) for x in row] for row in entries.tolist()
        ]
        A = context.matrix(numbers)
        sigma = context.svd_c(A, compute_uv=False) if matrix.is_complex else None
        if sigma is None:
            sigma = context.svd_r(A.apply(context.re), compute_uv=False)
        return float(context.log10(sigma[0] / sigma[k - 1]))


def number(ball: Any) -> Any:
    value = fraction(ball.mid().fmpq())
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("shift", [(300, 0), (0, 300), (1000, 0), (0, 1000)], ids=str)
@pytest.mark.parametrize("kind", ["real", "complex", "spare"])
def test_spectral_condition_numbers_of_graded_systems(kind: str, shift: tuple[int, int]) -> None:
    random = np.random.default_rng(5)
    G = random.standard_normal((5, 3))
    if kind == "complex":
        G = G + 1j * random.standard_normal((5, 3))
    s = 1 if kind == "spare" else 2
    signs = [size * (-1) ** np.arange(count) for size, count in zip(shift, G.shape, strict=True)]
    generator = scaled(G, *signs)
    lost = list(itertools.combinations(range(5), s))
    alive = np.array([sorted(set(range(5)) - set(c)) for c in lost])
    truth = np.array([exact_kappa_2(generator, rows) for rows in alive])
    values = told(conditions(generator, alive), "kappa_2", "condition_number")
    np.testing.assert_allclose(values, truth, atol=1e-9)
    found = survey(generator, s)
    assert found.label == "exhaustive"
    assert found.log10_worst == pytest.approx(truth.max(), abs=1e-9)
    assert found.log10_best == pytest.approx(truth.min(), abs=1e-9)
    mean = truth.max() + math.log10(np.mean(10.0 ** (truth - truth.max())))
    assert found.mean.log10 == pytest.approx(mean, abs=1e-9)
    assert found.quantiles[0.5].log10 == pytest.approx(np.sort(truth)[(len(truth) - 1) // 2])
    assert np.isinf(found.worst) == (truth.max() > 308.25)
    assert found.kappa_F_counts.sum() == len(truth)
    logs = told(conditions(generator, alive), "kappa_F", "condition_number_F")
    assert found.kappa_F_edges[-2] - 1e-9 <= logs.max() <= found.kappa_F_edges[-1] + 1e-9
    assert found.kappa_F_edges[0] - 1e-9 <= logs.min() <= found.kappa_F_edges[1] + 1e-9


@pytest.mark.parametrize("e", [-40, -86, -120, -200])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_rank_is_exact_where_a_column_outweighs_the_others(column: int, e: int) -> None:
    """What is dependent is so at any grading, though it hardly counts in the largest column."""
    G = np.array([[2, 1, 0], [-2, -1, -3], [-3, -3, -2], [2, 1, 3], [0, 1, 3]], dtype=np.float64)
    shift = np.zeros(3, dtype=int)
    shift[column] = e
    plain = survey(Coefficients.from_array(G))
    assert plain.undecodable == 3
    for budget in (ALL, VISITS):
        found = survey(scaled(G, 0, shift), budget=budget)
        assert found.undecodable_stragglers == plain.undecodable_stragglers


def test_small_rows_meet_the_small_entries_of_an_inverse() -> None:
    """Entries that are zero in a row of D of size 1e286 are zero beside row sums of 1e-286."""
    G = np.array([[-2, -1, -3], [-1, 1, 2], [2, 0, 0]], dtype=np.float64)
    generator = scaled(G, 0, [-253, 0, 698])
    truth = Exact(generator)
    found = extended(generator)
    assert found is not None
    assert found.amplification.log10 == pytest.approx(truth.amplification, abs=1e-9)
    assert found.rms_amplification.log10 == pytest.approx(truth.rms_amplification, abs=1e-9)


@pytest.mark.parametrize("e", [1020, -1020, -1065])
def test_floats_at_the_ends_of_the_range(e: int) -> None:
    """Below 2^-1022 floats have fewer bits, which small integers do not need."""
    G = np.ldexp(np.random.default_rng(0).integers(1, 8, (6, 3)).astype(float), e)
    plain = survey(Coefficients.from_array(np.ldexp(G, -e)))
    assert_same(survey(Coefficients.from_array(G)), plain)


exponents = st.lists(st.integers(-1000, 1000), min_size=5, max_size=5)


@settings(max_examples=60)
@given(rows=exponents, columns=exponents, is_complex=st.booleans(), seed=st.integers(0, 99))
def test_no_grading_ends_in_an_error_or_in_no_number(
    rows: list[int], columns: list[int], is_complex: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    G = random.integers(-3, 4, (5, 3)) + (
        1j * random.integers(-3, 4, (5, 3)) if is_complex else 0.0
    )
    if np.linalg.matrix_rank(G) < 3:
        return
    generator = scaled(G, rows, columns[:3])
    alive = np.array(list(itertools.combinations(range(5), 3)))
    found, plain = conditions(generator, alive), conditions(Coefficients.from_array(G), alive)
    assert (found.decodable == plain.decodable).all()
    for name in MEASURES:
        assert not np.isnan(getattr(found, name)).any()
    logs = told(found, "kappa_2", "condition_number")
    assert np.isfinite(logs[found.decodable]).all()
    kappa = condition_numbers(generator, alive)[0]
    np.testing.assert_allclose(kappa[np.isfinite(kappa)], found.kappa_2[np.isfinite(kappa)], 1e-9)
    whole = survey(generator)
    assert whole.undecodable == np.count_nonzero(~plain.decodable)
    if found.decodable.any():
        assert whole.log10_worst == pytest.approx(logs[found.decodable].max(), abs=1e-9)
        assert math.isfinite(whole.mean.log10)


def write(path: Path, matrix: Array) -> str:
    np.save(path, matrix)
    return f"matrix[file={path}]"


@pytest.mark.parametrize("e", [0, *SCALES, -1030])
def test_the_verb_prints_the_same_numbers_at_any_scale(e: int, tmp_path: Path) -> None:
    G = np.random.default_rng(0).integers(1, 40, (6, 3)).astype(float)
    texts = []
    for name, matrix in (("plain", G), ("scaled", np.ldexp(G, e))):
        done = run("worst", write(tmp_path / f"{name}.npy", matrix), "-n", "6", "-S", "3")
        assert done.status == 0, done.err
        texts.append([line for line in done.out.splitlines()[1:] if "time" not in line][:-1])
    assert texts[0] == texts[1]


def test_a_logarithm_is_told_where_float64_ends(tmp_path: Path) -> None:
    graded = 2.0 ** (900 * (-1.0) ** np.arange(6))
    G = np.random.default_rng(0).standard_normal((6, 3)) * graded[:, None]
    spec = write(tmp_path / "graded.npy", G)
    done = run("worst", spec, "-n", "6", "-S", "3")
    assert done.status == 0
    shown = re.search(r"worst kappa_2 +([0-9.]+)e\+(\d+) \(beyond float64\)", done.out)
    assert shown is not None
    numbers = sb.condition_numbers(sb.code(spec, 6, 3))
    assert numbers.worst == math.inf
    assert numbers.undecodable == 0
    assert numbers.log10_worst == pytest.approx(
        math.log10(float(shown[1])) + int(shown[2]), abs=1e-5
    )
    assert math.isfinite(numbers.mean.log10)
    record = sb.evaluate(
        sb.code(spec, 6, 3), precision="float64", patterns="all", data="gaussian[rows=6,columns=2]"
    )
    assert record.condition_number.worst == math.inf
    assert record.undecodable == 0
    assert record.log10_condition_number.worst == pytest.approx(numbers.log10_worst, abs=1e-9)
    assert record.log10_condition_number.worst_survivors == numbers.worst_survivors
