"""Condition numbers of every straggler pattern: `survey`, and the parts it is made of.

The dual of a generator, on which all rests, is in `stabbench.arithmetic.duality`.
"""

from stabbench.analysis.conditioning.estimates import Estimate
from stabbench.analysis.conditioning.survey import Budget, Survey, bad_sets, survey
from stabbench.analysis.conditioning.tally import Tally

__all__ = ["Budget", "Estimate", "Survey", "Tally", "bad_sets", "survey"]
