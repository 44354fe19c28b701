"""Condition numbers of straggler patterns: against exact inverses, closed forms, enumeration."""

import functools
import itertools
import json
import math
import tracemalloc
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stabbench.analysis.conditioning import Budget, Survey, Tally, survey
from stabbench.analysis.conditioning.combinations import (
    SYMMETRIES,
    binomials,
    patterns_of,
    ranks_of,
    subsets,
)
from stabbench.analysis.conditioning.downdate import largest_eigenvalues, negative_eigenvalues
from stabbench.analysis.conditioning.kappa import kappa_of_rest
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual
from stabbench.arithmetic.inverses import complements, condition_numbers, decoding_operators
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.codes.base import LinearCode
from stabbench.codes.registry import code
from stabbench.errors import InputError
from tests.support import NEEDS_FILE, linear_classes

Array = np.ndarray[Any, np.dtype[Any]]
ALL = Budget(exact=10**9)
VISITS = Budget(exact=0, sample=6)
SEARCH = Budget(patterns=0, sample=6)


@functools.cache
def generator(spec: str, n: int, s: int, stored: bool = True) -> Coefficients:
    """The generator of a registered code, as float64 stores it or ideal."""
    built = code(spec, n, s)
    assert isinstance(built, LinearCode)
    return floats(built.generator.rounded("float64")) if stored else built.generator


def floats(matrix: Any) -> Coefficients:
    return Coefficients.from_array(np.asarray(matrix))


def gaussian(n: int, k: int, seed: int = 0) -> Coefficients:
    return floats(np.random.default_rng(seed).standard_normal((n, k)))


def roots(n: int, k: int) -> Coefficients:
    return generator("polynomial[nodes=roots-of-unity]", n, n - k)


def rotation(n: int, k: int) -> Coefficients:
    """Blocks R^(ij), R the rotation by 2 pi / n; every worker owns two rows."""
    angle = 2 * np.pi * np.outer(np.arange(n), np.arange(k)) / n
    blocks = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return floats(blocks.transpose(2, 0, 3, 1).reshape(2 * n, 2 * k))


def exact_kappa(matrix: Coefficients, rows: Array) -> float:
    """kappa_2 of square rows from an inverse in exact rationals."""
    re, im = matrix.rows(rows).rational()
    k = matrix.shape[1]
    if im is None:
        inverse = scaled_floats(re.inv())
    else:
        a, b = re.tolist(), im.tolist()
        upper = [[*x, *(-y for y in z)] for x, z in zip(a, b, strict=True)]
        lower = [[*z, *x] for x, z in zip(a, b, strict=True)]
        inverse = scaled_floats(flint.fmpq_mat(upper + lower).inv())[: 2 * k]
    return float(np.linalg.norm(matrix.rounded("float64")[rows], 2) * np.linalg.norm(inverse, 2))


def scaled_floats(matrix: Any) -> Array:
    return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in matrix.tolist()])


def enumerated(matrix: Coefficients, s: int, owner: Array | None = None) -> dict[Any, Any]:
    """kappa_2 and kappa_F of all patterns by singular values; infinite below rank k."""
    G, k = matrix.rounded("float64"), matrix.shape[1]
    owner = np.arange(len(G)) if owner is None else owner
    found: dict[Any, Any] = {}
    for lost in itertools.combinations(range(int(owner.max()) + 1), s):
        rest = G[~np.isin(owner, lost)]
        sigma = np.linalg.svd(rest, compute_uv=False) if len(rest) >= k else np.zeros(k)
        if sigma[-1] < 1e-12 * sigma[0] or len(rest) < k or not sigma[0]:
            found[lost] = np.inf, np.inf
        else:
            kappa_F = np.linalg.norm(sigma) * np.linalg.norm(1 / sigma)
            found[lost] = sigma[0] / sigma[-1], kappa_F
    return found


