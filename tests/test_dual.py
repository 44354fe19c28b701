"""The dual of a generator: exact independence, rows of pivots, pairs of W and H."""

import copy
import dataclasses
import functools
import itertools
from typing import Any

import flint
import numpy as np
import pytest

from stabbench.arithmetic.balls import paired, rounded
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import _row_basis, dual
from stabbench.arithmetic.inverses import complements, decoding_operators
from stabbench.codes.registry import code
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


def integers(is_complex: bool, seed: int) -> Array:
    """A small matrix of rank 3 with many dependent rows."""
    rng = np.random.default_rng(seed)
    G = rng.integers(-1, 2, (7, 3)).astype(float)
    if is_complex:
        G = G + 1j * rng.integers(-1, 2, (7, 3))
        G[5] = (2 + 1j) * G[4]
    G[6] = G[3] - G[0]
    return np.asarray(G)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_independence_in_the_null_space_is_rank_of_the_rest(is_complex: bool, seed: int) -> None:
    G = integers(is_complex, seed)
    assert np.linalg.matrix_rank(G) == 3
    exact = dual(Coefficients.from_array(G)).exact
    answers = []
    for count in range(1, 6):
        for lost in itertools.combinations(range(7), count):
            rest = np.delete(G, lost, axis=0)
            answers.append(bool(np.linalg.matrix_rank(rest) == 3))
            assert exact.independent(lost) == answers[-1], lost
    assert any(answers)
    assert not all(answers)


@pytest.mark.parametrize("is_complex", [False, True])
def test_the_rational_null_space_is_orthogonal_without_error(is_complex: bool) -> None:
    G = integers(is_complex, 1)
    re, im = dual(Coefficients.from_array(G)).exact._null
    assert re.rank() <= 4 == re.ncols()
    g = [flint.fmpq_mat(7, 3, [flint.fmpq(int(x)) for x in part.flat]) for part in (G.real, G.imag)]
    zero = flint.fmpq_mat(4, 3)
    if im is None:
        assert re.transpose() * g[0] == zero
        return
    assert re.transpose() * g[0] + im.transpose() * g[1] == zero
    assert re.transpose() * g[1] - im.transpose() * g[0] == zero


def test_rows_that_float64_takes_for_independent_are_replaced() -> None:
    """Multiples of one row leave more rounding errors than the only other row is long."""
    G = np.outer([13.0, 11.0, 7.0, -5.0, 3.0], [3.0, 5.0, 7.0])
    G = np.vstack([G, 2.0**-130 * np.eye(3)])
    rows = _row_basis(Coefficients.from_array(G))
    assert rows.tolist() == [0, 5, 6]
    found = dual(Coefficients.from_array(G))
    assert not found.essential.any()
    # two of the short rows and a long one decode, two long ones do not
    sets = np.array([[0, 5, 6], [3, 5, 7], [0, 1, 5], [5, 6, 7]])
    assert decoding_operators(Coefficients.from_array(G), sets).status.tolist() == [1, 1, 0, 1]
    with pytest.raises(InputError, match="rank below 3"):
        dual(Coefficients.from_array(G[:5]))


GRADED = {
    "integers": code("polynomial[nodes=integers]", 12, 4),
    "roots": code("polynomial[nodes=roots-of-unity]", 11, 4),
    "gaussian": code("gaussian", 9, 3),
    "systematic": code("systematic-gaussian", 9, 3),
}


@pytest.mark.parametrize("bits", [24, 192])
@pytest.mark.parametrize("name", [*GRADED, "essential"])
def test_pairs_of_a_dual_have_110_bits(name: str, bits: int) -> None:
    if name == "essential":
        rest = np.array([[1.0, 0], [0, 1], [1, 3], [2, 7]]) @ [[3.0, 1, 2], [1, 5, 7]]
        generator = Coefficients.from_array(np.vstack([[[1.0, 2, 3]], rest]))
        assert dual(generator).essential.tolist() == [True, False, False, False, False]
    else:
        built: Any = GRADED[name]
        generator = Coefficients.from_array(built.generator.rounded("float64"))
    found = dual(generator)
    # however few bits it begins with
    found = dataclasses.replace(found, exact=copy.copy(found.exact))
    found.exact.bits = bits
    pairs = found.pairs
    length = np.linalg.norm(found.null, axis=1, keepdims=True)
    size = np.abs(found.inverse) + np.linalg.norm(found.inverse, axis=0) * length
    assert (np.abs(pairs[0][0] - found.inverse) <= 2.0**-52 * size).all()
    assert (np.abs(pairs[1][0] - found.null) <= 2.0**-52 * length).all()
    with flint.ctx.workprec(2048):
        N, S, W = found.exact.parts(2048)
        P = N * S.solve(N.transpose() if not generator.is_complex else N.conjugate().transpose())
        H = sum_of(pairs[1])
        own = H * (H.conjugate() if generator.is_complex else H).transpose()
        error = np.abs(rounded(sum_of(pairs[0]) - W)[0])
        assert (error <= 2.0**-104 * size).all()
        gap = np.abs(rounded(own - P)[0])
        assert (gap <= 2.0**-103 * np.where(found.essential[:, None], 0, length) * length.T).all()


