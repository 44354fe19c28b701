"""How fast errors of a zigzag must grow by theory, and the survivor sets for which they grow most.

Systematic shift-and-add designs: what decides are the gaps between the missing blocks and between
the slopes of the parities that resolve them.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stabbench.analysis.ties import in_falling_order
from stabbench.arithmetic.peeling import Resolution, Undecodable, resolution
from stabbench.arithmetic.shift_tables import ABSENT, Table
from stabbench.arithmetic.symbol import symbol

Array = np.ndarray[Any, np.dtype[Any]]
MOST_SYMBOLS = 800
"""Combinations of gaps that a search looks at, narrow ones first."""


class Growth(NamedTuple):
    """Growth factors per row from the heads and from the tails, and the power of L beside them."""

    forward: float
    backward: float
    exponent: int

    @property
    def both(self) -> float:
        """Geometric mean of both, a guide to what peeling from both ends does."""
        return float(np.sqrt(self.forward * self.backward))


def growth(table: Table, use: Resolution) -> Growth:
    """Growth of a pattern by its symbol, see `symbol`.

    Shifts with slopes over blocks that form an arithmetic progression, or with slopes that do, give
    a Vandermonde determinant: all its roots lie on the unit circle, the exponent is e - 1.

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> table = shift_table("systematic", 20, 16)
    >>> lost = (0, 1, 3, 18)
    >>> use = resolution(table, [i for i in range(20) if i not in lost])
    >>> round(growth(table, use).forward, 4)
    1.4656
    """
    sub = table[np.ix_(use.rows, use.missing)]
    return _growth(np.ascontiguousarray(sub, np.int32).tobytes(), len(sub))


@functools.lru_cache(maxsize=8192)
def _growth(data: bytes, e: int) -> Growth:
    sub = np.frombuffer(data, np.int32).reshape(e, e)
    if e <= 1:
        return Growth(1.0, 1.0, 0)
    if (sub != ABSENT).all() and _vandermonde(sub):
        return Growth(1.0, 1.0, e - 1)
    whole = Resolution(np.full(e, -1, np.int32), np.arange(e, dtype=np.int32))
    found = symbol(sub, whole)
    return Growth(found.forward, found.backward, found.exponent)


def _vandermonde(sub: Table) -> bool:
    """Whether differences are products of slopes and places, one of them equally spaced."""
    steps: Array = np.diff(np.diff(sub.astype(np.int64), axis=0), axis=1)
    if not steps.all():
        return False
    product = steps[:, :1] * steps[:1, :] == steps * steps[0, 0]
    even = (steps == steps[:, :1]).all() or (steps == steps[:1, :]).all()
    return bool(product.all() and even)


class Found(NamedTuple):
    """A straggler set that a search found, and its growth."""

    stragglers: tuple[int, ...]
    growth: Growth


def exponential_sets(table: Table, stragglers: int) -> list[Found]:
    """Straggler sets of a systematic code whose errors grow exponentially, fastest first.

    Every e >= 3, every gap pattern of e missing blocks (narrow ones first) with every choice of e
    parities that are the first ones to survive, both no arithmetic progressions; each at three
    places of the blocks.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
        The first k workers hold plain blocks.
    stragglers : int

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> found = exponential_sets(shift_table("systematic", 20, 16), 4)[0]
    >>> found.stragglers, round(found.growth.forward, 3)
    ((0, 1, 3, 18), 1.466)
    """
    n, k = table.shape
    found = []
    for gaps, parities, lost in itertools.islice(_candidates(n, k, stragglers), MOST_SYMBOLS):
        use = Resolution(_known(k, gaps), np.array(parities, np.int32) + k)
        grows = growth(table, use)
        if grows.forward > 1:
            room = k - 1 - gaps[-1]
            for start in sorted({0, room // 2, room}):
                blocks = tuple(start + gap for gap in gaps)
                found.append(Found((*blocks, *(k + parity for parity in lost)), grows))
    return _fastest_first(found)


def _fastest_first(found: list[Found]) -> list[Found]:
    """By the product of both growth factors; those that tie keep their order."""
    growths = [item.growth.forward * item.growth.backward for item in found]
    return [found[i] for i in in_falling_order(np.log10(growths))]


def _candidates(
    n: int, k: int, stragglers: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Missing blocks from 0 on, parities that resolve them, and the parities lost, by span."""
    m = n - k
    for span in range(3, k):
        for e in range(3, min(stragglers, m, span + 1) + 1):
            for inner in itertools.combinations(range(1, span), e - 2):
                gaps = (0, *inner, span)
                if _progression(gaps):
                    continue
                for parities in itertools.combinations(range(m), e):
                    lost = _lost(parities, m, stragglers - e)
                    if lost is not None and not _progression(parities):
                        yield gaps, parities, lost


def _lost(parities: tuple[int, ...], m: int, count: int) -> tuple[int, ...] | None:
    """The parities that must straggle so that `parities` are the first to survive."""
    skipped = [p for p in range(parities[-1]) if p not in parities]
    spare = count - len(skipped)
    if spare < 0 or spare > m - 1 - parities[-1]:
        return None
    return (*skipped, *range(m - spare, m))


def _progression(numbers: tuple[int, ...]) -> bool:
    return len(set(np.diff(numbers).tolist())) <= 1


def _known(k: int, missing: tuple[int, ...]) -> Any:
    known = np.arange(k, dtype=np.int32)
    known[list(missing)] = -1
    return known


def fastest_sets(table: Table, sets: list[tuple[int, ...]]) -> list[Found]:
    """Those survivor sets whose errors grow exponentially, fastest first, as straggler sets.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    sets : list of survivor sets
    """
    found = []
    for alive in sets:
        use = resolution(table, alive)
        if isinstance(use, Undecodable):
            continue
        grows = growth(table, use)
        if grows.forward > 1:
            found.append(Found(tuple(sorted(set(range(len(table))) - set(alive))), grows))
    return _fastest_first(found)