RANDOM = np.random.default_rng(1)
RAGGED = np.repeat(np.arange(8), [3, 2, 1, 3, 2, 2, 2, 3])
SMALL: dict[str, tuple[Coefficients, int, Array | None]] = {
    "gaussian": (gaussian(11, 7), 4, None),
    "gaussian-spare": (gaussian(11, 6), 3, None),
    "one-straggler": (gaussian(9, 8), 1, None),
    "chebyshev": (generator("chebyshev-basis", 11, 3), 3, None),
    "equispaced": (generator("polynomial[nodes=equispaced]", 10, 3), 3, None),
    "roots": (roots(10, 6), 4, None),
    "roots-spare": (roots(10, 5), 3, None),
    "rotation": (rotation(9, 6), 3, np.repeat(np.arange(9), 2)),
    "ragged": (floats(RANDOM.standard_normal((18, 8))), 3, RAGGED),
    "ragged-complex": (
        floats(RANDOM.standard_normal((18, 8)) + 1j * RANDOM.standard_normal((18, 8))),
        3,
        RAGGED,
    ),
    "binary": (floats(RANDOM.integers(0, 2, (11, 6))), 4, None),
    "signs": (floats(RANDOM.choice([-1.0, 1.0], (10, 6))), 4, None),
    "replication": (floats(np.tile(np.eye(4), (3, 1))), 5, None),
    "systematic": (floats(np.vstack([np.eye(6), RANDOM.standard_normal((3, 6))])), 3, None),
    "essential": (floats(np.vstack([np.eye(5), [[0, 1, 1, 1, 1], [0, 1, 2, 3, 4]]])), 2, None),
    "too-many": (gaussian(8, 6), 3, None),
    "square": (gaussian(5, 5), 1, None),
}


@pytest.mark.parametrize("budget", [ALL, VISITS], ids=["all", "visits"])
@pytest.mark.parametrize("name", SMALL)
def test_survey_equals_enumeration(name: str, budget: Budget) -> None:
    matrix, s, owner = SMALL[name]
    truth = enumerated(matrix, s, owner)
    kappa = np.array([both[0] for both in truth.values()])
    kappa_F = np.array([both[1] for both in truth.values()])
    decodes = np.isfinite(kappa)
    found = survey(matrix, s, owner=owner, budget=budget)
    assert found.label == "exhaustive"
    assert found.patterns == len(truth)
    assert found.undecodable == np.count_nonzero(~decodes)
    assert all(np.isinf(truth[lost][0]) for lost in found.undecodable_stragglers)
    assert bool(found.undecodable) == bool(found.undecodable_stragglers)
    if not decodes.any():
        assert found.worst == found.best == found.mean.value == found.kappa_F_mean.value == np.inf
        return
    assert found.worst == pytest.approx(kappa[decodes].max(), rel=1e-9)
    assert truth[found.worst_stragglers][0] == pytest.approx(found.worst, rel=1e-9)
    assert truth[found.best_stragglers][0] == pytest.approx(found.best, rel=1e-9)
    assert found.kappa_F_mean.value == pytest.approx(kappa_F[decodes].mean(), rel=1e-7)
    assert found.kappa_F_counts.sum() == pytest.approx(np.count_nonzero(decodes))
    below = np.log10(kappa_F[decodes])[:, None] - found.kappa_F_edges[1:]
    counted = np.cumsum(found.kappa_F_counts)
    assert (np.count_nonzero(below < -1e-9, axis=0) <= counted).all()
    assert (counted <= np.count_nonzero(below < 1e-9, axis=0)).all()
    if budget is ALL:
        assert found.mean.value == pytest.approx(kappa[decodes].mean(), rel=1e-9)
        assert found.best == pytest.approx(kappa[decodes].min(), rel=1e-9)
        assert found.quantiles[0.5].value == pytest.approx(
            np.quantile(kappa[decodes], 0.5, method="inverted_cdf"), rel=1e-9
        )


