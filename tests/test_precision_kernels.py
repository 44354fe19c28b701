"""float32 means float32: every kernel, decoder, share and reply has the type that it claims."""

import warnings
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.arithmetic import dense, exact
from stabbench.arithmetic.kernels import checked, combine, multiply
from stabbench.arithmetic.precision import ALLOWED, precision
from stabbench.codes.base import LinearCode
from stabbench.codes.registry import code
from stabbench.decoders.dense import DenseDecoder
from stabbench.decoders.registry import DECODERS, decoder
from stabbench.problems.registry import data, problem
from tests.support import Array

SOLVERS: dict[str, Callable[[Array, Array], Array]] = {
    "solve": dense.solve,
    "inverse": dense.invert_and_multiply,
    "lstsq": dense.least_squares,
    "refined": lambda a, b: dense.refine(a, b, 1),
}
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
REAL_SINGLE = 1e-3
"""A solver with less error than this on the Hilbert system has not worked in float32."""


def hilbert(dtype: Any) -> tuple[Array, Array, Array]:
    """The 6 x 6 Hilbert system in a dtype, a right-hand side, and the exact solution."""
    i = np.arange(6)
    matrix = (1 / (1 + i[:, None] + i)).astype(dtype)
    if np.iscomplexobj(matrix):
        turn = np.exp(0.7j * i).astype(dtype)  # a unitary scaling keeps the condition number
        matrix = (turn[:, None] * matrix).astype(dtype)
    right = matrix.sum(axis=1, keepdims=True).astype(dtype)
    return matrix, right, exact.solve(matrix, right)[0]


def hilbert_error(solver: Callable[[Array, Array], Array], dtype: Any) -> float:
    matrix, right, truth = hilbert(dtype)
    estimate = solver(matrix[None], right[None])[0]
    assert estimate.dtype == dtype
    return float(np.abs(estimate - truth).max() / np.abs(truth).max())


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_solvers_lose_the_digits_that_single_precision_must_lose(name: str, dtype: Any) -> None:
    assert hilbert_error(SOLVERS[name], dtype) > REAL_SINGLE


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_solvers_keep_the_digits_of_double_precision(name: str, dtype: Any) -> None:
    assert hilbert_error(SOLVERS[name], dtype) < 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_numpy_would_hide_the_loss(dtype: Any) -> None:
    """The trap: numpy.linalg computes single precision in double and rounds the result."""
    for solver in (np.linalg.solve, lambda a, b: np.matmul(np.linalg.inv(a), b)):
        assert hilbert_error(np.linalg.solve, dtype) < 1e-6
        assert solver(*(x[None] for x in hilbert(dtype)[:2])).dtype == dtype
    matrix, right, truth = hilbert(dtype)
    best = np.linalg.lstsq(matrix, right, rcond=0)[0]
    assert np.abs(best - truth).max() < 1e-5


DENSE = sorted(n for n, cls in DECODERS.members.items() if issubclass(cls, DenseDecoder))


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("is_complex", [False, True])
def test_dense_decoders_work_in_single_precision(name: str, is_complex: bool) -> None:
    """Against the exact solution for the replies as they are, so that only the decoder counts."""
    text = "polynomial[nodes=roots-of-unity]" if is_complex else "cauchy[nodes=integers]"
    n, s = (24, 8) if is_complex else (12, 6)
    c = cast(LinearCode, code(text, n, s))
    chosen, pattern = precision("float32"), np.arange(n)[None] < c.blocks
    replies = c.system().encoders[0].apply(np.ones((c.blocks, 1, 1), np.float32), chosen)
    estimate = decoder(name).plan(c, c.system(), pattern * 1, chosen, "use").decode(replies)
    truth = exact.solve(c.generator.rounded(chosen)[: c.blocks], replies[: c.blocks, :, 0])[0]
    error = np.abs(estimate[0, :, :, 0] - truth).max() / np.abs(truth).max()
    assert estimate.dtype == chosen.decode_dtype(is_complex)
    assert error > REAL_SINGLE / 10
    wide = precision("float32/float64")
    better = decoder(name).plan(c, c.system(), pattern * 1, wide, "use").decode(replies)
    assert np.abs(better[0, :, :, 0] - truth).max() / np.abs(truth).max() < error / 1e4


