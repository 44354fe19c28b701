"""Kinds of cases and the functions that compute them; later rooms register kinds of their own."""

from collections.abc import Callable

from stabbench.sweeps import stability
from stabbench.sweeps.case import Case, Record

RUNNERS: dict[str, Callable[[Case], Record]] = {stability.KIND: stability.run}


def runner(case: Case) -> Callable[[Case], Record]:
    """The function that computes cases of this kind.

    Raises
    ------
    KeyError
        If no room has registered the kind.
    """
    return RUNNERS[case.kind]