SIZES = {
    "uncoded-cyclic": (12, 3),
    "replication": (13, 4),
    "circulant": (8, 2),
    "convolutional": (8, 2),
}


@pytest.mark.parametrize("name", sorted(set(linear_classes()) - set(NEEDS_FILE)))
def test_kappa_equals_exact_rational_inverses_for_every_linear_code(name: str) -> None:
    n, s = SIZES.get(name, (14, 4))
    matrix = generator(name, n, s)
    rows, k = matrix.shape
    random = np.random.default_rng(3)
    lost = np.array([np.sort(random.choice(rows, rows - k, replace=False)) for _ in range(6)])
    status = decoding_operators(matrix, complements(lost, rows)).status
    kappa = kappa_of_rest(dual(matrix), lost)[0]
    assert (np.isfinite(kappa) == status).all()
    for p in np.flatnonzero(status):
        rest = complements(lost[p : p + 1], rows)[0]
        assert kappa[p] == pytest.approx(exact_kappa(matrix, rest), rel=1e-9)


@pytest.mark.parametrize(
    ("spec", "n", "s", "least", "most"),
    [
        ("polynomial[nodes=integers]", 40, 4, 1e60, 1e72),
        ("polynomial[nodes=integers]", 24, 3, 1e30, 1e42),
        ("polynomial[nodes=equispaced]", 32, 3, 1e12, 1e15),
        ("polynomial[nodes=chebyshev]", 40, 5, 1e10, 1e15),
        ("chebyshev-basis", 36, 4, 1, 1e9),
        ("gaussian", 30, 4, 1, 1e7),
    ],
)
def test_decoding_operators_are_right_row_by_row_at_any_magnitude(
    spec: str, n: int, s: int, least: float, most: float
) -> None:
    matrix = generator(spec, n, s)
    random = np.random.default_rng(n)
    survivors = np.array(
        [random.choice(n, n - s, replace=False) for _ in range(3)]
        + [np.arange(s, n), np.arange(n - s)]
    )
    found = decoding_operators(matrix, survivors)
    assert found.status.all()
    kappa = condition_numbers(matrix, survivors)[0]
    assert ((least < kappa) & (kappa < most)).all()
    for rows, D, value in zip(survivors, found.D, kappa, strict=True):
        truth = scaled_floats(matrix.rows(rows).rational()[0].inv())
        error = np.linalg.norm(D - truth, axis=1) / np.linalg.norm(truth, axis=1)
        assert error.max() < 1e-9
        assert value == pytest.approx(exact_kappa(matrix, rows), rel=1e-9)


def test_operators_of_spare_survivors_are_pseudo_inverses() -> None:
    for matrix in (gaussian(14, 8), roots(14, 8)):
        random = np.random.default_rng(0)
        survivors = np.array([random.choice(14, 11, replace=False) for _ in range(20)])
        D = decoding_operators(matrix, survivors).D
        G = matrix.rounded("float64")
        for rows, found in zip(survivors, D, strict=True):
            assert np.abs(found - np.linalg.pinv(G[rows])).max() < 1e-12


def test_rank_is_exact_where_singular_values_cannot_tell() -> None:
    dependent = np.vstack([np.eye(3), [[1.0, 1.0, 0.0]], [[1.0, 1.0, 2.0**-60]]])
    survivors = np.array([[0, 1, 3], [0, 1, 4]])
    found = decoding_operators(floats(dependent), survivors)
    assert found.status.tolist() == [False, True]
    assert np.isnan(found.D[0]).all()
    assert condition_numbers(floats(dependent), survivors)[0][1] == pytest.approx(2.0**61, rel=1)
    ideal = Coefficients(
        lambda bits: [[flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 6))] for i in range(3)], (3, 1)
    )
    assert decoding_operators(ideal, np.array([[0], [1], [2]])).status.tolist() == [1, 0, 1]


def test_too_few_rows_do_not_decode() -> None:
    found = decoding_operators(gaussian(6, 4), np.array([[0, 1, 2]]))
    assert found.D.shape == (1, 4, 3)
    assert not found.status.any()


