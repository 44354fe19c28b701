"""Self-test of a code, a user's too: does it keep the promises that the suite relies on?"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stabbench.analysis.conditions import (
    MOST_UNKNOWNS,
    operators_of,
    stored_generator,
    stored_reply,
)
from stabbench.analysis.metrics import errors
from stabbench.analysis.recovery import (
    claim_proved,
    encoders_agree,
    failing_sets,
    integers_return,
    measured,
    scope_of,
    sum_recovered,
)
from stabbench.analysis.survivors import Auto
from stabbench.arithmetic.exact import rank
from stabbench.arithmetic.peeling import undecodable
from stabbench.arithmetic.precision import Precision, precision
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import Code, System
from stabbench.codes.gradient.base import GradientCode, Held
from stabbench.codes.operators import Dense
from stabbench.codes.registry import code as build
from stabbench.codes.shift_add import ShiftAdd, survivor_sets
from stabbench.decoders.dense import Solve
from stabbench.errors import InputError
from stabbench.files.types import type_name
from stabbench.problems.base import Exact

Array = np.ndarray[Any, np.dtype[Any]]
PRECISIONS = ("float64", "float32", "bfloat16", "float16")
LENGTH = 5
MOST_WORKERS = 500
MOST_ENTRIES = 1 << 28
"""Entries of the decoding matrices of all survivor sets, 2 GiB of float64."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Attributes
    ----------
    name : str
    passed : bool
    detail : str
        What was seen.
    """

    name: str
    passed: bool
    detail: str


def check(code: Code, limit: int = 2000) -> list[Finding]:
    """Run every check on one code.

    Parameters
    ----------
    code : Code
    limit : int
        Most survivor sets that are tried one by one; beyond, a sample and the bad families.

    Returns
    -------
    list of Finding
        A check that raises an error has failed with that error.

    Raises
    ------
    InputError
        If there are too many workers, or too many large survivor sets.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> all(finding.passed for finding in check(code("gaussian", 6, 2)))
    True
    """
    check_size(code.n, code.stragglers, limit)
    findings = []
    for name, method in _checks(code, limit):
        try:
            passed, detail = method()
        except Exception as error:  # noqa: BLE001  (a user's code may raise anything)
            passed, detail = False, f"{type(error).__name__}: {error}"
        findings.append(Finding(name, passed, detail))
    return findings


def check_size(n: int, stragglers: int, limit: int = 2000) -> None:
    """Refuse what would take hours or more memory than there is.

    Raises
    ------
    InputError
        See `check`.

    Examples
    --------
    >>> check_size(1_000_000_000, 2)
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: check: n=1000000000 workers; allowed are 500
    """
    if n > MOST_WORKERS:
        raise InputError(f"check: n={n} workers; allowed are {MOST_WORKERS}")
    sets = math.comb(n, max(0, n - stragglers))
    if sets > limit:
        sets = min(sets, limit + n + n * (n // 2))  # random, contiguous and strided stragglers
    entries = sets * (n - stragglers) ** 2
    if entries > MOST_ENTRIES:
        raise InputError(
            f"check: n={n}, stragglers={stragglers}: {sets} decoding matrices with {entries:.2g} "
            f"entries; allowed are {MOST_ENTRIES:.2g}"
        )


def _checks(code: Code, limit: int) -> Iterator[tuple[str, Callable[[], tuple[bool, str]]]]:
    yield "named", lambda: _named(code)
    yield "documented", lambda: _documented(code)
    yield "repeatable", lambda: _repeatable(code)
    for name in PRECISIONS:
        yield f"dtype in {name}", lambda name=name: _dtype(code, precision(name))  # type: ignore[misc]
    yield "linear", lambda: _linear(code.system())
    yield "measured", lambda: measured(code)
    if code.dense or isinstance(code, GradientCode):
        yield "exact coefficients", lambda: _coefficients(code)
        yield "encoder and replies agree", lambda: encoders_agree(code)
    for problem in code.problems:
        words = "" if len(code.problems) == 1 else f", {problem}"
        for name, method in _decoding(code, limit, problem):
            yield f"{name}{words})" if name.endswith("(MDS") else f"{name}{words}", method


def _decoding(
    code: Code, limit: int, problem: str
) -> Iterator[tuple[str, Callable[[], tuple[bool, str]]]]:
    """Checks of decoding for one problem."""
    if isinstance(code, GradientCode):
        yield "gives the sum", lambda: sum_recovered(code, limit)
        return
    if isinstance(code, ShiftAdd):
        if code.refuses(problem):
            return
        if problem == "matvec":
            yield "every threshold decodes (MDS", lambda: _peels(code, limit)
        yield "decodes what it encodes", lambda: integers_return(code, limit, problem)
        return
    if code.dense:
        yield "every threshold decodes (MDS", lambda: _decodable(code, limit, problem)
    yield "gives what is wanted", lambda: claim_proved(code, problem)
    if code.dense and problem == "matvec":
        yield "decodes what it encodes", lambda: _round_trip(code)


def _named(code: Code) -> tuple[bool, str]:
    if ".py:" in code.name:
        return True, f"{code.full_spec} (a user's file)"
    again = build(code.full_spec, code.n, code.stragglers)
    return (
        again == code,
        f"{code.full_spec} builds {'the same' if again == code else 'another'} code",
    )


def _documented(code: Code) -> tuple[bool, str]:
    words = (type(code).__doc__ or "").strip()
    own = bool(words) and "(" + "n: int" not in words.partition("\n")[0]
    return own, "has a docstring" if own else "the class has no docstring"


def _repeatable(code: Code) -> tuple[bool, str]:
    blocks = _integers(code.system(), np.float64, seed=1)
    first = code.system().encoders[0].apply(blocks, precision("float64"))
    fresh = dataclasses.replace(code)
    second = fresh.system().encoders[0].apply(blocks, precision("float64"))
    same = np.array_equal(first, second)
    return same, "two instances encode alike" if same else "two instances encode differently"


def _dtype(code: Code, chosen: Precision) -> tuple[bool, str]:
    system = code.system()
    blocks = chosen.store(_integers(system, np.float64, seed=2) / 7)
    with np.errstate(all="ignore"):
        shares = system.encoders[0].apply(blocks, chosen)
    allowed = (chosen.storage_dtype(False), chosen.storage_dtype(True))
    if shares.dtype not in allowed:
        names = " or ".join(map(type_name, allowed))
        return False, f"shares are {type_name(shares.dtype)}; allowed: {names}"
    finite = np.isfinite(shares)
    if not np.array_equal(chosen.store(shares)[finite], shares[finite]):
        return False, f"shares hold numbers that {chosen.name} cannot store"
    return True, f"shares are {type_name(shares.dtype)}, rounded to {chosen.storage.name}"


def _linear(system: System) -> tuple[bool, str]:
    exact = precision("float64")
    for operand, encoder in enumerate(system.encoders):
        one, two = (_integers(system, np.float64, seed, operand) for seed in (3, 4))
        with np.errstate(all="ignore"):
            separate = encoder.apply(one, exact) + 2 * encoder.apply(two, exact)
            together = encoder.apply(one + 2 * two, exact)
        scale = np.abs(separate).max() + np.abs(encoder.apply(np.abs(one), exact)).max()
        gap = float(np.abs(together - separate).max() / scale)
        if not gap <= 64 * encoder.unknowns * exact.unit:
            return False, f"E(x + 2 y) differs from E x + 2 E y by {gap:.1e} of its size"
    return True, "E(x + 2 y) = E x + 2 E y to rounding"


def _coefficients(code: Code) -> tuple[bool, str]:
    reply = code.system(code.problems[0]).reply
    if not isinstance(reply, Dense | Held):
        return False, f"the reply map is a {type(reply).__name__}; allowed are coefficients"
    values = reply.coefficients.rounded("float64")
    if not np.isfinite(values).all():
        return False, "a coefficient is not finite in float64"
    kind = "rational, exact" if reply.coefficients.is_rational else "irrational, as balls"
    return True, f"{values.shape[0]} x {values.shape[1]}, {kind}"


def _decodable(code: Code, limit: int, problem: str) -> tuple[bool, str]:
    failing, patterns = undecodable_sets(code, limit, problem)
    if code.threshold is None:
        fine = len(patterns) - len(failing)
        return fine > 0, f"{fine} of {len(patterns)} survivor sets decode; no threshold is promised"
    if not len(failing):
        return True, f"{len(patterns)} survivor sets decode ({scope_of(patterns, code)})"
    return False, failing_sets(failing, patterns, code)


def undecodable_sets(
    code: Code, limit: int = 2000, problem: str | None = None
) -> tuple[Array, Array]:
    """Survivor sets of n - s workers that do not determine the unknowns, by exact rank.

    Parameters
    ----------
    code : Code
        With a dense reply map.
    limit : int
        All sets are tried up to this number; beyond it, a sample with the bad families.
    problem : str, optional
        The first that the code serves unless given.

    Returns
    -------
    failing, patterns : int arrays, shapes (F, n) and (P, n)
        0/1 rows: those that fail, and all that were tried.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> failing, patterns = undecodable_sets(code("orthopoly-shifted[kA=2,kB=2]", 6, 2))
    >>> len(failing), len(patterns)
    (6, 15)
    """
    patterns = Auto(limit=limit).patterns(code.n, code.stragglers)
    system = code.system(problem or code.problems[0])
    reply = stored_reply(system.reply, "exact")
    if reply.shape[1] <= MOST_UNKNOWNS and rank(reply) < reply.shape[1]:
        return patterns, patterns
    decodes = np.zeros(len(patterns), dtype=bool)
    for group, rows in system.batches(patterns):
        decodes[group] = operators_of(reply, rows).status
    return patterns[~decodes], patterns


def _peels(code: ShiftAdd, limit: int) -> tuple[bool, str]:
    sets = survivor_sets(code.n, code.blocks, limit)
    fault = undecodable(code.shifts, sets, LENGTH + int(code.shifts.max()))
    scope = "all" if len(sets) == math.comb(code.n, code.blocks) else "sampled"
    if fault is not None:
        return False, f"no zigzag decodes {fault}"
    return True, f"{len(sets)} survivor sets decode ({scope})"


def _round_trip(code: Code) -> tuple[bool, str]:
    system, exact = code.system(), precision("float64")
    patterns = Auto(limit=50).patterns(code.n, code.stragglers)
    generator = stored_generator(code, "float64")
    sizes, decodes = np.full(len(patterns), np.nan), np.zeros(len(patterns), dtype=bool)
    for group, rows in system.batches(patterns):
        found = operators_of(generator, rows)
        sizes[group], decodes[group] = np.abs(found.D).sum(axis=(1, 2)), found.status
    if not decodes.any():
        return False, "no survivor set decodes"
    chosen = patterns[decodes]
    blocks = exact.store(_integers(system, np.float64, seed=6) / 7)
    shares = system.encoders[0].apply(blocks, exact)
    plan = Solve().plan(code, system, chosen, exact, "use")
    wanted = Exact(blocks, np.zeros_like(blocks))
    worst = errors(plan.decode(shares), wanted).relative
    growth = sizes[decodes] * np.abs(shares).max()
    allowed = np.minimum(1e3 * exact.unit * growth, 1.0)
    bad = np.flatnonzero(~(worst <= allowed))
    if bad.size:
        survivors = np.flatnonzero(chosen[bad[0]]).tolist()
        return False, f"relative error {worst[bad[0]]:.1e} for survivors {survivors}"
    return True, f"worst relative error {worst.max():.1e} over {len(chosen)} survivor sets"


def _integers(system: System, dtype: Any, seed: int, operand: int = 0) -> Array:
    random = stream("data of a self-test", seed)
    shape = (system.encoders[operand].unknowns, LENGTH, 1)
    return random.integers(-8, 9, shape).astype(dtype)
