"""Every registered linear code: exact coefficients, exact recovery, one identity."""

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.analysis.checks import check, undecodable_sets
from stabbench.arithmetic import exact
from stabbench.arithmetic.precision import precision
from stabbench.codes.base import LinearCode
from stabbench.codes.circulant import next_prime
from stabbench.codes.gradient.generators import worst_sigma
from stabbench.codes.nodes import FAMILIES, leja_order, nodes
from stabbench.codes.operators import Dense
from stabbench.codes.random import survivor_rows
from stabbench.codes.registry import CODES, code
from stabbench.errors import InputError
from stabbench.grammar import parameters_of
from tests.support import (
    CODES_UNDER_TEST,
    NEEDS_FILE,
    PARAMETERS,
    PRECISIONS,
    STORAGES,
    Array,
    label,
    linear_classes,
    rationals,
)

every_code = pytest.mark.parametrize("c", CODES_UNDER_TEST, ids=label)
CONTEXT = mpmath.MPContext()
CONTEXT.prec = 400
pi, cos, sin, sqrt, mpf = CONTEXT.pi, CONTEXT.cos, CONTEXT.sin, CONTEXT.sqrt, CONTEXT.mpf


def node(kind: str, i: int, n: int) -> Any:
    """The definition of the evaluation points, i from 0."""
    half = 1 + mpf(i % (n // 2)) / 2 if n > 1 else mpf(0)
    return {
        "integers": lambda: mpf(i + 1),
        "equispaced": lambda: -1 + mpf(2 * i) / (n - 1),
        "right-equispaced": lambda: -1 + mpf(2 * (i + 1)) / n,
        "half-step": lambda: mpf(0) if i == 2 * (n // 2) else half if i < n // 2 else -half,
        "chebyshev": lambda: cos((2 * i + 1) * pi / (2 * n)),
        "roots-of-unity": lambda: CONTEXT.expjpi(mpf(2 * i) / n),
    }[kind]()


def chebyshev(j: int, x: Any, t0: str) -> Any:
    constants = {"1": mpf(1), "1/sqrt2": 1 / sqrt(2), "1/2": mpf(1) / 2}
    return constants[t0] if j == 0 else CONTEXT.chebyt(j, x)


def cauchy_entry(c: Any, i: int, j: int) -> Any:
    if c.nodes == "integers":
        return 1 / mpf(i + j + 1)
    total = c.n + c.blocks
    data = [(2 * m + 1) * total // (2 * c.blocks) for m in range(c.blocks)]
    rest = [p for p in range(total) if p not in data]
    return 1 / (node("chebyshev", rest[i], total) - node("chebyshev", data[j], total))


def rotation_entry(c: Any, i: int, j: int) -> Any:
    angle = 2 * pi * (i // 2) * (j // 2) / c.n
    return {(0, 0): cos, (0, 1): lambda a: -sin(a), (1, 0): sin, (1, 1): cos}[i % 2, j % 2](angle)


def copied(c: Any, i: int, j: int) -> Any:
    return mpf(i % c.blocks == j)


DEFINITIONS: dict[str, Callable[[Any, int, int], Any]] = {
    "polynomial": lambda c, i, j: node(c.nodes, i, c.n) ** j,
    "chebyshev-basis": lambda c, i, j: chebyshev(j, node(c.nodes, i, c.n), c.t0),
    "dct": lambda c, i, j: sqrt(mpf(2 if j else 1) / c.n) * cos(pi * j * (2 * i + 1) / (2 * c.n)),
    "cauchy": cauchy_entry,
    "rotation": rotation_entry,
    "replication": copied,
    "uncoded-cyclic": copied,
}
DEFINED = [
    c for c in CODES_UNDER_TEST if c.name in DEFINITIONS and getattr(c, "nodes", "") != "leja"
]


def test_the_list_holds_every_registered_linear_code() -> None:
    assert {c.name for c in CODES_UNDER_TEST} == set(linear_classes())
    assert set(PARAMETERS) | set(DEFINITIONS) <= set(linear_classes())
    assert set(linear_classes()) | set(NEEDS_FILE) <= set(CODES.members)


@pytest.mark.parametrize("c", DEFINED, ids=label)
@pytest.mark.parametrize("storage", STORAGES)
def test_entries_are_those_of_the_definition_rounded_once(c: LinearCode, storage: str) -> None:
    """The definitions are evaluated by mpmath at 400 bits, apart from the code's own formulas."""
    form = precision(storage).storage
    stored = c.generator.rounded(storage)
    for i, j in itertools.product(*map(range, c.shape)):
        entry = mpmath.mpc(DEFINITIONS[c.name](c, i, j))
        for part, value in ((entry.real, stored[i, j].real), (entry.imag, stored[i, j].imag)):
            clean = part if abs(part) > mpf(2) ** -380 else mpf(0)
            sign, mantissa, exponent, _ = clean._mpf_
            ratio = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) * (-1) ** sign
            assert value == form.round_ratio(ratio.numerator, ratio.denominator), (i, j)


@every_code
def test_more_bits_give_the_same_matrix(c: LinearCode) -> None:
    few: Any = c.generator.balls(80).entries()
    many: Any = c.generator.balls(300).entries()
    for a, b in zip(few, many, strict=True):
        assert a.overlaps(b)
        for part in (b.real, b.imag):
            assert part.rad() <= flint.arb(2) ** -290 * max(abs(part.mid()), flint.arb(2) ** -290)


@every_code
def test_any_threshold_gives_integers_back_exactly(c: LinearCode) -> None:
    """The products of the stored generator are formed and solved in rationals."""
    generator = c.generator.rounded("float64")
    blocks = np.random.default_rng(7).integers(-9, 10, (c.shape[1], 2)).astype(float)
    for survivors in itertools.combinations(range(c.n), c.n - c.stragglers):
        rows = np.flatnonzero(np.isin(c.owner, survivors))
        received = generator[rows]
        if np.iscomplexobj(received):
            assert exact.rank(received) == c.shape[1]
            continue
        matrix = flint.fmpq_mat(
            [[flint.fmpq(*x.as_integer_ratio()) for x in row] for row in rationals(received)]
        )
        integers = flint.fmpq_mat(blocks.astype(int).tolist())
        adjoint = matrix.transpose()
        assert (adjoint * matrix).solve(adjoint * (matrix * integers)) == integers


@pytest.mark.parametrize("c", [c for c in CODES_UNDER_TEST if c.threshold], ids=label)
def test_every_survivor_set_of_the_ideal_code_decodes(c: LinearCode) -> None:
    failing, patterns = undecodable_sets(c)
    assert len(patterns) == math.comb(c.n, c.stragglers)
    assert not len(failing), np.flatnonzero(failing[0])


@pytest.mark.parametrize("c", [c for c in CODES_UNDER_TEST if "mds" in c.groups], ids=label)
def test_one_straggler_too_many_of_an_mds_code_is_undecodable(c: LinearCode) -> None:
    fewer = np.isin(c.owner, range(c.blocks - 1))
    assert exact.rank(c.generator.rounded("float64")[fewer]) < c.shape[1]


@every_code
def test_self_test_passes(c: LinearCode) -> None:
    assert [f"{f.name}: {f.detail}" for f in check(c) if not f.passed] == []


@every_code
def test_printed_names_build_the_same_code(c: LinearCode) -> None:
    for text in (c.spec, c.full_spec, str(c)):
        again = code(text, c.n, c.stragglers)
        assert again == c
        assert again.generator.rounded("float64").tobytes() == (
            c.generator.rounded("float64").tobytes()
        )


@every_code
@pytest.mark.parametrize("name", PRECISIONS)
def test_shares_have_the_type_of_the_storage(c: LinearCode, name: str) -> None:
    chosen = precision(name)
    system = c.system()
    blocks = chosen.store(np.random.default_rng(1).standard_normal((c.shape[1], 3, 2)))
    shares = system.encoders[0].apply(blocks, chosen)
    assert shares.shape == (c.shape[0], 3, 2)
    assert shares.dtype == chosen.storage_dtype(c.is_complex)
    assert np.array_equal(chosen.store(shares), shares)


@every_code
def test_encoding_is_the_generator_applied_to_blocks(c: LinearCode) -> None:
    chosen = precision("float64")
    blocks = np.random.default_rng(2).standard_normal((c.shape[1], 4, 1))
    shares = c.system().encoders[0].apply(blocks, chosen)
    generator = c.generator.rounded("float64")
    hi, lo = exact.product(generator, blocks[:, :, 0])
    size = np.abs(generator) @ np.abs(blocks[:, :, 0])
    assert (np.abs((shares[:, :, 0] - hi) - lo) <= 4 * c.shape[1] * chosen.unit * size).all()


@every_code
def test_the_workers_that_are_left_always_send_enough_rows(c: LinearCode) -> None:
    counts = np.bincount(c.owner, minlength=c.n)
    assert counts.shape == (c.n,)
    assert counts.sum() == c.shape[0]
    assert c.shape[1] <= np.sort(counts)[: c.n - c.stragglers].sum()


@pytest.mark.parametrize("name", sorted(linear_classes()))
def test_bad_sizes_are_refused(name: str) -> None:
    for n, s in ((0, 0), (-3, 1), (5, 5), (5, 6), (5, -1)):
        with pytest.raises(InputError, match=name):
            code(name, n, s)
    for k in (0, -2, 6):
        with pytest.raises(InputError, match=name):
            code(f"{name}[k={k}]", 6, 1)
    for bad in (2.0, "4", True, None):
        with pytest.raises(InputError, match="allowed is an integer"):
            linear_classes()[name](bad, 1)  # type: ignore[arg-type]


DEFAULT_BLOCKS: dict[str, Callable[[int, int], int]] = {
    "n - stragglers": lambda n, s: n - s,
    "n - stragglers, or the columns of the tables": lambda n, s: n - s,
    "n // (stragglers + 1)": lambda n, s: n // (s + 1),
    "(n - stragglers) // 2, at least 1": lambda n, s: max(1, (n - s) // 2),
    "(n - stragglers) // 4, at least 1": lambda n, s: max(1, (n - s) // 4),
    "(n - stragglers - 1) // degree + 1": lambda n, s: (n - s - 1) // 2 + 1,
}


@pytest.mark.parametrize("name", sorted(set(CODES.members) - set(NEEDS_FILE)))
def test_the_default_number_of_blocks_is_the_one_that_is_explained(name: str) -> None:
    parameter = parameters_of(CODES.members[name]).get("k")
    if parameter is None:
        assert not hasattr(CODES.members[name], "blocks")
        return
    words = parameter.help.removeprefix("data blocks (default ").removesuffix(")")
    for n, s in ((12, 3), (4, 1), (2, 1)):
        built: Any = code(name, n, s)
        assert built.blocks == DEFAULT_BLOCKS[words](n, s)


LEAST = {"seed": 0, "select": 1, "k": 1, "kA": 1, "kB": 1, "p": 1, "degree": 1, "chunk": 1}


@pytest.mark.parametrize("name", sorted(set(CODES.members) - set(NEEDS_FILE)))
def test_parameters_below_their_least_value_are_refused(name: str) -> None:
    n, s = (7, 2) if name == "bibd" else (6, 2)
    for key, parameter in parameters_of(CODES.members[name]).items():
        if key in LEAST and "integer" in parameter.allowed:
            with pytest.raises(InputError, match=f"{name}.*{key}=-7"):
                code(f"{name}[{key}=-7]", n, s)
            with pytest.raises(InputError, match=f"{name}.*{key}={LEAST[key] - 1}"):
                code(f"{name}[{key}={LEAST[key] - 1}]", n, s)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gaussian[seed=-1]", "seed=-1; allowed is an integer >= 0"),
        ("gaussian[select=0]", "select=0; allowed is an integer >= 1"),
        ("khatri-rao[seed=-1]", "seed=-1; allowed is an integer >= 0"),
        ("convolutional[gamma=1/5]", "gamma=1/5; allowed is above 1/5"),
        ("convolutional[seed=-1]", "seed=-1; allowed is an integer >= 0"),
        ("orthomatdot[p=0]", "p=0; allowed is an integer >= 1"),
        ("orthomatdot[p=4]", "leave 5 replies; the code needs 7"),
        ("lagrange[k=0]", "k=0; allowed is an integer >= 1"),
        ("polynomial[nodes=custom]", "nodes=custom needs file=PATH"),
        ("product[nA=2,nB=3,kA=3]", "allowed is 1 <= kA <= nA"),
        ("kadhe[d=30,m=15,select=2]", r"C\(30,15\) submatrices; allowed are 200000"),
        ("lt[seed=-1]", "lt: seed=-1; allowed are c > 0, 0 < delta < 1, seed >= 0"),
        ("lt[delta=1]", "lt: delta=1.0; allowed are c > 0, 0 < delta < 1, seed >= 0"),
        ("lt[c=0]", "lt: c=0.0; allowed are c > 0, 0 < delta < 1, seed >= 0"),
    ],
)
def test_bad_parameters_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        code(spec, 30 if spec.startswith("kadhe") else 6, 1)
    assert "\n" not in str(caught.value)


def test_khatri_rao_sends_plain_products_only_where_it_is_systematic() -> None:
    plain: list[Array] = []
    for systematic in ("true", "false"):
        reply = code(f"khatri-rao[kA=2,kB=2,systematic={systematic}]", 6, 2).system("matmul").reply
        assert isinstance(reply, Dense)
        plain.append(reply.matrix(precision("float64"))[:4])
    assert np.array_equal(plain[0], np.eye(4))
    assert (plain[1] != 0).all()


@pytest.mark.parametrize("given", ["nA=2", "nB=3", "nA=2,nB=3", ""])
def test_coded_pieces_of_product_codes_follow_from_one_another(given: str) -> None:
    built: Any = code(f"product[{given}]" if given else "product", 6, 1)
    assert built.coded == (2, 3)


@pytest.mark.parametrize(("n", "inner"), [(3, 1), (4, 2), (9, 2)])
def test_default_of_the_inner_pieces_is_two_where_the_replies_allow_it(n: int, inner: int) -> None:
    built: Any = code("polydot", n, 1)
    assert built.inner == inner


def test_product_codes_without_stragglers_code_nothing() -> None:
    built: Any = code("product", 6, 0)
    assert (built.layout.left, built.layout.right, built.threshold) == (2, 3, 6)


def test_select_judges_every_submatrix() -> None:
    matrix = np.random.default_rng(0).standard_normal((6, 2))
    matrix[5] = matrix[4] * 2
    assert worst_sigma(matrix, 2) < 1e-12
    assert worst_sigma(matrix[:5], 2) > 1e-3


def test_the_next_prime_is_the_first_one_at_or_above() -> None:
    primes = [p for p in range(2, 230) if all(p % q for q in range(2, p))]
    for number in range(1, 200):
        assert next_prime(number) == next(p for p in primes if p >= number)


def test_a_factor_may_be_cut_into_as_many_pieces_as_it_has_workers() -> None:
    built = code("product[nA=2,nB=3,kA=2,kB=2]", 6, 1)
    assert built.threshold == 5


def test_barycentric_interpolation_needs_two_workers() -> None:
    with pytest.raises(InputError, match="berrut: n=1 workers; allowed is n >= 2"):
        code("berrut", 1, 0)


def test_complex_points_of_evaluation_need_plain_blocks(tmp_path: Path) -> None:
    path = tmp_path / "nodes.npy"
    np.save(path, np.exp(1j * np.arange(5)))
    with pytest.raises(InputError, match="complex custom nodes; allowed with systematic=true"):
        code(f"lagrange[nodes=custom,file={path}]", 5, 1)


def test_entries_that_overflow_the_storage_are_an_overflow(tmp_path: Path) -> None:
    path = tmp_path / "generator.npy"
    np.save(path, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1e5]]))
    operator = code(f"matrix[file={path}]", 3, 1).system("matvec").reply
    assert isinstance(operator, Dense)
    assert operator.stored("float32").rounded("float64")[2, 1] == 1e5
    with pytest.raises(OverflowError, match="a coefficient of the reply map overflows float16"):
        operator.stored("float16")


def test_one_evaluation_point_of_an_equispaced_grid_is_its_left_end() -> None:
    assert nodes("equispaced", 1, 64) == [-1]


def test_a_list_is_a_grid_and_no_code() -> None:
    with pytest.raises(InputError, match="stands for a grid"):
        code("polynomial[nodes=[integers,leja]]", 6, 2)


@pytest.mark.parametrize("kind", sorted(FAMILIES))
@given(n=st.integers(2, 60))
def test_nodes_are_distinct(kind: str, n: int) -> None:
    points = nodes(kind, n, 200)
    assert len(points) == n
    rounded = [complex(x) for x in points]
    assert len(set(rounded)) == n


def test_leja_nodes_are_greedy() -> None:
    chosen = [float(x) for x in nodes("leja", 12, 53)]
    grid = np.linspace(-1, 1, 1001)
    assert chosen[:3] == [1.0, -1.0, 0.0]
    for count in range(1, 12):
        distances = np.prod(np.abs(grid[:, None] - chosen[:count]), axis=1)
        best = np.prod(np.abs(chosen[count] - np.array(chosen[:count])))
        assert best >= distances.max() * (1 - 1e-12)
    assert leja_order([0.0, 1.0, -1.0], 3, first=0) == [0, 1, 2]


def test_leja_nodes_end_where_their_candidates_do() -> None:
    assert len(set(nodes("leja", 1001, 53))) == 1001
    with pytest.raises(InputError, match="n=1002 of 1001 candidates"):
        code("polynomial[nodes=leja]", 1002, 2)


RANDOM = ("gaussian", "systematic-gaussian", "haar")


@pytest.mark.parametrize("name", RANDOM)
def test_draws_depend_on_the_seed_alone(name: str) -> None:
    def entries(seed: int) -> Array:
        built = code(f"{name}[seed={seed}]", 7, 3)
        assert isinstance(built, LinearCode)
        return built.generator.rounded("float64")

    assert np.array_equal(entries(3), entries(3))
    assert not np.array_equal(entries(3), entries(4))


@pytest.mark.parametrize(
    ("name", "problem"), [*((name, "matvec") for name in RANDOM), ("khatri-rao", "matmul")]
)
def test_select_keeps_the_draw_with_the_best_worst_case(name: str, problem: str) -> None:
    def worst(built: Any) -> float:
        reply = built.system(problem).reply
        assert isinstance(reply, Dense)
        g = reply.matrix(precision("float64"))
        sets = itertools.combinations(range(built.n), g.shape[1])
        return min(float(np.linalg.svd(g[list(rows)], compute_uv=False)[-1]) for rows in sets)

    draws = [worst(code(f"{name}[seed={seed}]", 7, 2)) for seed in range(2, 7)]
    assert worst(code(f"{name}[seed=2,select=5]", 7, 2)) == max(draws)
    assert max(draws) > min(draws)


def test_gaussian_draws_are_standard_normal() -> None:
    built = code("gaussian", 60, 10)
    assert isinstance(built, LinearCode)
    values = np.sort(built.generator.rounded("float64").ravel())
    uniform = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in values])
    gap = np.abs(uniform - np.arange(1, values.size + 1) / values.size).max()
    assert gap < 1.95 / math.sqrt(values.size)  # Kolmogorov-Smirnov at level 0.001


