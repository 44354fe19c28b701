"""Every exact gradient code recovers the sum: all patterns of up to 10 workers, 200 of more.

Rationals are exact, roots of unity and cosines are balls of 300 bits. A load above s + m is that of
the code for d - m stragglers, with the same coefficients: it bears any fewer.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import flint
import numpy as np
import pytest

import stabbench as sb
from benchmarks.exhaustive.recovery import irreducible, recovers, table
from stabbench.codes.gradient.base import GradientCode

Array = np.ndarray[Any, np.dtype[Any]]
WHOLE, LARGE, SAMPLE, SMALL = range(1, 11), (20, 30, 50), 200, 15
GENERATORS = ("gaussian", "vandermonde", "chebyshev", "systematic-gaussian", "parity", "repetition")
ONE_SUM = {
    "cyclic-repetition": "",
    "cyclic-mds": "",
    "cyclic-mds adjacent": "[roots=adjacent]",
    "reed-solomon": "",
    "nested": "",
    "nested cyclic-repetition": "[inner=cyclic-repetition]",
    "block-coordinate": "",
    "block-coordinate cyclic-repetition": "[inner=cyclic-repetition]",
}
REDUCED = {
    "ye-abbe": "[d={d},m={m}]",
    "ye-abbe middle": "[d={d},m={m},target=middle]",
    "ye-abbe gaussian": "[d={d},m={m},variant=gaussian]",
    "ye-abbe chebyshev": "[d={d},m={m},variant=chebyshev]",
    "ye-abbe roots": "[d={d},m={m},variant=roots-of-unity]",
    "ye-abbe roots middle": "[d={d},m={m},variant=roots-of-unity,target=middle]",
    "heterogeneous": "[m={m}]",
    "heterogeneous half-step": "[m={m},nodes=half-step,seed=3]",
    "heterogeneous integers": "[m={m},nodes=integers,K=3]",
}
GROUPED = {f"kadhe {name}": f"[generator={name},d={{d}},m={{m}}]" for name in GENERATORS}
SCHEMES = (*ONE_SUM, *REDUCED, *GROUPED, "kadhe hamming", "fractional-repetition", "clustered")
Sizes = tuple[int, int]  # load d, reduction m
Check = Callable[[GradientCode], None]


def build(spec: str, n: int, s: int) -> GradientCode:
    code = sb.code(spec, n=n, stragglers=s)
    assert isinstance(code, GradientCode)
    return code


def admissible(scheme: str, n: int, sizes: list[Sizes]) -> Iterator[list[GradientCode]]:
    """Codes of a scheme for every (d, m): the first bears d - m stragglers, the others fewer."""
    name, _, _ = scheme.partition(" ")
    for d, m in sizes:
        t = d - m
        if scheme in ONE_SUM or scheme == "fractional-repetition":
            if m == 1 and (scheme in ONE_SUM or n % d == 0):
                yield [build(name + ONE_SUM.get(scheme, ""), n, t)]
        elif name == "heterogeneous":
            yield [build(name + REDUCED[scheme].format(d=d, m=m), n, t)]
        elif scheme in REDUCED:
            spec = name + REDUCED[scheme].format(d=d, m=m)
            yield [build(spec, n, s) for s in fewer(n, t)]
        elif scheme == "clustered":
            for inner in ("cyclic-repetition", "cyclic-mds", "reed-solomon", f"'ye-abbe[m={m}]'"):
                for c in divisors(n, d):
                    if (m == 1) != inner.startswith("'"):
                        yield [build(f"clustered[c={c},inner={inner}]", n, t)]
        elif scheme in GROUPED and n % d == 0 and fits(scheme, d, m):
            spec = name + GROUPED[scheme].format(d=d, m=m)
            yield [build(spec, n, s) for s in fewer(n, t)]
        elif scheme == "kadhe hamming" and (d, m) == (7, 4) and n % 7 == 0:
            yield [build("kadhe[generator=hamming]", n, s) for s in (2, 1, 0)]


def fewer(n: int, t: int) -> range:
    """t stragglers, then fewer at the same load; of many workers t only, the codes are the same."""
    return range(t, -1 if n in WHOLE else t - 1, -1)


def divisors(n: int, least: int) -> list[int]:
    return [c for c in range(max(least, 2), n) if n % c == 0]


def fits(scheme: str, d: int, m: int) -> bool:
    return {"kadhe parity": m == d - 1, "kadhe repetition": m == 1}.get(scheme, True)


def check(scheme: str, n: int, sizes: list[Sizes], recovered: Check) -> tuple[int, int]:
    """Configurations and patterns that recover; every code is taken apart and each part checked."""
    configurations = patterns = 0
    done = set()
    for codes in admissible(scheme, n, sizes):
        first, *others = codes
        if refused(first):
            continue
        for inner in irreducible(first):
            if (inner.spec, inner.n, inner.stragglers) not in done:
                done.add((inner.spec, inner.n, inner.stragglers))
                recovered(inner)
        for other in others:
            assert_same_table(first, other)
        configurations += len(codes)
        patterns += sum(min(math.comb(n, one.stragglers), limit(n)) for one in codes)
    return configurations, patterns


def refused(code: GradientCode) -> bool:
    """Whether the code says that its target is not admissible, as a window is singular."""
    try:
        code.encoding.balls(64)
    except sb.InputError as error:
        return "singular" in str(error)
    return False


def limit(n: int) -> int:
    return SAMPLE if n in LARGE else 1 << 60


def assert_same_table(first: GradientCode, other: GradientCode) -> None:
    one, two = table(first).phi, table(other).phi
    assert one == two if isinstance(one, flint.fmpq_mat) else one.overlaps(two)


def recovers_all(code: GradientCode) -> None:
    """Every set of s stragglers; with fewer the master leaves replies out."""
    sets = list(itertools.combinations(range(code.n), code.stragglers))
    recovers(code, np.array(sets, dtype=int).reshape(len(sets), -1), explicit=True)


def recovers_200(code: GradientCode) -> None:
    """200 sets of s stragglers; all where there are fewer, or few workers, as in a group."""
    n, s = code.n, code.stragglers
    if n <= SMALL or math.comb(n, s) <= SAMPLE:
        sets = np.array(list(itertools.combinations(range(n), s)), dtype=int)
    else:
        random = np.random.default_rng([n, s])
        sets = np.array([random.permutation(n)[:s] for _ in range(SAMPLE)])
    recovers(code, sets.reshape(len(sets), s), explicit=False)


def sizes_of(n: int) -> list[Sizes]:
    if n in WHOLE:
        return [(d, m) for d in range(1, n + 1) for m in range(1, d + 1)]
    return [(s + m, m) for s in (1, 2, 3, 4, 7, 9) for m in (1, 2, 3, 6) if s + m <= n]


def cases(workers: Iterable[int]) -> list[tuple[int, str]]:
    """Numbers of workers and the schemes that admit them.

    Half-step nodes hold 0 if n is odd. The n^2 messages of block-coordinate are those of the cyclic
    codes, shown up to 20 workers.
    """
    return [
        (n, scheme)
        for n in workers
        for scheme in SCHEMES
        if not (scheme == "heterogeneous half-step" and n % 2)
        and not (scheme.startswith("block") and n > 20)
        and next(admissible(scheme, n, sizes_of(n)), None)
    ]


@pytest.mark.parametrize(("n", "scheme"), cases(WHOLE))
def test_every_pattern_recovers(n: int, scheme: str, record_property: Any) -> None:
    covered(check(scheme, n, sizes_of(n), recovers_all), record_property)


@pytest.mark.parametrize(("n", "scheme"), cases(LARGE))
def test_200_patterns_recover(n: int, scheme: str, record_property: Any) -> None:
    covered(check(scheme, n, sizes_of(n), recovers_200), record_property)


def covered(counts: tuple[int, int], record_property: Any) -> None:
    """At least one of each, told to the summary."""
    assert min(counts) > 0
    for name, count in zip(("configurations", "patterns"), counts, strict=True):
        record_property(name, count)
