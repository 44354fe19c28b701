"""Gradient codes on bad and on extreme input: one clear line, or the right result."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb


@pytest.mark.parametrize(
    ("spec", "n", "s", "message"),
    [
        ("kadhe[d=3,m=1]", 10, 2, "d=3 does not divide n=10"),
        ("fractional-repetition", 10, 2, "d=3 does not divide n=10"),
        ("kadhe[d=5,m=4]", 10, 2, "allowed is 1 <= m <= d - s"),
        ("kadhe[d=2,m=2]", 4, 1, "allowed is 1 <= m <= d - s"),
        ("ye-abbe[d=4,m=3]", 10, 2, "allowed is 1 <= m <= d - s"),
        ("ye-abbe[m=9]", 10, 2, "allowed is d <= n=10"),
        ("kadhe[generator=hamming]", 14, 3, "without workers [0, 3, 6] of a group"),
        ("kadhe[generator=parity,d=5,m=3]", 10, 1, "allowed is m = d - 1"),
        ("kadhe[generator=gausian]", 9, 2, "did you mean gaussian"),
        ("kadhe[generator=none.npy,d=5,m=2]", 10, 2, "none.npy"),
        ("heterogeneous[m=2,nodes=integers,extra=-1]", 6, 1, "extra=-1"),
        ("heterogeneous[nodes=half-step]", 5, 1, "allowed are nonzero nodes"),
        ("clustered[c=4]", 10, 2, "allowed are divisors of n above s"),
        ("clustered[c=2]", 10, 2, "allowed are divisors of n above s"),
        ("clustered[c=5,inner=bernoulli]", 10, 2, "allowed are exact gradient codes"),
        ("clustered[c=5,inner=nested]", 10, 2, "allowed are codes of one message"),
        ("clustered[c=5,inner=block-coordinate]", 10, 2, "allowed are codes of one message"),
        ("bibd", 10, 2, "allowed are 3, 7, 11"),
        ("expander[d=3]", 7, 2, "d * vertices even"),
        ("graph[d=5]", 7, 2, "d dividing 2 n"),
        ("bernoulli[d=11]", 10, 2, "1 <= d <= K"),
        ("stochastic[p=1]", 10, 2, "0 <= p < 1"),
        ("block-coordinate[mu=0]", 10, 2, "mu > 0"),
        ("bernoulli[seed=-1]", 10, 2, "allowed are 1 <= d <= K, seed >= 0"),
        ("clustered[c=3,inner='heterogeneous[K=2]']", 9, 2, "2 partitions; allowed are c=3"),
        ("heterogeneous[K=0]", 6, 1, "K=0; allowed is K >= 1"),
    ],
)
def test_contradictions_are_told_in_one_line(spec: str, n: int, s: int, message: str) -> None:
    with pytest.raises(sb.InputError) as caught:
        sb.code(spec, n=n, stragglers=s)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda G: G.__setitem__((0, slice(None)), 0), "row 0 of the generator is zero"),
        (lambda G: G.__setitem__((slice(None), 2), 0), "column 2 of the generator is zero"),
        (lambda G: G.__setitem__((1, 1), np.nan), "NaN"),
        (lambda G: G.__setitem__((slice(None), 3), G[:, 2]), "does not tolerate stragglers=3"),
    ],
)
def test_generator_files_are_checked(tmp_path: Path, change: Any, message: str) -> None:
    G = np.random.default_rng(0).standard_normal((2, 5))
    path = tmp_path / "a generator.npy"
    np.save(path, G)
    code: Any = sb.code(f"kadhe[generator='{path}',d=5,m=2]", n=10, stragglers=3)
    assert code.minimum_distance == 4
    change(G)
    np.save(path, G)
    with pytest.raises(sb.InputError, match=message.replace("(", r"\(")):
        sb.code(f"kadhe[generator='{path}',d=5,m=2]", n=10, stragglers=3)


def test_generator_files_with_too_many_sets_to_check_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "G.npy"
    np.save(path, np.random.default_rng(0).standard_normal((5, 30)))
    with pytest.raises(sb.InputError, match="30045015 sets of stragglers=10 of d=30; allowed are"):
        sb.code(f"kadhe[generator={path},d=30,m=5]", n=30, stragglers=10)
    drawn: Any = sb.code("kadhe[d=30,m=5]", n=30, stragglers=10)
    assert drawn.sizes == (30, 5)


def test_generator_file_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "G.csv"
    np.savetxt(path, np.ones((3, 5)), delimiter=",")
    with pytest.raises(sb.InputError, match=r"3 x 5; allowed is m x d = 2 x 5"):
        sb.code(f"kadhe[generator={path},d=5,m=2]", n=10, stragglers=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda A: A.__setitem__((0, 1), 2), "allowed are n x n = 7 x 7 zeros and ones"),
        (lambda A: A.__setitem__((0, 1), 0.5), "zeros and ones"),
        (lambda A: A.__setitem__(slice(None), 0), "incidence matrix of a symmetric design"),
        (lambda A: A.__setitem__(slice(None), 1), "incidence matrix of a symmetric design"),
        (lambda A: A.__setitem__((0, 0), 0), "incidence matrix of a symmetric design"),
    ],
)
def test_designs_from_files_are_checked(tmp_path: Path, change: Any, message: str) -> None:
    cyclic: Any = sb.code("bibd", n=7, stragglers=2)
    A = cyclic.placement[::-1].astype(float)
    path = tmp_path / "design.npy"
    np.save(path, A)
    code: Any = sb.code(f"bibd[file={path}]", n=7, stragglers=2)
    assert code.design == (7, 3, 1)
    assert np.array_equal(code.placement, A)
    np.save(path, A[:, :6])
    with pytest.raises(sb.InputError, match="7 x 6 numbers; allowed are n x n = 7 x 7"):
        sb.code(f"bibd[file={path}]", n=7, stragglers=2)
    change(A)
    np.save(path, A)
    with pytest.raises(sb.InputError) as caught:
        sb.code(f"bibd[file={path}]", n=7, stragglers=2)
    assert message in str(caught.value)


def test_repeated_nodes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.npy"
    np.save(path, np.array([1.0, 2.0, 2.0, 3.0]))
    with pytest.raises(sb.InputError, match="nodes repeat"):
        sb.code(f"heterogeneous[nodes=custom,file={path}]", n=4, stragglers=1)


@pytest.mark.parametrize(
    ("spec", "parameter", "change", "message"),
    [
        ("heterogeneous", "holdings_file", lambda A: A[:6], "is 6 x 7; allowed is n x K = 7 x any"),
        (
            "heterogeneous[m=2]",
            "holdings_file",
            lambda A: A,
            r"partition 0 is on 3 workers; allowed are at least s \+ m = 4",
        ),
    ],
)
def test_placement_files_are_checked(
    tmp_path: Path, spec: str, parameter: str, change: Any, message: str
) -> None:
    plane: Any = sb.code("bibd", n=7, stragglers=2)
    path = tmp_path / "placement.npy"
    name, _, rest = spec.partition("[")
    wanted = f"{name}[{parameter}={path}" + (f",{rest}" if rest else "]")
    np.save(path, plane.placement.astype(float))
    if rest == "":
        code: Any = sb.code(wanted, n=7, stragglers=2)
        assert np.array_equal(code.placement, plane.placement)
    np.save(path, change(plane.placement).astype(float))
    with pytest.raises(sb.InputError, match=message):
        sb.code(wanted, n=7, stragglers=2)


@pytest.mark.parametrize("d", [1, 10])
def test_mean_loads_reach_from_one_partition_to_all(d: int) -> None:
    code: Any = sb.code(f"bernoulli[d={d}]", n=10, stragglers=2)
    assert code.placement.all() == (d == 10)


EXACT = (
    "kadhe",
    "ye-abbe",
    "ye-abbe[variant=gaussian]",
    "ye-abbe[variant=chebyshev]",
    "ye-abbe[variant=roots-of-unity]",
    "ye-abbe[encoder=float]",
    "fractional-repetition",
    "cyclic-repetition",
    "cyclic-mds",
    "cyclic-mds[roots=adjacent]",
    "reed-solomon",
    "heterogeneous",
    "clustered",
    "nested",
    "block-coordinate",
)


@pytest.mark.parametrize("spec", EXACT)
@pytest.mark.parametrize(("n", "s"), [(1, 0), (2, 0), (5, 0), (2, 1), (3, 2)])
@pytest.mark.parametrize("decoder", ["weights", "exact-weights", "lstsq"])
def test_smallest_cases(spec: str, n: int, s: int, decoder: str) -> None:
    record = sb.evaluate(
        spec,
        n=n,
        stragglers=s,
        problem="gradient",
        decoder=decoder,
        precision="float64",
        data="gaussian[rows=8,columns=7]",
    )
    assert record.status == "ok", record.reason
    assert record.relative_error.worst < 1e-13
    assert record.measures["undecodable"] == 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16", "float32/float64"])
@pytest.mark.parametrize(
    "spec", ["kadhe[generator=chebyshev,d=4,m=2]", "cyclic-mds", "reed-solomon", "nested"]
)
def test_every_precision(spec: str, precision: str) -> None:
    record = sb.evaluate(
        spec, n=8, stragglers=2, problem="gradient", decoder="weights", precision=precision
    )
    assert record.status == "ok"
    assert record.test_ratio.worst < 10
    assert record.relative_error.worst < {"b": 0.3, "f": 2e-2}[precision[0]]


def test_load_beyond_the_tradeoff_leaves_spare_replies() -> None:
    for spec in ("ye-abbe[d=5,m=2]", "kadhe[d=5,m=2]"):
        for spare in ("use", "drop"):
            record = sb.evaluate(
                spec,
                n=10,
                stragglers=1,
                problem="gradient",
                decoder="weights",
                precision="float64",
                spare=spare,
            )
            assert record.status == "ok"
            assert record.relative_error.worst < 1e-9


def test_records_tell_the_minimum_distance_and_the_tradeoff() -> None:
    record = sb.evaluate(
        "kadhe[generator=hamming]", n=7, stragglers=1, problem="gradient", decoder="weights"
    )
    assert record.minimum_distance == 3
    assert record.tradeoff == "d = 7 >= s + m = 6 (1 above)"
    other = sb.evaluate("ye-abbe[m=3]", n=7, stragglers=1, problem="gradient", decoder="weights")
    assert other.tradeoff == "d = 4 >= s + m = 4 (met with equality)"
    assert (other.load, other.communication) == (4, 1 / 3)


def test_tradeoff_is_reported() -> None:
    met: Any = sb.code("kadhe[d=5,m=3]", n=10, stragglers=2)
    above: Any = sb.code("kadhe[generator=hamming]", n=14, stragglers=1)
    assert met.tradeoff == "d = 5 >= s + m = 5 (met with equality)"
    assert above.minimum_distance == 3
    assert above.tradeoff == "d = 7 >= s + m = 6 (1 above)"


def test_more_stragglers_than_tolerated_are_undecodable_not_wrong() -> None:
    from stabbench.analysis.gradient_conditions import exact_conditions

    code: Any = sb.code("kadhe[generator=chebyshev,d=5,m=3]", n=10, stragglers=2)
    pattern = np.ones((2, 10), dtype=bool)
    pattern[0, :3] = False
    pattern[1, [0, 1, 5]] = False
    assert exact_conditions(code, pattern).decodable.tolist() == [False, True]


@pytest.mark.parametrize(
    "spec",
    ["fractional-repetition", "cyclic-mds", "reed-solomon", "clustered[c=3,inner=reed-solomon]"],
)
def test_closed_forms_give_no_weights_for_too_few_replies(spec: str) -> None:
    code: Any = sb.code(spec, n=6, stragglers=1)
    arrived = np.array([[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]) > 0
    weights = code.closed_form(arrived, np.dtype("float64"))
    assert np.isnan(weights).any(axis=(1, 2)).tolist() == [True, False, False]


def test_too_few_rows_of_data() -> None:
    record = sb.evaluate(
        "cyclic-mds",
        n=10,
        stragglers=1,
        problem="gradient",
        decoder="weights",
        data="gaussian[rows=8]",
    )
    assert record.status == "failed"
    assert "8 rows for 10 partial gradients; allowed are rows >= 10" in record.reason


def test_real_gradients_of_digits_add_up() -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.registry import data, problem

    double = precision("float64")
    sums = [
        problem("gradient", data("digits"), 1, parts).operands(double, 0)[0].sum(axis=0)
        for parts in (1, 10, 30)
    ]
    assert np.allclose(sums[0], sums[1], atol=1e-12)
    assert np.allclose(sums[0], sums[2], atol=1e-12)
    record = sb.evaluate(
        "kadhe[d=5,m=3]",
        n=10,
        stragglers=2,
        problem="gradient",
        decoder="weights",
        data="digits",
    )
    assert record.status == "ok"
    assert record.relative_error.median < 1e-5


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.arange(19), "array y of shape"),
        (np.full(20, np.nan), "NaN"),
        (np.arange(20) / 2, "allowed are classes 0, 1, 2"),
        (np.arange(20) - 3, "allowed are classes 0, 1, 2"),
        (np.arange(20) * 10**9, "19000000001 classes; allowed are at most"),
    ],
)
def test_wrong_labels_are_told_and_never_taken_for_none(tmp_path: Path, y: Any, words: str) -> None:
    from stabbench.arithmetic.precision import precision
    from stabbench.problems.registry import data, problem

    X = np.random.default_rng(0).standard_normal((20, 3))

    def gradients(**arrays: Any) -> Any:
        np.savez(tmp_path / "a.npz", **arrays)
        task = problem("gradient", data(f"{tmp_path}/a.npz"), 1, 4)
        return task.operands(precision("float64"), 0)[0]

    assert gradients(X=X, y=np.arange(20) % 3).shape == (4, 9)
    assert np.array_equal(gradients(X=X), X[:4])
    with pytest.raises(sb.InputError, match=words):
        gradients(X=X, y=y)


def test_both_references_agree() -> None:
    records = [
        sb.evaluate(
            "ye-abbe[m=2]",
            n=6,
            stragglers=1,
            problem="gradient",
            decoder="weights",
            precision="float64",
            reference=reference,
        )
        for reference in ("flint", "mpmath")
    ]
    assert records[0].relative_error == records[1].relative_error


def test_decoders_that_do_not_fit_say_so() -> None:
    for spec, decoder, words in (
        ("bibd", "weights", "approximate"),
        ("cyclic-repetition", "closed-form", "no closed form"),
        ("cyclic-mds", "solve", "no dense"),
    ):
        record = sb.evaluate(spec, n=7, stragglers=2, problem="gradient", decoder=decoder)
        assert record.status == "skipped"
        assert words in record.reason
