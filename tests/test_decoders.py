"""Every decoder: right shapes and types, errors within theory, one pattern at a time or many."""

import itertools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import stabbench as sb
from stabbench.analysis.amplification import amplification, elimination_amplification
from stabbench.analysis.survivors import policy
from stabbench.arithmetic import exact
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.dense import (
    elimination_size,
    invert_and_multiply,
    refine,
    solve,
    vandermonde_solve,
)
from stabbench.arithmetic.inverses import decoding_operators
from stabbench.arithmetic.precision import Precision, precision
from stabbench.codes.base import LinearCode
from stabbench.codes.registry import code
from stabbench.decoders.barycentric import polynomial_weights
from stabbench.decoders.base import Decoder, require
from stabbench.decoders.registry import decoder
from stabbench.decoders.vandermonde import leja
from stabbench.errors import InputError
from tests.support import CODES_UNDER_TEST, PRECISIONS, Array, label

DECODERS = (
    "solve",
    "inverse",
    "lstsq",
    "refined",
    "refined[steps=3]",
    "exact-weights",
    "bjorck-pereyra[order=ascending]",
    "bjorck-pereyra[order=random]",
    "bjorck-pereyra[order=leja]",
)
MATRIX_DECODERS = DECODERS[:6]
CODES = ("polynomial[nodes=roots-of-unity]", "polynomial[nodes=chebyshev]", "gaussian", "rotation")
every_decoder = pytest.mark.parametrize("name", DECODERS)
every_precision = pytest.mark.parametrize(
    "chosen", [precision(name) for name in PRECISIONS], ids=PRECISIONS
)


def linear(text: str, n: int, s: int) -> LinearCode:
    return cast(LinearCode, code(text, n, s))


def accepted(d: Decoder, chosen: Precision) -> list[LinearCode]:
    if d.accepts_precision(chosen):
        return []
    return [c for c in (linear(text, 7, 2) for text in CODES) if not d.accepts(c)]


def exchange(c: LinearCode, chosen: Precision, seed: int = 0) -> tuple[Array, Array]:
    """Stored blocks and the replies that workers send, shapes (k, L, m) and (rows, L, m)."""
    rng = np.random.default_rng(seed)
    blocks = chosen.store(rng.standard_normal((c.shape[1], 3, 2)))
    return blocks, c.system().encoders[0].apply(blocks, chosen)


def relative(estimate: Array, blocks: Array) -> Array:
    wide = estimate.astype(np.complex128 if np.iscomplexobj(estimate) else np.float64)
    gap = np.abs(wide - blocks).reshape(len(estimate), -1)
    errors: Array = np.linalg.norm(gap, axis=1) / np.linalg.norm(blocks.astype(np.float64))
    return errors


@every_decoder
@every_precision
def test_estimates_have_the_shape_and_type_of_the_decoder(name: str, chosen: Precision) -> None:
    d = decoder(name)
    for c in accepted(d, chosen):
        patterns = policy("all").patterns(c.n, c.stragglers)
        _, replies = exchange(c, chosen)
        plan = d.plan(c, c.system(), patterns, chosen, "use")
        estimate = plan.decode(replies)
        assert estimate.shape == (21, c.shape[1], 3, 2)
        assert estimate.dtype == chosen.decode_dtype(c.is_complex)
        assert plan.rows.shape == (21, c.shape[1])


@every_decoder
@every_precision
def test_errors_stay_within_theory(name: str, chosen: Precision) -> None:
    d = decoder(name)
    for c in accepted(d, chosen):
        patterns = policy("all").patterns(c.n, c.stragglers)
        blocks, replies = exchange(c, chosen)
        stored = c.generator.rounded(chosen)
        rows = c.system().rows(patterns)
        found = decoding_operators(Coefficients.from_array(stored), rows)
        received = stored[rows].astype(found.D.dtype)
        size = np.maximum(
            amplification(found.D, received), elimination_amplification(found.D, received)
        )
        error = relative(d.plan(c, c.system(), patterns, chosen, "use").decode(replies), blocks)
        assert (error <= 10 * chosen.unit * size).all(), (error / (chosen.unit * size)).max()
        assert error.max() > 0 or chosen.name == "longdouble"


