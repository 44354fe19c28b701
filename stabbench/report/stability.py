"""What a report shows for cases of kind ``stability``."""

import math
from collections.abc import Iterator, Sequence

from stabbench.report import costs, tables
from stabbench.report.entries import Entry, entries
from stabbench.report.plots.comparison import comparisons
from stabbench.report.plots.cost import cost
from stabbench.report.plots.distribution import distribution
from stabbench.report.plots.draws import spread
from stabbench.report.plots.errors import error_against_n
from stabbench.report.plots.heatmap import heatmap
from stabbench.report.plots.noise import noise
from stabbench.report.plots.prediction import prediction
from stabbench.report.plots.shift_add import shift_add
from stabbench.report.registry import Fact, register
from stabbench.report.render import shown
from stabbench.sweeps.case import Record

TERMS = {
    "relative error": (
        "‖estimate − exact‖₂ / ‖exact‖₂ over the whole result, against a reference computed "
        "without rounding. ∞ on overflow; absolute where the exact result is zero."
    ),
    "digits": "−log₁₀ of the relative error: correct decimal digits. Negative: nothing is left.",
    "median, worst": (
        "Of errors and digits: over the survivor sets of a case that decode, and its trials. Of κ₂ "
        "and amplification: over all sets, ∞ where one does not decode. ‘Worst of’ says over "
        "which: exhaustive (all), symmetric (one of each class), or search (a lower bound of the "
        "true worst)."
    ),
    "worst of all": "Digits over all survivor sets: −∞ where one of them does not decode.",
    "worst stragglers": "Workers whose replies were missing at the worst error, counted from 0.",
    "κ₂": (
        "Condition number of the matrix that is decoded, as the precision stores it. Predicts an "
        "error of about u κ₂, often too pessimistic."
    ),
    "amplification a(F)": (
        "‖ |D| |Φ| ‖∞ / ‖T‖∞ for the decoding operator D on the replies Φ of the survivors F, a "
        "condition number of Skeel’s type: how much rounding can grow if all errors add up. It "
        "gives the bound of every stage."
    ),
    "expected error": (
        "Rounding of every stage, grown as independent errors grow: by the root-mean-square "
        "amplification ‖D diag(‖Φᵣ‖₂)‖F / ‖T‖F. Usually within a factor 3 of the worst error."
    ),
    "test ratio": (
        "Relative error / bound, the sum of the bounds of the stages. At most of order one for a "
        "sound decoder; far more means that a stage loses digits beyond its arithmetic, and the "
        "ratio of each stage says which."
    ),
    "u": (
        "Unit round-off of what is stored and sent: 2⁻⁵³ for float64, 2⁻²⁴ for float32, 2⁻¹¹ for "
        "float16, 2⁻⁸ for bfloat16."
    ),
    "storage, sent": (
        "Real numbers that one worker holds of the coded operands, and sends of the answer, at "
        "most; a complex number is two."
    ),
    "one set, in a batch": (
        "Median time for one survivor set alone, and its share of a batch. First calls, in which "
        "kernels are compiled, are discarded; planning depends on the survivors alone."
    ),
    "undecodable": "Share of survivor sets whose replies do not determine the result.",
    "encode, compute, decode": (
        "Stages of the error: rounding of the shares, of the workers’ products and of the decoder, "
        "separated by exact arithmetic; their vectors add up to the error."
    ),
}


def facts(records: Sequence[Record]) -> Iterator[Fact]:
    """The fewest digits of every precision, and where they were found."""
    least: dict[str, Entry] = {}
    for e in entries(records):
        digits = e.digits()
        if digits is not None and digits < _digits(least.get(e.precision)):
            least[e.precision] = e
    for precision, e in least.items():
        digits = _digits(e)
        value = "overflow" if digits == -math.inf else f"{shown(digits, 'digits')} digits"
        details: tuple[str, ...] = (
            f"{e.code}, {e.decoder}, n = {e.n}, s = {e.stragglers}",
            f"stragglers {e.worst_stragglers}",
        )
        lost = [x for x in entries(records) if x.precision == precision and x.undecodable]
        if lost:
            most = max(lost, key=lambda x: x.undecodable)
            share = shown(most.undecodable, "share")
            details += (f"of sets that decode: not all do of {most.code} ({share} lost)",)
        yield Fact(value, f"worst of {precision}", details)


def _digits(e: Entry | None) -> float:
    found = None if e is None else e.digits()
    return math.inf if found is None else found


register(
    "stability",
    title="Stability of decoding",
    tables=(tables.main, tables.advice, tables.draws, tables.why, costs.cost, costs.times),
    plots=(
        heatmap,
        error_against_n,
        distribution,
        comparisons,
        spread,
        prediction,
        cost,
        noise,
        shift_add,
    ),
    facts=facts,
    brief=tables.ranking,
    terms=TERMS.items(),
)