@pytest.mark.parametrize(
    ("stored", "worst", "stragglers"),
    [(False, 7.378e71, (0, 1, 2, 3)), (True, 2.907e68, (3, 5, 23, 28))],
)
def test_integer_nodes_ideal_and_rounded_differ(
    stored: bool, worst: float, stragglers: tuple[int, ...]
) -> None:
    found = survey(generator("polynomial[nodes=integers]", 40, 4, stored))
    assert found.worst == pytest.approx(worst, rel=1e-3)
    assert found.worst_stragglers == stragglers
    assert (found.label, found.patterns, found.undecodable) == ("exhaustive", 91390, 0)


@pytest.mark.parametrize(
    ("matrix", "worst", "mean"),
    [
        (generator("polynomial[nodes=equispaced]", 31, 2), 2.95436e13, 1.12872e13),
        (roots(31, 28), 404.298, 27.2049),
        (generator("polynomial[nodes=right-equispaced]", 18, 3), 4.03076e7, 5.67157e6),
    ],
)
def test_published_worst_and_mean(matrix: Coefficients, worst: float, mean: float) -> None:
    found = survey(matrix)
    assert found.worst == pytest.approx(worst, rel=1e-5)
    assert found.mean.value == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize(("n", "s"), [(9, 2), (12, 3), (20, 2), (15, 4)])
def test_roots_of_unity_have_the_closed_form(n: int, s: int) -> None:
    k = n - s
    found = survey(roots(n, k))
    omega = np.exp(2j * np.pi * np.outer(np.arange(s), np.arange(k, n)) / n)
    worst = math.sqrt(n) / np.linalg.svd(omega, compute_uv=False)[-1]
    assert found.worst == pytest.approx(worst, rel=1e-9)
    if s == 2:
        assert found.worst == pytest.approx(
            math.sqrt(n) / (2 * math.sin(math.pi / 2 / n)), rel=1e-9
        )
    blocks = survey(rotation(n, k), s, owner=np.repeat(np.arange(n), 2))
    assert blocks.worst == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(("n", "s"), [(8, 1), (12, 2), (14, 3)])
def test_chebyshev_basis_has_the_closed_form(n: int, s: int) -> None:
    found = survey(generator("chebyshev-basis[t0=1/sqrt2]", n, s))
    angle = (2 * np.arange(s) + 1) * np.pi / (2 * n)
    Q = np.cos(np.outer(angle, np.arange(n - s, n)))
    worst = math.sqrt(n / 2) / np.linalg.svd(Q, compute_uv=False)[-1]
    assert found.worst == pytest.approx(worst, rel=1e-9)
    if s == 1:
        assert found.worst == pytest.approx(math.sqrt(n / 2) / math.sin(math.pi / 2 / n), rel=1e-9)


def test_orthonormal_designs_that_lose_one_row() -> None:
    G = generator("haar", 12, 5).rounded("float64")
    rows = np.linalg.norm(G, axis=1)
    assert survey(floats(G), 1).worst == pytest.approx((1 / np.sqrt(1 - rows**2)).max(), rel=1e-9)
    assert survey(roots(12, 5), 1).worst == pytest.approx(math.sqrt(12 / 7), rel=1e-9)
    assert survey(generator("uncoded-cyclic", 12, 2), 2).worst == pytest.approx(math.sqrt(3))