@every_decoder
def test_many_patterns_decode_like_one_at_a_time(name: str) -> None:
    d, chosen = decoder(name), precision("float32")
    for c in accepted(d, chosen):
        patterns = policy("all").patterns(c.n, c.stragglers)
        _, replies = exchange(c, chosen)
        together = d.plan(c, c.system(), patterns, chosen, "use").decode(replies)
        for p, pattern in enumerate(patterns[::4]):
            alone = d.plan(c, c.system(), pattern[None], chosen, "use").decode(replies)[0]
            np.testing.assert_allclose(together[4 * p], alone, rtol=1e-3, atol=1e-4)


@every_decoder
def test_decoding_leaves_the_replies_alone(name: str) -> None:
    d, chosen = decoder(name), precision("float64")
    c = linear("polynomial[nodes=chebyshev]", 6, 2)
    patterns = policy("all").patterns(6, 2)
    _, replies = exchange(c, chosen)
    before = replies.copy()
    plan = d.plan(c, c.system(), patterns, chosen, "use")
    first = plan.decode(replies)
    assert np.array_equal(replies, before)
    assert np.array_equal(plan.decode(replies), first)


@pytest.mark.parametrize("name", MATRIX_DECODERS)
def test_a_singular_pattern_does_not_disturb_the_others(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "g.npy", np.array([[1.0, 0], [0, 1], [1, 1], [2, 2]]))
    c = linear(f"matrix[file={tmp_path / 'g.npy'}]", 4, 2)
    d, chosen = decoder(name), precision("float32")
    patterns = policy("all").patterns(4, 2)
    blocks, replies = exchange(c, chosen)
    estimate = d.plan(c, c.system(), patterns, chosen, "use").decode(replies)
    singular = np.array([row[2] and row[3] for row in patterns], dtype=bool)
    assert singular.sum() == 1
    assert relative(estimate[~singular], blocks).max() < 1e-5
    bad = relative(estimate[singular], blocks)
    assert not np.isfinite(bad).any() or bad.min() > 1e-2


@every_decoder
def test_replies_that_overflowed_give_no_finite_answer_and_no_exception(name: str) -> None:
    d, chosen = decoder(name), precision("float16")
    c = linear("polynomial[nodes=integers]", 6, 1)
    blocks, replies = exchange(c, chosen)
    assert np.isfinite(blocks).all()
    replies[3] = np.inf
    patterns = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 1, 1]])
    estimate = d.plan(c, c.system(), patterns, chosen, "use").decode(replies)
    assert not np.isfinite(estimate[0]).all()
    assert np.isfinite(estimate[1]).all()


@pytest.mark.parametrize("name", MATRIX_DECODERS)
@pytest.mark.parametrize("c", [c for c in CODES_UNDER_TEST if c.shape[0] == c.n], ids=label)
def test_spare_replies_are_used_or_dropped(name: str, c: LinearCode) -> None:
    d, chosen = decoder(name), precision("float64")
    patterns = policy(f"all[survivors={c.n}]").patterns(c.n, c.stragglers)
    blocks, replies = exchange(c, chosen)
    used = d.plan(c, c.system(), patterns, chosen, "use")
    dropped = d.plan(c, c.system(), patterns, chosen, "drop")
    assert used.rows.shape == (1, c.shape[0])
    assert dropped.rows.shape == (1, c.shape[1])
    assert exact.rank(c.generator.rounded("float64")[dropped.rows[0]]) == c.shape[1]
    for plan in (used, dropped):
        assert relative(plan.decode(replies), blocks).max() < 1e-5


@pytest.mark.parametrize(
    ("spec", "name"),
    [("gaussian", "lstsq"), ("shift-add", "zigzag"), ("shift-add", "lstsq")],
)
def test_rows_of_patterns_of_unequal_size_are_padded(spec: str, name: str) -> None:
    c, chosen = code(spec, 6, 2), precision("float64")
    patterns = np.array([[1, 1, 0, 1, 1, 0], [1] * 6, [0, 1, 1, 1, 0, 1], [0, 1, 1, 1, 1, 1]])
    plan = decoder(name).plan(c, c.system("matvec"), patterns, chosen, "use")
    assert plan.rows.tolist() == [
        [0, 1, 3, 4, -1, -1],
        [0, 1, 2, 3, 4, 5],
        [1, 2, 3, 5, -1, -1],
        [1, 2, 3, 4, 5, -1],
    ]


