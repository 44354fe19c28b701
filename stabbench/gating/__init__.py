"""The gate for continuous integration: bounds, baselines, and the verdict on a sweep."""

from stabbench.gating.baseline import load_baseline, write_baseline
from stabbench.gating.bounds import Bound, load_bounds, measure_of
from stabbench.gating.verdict import Finding, Verdict, gate, name_of

__all__ = [
    "Bound",
    "Finding",
    "Verdict",
    "gate",
    "load_baseline",
    "load_bounds",
    "measure_of",
    "name_of",
    "write_baseline",
]
