"""Gradient codes recover the sum exactly: in rationals, or with balls of 300 bits."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.survivors import Random
from stabbench.arithmetic.exact import rank
from stabbench.arithmetic.modular import full_rank, residues
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.ye_abbe import YeAbbe
from stabbench.decoders.ideal import ball_weights, least_squares_weights, wanted

EXACT_FREE = ("ye-abbe[d={d},m={m}]", "ye-abbe[d={d},m={m},variant=gaussian]")
GROUPS = ("gaussian", "vandermonde", "chebyshev", "systematic-gaussian", "parity")
LARGE = (20, 30, 50)


def build(spec: str, n: int, s: int) -> GradientCode:
    code = sb.code(spec, n=n, stragglers=s)
    assert isinstance(code, GradientCode)
    return code


def admissible(n: int) -> Iterator[GradientCode]:
    """Every exact scheme with every (d, s, m), d = s + m, that it admits."""
    for s in range(n):
        for name in ("cyclic-repetition", "cyclic-mds", "reed-solomon"):
            yield build(name, n, s)
        yield build("cyclic-mds[roots=adjacent]", n, s)
        if n % (s + 1) == 0:
            yield build("fractional-repetition", n, s)
        for m in range(1, n - s + 1):
            yield build(f"ye-abbe[m={m}]", n, s)
            for variant in ("gaussian", "chebyshev", "roots-of-unity"):
                yield build(f"ye-abbe[m={m},variant={variant}]", n, s)
            yield build(f"ye-abbe[m={m},variant=roots-of-unity,target=middle]", n, s)
            yield build(f"heterogeneous[m={m}]", n, s)
            yield build(f"heterogeneous[m={m},nodes=integers,K=3]", n, s)
            if n % (s + m) == 0:
                for name in GROUPS:
                    if name != "parity" or s == 1:
                        yield build(f"kadhe[generator={name},m={m}]", n, s)
        if n % 2 == 0 and s < n // 2:
            yield build(f"clustered[c={n // 2}]", n, s)
            yield build(f"clustered[c={n // 2},inner=reed-solomon]", n, s)


def survivors_of(code: GradientCode, most: int = 10**6) -> np.ndarray[Any, Any]:
    count = math.comb(code.n, code.stragglers)
    return Random(number=min(most, count)).patterns(code.n, code.stragglers, seed=1)


def assert_recovers(code: GradientCode, patterns: np.ndarray[Any, Any]) -> None:
    """D Phi_F = T for each pattern, exactly or in balls that hold T and are tiny."""
    if code.encoding.is_rational and not code.is_complex:
        target, exact = wanted(code), code.encoding.rational()[0]
        for row in code.arrived(patterns):
            assert least_squares_weights(code, row) * exact == target, (code, row)
        return
    with flint.ctx.workprec(300):
        phi = code.encoding.balls(300)
        for row in code.arrived(patterns):
            assert_close(sum_of_parts(code, row, phi), code, row)


def sum_of_parts(code: GradientCode, row: np.ndarray[Any, Any], phi: Any) -> Any:
    matrix = type(phi)
    total = matrix(code.reduction, phi.ncols())
    table = phi.tolist()
    for part in code.parts:
        taken = np.flatnonzero(row[part.rows])
        rows = matrix([table[i] for i in part.rows[taken]])
        total += matrix(ball_weights(part, taken, 300)) * rows
    return total


def assert_close(found: Any, code: GradientCode, row: np.ndarray[Any, Any]) -> None:
    for w, entries in enumerate(found.tolist()):
        for c, x in enumerate(entries):
            distance = abs(x - int(c % code.reduction == w))
            assert distance.contains(0), (code, row, w, c)
            assert distance.abs_upper() < 1e-40, (code, row, w, c)


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8])
def test_every_scheme_recovers_every_pattern(n: int) -> None:
    for code in admissible(n):
        assert_recovers(code, survivors_of(code))


@pytest.mark.parametrize(
    ("spec", "s"),
    [
        *[(f"ye-abbe[m={m}]", s) for s, m in ((1, 1), (2, 3), (3, 2))],
        ("ye-abbe[m=3,variant=gaussian]", 2),
        ("ye-abbe[m=3,variant=chebyshev]", 2),
        ("ye-abbe[m=3,variant=roots-of-unity]", 2),
        ("ye-abbe[m=3,variant=roots-of-unity,target=middle]", 2),
        ("ye-abbe[m=3,target=middle]", 2),
        ("cyclic-repetition", 4),
        ("cyclic-mds", 3),
        ("cyclic-mds[roots=adjacent]", 4),
        ("reed-solomon", 3),
        ("heterogeneous[m=2]", 2),
        ("heterogeneous[m=2,nodes=half-step,seed=3]", 2),
        ("fractional-repetition", 4),
        *[(f"kadhe[generator={name},d=5,m=3]", 2) for name in GROUPS[:4]],
        ("kadhe[generator=parity,d=5]", 1),
        ("clustered[c=5,inner='ye-abbe[m=2]']", 2),
    ],
)
def test_schemes_recover_every_pattern_of_ten_workers(spec: str, s: int) -> None:
    code = build(spec, 10, s)
    assert_recovers(code, survivors_of(code))


def test_spare_replies_are_no_obstacle() -> None:
    for spec in ("ye-abbe[m=2]", "cyclic-repetition", "cyclic-mds", "kadhe[d=5,m=3]", "rs"):
        code = build(spec, 10, 2)
        assert_recovers(code, np.ones((1, 10), dtype=np.int8))


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize(
    ("spec", "s"),
    [
        ("ye-abbe[m=3]", 2),
        ("ye-abbe[m=3,variant=gaussian]", 2),
        ("cyclic-repetition", 4),
        ("heterogeneous[m=2,nodes=half-step]", 2),
        ("kadhe[d=5,m=3]", 2),
        ("kadhe[generator=vandermonde,d=10,m=4]", 5),
        ("fractional-repetition", 4),
    ],
)
def test_rational_schemes_recover_200_patterns(spec: str, s: int, n: int) -> None:
    """T is in the row space of C^T, of rank rho, and any survivors have rank rho."""
    code = build(spec, n, s)
    matrix, rho = row_basis(code)
    arrived = code.arrived(survivors_of(code, 200))
    rows = np.array([np.flatnonzero(row) for row in arrived])
    assert len(rows) == min(200, math.comb(n, s))
    assert rho <= rows.shape[1]
    assert full_rank(matrix, rows).all()


def row_basis(code: GradientCode) -> tuple[np.ndarray[Any, Any], int]:
    """Residues (n x rho) whose rows are as independent as those of C^T, whose row space holds T.

    By ranks; for Ye-Abbe by C_i - Q in the row space of T, which makes C_i = [S_i, I] [T; Q].
    """
    phi, target = code.encoding.rational()[0], wanted(code)
    if isinstance(code, YeAbbe):
        V = code.matrix.rational()[0].transpose().tolist()
        null = null_space([row for k, row in enumerate(V) if k not in code.chosen])
        Q = [V[k] for k in code.chosen]
        rest = flint.fmpq_mat(phi.transpose().tolist()) - flint.fmpq_mat(Q * code.partitions)
        assert rest * null == flint.fmpq_mat(rest.nrows(), null.ncols())
        return residues(code.matrix), code.height
    rho = int(phi.rank())
    assert int(flint.fmpq_mat([*phi.tolist(), *target.tolist()]).rank()) == rho
    known = residues(code.encoding)
    return known[:, independent_columns(known, rho)], rho


def null_space(rows: Any) -> Any:
    """A basis of the vectors that all rows are orthogonal to, one per column."""
    k, n = len(rows), len(rows[0])
    square = flint.fmpq_mat([row[:k] for row in rows])
    X = square.solve(flint.fmpq_mat([row[k:] for row in rows])).tolist()
    unit = flint.fmpq_mat(n - k, n - k, [int(i == j) for i in range(n - k) for j in range(n - k)])
    return flint.fmpq_mat([*[[-x for x in row] for row in X], *unit.tolist()])


def independent_columns(matrix: np.ndarray[Any, Any], count: int) -> list[int]:
    from stabbench.arithmetic.modular import PRIME

    reduced, found = flint.nmod_mat(matrix.tolist(), PRIME).rref()
    assert found == count
    return [next(c for c, x in enumerate(row) if int(x)) for row in reduced.tolist()[:count]]


@pytest.mark.parametrize("n", LARGE)
@pytest.mark.parametrize(
    ("spec", "s"),
    [
        ("cyclic-mds", 4),
        ("reed-solomon", 3),
        ("ye-abbe[m=3,variant=roots-of-unity]", 2),
        ("heterogeneous[m=2]", 2),
        ("kadhe[generator=chebyshev,d=5,m=3]", 2),
    ],
)
def test_other_schemes_recover_200_patterns_at_300_bits(spec: str, s: int, n: int) -> None:
    """M R = C^T and Q R = T with one R for all patterns, and D M_F = Q for each."""
    code = build(spec, n, s)
    patterns = survivors_of(code, 200)
    with flint.ctx.workprec(300):
        assert_recovers(code, patterns[:5])
        for row in code.arrived(patterns):
            for part in code.parts[:1]:
                taken = np.flatnonzero(row[part.rows])
                weights = ball_weights(part, taken, 300)
                product = weights * type(weights)(part.matrix.rows(taken).balls(300))
                difference = product - type(weights)(part.target.balls(300))
                assert all(abs(x).abs_upper() < 1e-40 for x in difference.entries())


def test_hamming_recovers_all_pairs_and_misses_six_triples() -> None:
    code = build("kadhe[generator=hamming]", 7, 2)
    assert_recovers(code, survivors_of(code))
    from stabbench.codes.gradient.generators import failing

    generator = code.transposed  # type: ignore[attr-defined]
    assert len(list(failing(generator, 3))) == 6
    assert all(
        rank(generator.rows(np.setdiff1d(np.arange(7), gone))) == 4
        for gone in itertools.combinations(range(7), 2)
    )


@pytest.mark.parametrize(
    ("spec", "n", "s"),
    [
        ("reed-solomon", 9, 3),
        ("fractional-repetition", 9, 2),
        ("clustered[c=3,inner=fractional-repetition]", 9, 2),
        ("clustered[c=5,inner=reed-solomon]", 10, 2),
        ("cyclic-mds", 9, 3),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_closed_forms_combine_what_arrived_to_the_sum(
    spec: str, n: int, s: int, dtype: str
) -> None:
    code: Any = sb.code(spec, n=n, stragglers=s)
    encoding = code.encoding.rounded("float64")
    sets = [set(lost) for r in range(s + 1) for lost in itertools.combinations(range(n), r)]
    arrived = np.array([[i not in lost for i in range(n)] for lost in sets])
    weights = code.closed_form(arrived, np.dtype(dtype))
    assert weights.shape == (len(sets), 1, n)
    assert weights.dtype == np.result_type(dtype, np.complex64 if code.is_complex else np.float32)
    assert not weights[:, 0][~arrived].any()
    error = np.abs(weights[:, 0] @ encoding - 1).max(axis=1)
    size = np.abs(weights[:, 0]) @ np.abs(encoding)
    assert np.all(error <= 8 * np.finfo(dtype).eps * size.max(axis=1))
