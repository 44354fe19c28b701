"""What a report shows for cases of kind ``stability``."""

from stabbench.report import tables
from stabbench.report.plots.errors import error_against_n
from stabbench.report.plots.prediction import prediction
from stabbench.report.registry import register

TERMS = {
    "relative error": (
        "‖estimate − exact‖₂ / ‖exact‖₂ over the whole result, against a reference computed "
        "without rounding. ∞ on overflow; absolute where the exact result is zero."
    ),
    "digits": "−log₁₀ of the relative error: correct decimal digits. Negative: nothing is left.",
    "median, worst": (
        "Over all survivor sets and trials of a case. ‘Worst of’ says over which: exhaustive "
        "(all), symmetric (one of each class), or search (a lower bound of the true worst)."
    ),
    "worst stragglers": "Workers whose replies were missing at the worst error, counted from 0.",
    "κ₂": (
        "Condition number of the matrix that is decoded, as the precision stores it. Predicts an "
        "error of about u κ₂, often too pessimistic."
    ),
    "amplification a(F)": (
        "‖ |D| |Φ| ‖∞ / ‖T‖∞ for the decoding operator D on the replies Φ of the survivors F: how "
        "much the rounding of replies can grow. Predicts an error of about u a(F)."
    ),
    "test ratio": (
        "Relative error / (u a(F)). Up to order 10 for a sound decoder; far more means that the "
        "decoder itself loses digits."
    ),
    "u": (
        "Unit round-off of what is stored and sent: 2⁻⁵³ for float64, 2⁻²⁴ for float32, 2⁻¹¹ for "
        "float16, 2⁻⁸ for bfloat16."
    ),
    "undecodable": "Share of survivor sets whose replies do not determine the result.",
    "encode, compute, decode": (
        "Stages of the error: rounding of the shares, of the workers’ products and of the decoder, "
        "separated by exact arithmetic; their vectors add up to the error."
    ),
}

register(
    "stability",
    title="Stability of decoding",
    tables=(tables.main, tables.advice, tables.why, tables.cost),
    plots=(error_against_n, prediction),
    terms=TERMS.items(),
)