@pytest.mark.parametrize(
    ("matrix", "symmetry"),
    [
        (roots(13, 9), "cyclic"),
        (roots(12, 8), "dihedral"),
        (roots(12, 7), "dihedral"),
        (generator("chebyshev-basis", 11, 3, stored=False), "reflection"),
        (floats(np.tile(np.eye(4), (3, 1))), "cyclic"),
    ],
)
@pytest.mark.parametrize("s", [1, 2, 3, 4])
def test_one_representative_of_each_orbit_says_it_all(
    matrix: Coefficients, symmetry: Any, s: int
) -> None:
    whole, orbits = survey(matrix, s, budget=ALL), survey(matrix, s, symmetry=symmetry, budget=ALL)
    assert orbits.label == "symmetric"
    assert (orbits.patterns, orbits.undecodable) == (whole.patterns, whole.undecodable)
    if whole.undecodable < whole.patterns:
        assert orbits.worst == pytest.approx(whole.worst, rel=1e-9)
        assert orbits.mean.value == pytest.approx(whole.mean.value, rel=1e-9)
        assert orbits.kappa_F_mean.value == pytest.approx(whole.kappa_F_mean.value, rel=1e-7)
        visited = survey(matrix, s, symmetry=symmetry, budget=VISITS)
        assert visited.worst == pytest.approx(whole.worst, rel=1e-9)


def orbit(pattern: tuple[int, ...], n: int, symmetry: str | None) -> tuple[int, ...]:
    turns = range(n) if symmetry in {"cyclic", "dihedral"} else range(1)
    found = [tuple(sorted((i + turn) % n for i in pattern)) for turn in turns]
    if symmetry in {"reflection", "dihedral"}:
        found += [tuple(sorted(n - 1 - i for i in image)) for image in found]
    return min(found)


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@pytest.mark.parametrize(("n", "s"), [(1, 1), (5, 1), (6, 2), (7, 3), (8, 4), (9, 3), (8, 8)])
def test_weights_of_representatives_count_every_orbit(n: int, s: int, symmetry: str | None) -> None:
    table = binomials(n, s)
    every = list(itertools.combinations(range(n), s))
    patterns, weights, _ = subsets(0, len(every), s, table, SYMMETRIES[symmetry], 10**4)
    whole: dict[tuple[int, ...], float] = {}
    for pattern in every:
        whole[orbit(pattern, n, symmetry)] = whole.get(orbit(pattern, n, symmetry), 0) + 1
    found = dict.fromkeys(whole, 0.0)
    for pattern, weight in zip(patterns.tolist(), weights, strict=True):
        found[orbit(tuple(pattern), n, symmetry)] += weight
    assert found == pytest.approx(whole)
    assert patterns.tolist() == sorted(patterns.tolist())


@settings(max_examples=60)
@given(st.integers(1, 12), st.data())
def test_ranks_and_parts_of_all_subsets(n: int, data: st.DataObject) -> None:
    s = data.draw(st.integers(1, n))
    table = binomials(n, s)
    every = np.array(list(itertools.combinations(range(n), s)))
    assert (ranks_of(every, table) == np.arange(len(every))).all()
    assert (patterns_of(np.arange(len(every)), s, table) == every).all()
    step, limit, start, parts = data.draw(st.integers(1, 50)), data.draw(st.integers(1, 9)), 0, []
    while start < len(every):
        part, _, start = subsets(start, min(start + step, len(every)), s, table, 0, limit)
        parts.append(part)
    assert (np.concatenate(parts) == every).all()


def same(a: Survey, b: Survey) -> None:
    assert a.worst == pytest.approx(b.worst, rel=1e-12)
    assert a.mean.value == pytest.approx(b.mean.value, rel=1e-12)
    assert a.kappa_F_mean.value == pytest.approx(b.kappa_F_mean.value, rel=1e-12)
    assert a.quantiles[0.95].value == pytest.approx(b.quantiles[0.95].value, rel=1e-12)
    assert (a.kappa_F_counts == b.kappa_F_counts).all()
    assert (a.worst_stragglers, a.undecodable) == (b.worst_stragglers, b.undecodable)


