"""Encoding matrices of floats from files: the matrix's own error and the arithmetic's."""

from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.survivors import policy
from stabbench.arithmetic.precision import precision
from stabbench.problems.registry import data, problem
from tests.support import run

Array = np.ndarray[Any, np.dtype[Any]]
N, S = 50, 3


def classic(n: int, s: int, seed: int) -> Array:
    """Cyclic repetition as Tandon et al. draw it, every step in float64."""
    random = np.random.default_rng(seed)
    H = random.standard_normal((s, n))
    H[:, -1] = -H[:, :-1].sum(axis=1)
    B = np.zeros((n, n))
    for i in range(n):
        rest = (i + np.arange(1, s + 1)) % n
        B[i, i] = 1.0
        B[i, rest] = -np.linalg.solve(H[:, rest], H[:, i])
    return B


def saved(folder: Path, B: Array, name: str = "B.csv") -> str:
    path = folder / name
    if name.endswith(".npy"):
        np.save(path, B)
    else:
        np.savetxt(path, B, delimiter=",", fmt="%.17g")
    return str(path)


def evaluated(path: str, parameters: str = "", **more: Any) -> Any:
    how: dict[str, Any] = {
        "n": N,
        "stragglers": S,
        "precision": "float64",
        "patterns": "random:12",
    } | more
    return sb.evaluate(f"gradient-matrix[file={path}{parameters}]", problem="gradient", **how)


def least_errors(B: Array, patterns: Array) -> list[float]:
    """The least ||a B_F - 1|| over all weights a, in balls of 600 bits."""
    found = []
    with flint.ctx.workprec(600):
        for row in patterns:
            received = flint.arb_mat(B[np.flatnonzero(row)].tolist())
            ones = flint.arb_mat([[1]] * B.shape[1])
            weights = (received * received.transpose()).solve(received * ones)
            rest = received.transpose() * weights - ones
            found.append(float(sum((x * x for x in rest.entries()), flint.arb(0)).sqrt()))
    return found


@pytest.mark.parametrize("decoder", ["weights", "exact-weights", "lstsq"])
def test_errors_are_those_of_least_squares_in_numpy(tmp_path: Path, decoder: str) -> None:
    B = classic(N, S, seed=0)
    record = evaluated(saved(tmp_path, B), decoder=decoder)
    assert record.status == "ok", record.reason
    chosen = policy("random:12").patterns(N, S, 0)
    (gradients,) = problem("gradient", data("gaussian"), 1, N).operands(precision("float64"), 0)
    plain = []
    for row in chosen:
        received = B[row > 0]
        weights = np.linalg.lstsq(received.T, np.ones(N), rcond=None)[0]
        error = weights @ (received @ gradients) - gradients.sum(axis=0)
        plain.append(np.linalg.norm(error) / np.linalg.norm(gradients.sum(axis=0)))
    assert record.relative_error.worst < 10 * max(plain)
    assert record.relative_error.median < 10 * np.median(plain)
    assert record.test_ratio.worst < 100


@pytest.mark.parametrize("precision_name", ["float64", "float32", "bfloat16"])
def test_the_matrix_error_is_the_least_there_is(tmp_path: Path, precision_name: str) -> None:
    B = classic(N, S, seed=0)
    record = evaluated(saved(tmp_path, B), decoder="weights", precision=precision_name)
    chosen = policy("random:12").patterns(N, S, 0)
    least = least_errors(B, chosen)
    worst, median = max(least), np.quantile(least, 0.5, method="inverted_cdf")
    assert record.decoding_error.worst == pytest.approx(worst, rel=1e-6, abs=0)
    assert record.decoding_error.median == pytest.approx(median, rel=1e-6, abs=0)
    assert record.tolerance == 1e-6
    both = record.arithmetic_error.worst + 10 * record.decoding_error.worst
    assert record.relative_error.worst <= both
    assert record.arithmetic_error.worst > 0


def test_conditions_are_those_of_the_rows_received(tmp_path: Path) -> None:
    B = classic(20, 2, seed=0)
    record = evaluated(saved(tmp_path, B), n=20, stragglers=2, patterns="all", decoder="weights")
    chosen = policy("all").patterns(20, 2)
    kappas = [np.linalg.cond(B[row > 0]) for row in chosen]
    assert record.condition_number.worst == pytest.approx(max(kappas), rel=1e-6)
    assert record.condition_number.mean == pytest.approx(np.mean(kappas), rel=1e-6)