def test_every_dense_solver_is_a_decoder() -> None:
    assert set(SOLVERS) <= set(DENSE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_keeps_the_type_of_its_input(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    matrices = rng.standard_normal((3, 5, 5)).astype(dtype)
    right = rng.standard_normal((3, 5, 2)).astype(dtype)
    for solver in SOLVERS.values():
        assert solver(matrices, right).dtype == dtype
    nodes = rng.standard_normal((3, 5)).astype(dtype)
    assert dense.vandermonde_solve(nodes, right).dtype == dtype
    tall = rng.standard_normal((3, 7, 5)).astype(dtype)
    assert dense.least_squares(tall, rng.standard_normal((3, 7, 2)).astype(dtype)).dtype == dtype


def test_vandermonde_and_qr_kernels_round_every_operation_to_single_precision() -> None:
    """A hidden float64 would give its own results rounded once; these differ."""
    rng = np.random.default_rng(6)
    nodes = np.sort(rng.standard_normal((50, 8))).astype(np.float32)
    right = rng.standard_normal((50, 8, 1)).astype(np.float32)
    single = dense.vandermonde_solve(nodes, right)
    double = dense.vandermonde_solve(nodes.astype(float), right.astype(float))
    assert (single != double.astype(np.float32)).mean() > 0.5
    matrices = rng.standard_normal((50, 9, 8)).astype(np.float32)
    right = rng.standard_normal((50, 9, 1)).astype(np.float32)
    single = dense.least_squares(matrices, right)
    double = dense.least_squares(matrices.astype(float), right.astype(float))
    assert (single != double.astype(np.float32)).mean() > 0.5


@pytest.mark.parametrize("name", ALLOWED)
@pytest.mark.parametrize("nodes", ["chebyshev", "roots-of-unity"])
def test_shares_replies_and_estimates_have_the_claimed_types(name: str, nodes: str) -> None:
    chosen = precision(name)
    c = cast(LinearCode, code(f"polynomial[nodes={nodes}]", 6, 2))
    task = problem("matvec", data("gaussian[rows=20,columns=6]"), 2)
    system = c.system()
    operands = task.operands(chosen, 0)
    assert [x.dtype for x in operands] == [chosen.storage_dtype(False)] * 2
    shares = task.encode(system, task.blocks(system, operands), chosen)
    replies = task.work(system, shares, chosen)
    kept = chosen.storage_dtype(c.is_complex)
    assert shares[0].dtype == kept
    assert replies.dtype == kept
    for array in (*operands, shares[0], replies):
        assert np.array_equal(chosen.store(array), array)
    pattern = np.array([[1, 1, 0, 1, 1, 0]])
    for decoder_name in sorted(DECODERS.members):
        d = decoder(decoder_name)
        if d.accepts(c) or d.accepts_precision(chosen):
            continue
        estimate = d.plan(c, system, pattern, chosen, "use").decode(replies)
        assert estimate.dtype == chosen.decode_dtype(c.is_complex)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_half_precisions_round_shares_and_replies_and_accumulate_in_single(name: str) -> None:
    chosen = precision(name)
    kind: Any = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}[name]
    rng = np.random.default_rng(9)
    generator = chosen.store(rng.standard_normal((5, 4)))
    blocks = chosen.store(rng.standard_normal((4, 6, 3)))
    summed = generator @ blocks.reshape(4, -1)
    assert summed.dtype == np.float32
    shares = combine(generator, blocks, chosen)
    expected = summed.astype(kind).astype(np.float32).reshape(5, 6, 3)
    assert np.array_equal(shares, expected)
    vector = chosen.store(rng.standard_normal((3, 2)))
    replies = multiply(shares, vector, chosen)
    assert np.array_equal(replies, (shares @ vector).astype(kind).astype(np.float32))
    wide = combine(generator.astype(float), blocks.astype(float), precision("float64"))
    assert not np.array_equal(wide.astype(kind).astype(np.float32), wide)


@given(st.sampled_from(["bfloat16", "float16"]), st.integers(1, 400), st.integers(0, 100))
def test_long_sums_are_not_accumulated_in_half_precision(name: str, size: int, seed: int) -> None:
    chosen = precision(name)
    values = chosen.store(np.random.default_rng(seed).uniform(1, 2, (1, 1, size)))
    total = float(multiply(values, np.ones((size, 1), np.float32), chosen)[0, 0, 0])
    truth = float(values.sum(dtype=np.float64))
    assert abs(total - truth) <= (chosen.unit + size * 2.0**-24) * truth


def test_traps_of_half_precision_arrays_in_numpy() -> None:
    """Why half precisions are carried in float32 arrays here."""
    matrix = np.eye(3, dtype=ml_dtypes.bfloat16)
    assert np.linalg.solve(matrix, np.ones((3, 1), ml_dtypes.bfloat16)).dtype == np.float64
    assert np.linalg.cond(matrix).dtype == np.float64
    for dtype in (np.float16, np.longdouble):
        with pytest.raises(TypeError, match="unsupported"):
            np.linalg.solve(np.eye(3, dtype=dtype), np.ones((3, 1), dtype))


def test_a_promoted_result_is_an_error() -> None:
    with pytest.raises(TypeError, match="returned float64 where float32"):
        checked(np.ones(2), np.dtype(np.float32))
    assert checked(np.ones(2), np.dtype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bad_slices_become_nan_without_warning(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    matrices = rng.standard_normal((6, 4, 4)).astype(dtype)
    matrices[1] = 0
    matrices[2, 1, 1] = np.nan
    matrices[3, 0, 0] = np.inf
    right = np.ones((6, 4, 1), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = SOLVERS[name](matrices, right)
    finite = np.isfinite(solution).all(axis=(1, 2))
    assert finite.tolist() == [True, False, False, False, True, True]
    residual = np.abs(np.matmul(matrices[finite], solution[finite]) - right[finite])
    assert residual.max() < 1e-3


@pytest.mark.parametrize("name", ["solve", "inverse", "refined"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_whose_norm_overflows_are_solved(name: str, dtype: Any) -> None:
    """SciPy's batched solve returns the right-hand side where the sum of a row is infinite."""
    large = np.finfo(dtype).max / 2
    matrices = np.array([np.tril(np.full((3, 3), large)), np.eye(3)]).astype(dtype)
    wanted = np.array([[0.25, 0.0, -0.125]] * 2).astype(dtype)[:, :, None]
    right = wanted.copy()
    right[0] = np.cumsum(wanted[0] * large, axis=0)
    found = SOLVERS[name](matrices, right)
    assert np.abs(found - wanted).max() <= 8 * np.finfo(dtype).eps
    matrices[0, 0, 2] = 2 * large
    matrices[0, 1, 2] = -2 * large  # the second pivot overflows
    matrices[0, 1, 1] = 0
    assert not np.isfinite(SOLVERS[name](matrices, right)[0]).any()


@pytest.mark.parametrize("name", SOLVERS)
def test_ill_conditioned_systems_do_not_warn_and_keep_all_columns(name: str) -> None:
    """LAPACK's rank-revealing solvers would drop the last directions; these must not."""
    i = np.arange(12)
    matrix = 1.0 / (1 + i[:, None] + i)
    truth = np.ones((12, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = SOLVERS[name](matrix[None], (matrix @ truth)[None])[0]
    assert 1e-6 < np.abs(solution - truth).max() < 1e3


def test_triangular_looking_systems_are_solved_like_all_others() -> None:
    """scipy detects structure and changes the method; a code's matrix must always meet LU."""
    rng = np.random.default_rng(2)
    lower = np.tril(rng.standard_normal((4, 6, 6)))
    right = rng.standard_normal((4, 6, 1))
    again = np.concatenate(
        [dense.solve(m[None], r[None]) for m, r in zip(lower, right, strict=True)]
    )
    assert np.array_equal(dense.solve(lower, right), again)
    mixed = np.concatenate([lower, rng.standard_normal((1, 6, 6))])
    sides = np.concatenate([right, right[:1]])
    assert np.array_equal(dense.solve(mixed, sides)[:4], again)