def test_conditions_are_those_of_the_replies_that_are_read() -> None:
    kappas = {}
    for spare in ("use", "drop"):
        for name in ("solve", "lstsq"):
            record = sb.evaluate(
                "gaussian",
                n=7,
                stragglers=3,
                decoder=name,
                precision="float64",
                patterns="all[survivors=7]",
                spare=spare,
            )
            kappas[spare, name] = record.condition_number.worst
    G = linear("gaussian", 7, 3).generator.rounded("float64")
    read, whole = np.linalg.cond(G[:4]), np.linalg.cond(G)
    for (spare, _), kappa in kappas.items():
        assert kappa == pytest.approx(whole if spare == "use" else read, rel=1e-10)
    assert read > 1.2 * whole


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("complex_", [False, True])
def test_elimination_works_with_the_factors_of_partial_pivoting(k: int, complex_: bool) -> None:
    parts = np.random.default_rng(k).standard_normal((2, 5, k, k))
    matrices = parts[0] + 1j * parts[1] if complex_ else parts[0]
    for matrix, sums in zip(matrices, elimination_size(matrices), strict=True):
        P, L, U = scipy.linalg.lu(matrix)
        assert sums == pytest.approx((P @ np.abs(L) @ np.abs(U)).sum(axis=1), rel=1e-12)


def test_weights_of_a_single_point_are_one() -> None:
    assert polynomial_weights(np.array([[0.5], [-2.0]])).tolist() == [[1.0], [1.0]]
    assert polynomial_weights(np.array([[1j]])).tolist() == [[1.0]]


def test_berrut_has_a_budget_for_complex_data(tmp_path: Path) -> None:
    parts = np.random.default_rng(0).standard_normal((2, 8, 6))
    np.save(tmp_path / "X.npy", parts[0] + 1j * parts[1])
    record = sb.evaluate(
        "berrut[k=2]", n=7, stragglers=2, problem="evaluate", data=str(tmp_path / "X.npy")
    )
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-6)
    assert record.budget["approximation"] > 0.01


def test_least_squares_uses_every_reply() -> None:
    c, chosen = linear("dct", 7, 3), precision("float64")
    everyone = np.ones((1, 7), dtype=int)
    _, replies = exchange(c, chosen)
    noisy = replies + np.random.default_rng(3).standard_normal(replies.shape)
    expected = exact.least_squares(c.generator.rounded("float64"), noisy[:, :, 0])[0]
    for name in MATRIX_DECODERS:
        estimate = decoder(name).plan(c, c.system(), everyone, chosen, "use").decode(noisy)
        np.testing.assert_allclose(estimate[0, :, :, 0], expected, rtol=1e-12, atol=1e-13)


def test_dropping_takes_the_first_independent_replies() -> None:
    c, chosen = linear("replication[k=2]", 6, 2), precision("float64")
    pattern = np.array([[1, 0, 1, 1, 0, 1]])
    plan = decoder("solve").plan(c, c.system(), pattern, chosen, "drop")
    assert plan.rows.tolist() == [[0, 3]]


def test_too_few_replies_are_refused() -> None:
    c, chosen = linear("gaussian", 6, 2), precision("float64")
    with pytest.raises(InputError, match="bring 3 rows; 4 are needed"):
        decoder("solve").plan(c, c.system(), np.array([[1, 1, 1, 0, 0, 0]]), chosen, "use")


def test_exact_weights_are_the_inverse_rounded_once() -> None:
    c = linear("polynomial[nodes=equispaced]", 12, 2)
    pattern = policy("first").patterns(12, 2)
    for name in ("float64", "float32"):
        plan: Any = decoder("exact-weights").plan(c, c.system(), pattern, precision(name), "use")
        rows = c.generator.rounded(name)[plan.rows[0]].astype(np.float64)
        assert np.array_equal(plan.matrices[0], exact.inverse(rows).astype(name))


def test_the_inverse_is_that_of_numpy() -> None:
    rng = np.random.default_rng(5)
    matrices, right = rng.standard_normal((20, 8, 8)), rng.standard_normal((20, 8, 1))
    theirs = np.matmul(np.linalg.inv(matrices), right)
    ours = invert_and_multiply(matrices, right)
    gap = np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
    assert (gap[:, 0] <= 64 * 2.0**-53 * np.linalg.cond(matrices)).all()