def test_more_replies_than_needed_add_no_rounding_noise(tmp_path: Path) -> None:
    """The exact rank of all 20 rows is 20; weights that use it would be large."""
    B = classic(20, 2, seed=3)
    path = saved(tmp_path, B)
    whole = evaluated(path, n=20, stragglers=2, patterns="all[survivors=20]", decoder="weights")
    assert np.linalg.matrix_rank(B) == 18
    assert whole.status == "ok"
    assert whole.condition_number.worst == pytest.approx(
        np.linalg.svd(B, compute_uv=False)[0] / np.linalg.svd(B, compute_uv=False)[17]
    )
    assert whole.relative_error.worst < 1e-12


def test_survivors_beyond_the_tolerance_do_not_decode(tmp_path: Path) -> None:
    B = classic(8, 2, seed=0)
    B[5] = B[4]  # without two of the others, the copies are one reply
    found = evaluated(saved(tmp_path, B), n=8, stragglers=2, patterns="all", decoder="weights")
    both = 15 / 28  # sets of 6 of 8 that hold 4 and 5
    assert found.undecodable == pytest.approx(both)
    assert found.status == "ok"
    check = run("check", f"gradient-matrix[file={tmp_path / 'B.csv'}]", "-n", 8, "-S", 2)
    assert check.status == 1
    assert "FAIL  gives the sum: 15 of 28 survivor sets (all) fail: [0, 1, 2, 3, 4, 5]" in check.out
    loose = evaluated(
        str(tmp_path / "B.csv"), ",tolerance=0.999", n=8, stragglers=2, patterns="all"
    )
    assert loose.undecodable < both


def test_a_matrix_of_float32_needs_a_wider_tolerance(tmp_path: Path) -> None:
    B = classic(20, 2, seed=0).astype(np.float32)
    path = saved(tmp_path, B, "B.npy")
    strict = evaluated(path, ",tolerance=1e-9", n=20, stragglers=2, decoder="weights")
    assert (strict.status, strict.reason) == ("undecodable", "no survivor set decodes")
    wide = evaluated(path, ",tolerance=1e-2", n=20, stragglers=2, decoder="weights")
    assert wide.status == "ok"
    assert 1e-8 < wide.decoding_error.median < 1e-4
    assert wide.relative_error.worst > 1e3 * wide.arithmetic_error.worst


def test_check_and_info_print_tolerance_and_own_error(tmp_path: Path) -> None:
    path = saved(tmp_path, classic(12, 2, seed=0))
    done = run("check", f"gradient-matrix[file={path}]", "-n", 12, "-S", 2)
    assert done.status == 0, done.out
    line = next(line for line in done.out.splitlines() if "gives the sum" in line)
    assert "66 survivor sets (all): the matrix's own error ||a B - 1|| is " in line
    assert line.endswith("; tolerance 1e-06")
    assert "tolerance = 1e-06" in run("info", "gradient-matrix").out


def test_complex_matrices_are_read(tmp_path: Path) -> None:
    ideal: Any = sb.code("cyclic-mds", 9, 3)
    path = saved(tmp_path, ideal.encoding.rounded("float64"), "B.npy")
    mine = evaluated(path, n=9, stragglers=3, decoder="weights", patterns="all")
    assert mine.status == "ok"
    assert mine.relative_error.worst < 1e-13
    assert 0 < mine.decoding_error.worst < 1e-13


def test_sums_of_ones_lose_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, np.kron(np.eye(2), np.ones((3, 3))))
    mine = evaluated(path, n=6, stragglers=2, decoder="weights", patterns="all")
    plain = sb.evaluate("fractional-repetition", n=6, stragglers=2, problem="gradient")
    assert mine.decoding_error.worst < 1e-30
    assert mine.condition_number.worst == pytest.approx(3**0.5)  # three replies of one group
    assert mine.amplification.worst == pytest.approx(plain.amplification.worst)


@pytest.mark.parametrize(
    ("change", "parameters", "words"),
    [
        (lambda B: B[:7], "", "the matrix has 7 rows; n=8 are needed"),
        (lambda B: B * (np.arange(8) != 3)[:, None], "", "row 3 of the matrix is zero"),
        (lambda B: B * (np.arange(8) != 2), "", "column 2 of the matrix is zero"),
        (lambda B: np.where(B == 1, np.nan, B), "", "NaN"),
        (lambda B: B, ",tolerance=0", "tolerance=0.0; allowed is 0 < tolerance < 1"),
        (lambda B: B, ",tolerance=2", "tolerance=2.0; allowed is 0 < tolerance < 1"),
    ],
)
def test_wrong_matrices_are_told(tmp_path: Path, change: Any, parameters: str, words: str) -> None:
    path = saved(tmp_path, change(classic(8, 2, seed=0)), "B.npy")
    with pytest.raises(sb.InputError) as caught:
        sb.code(f"gradient-matrix[file={path}{parameters}]", 8, 2)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_required() -> None:
    with pytest.raises(sb.InputError, match="parameter 'file' is required"):
        sb.code("gradient-matrix", 8, 2)
