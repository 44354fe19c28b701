"""Certificates that a gradient code recovers the sum, each shared by all patterns of a code.

Rationals are exact; roots of unity and cosines are balls of 300 bits, more where 300 leave them
wider than 1e-40. Nothing is sampled here.
"""

import dataclasses
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.modular import PRIME, full_rank, residues
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.block_coordinate import BlockCoordinate
from stabbench.codes.gradient.clustered import Clustered
from stabbench.codes.gradient.cyclic_repetition import CyclicRepetition
from stabbench.codes.gradient.kadhe import GroupCode
from stabbench.codes.gradient.nested import Nested
from stabbench.decoders.ideal import wanted

Array = np.ndarray[Any, np.dtype[Any]]
BITS = 300
CLOSE = flint.arb(0, 1e-40)


class ImprecisionError(ArithmeticError):
    """The balls hold T, as they must, but do not lie within 1e-40 of it."""


@dataclasses.dataclass(frozen=True)
class Table:
    """C^T of a code whose workers cannot be split further, and its target T."""

    code: GradientCode
    phi: Any
    target: Any
    bits: int

    @property
    def exact(self) -> bool:
        """Whether all is rational."""
        return isinstance(self.phi, flint.fmpq_mat)


def table(code: GradientCode, bits: int = BITS) -> Table:
    """The coefficients of a code, rational where they can be."""
    if code.encoding.is_rational and not code.is_complex:
        return Table(code, code.encoding.rational()[0], wanted(code), bits)
    phi: Any = code.encoding.balls(bits)
    return Table(code, phi, type(phi)(flint.arb_mat(wanted(code))), bits)


def recovers(code: GradientCode, stragglers: Array, explicit: bool) -> None:
    """Whether all these sets of stragglers (P, s) can be spared.

    Parameters
    ----------
    code : GradientCode
    stragglers : int array, shape (P, s)
    explicit : bool
        Whether weights are written down for rational codes too, not only for balls.
    """
    for bits in (BITS, 2 * BITS, 4 * BITS):
        with flint.ctx.workprec(bits):
            one = table(code, bits)
            rational_parts = all(part.matrix.is_rational for part in code.parts)
            try:
                if (
                    one.exact
                    and not explicit
                    and (rational_parts or isinstance(code, CyclicRepetition))
                ):
                    assert_spans(one, stragglers)
                else:
                    assert_recovered(one, stragglers)
            except (ImprecisionError, ZeroDivisionError):
                continue
            return
    raise ImprecisionError(code)


def irreducible(code: GradientCode) -> list[GradientCode]:
    """The codes that this one consists of, after a check that it does.

    A group code is one group repeated: it decodes if every group does, and no group has lost more
    than s workers. The levels of nested and the blocks of block-coordinate are cyclic codes.
    """
    if isinstance(code, GroupCode) and code.n > code.sizes[0]:
        group = dataclasses.replace(code, n=code.sizes[0])
        assert_same(code, np.arange(code.n), np.arange(code.n * code.reduction), group)
        return [group]
    if isinstance(code, Clustered):
        assert_same(code, np.arange(code.n), np.arange(code.n * code.reduction), code.cluster)
        return irreducible(code.cluster)
    if isinstance(code, Nested | BlockCoordinate):
        for q, level in enumerate(code.levels):
            columns = np.arange(code.n)
            if isinstance(code, BlockCoordinate):
                columns = columns * code.reduction + q
            assert_same(code, np.arange(code.n) * code.messages + q, columns, level)
        return list(code.levels)
    return [code]


def assert_same(code: GradientCode, rows: Array, columns: Array, inner: GradientCode) -> None:
    """These rows are copies of the inner table on the diagonal, and zero in all other columns."""
    whole, part = table(code).phi.tolist(), table(inner).phi.tolist()
    height, width = len(part), len(part[0])
    for at, j in enumerate(rows):
        a, t = divmod(at, height)
        own = {int(c): part[t][i] for i, c in enumerate(columns[a * width : (a + 1) * width])}
        for c, x in enumerate(whole[j]):
            assert close(x, own.get(c, 0)), (code, j, c)


def close(x: Any, y: Any) -> bool:
    """Equal rationals, or balls less than 1e-60 apart."""
    exact = all(isinstance(value, flint.fmpq | flint.fmpz | int) for value in (x, y))
    return bool(x == y) if exact else bool(abs(x - y) < 1e-60)


def assert_recovered(one: Table, stragglers: Array) -> None:
    """D_F Phi_F = T for every row of stragglers (P, s), with D_F written down.

    From one factorisation: D_F = D_0 - Y L with D_0 Phi = T, L Phi = 0 and Y L = D_0 on the
    stragglers. All products D_F Phi are formed, with zeros for the stragglers: they must be T.
    """
    D0, L = dual(one)
    kind, n, m = type(one.phi), one.phi.nrows(), one.code.reduction
    rows = []
    for gone in stragglers.tolist():
        D = D0
        if gone:
            lost = L.transpose().tolist()
            left = kind([lost[j] for j in gone])
            right = kind([D0.transpose().tolist()[j] for j in gone])
            if L.nrows() == len(gone):
                Y = left.solve(right)
            else:  # fewer stragglers than the code bears: Y of least norm
                Y = left.transpose() * (left * left.transpose()).solve(right)
            D = D0 - Y.transpose() * L
        entries = D.tolist()
        for row in entries:
            for j in gone:
                row[j] = 0
        rows += entries
    wanted_rows = one.target.tolist() * len(stragglers)
    assert len(rows) == m * len(stragglers)
    assert all(len(row) == n for row in rows)
    assert_equal(kind(rows) * one.phi, kind(wanted_rows), one.code)


