"""The patterns of a case: what the policy lists, and what a search adds for the code itself."""

from typing import Any

import numpy as np

from stabbench.analysis.structure import Choice, Structure
from stabbench.analysis.survivors import Adversarial, Policy

Array = np.ndarray[Any, np.dtype[Any]]


def case_patterns(
    policy: Policy, structure: Structure, choice: Choice, seed: int
) -> tuple[Array, str, str]:
    """Patterns as 0/1 rows, shape (P, n), and the labels of the worst error and kappa over them.

    Parameters
    ----------
    policy : Policy
    structure : Structure
        Of the code; it knows how to search for bad patterns.
    choice : Choice
    seed : int
        Of random patterns.
    """
    n, s = choice.code.n, choice.code.stragglers
    patterns = policy.patterns(n, s, seed)
    if not isinstance(policy, Adversarial) or policy.count(n, s) != n - s:
        return patterns, policy.label(n, s), policy.label(n, s)
    try:
        sets, visited = structure.worst_sets(choice, policy.limit)
    except OverflowError:  # every pattern overflows alike: the record says so
        return patterns, policy.label(n, s), policy.label(n, s)
    found = np.ones((len(sets), n), dtype=patterns.dtype)
    np.put_along_axis(found, sets, 0, axis=1)
    every = np.unique(np.concatenate([patterns, found]), axis=0)
    return every, policy.label(n, s), "exhaustive" if visited else policy.label(n, s)