def test_threads_and_interruptions_change_nothing() -> None:
    matrix = gaussian(36, 31)
    whole = survey(matrix, budget=VISITS)
    same(whole, survey(matrix, budget=VISITS, threads=2))
    states: list[str] = []

    def interrupt(tally: Tally, last: int) -> None:
        assert 0 < tally.next_rank <= last == math.comb(36, 5)
        states.append(json.dumps(tally.to_dict()))
        if len(states) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(matrix, budget=VISITS, progress=interrupt)
    state = json.loads(states[-1])
    assert 0 < state["next_rank"] < math.comb(36, 5)
    same(whole, survey(matrix, budget=VISITS, resume=state))
    with pytest.raises(InputError, match=r"survey: resume of task \w+; allowed"):
        survey(gaussian(36, 31, seed=1), resume=state)


def test_memory_does_not_grow_with_the_patterns() -> None:
    matrix = gaussian(70, 66)
    survey(matrix, 2, budget=VISITS)
    tracemalloc.start()
    survey(matrix, 4, budget=VISITS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert math.comb(70, 4) * 8 * 4 > 29e6
    assert peak < 25e6


@pytest.mark.parametrize(
    "matrix",
    [
        gaussian(22, 18),
        generator("chebyshev-basis", 22, 4),
        generator("polynomial[nodes=equispaced]", 22, 4),
        roots(20, 16),
    ],
)
def test_intervals_of_samples_hold_the_truth(matrix: Coefficients) -> None:
    truth = survey(matrix, budget=ALL)
    sampled = survey(matrix, budget=Budget(exact=0, sample=120))
    width = sampled.mean.high - sampled.mean.low
    assert 0 < width < 0.1 * sampled.mean.value
    # 95% intervals: twice the width makes a failure for some fixed seed improbable
    assert abs(sampled.mean.value - truth.mean.value) < width
    for p, q in truth.quantiles.items():
        assert sampled.quantiles[p].low / 1.05 <= q.value <= sampled.quantiles[p].high * 1.05
        assert q.low == q.value == q.high
    assert sampled.evaluated < truth.evaluated


def instance(i: int) -> tuple[Coefficients, int]:
    """Small codes of ten families, sizes at random."""
    random = np.random.default_rng([7, i])
    n = int(random.integers(8, 20))
    s = int(random.integers(1, 5))
    while math.comb(n, s) > 5000:
        s -= 1
    k = n - s
    specs = {
        1: "polynomial[nodes=equispaced]",
        2: "chebyshev-basis",
        3: "polynomial[nodes=roots-of-unity]",
        4: "haar",
        5: "polynomial[nodes=integers]",
        6: "systematic-gaussian",
        7: "cauchy",
        9: "polynomial[nodes=chebyshev]",
    }
    if i % 10 in specs:
        return generator(specs[i % 10], n, s), s
    if i % 10 == 8:
        return floats(random.random((n, k))), s
    return gaussian(n, k, i), s


def test_search_finds_nearly_always_the_worst_and_never_more() -> None:
    hits = 0
    for i in range(200):
        matrix, s = instance(i)
        truth = survey(matrix, s, budget=VISITS)
        found = survey(matrix, s, budget=SEARCH)
        assert found.label == "search (lower bound)"
        assert found.worst <= truth.worst * (1 + 1e-9)
        assert found.best >= truth.best * (1 - 1e-9) or truth.evaluated < truth.patterns
        hits += found.worst >= 0.99 * truth.worst
    assert hits >= 190


@pytest.mark.parametrize("name", SMALL)
def test_search_stays_below_the_truth_for_blocks_and_singular_codes(name: str) -> None:
    matrix, s, owner = SMALL[name]
    truth, found = (survey(matrix, s, owner=owner, budget=b) for b in (ALL, SEARCH))
    assert found.worst <= truth.worst * (1 + 1e-9)
    assert found.patterns <= truth.patterns
    assert found.undecodable <= truth.undecodable
    if truth.undecodable:
        assert found.undecodable > 0


def test_nothing_lost_is_the_generator_itself() -> None:
    matrix = gaussian(9, 6)
    found = survey(matrix, 0)
    sigma = np.linalg.svd(matrix.rounded("float64"), compute_uv=False)
    assert found.worst == found.best == pytest.approx(sigma[0] / sigma[-1], rel=1e-12)
    assert (found.worst_stragglers, found.patterns) == ((), 1)


def test_wrong_input_is_named() -> None:
    with pytest.raises(
        InputError, match=r"survey: stragglers=6 of n=6 workers; allowed is 0 \.\. 5"
    ):
        survey(gaussian(6, 4), 6)
    with pytest.raises(InputError, match="survey: symmetry='mirror'; allowed are cyclic, refl"):
        survey(gaussian(6, 4), symmetry="mirror")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rank below 3"):
        survey(floats(np.ones((5, 3))))
    with pytest.raises(InputError, match="generator 3 x 5"):
        dual(floats(np.ones((3, 5))))


@settings(max_examples=80)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.booleans())
def test_inertia_by_elimination(n: int, seed: int, hollow: bool) -> None:
    A = np.random.default_rng(seed).standard_normal((n, n))
    A = A + A.T
    if hollow:
        np.fill_diagonal(A, 0)
    values = np.linalg.eigvalsh(A)
    if np.abs(values).min() > 1e-9:
        assert negative_eigenvalues(A.copy()) == np.count_nonzero(values < 0)


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(-8, 8))
def test_eigenvalues_after_a_change_of_few_rows(k: int, c: int, seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    G = random.standard_normal((k + c, k)) * np.logspace(0, -random.uniform(0, 8), k)
    _, sigma, V = np.linalg.svd(G, full_matrices=False)
    less = largest_eigenvalues(sigma**2, np.ascontiguousarray((G[:c] @ V.T)[None]), -1, 1e-13)[0]
    norm = np.linalg.norm(G[c:], 2) ** 2
    assert less == pytest.approx(norm, rel=1e-10, abs=1e-13 * sigma[0] ** 2)
    X = random.standard_normal((1, c, k)) * 10**size
    more = largest_eigenvalues(sigma**2, X, 1, 1e-13)[0]
    norm = np.linalg.eigvalsh(np.diag(sigma**2) + X[0].T @ X[0])[-1]
    assert more == pytest.approx(norm, rel=1e-10)


def test_dual_is_orthonormal_and_inverse() -> None:
    for matrix in (gaussian(12, 8), roots(12, 8), generator("polynomial[nodes=integers]", 12, 4)):
        found = dual(matrix)
        H, W, G = found.null, found.inverse, found.generator
        assert np.abs(H.conj().T @ H - np.eye(4)).max() < 1e-14
        assert np.abs(H.conj().T @ (G / np.linalg.norm(G, axis=0))).max() < 1e-14
        scale = np.linalg.norm(W, axis=0)[:, None] * np.linalg.norm(G, axis=0)
        assert (np.abs(W.conj().T @ G - np.eye(8)) / scale).max() < 1e-14
        assert not found.essential.any()


@pytest.mark.parametrize("bad", [{"patterns": -1}, {"exact": -1}, {"sample": 0}])
def test_budgets_are_checked(bad: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"budget: .*; allowed is >= "):
        Budget(**bad)


@pytest.mark.parametrize("size", [1e-250, 1.0, 1e250])
def test_norms_of_matrices_hold_at_any_magnitude(size: float) -> None:
    stack = size * np.array([[[3.0, 0.0], [4e-30, 4.0]], [[-6.0, 0.0], [0.0, 8.0]]])
    assert frobenius_norm(stack) == pytest.approx(np.array([5.0, 10.0]) * size, rel=1e-14)
    assert spectral_norm(stack) == pytest.approx(np.array([4.0, 8.0]) * size, rel=1e-14)
    assert column_norm(stack) == pytest.approx(np.array([4.0, 8.0]) * size, rel=1e-14)
    for norm in (frobenius_norm, spectral_norm, column_norm):
        assert norm(np.zeros((2, 3, 2))).tolist() == [0.0, 0.0]
