"""What `check` asks of decoding: that it is possible, and that it gives what the code claims."""

import math
from typing import Any

import numpy as np

from stabbench.analysis.gradient_conditions import exact_conditions
from stabbench.analysis.identity import claim, gradient_claim, matrix_of
from stabbench.analysis.structures import structure_of
from stabbench.analysis.survivors import Auto
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.products import multiply_pairs
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import Code, LinearCode
from stabbench.codes.gradient.base import GradientCode, Held
from stabbench.codes.lagrange import FunctionSystem
from stabbench.codes.operators import Dense
from stabbench.codes.product import ProductSystem
from stabbench.codes.shift_add import ShiftAdd
from stabbench.decoders.ideal import least_squares_weights, wanted
from stabbench.decoders.registry import usual_decoder
from stabbench.decoders.zigzag import Zigzag

Array = np.ndarray[Any, np.dtype[Any]]
Verdict = tuple[bool, str]
LENGTH = 5
SHOWN = 20
WIDE = 1 << 22
"""Integers up to this size are drawn where float64 computes their sums without rounding."""


def measured(code: Code) -> Verdict:
    """Whether a sweep can measure the code: an analysis and a decoder for every problem."""
    kinds = []
    for problem in code.problems:
        structure = structure_of(code, code.system(problem))
        kinds.append(f"{problem} as {type(structure).__name__}")
    return True, f"{', '.join(kinds)}, decoded by {usual_decoder(code).name}"


def encoders_agree(code: Code) -> Verdict:
    """Whether workers compute what the coefficients of every encoder say."""
    exact, worst = precision("float64"), 0.0
    for problem in code.problems:
        for encoder in code.system(problem).encoders:
            if not isinstance(encoder, Dense | Held):
                continue
            stated = encoder.coefficients
            if problem == "matvec" and isinstance(code, LinearCode):
                stated = code.generator
            matrix = stated.rounded("float64")
            random = stream("data of a self-test", 5)
            blocks = random.integers(-8, 9, (encoder.unknowns, LENGTH, 1)).astype(float)
            shares = encoder.apply(blocks, exact)
            expected = np.tensordot(matrix, blocks, axes=1)
            scale = np.tensordot(np.abs(matrix), np.abs(blocks), axes=1).max()
            gap = float(np.abs(shares - expected).max() / scale)
            if not gap <= 64 * encoder.unknowns * exact.unit:
                words = f"shares differ from generator times blocks by {gap:.1e} of their size"
                return False, f"{words} ({problem})"
            worst = max(worst, gap)
    return True, f"shares differ from generator times blocks by {worst:.1e} of their size"


def claim_proved(code: Code, problem: str) -> Verdict:
    """Whether exact decoding of a dense reply map gives what the problem wants."""
    system = code.system(problem)
    if isinstance(system, FunctionSystem) and system.degree is None:
        return _constants(matrix_of(system.encoders[0]))
    proved, words = claim(system).proof()
    return proved, f"D Phi = T {words}, on every set that decodes" if proved else words


def _constants(encoder: Any) -> Verdict:
    """An interpolant, even one that only approximates, gives constants back."""
    sums = [sum(row[1:], start=row[0]) for row in encoder.balls(256).tolist()]
    bad = [i for i, total in enumerate(sums) if not (total - 1).contains(0)]
    if bad:
        return (
            False,
            f"worker {bad[0]} changes constants: its coefficients do not add up to 1",
        )
    return True, "approximate; constants are kept: coefficients of every worker add up to 1"


def sum_recovered(code: GradientCode, limit: int) -> Verdict:
    """Whether the weights of every survivor set give the sum of the partial gradients."""
    if code.approximate:
        return _approximated(code, min(limit, 50))
    patterns = Auto(limit=limit).patterns(code.n, code.stragglers)
    arrived = code.arrived(patterns)
    words = "to rounding"
    if not code.rounded:
        for parts in _stages(code, arrived):
            proved, words = gradient_claim(code, parts).proof()
            if not proved:
                return False, words
    found = exact_conditions(code, arrived)
    if not found.decodable.all():
        return False, failing_sets(patterns[~found.decodable], patterns, code)
    scope = f"{len(patterns)} survivor sets ({scope_of(patterns, code)})"
    if not code.rounded:
        return True, f"{scope}: D Phi = T {words}"
    own = found.others["decoding_error"]
    return True, (
        f"{scope}: the matrix's own error ||a B - 1|| is {own.min():.1e} to {own.max():.1e}; "
        f"tolerance {code.allowed_error:g}"
    )