def test_haar_columns_are_orthonormal_far_beyond_double_precision() -> None:
    built = code("haar", 8, 3)
    assert isinstance(built, LinearCode)
    with flint.ctx.workprec(300):
        columns = built.generator.balls(300)
        gram = columns.transpose() * columns
        for i, j in itertools.product(range(5), repeat=2):
            assert abs(gram[i, j] - (i == j)) < flint.arb(2) ** -250


def test_systematic_codes_begin_with_plain_blocks() -> None:
    systematic = [c for c in CODES_UNDER_TEST if "systematic" in c.groups]
    assert systematic
    for c in systematic:
        first = c.generator.rounded("float64")[: c.shape[1]]
        assert np.array_equal(first, np.eye(c.shape[1]))


def write(path: Path, array: Any) -> Path:
    np.save(path, np.asarray(array))
    return path


def test_matrix_code_takes_the_numbers_of_its_file(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((5, 3))
    for array in (values, values + 1j, values.astype(np.float32)):
        path = write(tmp_path / "a generator.npy", array)
        built = code(f"matrix[file={path}]", 5, 2)
        assert isinstance(built, LinearCode)
        assert np.array_equal(built.generator.rounded("float64"), array)
        assert built.is_complex == np.iscomplexobj(array)
        assert all(finding.passed for finding in check(built))


@pytest.mark.parametrize(
    ("array", "n", "s", "words"),
    [
        (np.ones((4, 2)), 5, 1, "has 4 rows; n=5 are needed"),
        (np.vstack([np.eye(2), np.zeros((1, 2))]), 3, 1, "row 2 of the generator is zero"),
        (np.array([[1.0, 0], [1, 0], [2, 0]]), 3, 1, "column 1 of the generator is zero"),
        (np.full((3, 2), np.nan), 3, 1, "NaN at row 1, column 1"),
        (np.eye(3), 3, 1, "leave 2 replies; the code needs 3"),
    ],
)
def test_matrix_code_refuses_what_is_no_generator(
    tmp_path: Path, array: Array, n: int, s: int, words: str
) -> None:
    path = write(tmp_path / "g.npy", array)
    with pytest.raises(InputError, match=words):
        code(f"matrix[file={path}]", n, s)


def test_matrix_code_needs_a_file() -> None:
    with pytest.raises(InputError, match="'file' is required"):
        code("matrix", 5, 2)


def test_custom_nodes_come_from_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "nodes.npy", [0.5, -0.25, 2.0])
    built = code(f"polynomial[nodes=custom,file={path}]", 3, 1)
    assert isinstance(built, LinearCode)
    assert built.generator.rounded("float64").tolist() == [[1, 0.5], [1, -0.25], [1, 2.0]]
    with pytest.raises(InputError, match="holds 3 nodes; n=4"):
        code(f"polynomial[nodes=custom,file={path}]", 4, 1)
    repeated = write(tmp_path / "twice.npy", [1.0, 1.0, 2.0])
    with pytest.raises(InputError, match="nodes repeat"):
        code(f"polynomial[nodes=custom,file={repeated}]", 3, 1)