def assert_equal(found: Any, target: Any, code: GradientCode) -> None:
    """Equal rationals, or balls that hold the target and lie within 1e-40 of it."""
    if isinstance(found, flint.fmpq_mat):
        assert found == target, code
        return
    wide = CLOSE if isinstance(found, flint.arb_mat) else flint.acb(CLOSE, CLOSE)
    spread = type(found)(found.nrows(), found.ncols(), [wide] * (found.nrows() * found.ncols()))
    assert found.contains(target), code
    if not (target + spread).contains(found):
        raise ImprecisionError(code)


def dual(one: Table) -> tuple[Any, Any]:
    """D_0 (m x n) and L ((n - rho) x n) with D_0 Phi = T and L Phi = 0."""
    phi, kind, n = one.phi, type(one.phi), one.phi.nrows()
    if one.exact:
        basis = pivots(phi.transpose())
        columns = pivots(kind([phi.tolist()[i] for i in basis]))
        M = [[row[c] for c in columns] for row in phi.tolist()]
        right = [[row[c] for c in columns] for row in one.target.tolist()]
    else:
        (part,) = one.code.parts
        basis = list(range(part.matrix.shape[1]))
        M, right = (
            kind(part.matrix.balls(one.bits)).tolist(),
            kind(part.target.balls(one.bits)).tolist(),
        )
    rest = [j for j in range(n) if j not in basis]
    square = kind([M[i] for i in basis]).transpose()
    both = [*right, *[M[j] for j in rest]]
    X = square.solve(kind(both).transpose()).transpose().tolist()
    m = len(right)
    D0, L = [[0] * n for _ in range(m)], [[0] * n for _ in rest]
    for k, i in enumerate(basis):
        for w in range(m):
            D0[w][i] = X[w][k]
        for r in range(len(rest)):
            L[r][i] = -X[m + r][k]
    for r, j in enumerate(rest):
        L[r][j] = 1
    return kind(D0), kind(len(L), n, [x for row in L for x in row])


def pivots(matrix: Any) -> list[int]:
    """The first independent columns, modulo a prime; more could only be missed, not invented."""
    known = [[int(x.p) * pow(int(x.q), -1, PRIME) % PRIME for x in row] for row in matrix.tolist()]
    reduced, rank = flint.nmod_mat(known, PRIME).rref()
    return [next(c for c, x in enumerate(row) if int(x)) for row in reduced.tolist()[:rank]]


def assert_spans(one: Table, stragglers: Array) -> None:
    """The rows of any survivors span those of Phi, among which T is; all rational.

    Phi = M B and Q B = T with one B for all patterns; M_F has full column rank, shown modulo a
    prime, so that D M_F = Q has a solution and D Phi_F = Q B = T.
    """
    code, phi = one.code, one.phi
    if isinstance(code, CyclicRepetition):
        known = kernel_of_checks(code, phi)
    else:
        (part,) = code.parts
        M, Q = part.matrix.rational()[0], part.target.rational()[0]
        basis = pivots(M.transpose())
        kind = flint.fmpq_mat
        square = kind([M.tolist()[i] for i in basis])
        table_of, m, unit = phi.tolist(), code.reduction, one.target.tolist()
        for i in range(code.partitions):  # apart, as their denominators differ
            own = slice(i * m, i * m + m)
            B = square.solve(kind([table_of[j][own] for j in basis]))
            assert kind([row[own] for row in table_of]) == M * B, code
            assert kind([row[own] for row in unit]) == Q * B, code
        known = residues(part.matrix)
    arrived = np.ones((len(stragglers), phi.nrows()), dtype=bool)
    np.put_along_axis(arrived, stragglers, False, axis=1)
    rows = np.nonzero(arrived)[1].reshape(len(stragglers), -1)
    assert full_rank(known, rows).all(), code


def kernel_of_checks(code: CyclicRepetition, phi: Any) -> Array:
    """Residues of n - s columns of Phi, after B H^T = 0, H 1 = 0 and rank H = s.

    The rows of B lie in the null space of H, as T does, whose dimension is n - s.
    """
    n, s = code.n, code.stragglers
    H = [[flint.fmpq(*x.as_integer_ratio()) for x in row] for row in code.check_matrix.tolist()]
    checks = flint.fmpq_mat([*H, [0] * n])
    assert checks.rank() == s, code
    assert phi * checks.transpose() == flint.fmpq_mat(n, s + 1), code
    assert checks * flint.fmpq_mat([[1]] * n) == flint.fmpq_mat(s + 1, 1), code
    columns = pivots(phi)
    assert len(columns) == n - s, code
    known: Array = residues(code.encoding)[:, columns]
    return known
