"""Entries of codes for products, functions and gradients, held against the papers' definitions.

Definitions are evaluated by mpmath at 60 digits or in fractions, without the formulas of the codes.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import stabbench as sb
from tests.support import Array

CONTEXT = mpmath.MPContext()
CONTEXT.dps = 60
mpf, pi, cos, sin = CONTEXT.mpf, CONTEXT.pi, CONTEXT.cos, CONTEXT.sin
HALF_ROOT = 1 / CONTEXT.sqrt(2)
Function = Callable[[Any, int, int, Any], Any]


def root(power: int, order: int) -> Any:
    return CONTEXT.expjpi(mpf(2 * power) / order)


def points(kind: str, n: int) -> list[Any]:
    half = [1 + mpf(i) / 2 for i in range(n // 2)]
    return {
        "integers": lambda: [mpf(i) for i in range(1, n + 1)],
        "equispaced": lambda: [mpf(2 * i) / (n - 1) - 1 for i in range(n)],
        "half-step": lambda: half + [-x for x in half] + [mpf(0)] * (n % 2),
        "chebyshev": lambda: [cos((2 * i - 1) * pi / (2 * n)) for i in range(1, n + 1)],
        "roots-of-unity": lambda: [root(j, n) for j in range(n)],
    }[kind]()


def chebyshev(degree: int, x: Any, t0: Any = 1) -> Any:
    return CONTEXT.chebyt(degree, x) if degree else t0


def times(p: list[Any], q: list[Any]) -> list[Any]:
    """The product of two polynomials, constant coefficients first."""
    found = [p[0] * 0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            found[i + j] += a * b
    return found


def value(p: list[Any], x: Any) -> Any:
    return sum((c * x**k for k, c in enumerate(p)), x * 0)


def rounded(entry: Any) -> complex:
    """The nearest number of double precision; what is below 1e-50 is zero."""
    if isinstance(entry, Fraction | int):
        return complex(float(entry))
    number = CONTEXT.mpc(entry)
    return complex(*(float(x) if abs(x) > 1e-50 else 0.0 for x in (number.real, number.imag)))


def check(coefficients: Any, entries: Any) -> None:
    """Every stored entry is the one of the definition, rounded once."""
    expected = np.array([[rounded(x) for x in row] for row in entries])
    assert np.array_equal(coefficients.rounded("float64"), expected)


def encoders(code: Any, problem: str) -> list[Any]:
    return [encoder.coefficients for encoder in code.system(problem).encoders]


POWERS: dict[str, tuple[Function, Function]] = {
    "polynomial": (
        lambda x, j, a, L: x**a,
        lambda x, j, b, L: x ** (L.left * b),
    ),
    "matdot": (
        lambda x, j, a, L: x**j,
        lambda x, j, b, L: x ** (L.inner - 1 - j),
    ),
    "polydot": (
        lambda x, j, a, L: x ** (a + L.left * j),
        lambda x, j, b, L: x ** (L.left * (L.inner - 1 - j) + L.left * (2 * L.inner - 1) * b),
    ),
    "entangled": (
        lambda x, j, a, L: x ** (j + a * L.inner),
        lambda x, j, b, L: x ** (L.inner - 1 - j + b * L.inner * L.left),
    ),
}
READ: dict[str, Callable[[int, int, Any], int]] = {
    "polynomial": lambda a, b, L: a + L.left * b,
    "matdot": lambda a, b, L: L.inner - 1,
    "polydot": lambda a, b, L: a + L.left * (L.inner - 1) + L.left * (2 * L.inner - 1) * b,
    "entangled": lambda a, b, L: L.inner - 1 + a * L.inner + b * L.inner * L.left,
}
SIZES = {
    "polynomial": ("kA=2,kB=3", 8, 2),
    "matdot": ("p=3", 7, 2),
    "polydot": ("p=2,kA=2,kB=2", 14, 2),
    "entangled": ("p=2,kA=2,kB=3", 15, 2),
}


@pytest.mark.parametrize("kind", ["integers", "chebyshev", "roots-of-unity"])
@pytest.mark.parametrize("name", sorted(POWERS))
def test_factors_of_product_codes_in_powers(name: str, kind: str) -> None:
    parameters, n, s = SIZES[name]
    code: Any = sb.code(f"{name}[nodes={kind},{parameters}]", n, s)
    m, p, r = code.layout
    for coefficients, function, count in zip(
        encoders(code, "matmul"), POWERS[name], (m, r), strict=True
    ):
        check(
            coefficients,
            [
                [function(x, j, a, code.layout) for j in range(p) for a in range(count)]
                for x in points(kind, n)
            ],
        )
    read = [READ[name](a, b, code.layout) for a in range(m) for b in range(r)]
    target = code.system("matmul").target
    if target is None:
        assert name == "polynomial"
    else:
        check(target, [[int(degree == e) for degree in range(code.unknowns)] for e in read])


@pytest.mark.parametrize("kind", ["chebyshev", "equispaced"])
@pytest.mark.parametrize(
    ("text", "t0", "shift"),
    [
        ("orthopoly[kA=2,kB=3,", HALF_ROOT, 0),
        ("orthopoly[kA=2,kB=3,t0=1/2,", mpf(1) / 2, 0),
        ("orthopoly[kA=2,kB=3,t0=1,", 1, 0),
        ("orthopoly-shifted[kA=2,kB=3,", None, 1),
    ],
)
def test_factors_of_orthopoly(text: str, t0: Any, shift: int, kind: str) -> None:
    code = sb.code(f"{text}nodes={kind}]", 8, 2)
    for coefficients, step, count in zip(encoders(code, "matmul"), (1, 2), (2, 3), strict=True):
        degrees = [step * (i + shift) for i in range(count)]
        check(coefficients, [[chebyshev(d, x, t0) for d in degrees] for x in points(kind, 8)])


def test_factors_of_orthomatdot_and_the_points_of_its_sum() -> None:
    code: Any = sb.code("orthomatdot[p=3]", 7, 2)
    rows = [[chebyshev(i, x, HALF_ROOT) for i in range(3)] for x in points("chebyshev", 7)]
    for coefficients in encoders(code, "matmul"):
        check(coefficients, rows)
    check(code.betas, [[cos((2 * i - 1) * pi / 6)] for i in (1, 2, 3)])
    assert code.reduction == 2 / 3


def test_factors_of_rotation() -> None:
    code = sb.code("rotation[kA=2,kB=3]", 8, 2)

    def block(power: int) -> list[list[Any]]:
        angle = 2 * pi * power / 8
        return [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]

    for coefficients, step, count in zip(encoders(code, "matmul"), (3, 1), (2, 3), strict=True):
        check(
            coefficients,
            [
                [block(step * i * j)[r][c] for j in range(count) for c in (0, 1)]
                for i in range(8)
                for r in (0, 1)
            ],
        )


def test_factors_of_product_grids() -> None:
    left, right = encoders(sb.code("product[nA=3,nB=4,kA=2,kB=3]", 12, 3), "matmul")
    one, two = (
        [[chebyshev(j, x, HALF_ROOT) for j in range(k)] for x in points("chebyshev", n)]
        for n, k in ((3, 2), (4, 3))
    )
    check(left, [one[i] for i in range(3) for _ in range(4)])
    check(right, [two[j] for _ in range(3) for j in range(4)])


def test_circulant_blocks_are_powers_of_the_cyclic_shift() -> None:
    code: Any = sb.code("circulant", 4, 1)
    shift = np.roll(np.eye(5), 1, axis=0)
    last = np.vstack([np.eye(4), -np.ones(4)])
    blocks = [[np.linalg.matrix_power(shift, i * j) @ last for j in range(3)] for i in range(4)]
    assert np.array_equal(code.generator.rounded("float64"), np.block(blocks))


@pytest.mark.parametrize(("n", "k", "gamma", "q"), [(5, 3, "2/3", 2), (6, 4, "1/3", 9)])
def test_convolutional_parities_are_shifted_sums(n: int, k: int, gamma: str, q: int) -> None:
    code: Any = sb.code(f"convolutional[k={k},gamma={gamma}]", n, n - k)
    rows = list(np.eye(k * q))
    for p in range(n - k):
        for r in range(q + (k - 1) * p):
            row = np.zeros(k * q)
            row[[j * q + r - j * p for j in range(k) if 0 <= r - j * p < q]] = 1
            rows.append(row)
    assert np.array_equal(code.generator.rounded("float64"), np.array(rows))
    assert max(np.bincount(code.owner)) <= Fraction(gamma) * k * q


@pytest.mark.parametrize("systematic", [True, False])
@pytest.mark.parametrize("kind", ["integers", "chebyshev", "roots-of-unity"])
def test_lagrange_shares_are_values_of_the_interpolant(kind: str, systematic: bool) -> None:
    code: Any = sb.code(f"lagrange[nodes={kind},k=3,systematic={str(systematic).lower()}]", 8, 2)
    alphas = points(kind, 8)
    if systematic:
        betas = [alphas[i] for i in (1, 4, 6)]
    elif kind == "roots-of-unity":
        betas = [root(16 * j + 1, 48) for j in range(3)]
    else:
        low, high = min(alphas), max(alphas)
        betas = [low + (high - low) * (1 + cos(pi * (4 * j + 3) / 14)) / 2 for j in range(3)]

    def basis(j: int, x: Any) -> Any:
        others = [b for b in betas if b is not betas[j]]
        return CONTEXT.fprod((x - b) / (betas[j] - b) for b in others)

    check(encoders(code, "evaluate")[0], [[basis(j, x) for j in range(3)] for x in alphas])
    check(code.betas, [[b] for b in betas])


@pytest.mark.parametrize(("n", "k"), [(9, 4), (11, 2), (10, 3)])
def test_berrut_shares_are_values_of_the_rational_interpolant(n: int, k: int) -> None:
    data = [cos((2 * j + 1) * pi / (2 * k)) for j in range(k)]
    rows = []
    for i in range(n):
        x = cos(i * pi / (n - 1))
        near = [abs(x - z) < 1e-50 for z in data]
        weights = [mpf(hit) if any(near) else (-1) ** j / (x - data[j])
                   for j, hit in enumerate(near)]  # fmt: skip
        rows.append([w / sum(weights) for w in weights])
    check(encoders(sb.code(f"berrut[k={k}]", n, 2), "evaluate")[0], rows)


def held(n: int, load: int) -> Array:
    """Worker j holds partitions j .. j + load - 1."""
    return np.array([[(i - j) % n < load for i in range(n)] for j in range(n)])


@pytest.mark.parametrize(("n", "s", "m"), [(7, 2, 2), (8, 1, 3), (6, 2, 1), (5, 2, 3)])
def test_ye_abbe_is_the_recursion_of_its_polynomials(n: int, s: int, m: int) -> None:
    code: Any = sb.code(f"ye-abbe[m={m}]", n, s)
    d = s + m
    half = [1 + Fraction(i, 2) for i in range(n // 2)]
    theta = [*half, *(-x for x in half), *[Fraction(0)] * (n % 2)]
    rows: list[list[Fraction]] = [[] for _ in range(n)]
    for i in range(n):
        first = [Fraction(1)]
        for q in range(1, n - d + 1):
            first = times(first, [-theta[(i + q) % n], Fraction(1)])
        polynomials = [first]
        for _ in range(1, m):
            last = polynomials[-1]
            top = last[n - d - 1] if n > d else Fraction(0)
            moved = [Fraction(0), *last]
            moved[: len(first)] = [
                a - top * b for a, b in zip(moved[: len(first)], first, strict=True)
            ]
            polynomials.append(moved)
        for j in range(n):
            rows[j] += [value(p, theta[j]) for p in polynomials]
    check(code.encoding, rows)
    zero = np.repeat(~held(n, d), m, axis=1)
    assert not code.encoding.rounded("float64")[zero].any()


@pytest.mark.parametrize(
    ("generator", "d", "m", "entry"),
    [
        ("chebyshev", 5, 3, lambda t, u: cos((2 * t + 1) * u * pi / 10)),
        ("vandermonde", 5, 3, lambda t, u: points("half-step", 5)[t] ** u),
        ("parity", 4, 3, lambda t, u: mpf(t in (u, 3))),
        ("repetition", 3, 1, lambda t, u: mpf(1)),
    ],
)
def test_groups_send_the_generator_of_their_sum(
    generator: str, d: int, m: int, entry: Callable[[int, int], Any]
) -> None:
    code: Any = sb.code(f"kadhe[generator={generator},d={d},m={m}]", 2 * d, d - m)
    rows = [
        [entry(j % d, u) if i // d == j // d else 0 for i in range(2 * d) for u in range(m)]
        for j in range(2 * d)
    ]
    check(code.encoding, rows)


@pytest.mark.parametrize("roots", ["adjacent", "centred"])
@pytest.mark.parametrize(("n", "s"), [(7, 2), (8, 3), (8, 4), (6, 5), (5, 0)])
def test_cyclic_mds_holds_the_polynomial_of_consecutive_roots(n: int, s: int, roots: str) -> None:
    code: Any = sb.code(f"cyclic-mds[roots={roots}]", n, s)
    first = 1 if roots == "adjacent" else (n - s + 1) // 2
    g = [CONTEXT.mpc(1)]
    for r in range(first, first + s):
        g = times(g, [-root(r, n), CONTEXT.mpc(1)])
    check(code.encoding, [[g[(i - j) % n] if (i - j) % n <= s else 0 for i in range(n)]
                          for j in range(n)])  # fmt: skip


@pytest.mark.parametrize(("n", "s"), [(6, 2), (5, 4), (5, 0), (7, 3)])
def test_reed_solomon_holds_polynomials_that_vanish_elsewhere(n: int, s: int) -> None:
    code: Any = sb.code("reed-solomon", n, s)
    alpha, holds = points("roots-of-unity", n), held(n, s + 1)
    rows = [
        [
            CONTEXT.fprod(1 - x / alpha[z] for z in range(n) if not holds[z, i])
            if holds[j, i]
            else 0
            for i in range(n)
        ]
        for j, x in enumerate(alpha)
    ]
    check(code.encoding, rows)


@pytest.mark.parametrize(
    ("n", "s", "m", "kind"),
    [(7, 2, 2, "roots-of-unity"), (8, 1, 3, "half-step"), (6, 1, 2, "integers")],
)
def test_heterogeneous_polynomials_begin_with_the_sum(n: int, s: int, m: int, kind: str) -> None:
    code: Any = sb.code(f"heterogeneous[m={m},nodes={kind},seed=2]", n, s)
    alpha, placement = points(kind, n), code.placement
    rows: list[list[Any]] = [[] for _ in range(n)]
    for i in range(n):
        vanishing = [mpf(1)]
        for absent in np.flatnonzero(~placement[:, i]):
            vanishing = times(vanishing, [-alpha[absent], mpf(1)])
        low = [*vanishing, *[mpf(0)] * m]
        inverse = [1 / low[0]]
        for k in range(1, m):
            inverse.append(-sum(low[a] * inverse[k - a] for a in range(1, k + 1)) / low[0])
        for u in range(m):
            whole = times(vanishing, [mpf(0)] * u + inverse[: m - u])
            assert len(whole) <= n - s
            assert all(abs(c - (k == u)) < 1e-50 for k, c in enumerate(whole[:m]))
            for j in range(n):
                rows[j].append(value(whole, alpha[j]) if placement[j, i] else 0)
    check(code.encoding, rows)


@pytest.mark.parametrize(("n", "s"), [(6, 2), (7, 3), (5, 4), (5, 0)])
def test_cyclic_repetition_spans_the_null_space_exactly(n: int, s: int) -> None:
    code: Any = sb.code("cyclic-repetition[seed=3]", n, s)
    B = [[Fraction(int(x.p), int(x.q)) for x in row] for row in code.coefficients(64)]
    H = [[Fraction(x) for x in row] for row in code.check_matrix.tolist()]
    assert all(sum(row) == 0 for row in H)
    for i, row in enumerate(B):
        assert [j for j in range(n) if row[j]] == sorted((i + q) % n for q in range(s + 1))
        assert row[i] == 1
        assert all(sum(h * x for h, x in zip(line, row, strict=True)) == 0 for line in H)


def test_adaptive_codes_stack_the_rows_of_their_levels() -> None:
    nested: Any = sb.code("nested", 6, 2)
    blocks: Any = sb.code("block-coordinate", 6, 3)
    levels = [np.asarray(sb.code("cyclic-mds", 6, t).encoding.rounded("float64"))  # type: ignore[attr-defined]
              for t in range(6)]  # fmt: skip
    stacked = np.stack(levels[:3], axis=1).reshape(18, 6)
    assert np.array_equal(nested.encoding.rounded("float64"), stacked)
    apart = np.zeros((6, 3, 6, 3), dtype=complex)
    for u in range(3):
        apart[:, u, :, u] = levels[3 + u]
    assert np.array_equal(blocks.encoding.rounded("float64"), apart.reshape(18, 18))