@pytest.mark.parametrize("name", ["polynomial", "matdot", "lagrange", "heterogeneous"])
def test_a_file_of_nodes_is_used_or_refused(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "nodes.npy", [0.5, -0.25, 2.0])
    built: Any = code(f"{name}[nodes=custom,file={path}]", 3, 1)
    assert built.points(53) == [Fraction(1, 2), Fraction(-1, 4), Fraction(2)]
    with pytest.raises(InputError, match="allowed with nodes=custom"):
        code(f"{name}[nodes=integers,file={path}]", 3, 1)


def test_codes_are_values() -> None:
    one, two = code("gaussian", 6, 2), code("gaussian", 6, 2)
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n = 7  # type: ignore[misc]


@pytest.mark.parametrize("name", RANDOM)
def test_select_keeps_the_best_of_all_draws_and_the_last_too(name: str) -> None:
    def built(text: str) -> Any:
        return code(f"{name}[{text}]", 6, 2)

    sets = survivor_rows(6, 4)
    assert sets.tolist() == [list(rows) for rows in itertools.combinations(range(6), 4)]
    one = built("seed=0")
    worst = [np.linalg.svd(one.draw(seed)[sets])[1][:, -1].min() for seed in range(12)]
    kept = {count: built(f"select={count}").chosen_seed for count in range(1, 13)}
    assert kept == {count: int(np.argmax(worst[:count])) for count in kept}
    assert any(seed == count - 1 > 0 for count, seed in kept.items())
    for seed in range(4):
        stored = built(f"seed={seed}").generator.rounded("float64")
        np.testing.assert_allclose(one.draw(seed), stored, rtol=0, atol=1e-14)


def test_draws_of_different_codes_are_different() -> None:
    codes: list[Any] = [code(name, 6, 2) for name in RANDOM]
    first = {one.random(0).standard_normal() for one in codes}
    assert len(first) == len(RANDOM)


def test_survivor_sets_of_many_workers_are_a_fixed_sample() -> None:
    sets = survivor_rows(30, 12)
    assert sets.shape == (2000, 12)
    assert (np.diff(sets, axis=1) > 0).all()
    assert len(np.unique(sets, axis=0)) == 2000
    assert np.array_equal(np.unique(sets), np.arange(30))
    assert np.array_equal(sets, survivor_rows(30, 12))
