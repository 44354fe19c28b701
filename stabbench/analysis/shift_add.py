"""Shift-and-add codes: the operator that the decoder applies, its growth, what workers store."""

import itertools
import math
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget
from stabbench.analysis.conditions import Conditions
from stabbench.analysis.growth import exponential_sets, fastest_sets, growth
from stabbench.analysis.metrics import Statistic
from stabbench.analysis.samples_operator import SamplesOperator
from stabbench.analysis.shift_budget import SamplesDecoding, ZigzagDecoding, shift_budget
from stabbench.analysis.structure import Choice, Structure, Trial, block_lengths
from stabbench.analysis.ties import first_greatest, in_falling_order
from stabbench.arithmetic import zigzag
from stabbench.arithmetic.pairs import norm
from stabbench.arithmetic.peeling import Resolution, Undecodable, resolution
from stabbench.arithmetic.sample_operator import (
    LIMIT,
    Norms,
    SampleOperator,
    largest_singular_value,
)
from stabbench.arithmetic.shift_tables import to_units
from stabbench.arithmetic.zigzag_operator import ZigzagOperator
from stabbench.codes.shift_add import ShiftAdd, survivor_sets
from stabbench.codes.toeplitz import Line, ShiftMap
from stabbench.decoders.zigzag import Zigzag, sets_of

Array = np.ndarray[Any, np.dtype[Any]]
MEASURES = ("kappa_2", "kappa_F", "kappa_1", "amplification", "rms_amplification")
NORMS = ("operator_norm", "operator_norm_2")
GROWTH = ("growth_forward", "growth_backward", "growth_exponent")
DENSE_WORK = 5e7
"""Entries of operators that are formed row by row for one case; beyond, norms are estimated."""
RANKED = 24
"""Sets of a search that are ranked by the norm of the decoder at the block length of the case."""
POINTS = 64
"""Points at which intermediate results of one decoding are recorded."""


