"""Numbers that no code can have: a record that would hold one tells of an internal error."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stabbench.analysis.conditions import Conditions
from stabbench.analysis.metrics import Statistic

SLACK = 1e-6
"""Relative error of condition numbers and amplification, of about 1e-10 in truth."""


def implausible(found: Conditions, measures: Mapping[str, Any], approximate: bool) -> str:
    """What is impossible in the results of a case, an empty string if nothing is.

    A condition number is at least 1; so is the amplification where decoding gives what is wanted,
    since |D| |Phi| >= |D Phi| = |T|. Ratios of errors are finite.

    Parameters
    ----------
    found : Conditions
    measures : mapping
        Of the record.
    approximate : bool
        Whether the code's decoding is only near to what is wanted.

    Examples
    --------
    >>> ones = np.ones(1)
    >>> found = Conditions(ones > 0, 0 * ones, ones, ones, ones, ones, ones)
    >>> implausible(found, {}, approximate=False)
    'condition number kappa_2 = 0, below 1'
    """
    for name in ("kappa_2", "kappa_F", "kappa_1", "amplification", "elimination"):
        values = getattr(found, name)[found.decodable]
        bad = values[~(values >= 1 - SLACK)]
        is_kappa = name.startswith("kappa")
        if bad.size and (is_kappa or not approximate):
            return f"{'condition number ' * is_kappa}{name} = {bad[0]:.3g}, below 1"
    for name in ("relative_error", "predicted_error", "test_ratio"):
        value = measures.get(name)
        if isinstance(value, Statistic) and not np.isfinite([value.worst, value.mean]).all():
            return f"{name} is {value.worst}"
    return ""
