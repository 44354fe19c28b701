"""Kinds of cases and the functions that compute them; later rooms register kinds of their own."""

import importlib
from collections.abc import Callable

from stabbench.sweeps import stability
from stabbench.sweeps.case import Case, Record

RUNNERS: dict[str, Callable[[Case], Record]] = {stability.KIND: stability.run}
LATER = {
    "layers": "stabbench.training.layers.cases",
    "descent": "stabbench.training.descent.cases",
    "gossip": "stabbench.training.gossip.cases",
}
"""Modules that register further kinds; loaded when a case of theirs is met, in any process."""


def runner(case: Case) -> Callable[[Case], Record]:
    """The function that computes cases of this kind.

    Raises
    ------
    KeyError
        If no room has registered the kind.
    """
    if case.kind not in RUNNERS and case.kind in LATER:
        importlib.import_module(LATER[case.kind])
    return RUNNERS[case.kind]