class Shifts(Structure):
    """Replies are shifted sums; the decoder's own operator decides, not the pseudo-inverse.

    For a zigzag, kappa is that of the square system of the samples that it reads; for lstsq that
    of all samples that enter. Norms are exact up to 4096 unknowns while the work for all patterns
    is bounded, else lower estimates; the measure ``operator`` of a record says which.
    """

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Norms of the decoder of every pattern, and its growth by the symbol in one dimension."""
        line = line_of(choice)
        grows = () if line.pitch else GROWTH
        values = {name: np.full(len(patterns), np.inf) for name in (*MEASURES, *NORMS, *grows)}
        uses = [resolution(line.table, alive) for alive in sets_of(patterns)]
        limit = LIMIT if is_dense(line, uses) else 0
        sparse, decodable = line.sparse(), np.zeros(len(patterns), dtype=bool)
        for p, use in enumerate(uses):
            operator = operator_of(choice, line, use)
            if operator is None or isinstance(use, Undecodable):
                continue
            decodable[p] = True
            _fill(values, p, operator.norms(limit), sparse[reads_of(operator, line)])
            if grows:
                for name, value in zip(grows, growth(line.table, use), strict=True):
                    values[name][p] = value
        if not limit and line.unknowns <= LIMIT:
            self._worst_densely(choice, line, uses, values, sparse)
        others = {name: values[name] for name in (*NORMS, *grows)}
        known = {name: values[name] for name in MEASURES}
        return Conditions(decodable, **known, elimination=values["amplification"], others=others)

    def _worst_densely(
        self, choice: Choice, line: Line, uses: list[Any], values: dict[str, Array], sparse: Any
    ) -> None:
        """Norms without estimates where the estimated amplification is largest."""
        a = np.where(np.isfinite(values["amplification"]), values["amplification"], -1)
        p = first_greatest(a)
        operator = operator_of(choice, line, uses[p])
        if operator is not None:
            _fill(values, p, operator.norms(), sparse[reads_of(operator, line)])

    def worst_sets(self, choice: Choice, limit: int) -> tuple[Array, bool]:
        """Sets whose errors grow exponentially, found by the symbol; worst at this length first."""
        code = choice.code
        assert isinstance(code, ShiftAdd)
        line = line_of(choice)
        none = np.zeros((0, code.stragglers), dtype=np.int64)
        if line.pitch or code.stragglers == 0:
            return none, code.stragglers == 0
        if code.design == "custom":
            found = fastest_sets(line.table, survivor_sets(code.n, code.n - code.stragglers, limit))
        elif code.design.startswith("systematic"):
            found = exponential_sets(line.table, code.stragglers)
        else:
            return none, False
        sets = [item.stragglers for item in found[:limit]]
        alive = [sorted(set(range(code.n)) - set(lost)) for lost in sets[:RANKED]]
        sizes = [_size(choice, line, resolution(line.table, workers)) for workers in alive]
        with np.errstate(divide="ignore"):
            order = in_falling_order(np.log10(sizes))
        ranked = [sets[i] for i in order] + sets[RANKED:]
        table = np.array(ranked, dtype=np.int64).reshape(-1, code.stragglers)
        return table, False

    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The same operations without rounding for a zigzag, exact least squares for lstsq."""
        line = line_of(choice)
        (alive,) = sets_of(pattern[None])
        use = resolution(line.table, alive)
        if isinstance(use, Undecodable):
            return "no zigzag decodes these replies"
        if isinstance(choice.decoder, Zigzag) or not len(use.missing):
            order = order_of(choice)
            peeling = zigzag.plan(line.table, [alive], line.length, order, line.grid)
            return shift_budget(line, ZigzagDecoding(line, peeling), trial, estimate)
        return shift_budget(line, SamplesDecoding(line, use), trial, estimate)

    def measures(
        self, choice: Choice, patterns: Array, trials: list[Trial], relative: Array
    ) -> dict[str, Any]:
        """Storage overhead per worker, errors by missing blocks, one decoding step by step."""
        line = line_of(choice)
        uses = [resolution(line.table, alive) for alive in sets_of(patterns)]
        dense = is_dense(line, uses)
        label = "dense" if dense else "estimated (lower bound)"
        if not dense and line.unknowns <= LIMIT:
            label += ", dense for the worst"
        missing = np.array([_missing(use) for use in uses])
        found: dict[str, Any] = {
            "operator": label,
            "block_length": line.lengths[0],
            "units": -(-line.lengths[0] // line.chunk),
            "by_missing": {
                str(e): {
                    "patterns": int((missing == e).sum()),
                    "relative_error": _statistic(relative[:, missing == e], patterns[missing == e]),
                }
                for e in np.unique(missing)
            },
        }
        found |= overhead_of(choice)
        if line.pitch == 0 and isinstance(choice.decoder, Zigzag):
            trial, at = np.unravel_index(np.argmax(relative), relative.shape)
            found["intermediates"] = intermediates(choice, line, patterns[at], trials[trial])
        return found


def line_of(choice: Choice) -> Line:
    """The reply map of a choice along one line, for the block lengths of its data."""
    assert isinstance(choice.system.reply, ShiftMap)
    return choice.system.reply.line(block_lengths(choice))


def order_of(choice: Choice) -> str:
    """The order of peeling of the decoder."""
    return str(getattr(choice.decoder, "order", "both-ends"))


def operator_of(choice: Choice, line: Line, use: Resolution | Undecodable) -> SampleOperator | None:
    """The operator that the decoder applies to a pattern, None where it cannot decode it."""
    if isinstance(use, Undecodable):
        return None
    peeling = zigzag.plan(line.table, [_workers(use)], line.length, order_of(choice), line.grid)
    if not peeling.ok[0]:
        return None
    if isinstance(choice.decoder, Zigzag) or not len(use.missing):
        return ZigzagOperator(peeling, 0)
    return SamplesOperator(line, use)


def reads_of(operator: SampleOperator, line: Line) -> Array:
    """Numbers of the samples that enter: worker times the longest reply, plus the sample."""
    if isinstance(operator, ZigzagOperator):
        longest = line.length + int(line.table.max())
        return np.asarray(operator.worker.astype(np.int64) * longest + operator.sample)
    assert isinstance(operator, SamplesOperator)
    return operator.reads


def is_dense(line: Line, uses: list[Any]) -> bool:
    """Whether the operators of all patterns are formed row by row."""
    if line.unknowns > LIMIT:
        return False
    rows = sum(_missing(use) for use in uses) * len(line.positions)
    return rows * line.unknowns <= DENSE_WORK


def overhead_of(choice: Choice) -> dict[str, Any]:
    """Storage of every worker beyond one data block of the first operand."""
    over = choice.system.encoders[0].overhead(block_lengths(choice)[0]) - 1
    return {
        "storage_overhead": {"mean": float(over.mean()), "worst": float(over.max())},
        "storage_overhead_by_worker": [float(x) for x in over],
    }


def intermediates(choice: Choice, line: Line, pattern: Array, trial: Trial) -> dict[str, Any]:
    """Sizes and errors of resolved samples in the order in which one decoding resolves them.

    Up to 64 points, the largest value of as many equal parts of the decoding; errors relative to
    the root mean square of the exact result.
    """
    (alive,) = sets_of(pattern[None])
    peeling = zigzag.plan(line.table, [alive], line.length, order_of(choice), line.grid)
    use = peeling.uses[0]
    if isinstance(use, Undecodable) or not len(use.missing):
        return {"survivors": list(alive), "resolved": [], "size": [], "error": []}
    dtype = choice.precision.decode_dtype(np.iscomplexobj(trial.replies))
    replies = trial.replies.astype(dtype, copy=False)
    (blocks,) = peeling.decode(line.samples(replies))
    exact = to_units(trial.exact.hi, line.chunk)
    scale = norm(trial.exact.hi) / math.sqrt(trial.exact.hi.size) or 1.0
    with np.errstate(all="ignore"):
        size = np.abs(peeling.in_order(0, blocks)).max(axis=1) / scale
        wrong = np.abs(peeling.in_order(0, blocks - exact)).max(axis=1) / scale
    edges = np.unique(np.linspace(0, len(size), POINTS + 1).astype(int))
    parts = list(itertools.pairwise(edges))
    return {
        "survivors": list(alive),
        "resolved": [int(end) for _, end in parts],
        "size": [_largest(size[a:b]) for a, b in parts],
        "error": [_largest(wrong[a:b]) for a, b in parts],
    }


def _fill(values: dict[str, Array], p: int, norms: Norms, read: Any) -> None:
    """Norms of one pattern; condition numbers are products with the norms of the samples read."""
    with np.errstate(over="ignore"):
        values["kappa_2"][p] = _spectral(read) * norms.two
        values["kappa_F"][p] = float(np.sqrt(read.nnz)) * norms.frobenius
        values["kappa_1"][p] = float(read.sum(axis=0).max()) * norms.one
    values["amplification"][p] = norms.amplification
    values["rms_amplification"][p] = norms.rms_amplification
    values["operator_norm"][p] = norms.infinity
    values["operator_norm_2"][p] = norms.two


def _spectral(matrix: Any) -> float:
    if min(matrix.shape) <= 2:
        return float(np.linalg.norm(matrix.toarray(), 2))
    return largest_singular_value(matrix, np.ones(min(matrix.shape)))


def _size(choice: Choice, line: Line, use: Resolution | Undecodable) -> float:
    operator = operator_of(choice, line, use)
    return 0.0 if operator is None else operator.norms(0).infinity


def _workers(use: Resolution) -> tuple[int, ...]:
    known = use.known[use.known >= 0]
    return tuple(sorted({*map(int, known), *map(int, use.rows)}))


def _missing(use: Resolution | Undecodable) -> int:
    return 0 if isinstance(use, Undecodable) else len(use.missing)


def _largest(values: Array) -> float:
    """The largest value, infinite where some value is no number."""
    return float(values.max()) if np.isfinite(values).all() else float("inf")


def _statistic(relative: Array, patterns: Array) -> dict[str, Any]:
    found = Statistic.of(relative, patterns)
    return {
        "median": found.median,
        "q99": found.q99,
        "worst": found.worst,
        "survivors": list(found.worst_survivors),
    }
