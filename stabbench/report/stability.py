"""What a report shows for cases of kind ``stability``."""

from stabbench.report import tables
from stabbench.report.plots.errors import error_against_n
from stabbench.report.plots.prediction import prediction
from stabbench.report.registry import register

TERMS = (
    (
        "relative error",
        "‖estimate − exact‖₂ / ‖exact‖₂ over the whole result, against a reference computed without "
        "rounding. ∞ on overflow.",
    ),
    ("digits", "−log₁₀ of the relative error: correct decimal digits. Negative: nothing is left."),
    (
        "median, worst",
        "Over all survivor sets and trials of a case. ‘Worst of’ says over which: exhaustive (all "
        "sets), symmetric (one of each class), or search (a lower bound of the worst).",
    ),
    (
        "worst stragglers",
        "The workers whose replies were missing at the worst error, counted from 0.",
    ),
    (
        "κ₂",
        "Condition number of the matrix that is decoded, as the stated precision stores it. "
        "Predicts about u κ₂, often too pessimistic.",
    ),
    (
        "amplification a(F)",
        "‖ |D| |Φ| ‖∞ / ‖T‖∞ for the decoding operator D on the replies Φ of the survivors F: how "
        "much rounding of the replies can grow. Predicts about u a(F).",
    ),
    (
        "test ratio",
        "relative error / (u a(F)). Up to order 10 for a sound decoder; far more means that the "
        "decoder itself loses digits.",
    ),
    (
        "u",
        "Unit round-off of what is stored and sent: 2⁻⁵³ float64, 2⁻²⁴ float32, 2⁻¹¹ float16, 2⁻⁸ "
        "bfloat16.",
    ),
    ("undecodable", "Share of survivor sets whose replies do not determine the result."),
    (
        "encode, compute, decode",
        "The stages of the error: rounding of the shares, of the workers’ products, and of the "
        "decoder. Each alone, by exact arithmetic; their vectors add up to the error.",
    ),
)

register(
    "stability",
    title="Stability of decoding",
    tables=(tables.main, tables.advice, tables.why, tables.cost),
    plots=(error_against_n, prediction),
    terms=TERMS,
)