def test_refinement_mends_a_graded_elimination() -> None:
    """Rows of very different size: one step brings the error down to that of the data."""
    rng = np.random.default_rng(8)
    matrices = rng.standard_normal((40, 12, 12)) * np.logspace(0, -6, 12)[:, None]
    matrices[:, :, 0] *= 1e6
    matrices = matrices.astype(np.float32)
    right = rng.standard_normal((40, 12, 1)).astype(np.float32)
    truth = np.stack([exact.solve(a, b)[0] for a, b in zip(matrices, right, strict=True)])
    size = np.linalg.norm(truth, axis=1)
    before = np.linalg.norm(solve(matrices, right) - truth, axis=1) / size
    after = np.linalg.norm(refine(matrices, right, 2) - truth, axis=1) / size
    assert np.median(after) <= np.median(before)


@pytest.mark.parametrize("order", ["ascending", "random", "leja"])
@given(data=st.data())
def test_orders_are_permutations_of_the_survivors(order: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    kind = data.draw(st.sampled_from(["integers", "half-step", "roots-of-unity", "leja"]))
    c = linear(f"polynomial[nodes={kind}]", n, data.draw(st.integers(0, n - 1)))
    pattern = np.zeros((1, n), dtype=int)
    pattern[0, data.draw(st.permutations(range(n)))[: c.blocks]] = 1
    plan: Any = decoder(f"bjorck-pereyra[order={order}]").plan(
        c, c.system(), pattern, precision("float64"), "use"
    )
    assert sorted(plan.rows[0].tolist()) == np.flatnonzero(pattern[0]).tolist()
    if order == "ascending":
        assert (np.diff(plan.nodes[0].real) >= 0).all()


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=9, unique=True).map(
        lambda xs: np.array(xs) / 1000
    )
)
def test_leja_order_is_greedy(values: Array) -> None:
    order = leja(values[None])[0]
    chosen = values[order]
    assert abs(chosen[0]) == np.abs(values).max()
    for count in range(1, len(values)):
        products = np.abs(np.subtract.outer(chosen[count:], chosen[:count])).prod(axis=1)
        assert products[0] >= products.max() * (1 - 1e-9)


def test_bjorck_pereyra_is_for_monomials_on_nodes() -> None:
    d = decoder("bjorck-pereyra")
    for c in CODES_UNDER_TEST:
        assert bool(d.accepts(c)) == (c.name != "polynomial")
    with pytest.raises(InputError, match="it needs a polynomial code in the monomial basis"):
        require(d, code("dct", 5, 1))
    require(d, code("polynomial", 5, 1))


@pytest.mark.parametrize("order", ["ascending", "random", "leja"])
@pytest.mark.parametrize("grid", ["kA=2,kB=3", "kA=3,kB=2", "kA=1,kB=6", "k=6"])
def test_bjorck_pereyra_gives_products_their_place(order: str, grid: str) -> None:
    """Block (a, b) is the coefficient of x^(a + kA b), which is not the order of the blocks."""
    record = sb.evaluate(
        code(f"polynomial[{grid}]", 8, 2),
        problem="matmul",
        decoder=f"bjorck-pereyra[order={order}]",
        precision="float64",
        data="gaussian[rows=24,columns=12]",
    )
    assert record.status == "ok"
    assert record.relative_error.worst < 1e-11


@pytest.mark.parametrize("text", ["refined[steps=0]", "refined[steps=101]", "refined[steps=-1]"])
def test_steps_of_refinement_have_limits(text: str) -> None:
    with pytest.raises(InputError, match=r"allowed is 1 \.\. 100"):
        decoder(text)


@pytest.mark.parametrize("alias", ["lu", "qr"])
def test_aliases_are_decoders(alias: str) -> None:
    assert decoder(alias) == decoder({"lu": "solve", "qr": "lstsq"}[alias])


def test_divided_differences_reproduce_polynomials_exactly() -> None:
    """Small integers at integer nodes need no rounding, in any order."""
    for order in itertools.permutations((0.0, 1.0, 2.0, 4.0)):
        nodes = np.array([order])
        wanted = np.array([[[3.0], [-1.0], [4.0], [2.0]]])
        right = np.matmul(nodes[:, :, None] ** np.arange(4), wanted)
        assert np.array_equal(vandermonde_solve(nodes, right), wanted)