def _stages(code: GradientCode, arrived: Array) -> list[Any]:
    """The parts of every stage that some pattern reaches, fewer messages of workers included."""
    counts = [
        np.where(np.arange(code.n) < code.n - lost, sent, 0)
        for sent in range(1, code.messages + 1)
        for lost in range(code.stragglers + 1)
    ]
    tables = [arrived]
    if code.messages > 1:
        tables.append(code.arrived(np.array(counts)))
    found: dict[tuple[int, ...], Any] = {}
    for table in tables:
        for _, parts in code.stages(table):
            found.setdefault(tuple(map(id, parts)), parts)
    return list(found.values())


def _approximated(code: GradientCode, limit: int) -> Verdict:
    """Whether the best weights of every set come nearer to the sum than none at all."""
    patterns = Auto(limit=limit).patterns(code.n, code.stragglers)
    encoding, target = code.encoding.rational()[0], wanted(code)
    whole = math.sqrt(target.nrows() * code.partitions)
    errors = []
    for row in code.arrived(patterns):
        rest = least_squares_weights(code, row) * encoding - target
        errors.append(math.sqrt(float(sum(float(x) ** 2 for x in _floats(rest)))))
    if not max(errors) < whole * (1 - 1e-9):
        worst = np.flatnonzero(patterns[int(np.argmax(errors))]).tolist()
        return False, f"survivors {worst} tell nothing of the sum"
    return True, (
        f"approximate: {len(patterns)} survivor sets ({scope_of(patterns, code)}) miss "
        f"{min(errors):.3g} to {max(errors):.3g} of {whole:.3g}"
    )


def _floats(matrix: Any) -> list[float]:
    return [int(x.p) / int(x.q) for x in matrix.entries()]


def integers_return(code: ShiftAdd, limit: int, problem: str) -> Verdict:
    """Whether a zigzag gives integers back: its subtractions are exact, so that D Phi = I."""
    system, exact = code.system(problem), precision("float64")
    patterns = Auto(limit=limit).patterns(code.n, code.stragglers)
    random = stream("data of a self-test", 6)
    operands = [
        random.integers(-WIDE, WIDE, (encoder.unknowns, LENGTH, 1)).astype(float)
        for encoder in system.encoders
    ]
    shares = [x.apply(part, exact) for x, part in zip(system.encoders, operands, strict=True)]
    replies, blocks = shares[0], operands[0]
    if isinstance(system, ProductSystem):
        replies = multiply_pairs(shares[0], shares[1], system.pairs, exact)
        products = np.einsum("ali,bmi->ablm", *operands)
        blocks = products.reshape(-1, LENGTH, LENGTH)
    found = Zigzag().plan(code, system, patterns, exact, "use").decode(replies)
    if found.shape[1:] != blocks.shape:
        return False, f"blocks come back with shape {found.shape[1:]}; sent were {blocks.shape}"
    bad = np.flatnonzero((found != blocks).any(axis=(1, 2, 3)))
    if bad.size:
        return False, f"integers come back changed: {failing_sets(patterns[bad], patterns, code)}"
    scope = scope_of(patterns, code)
    return True, f"integers come back as they were from {len(patterns)} survivor sets ({scope})"


def scope_of(patterns: Array, code: Code) -> str:
    """Whether patterns of n - s survivors are all there are, in a word."""
    return "all" if len(patterns) == math.comb(code.n, code.stragglers) else "sampled"


def failing_sets(failing: Array, patterns: Array, code: Code) -> str:
    """How many survivor sets fail, and which."""
    sets = ", ".join(str(np.flatnonzero(row).tolist()) for row in failing[:SHOWN])
    more = f" and {len(failing) - SHOWN} more" if len(failing) > SHOWN else ""
    scope = scope_of(patterns, code)
    return f"{len(failing)} of {len(patterns)} survivor sets ({scope}) fail: {sets}{more}"