def sum_of(pair: tuple[Array, Array]) -> Any:
    matrix: Any = flint.acb_mat if np.iscomplexobj(pair[0]) else flint.arb_mat
    return matrix(pair[0].tolist()) + matrix(pair[1].tolist())


@pytest.mark.parametrize("kind", [flint.arb, flint.acb])
def test_balls_as_pairs_keep_what_one_float_does_not(kind: Any) -> None:
    third = kind(1) / 3
    matrix: Any = flint.arb_mat if kind is flint.arb else flint.acb_mat
    with flint.ctx.workprec(300):
        third = kind(1) / 3 if kind is flint.arb else kind(1, 2) / 3
        (hi, lo), radius = paired(matrix([[third]]))
        assert radius[0, 0] < 2.0**-290
        rest = matrix([[third]]) - sum_of((hi, lo))
        assert 0 < np.abs(rounded(rest)[0])[0, 0] < 2.0**-106


def test_sets_that_lose_nothing_or_an_essential_row() -> None:
    parity = np.vstack([np.eye(3), [[0, 1, 2.0]]])
    generator = Coefficients.from_array(parity)
    assert dual(generator).essential.tolist() == [True, False, False, False]
    for precise in (False, True):
        whole = decoding_operators(generator, np.array([[0, 1, 2, 3]]), precise)
        assert np.abs(whole.D[0] - np.linalg.pinv(parity)).max() < 1e-15
        sets = np.array([[0, 1, 2], [0, 1, 3], [1, 2, 3]])
        assert complements(sets, 4).ravel().tolist() == [3, 2, 0]
        found = decoding_operators(generator, sets, precise)
        assert found.status.tolist() == [True, True, False]
        assert np.isnan(found.D[2]).all()
        assert np.abs(found.D[1] - np.linalg.inv(parity[[0, 1, 3]])).max() < 1e-15


def test_radii_of_complex_balls_count_both_parts() -> None:
    ball = flint.acb_mat([[flint.acb(flint.arb(1, 0.25), flint.arb(2, 0.5))]])
    middle, radius = rounded(ball)
    assert middle.tolist() == [[1 + 2j]]
    assert 0.75 <= radius[0, 0] < 0.76


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("precise", [False, True])
def test_rows_of_any_size_change_operators_by_their_size_alone(
    is_complex: bool, precise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a set went to ball arithmetic")

    rng = np.random.default_rng(3)
    G = rng.standard_normal((8, 7))
    if is_complex:
        G = G + 1j * rng.standard_normal(G.shape)
    power = 2.0 ** np.array([0, 40, -40, 90, -90, 13, -200, 300])
    sets = complements(np.arange(8)[:, None], 8)
    graded = Coefficients.from_array(G * power[:, None])
    assert not dual(graded).essential.any()
    monkeypatch.setattr("stabbench.arithmetic.inverses.operator_by_balls", refuse)
    plain = decoding_operators(Coefficients.from_array(G), sets, precise)
    found = decoding_operators(graded, sets, precise)
    assert plain.status.all()
    assert found.status.all()
    error = np.abs(found.D * power[sets][:, None, :] - plain.D)
    limit = 2.0**-52 if precise else 1e-10
    assert (error <= limit * np.linalg.norm(plain.D, axis=2, keepdims=True)).all()


def always(rows: list[list[flint.fmpq]], bits: int) -> list[list[flint.fmpq]]:
    """Exact rows, whatever the bits."""
    return rows


def test_a_row_that_few_bits_cannot_tell_from_an_essential_one() -> None:
    for tiny, essential in ((flint.fmpq(1, 2**250), False), (flint.fmpq(0), True)):
        last = [7 + 3 * tiny, 35 + tiny]
        rows = [[flint.fmpq(3), flint.fmpq(1)], [flint.fmpq(1), flint.fmpq(5)], last]
        found = dual(Coefficients(functools.partial(always, rows), (3, 2)))
        assert found.essential.tolist() == [essential, False, False]
        assert (found.null[0, 0] == 0) == essential
        if not essential:
            size = abs(found.null[0, 0]) / abs(found.null[2, 0])
            assert size == pytest.approx(2.0**-250, rel=1e-12)
