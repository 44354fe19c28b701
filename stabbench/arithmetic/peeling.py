"""Peeling of shift-and-add codes: which workers resolve which blocks, in which order, or why not.

Integers only; the schedules are applied to data in `zigzag`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from stabbench.arithmetic.shift_tables import ABSENT, Table, is_increasing

_FIELD = 20
MOST_BLOCKS = 1024
"""Blocks that one pattern may miss: the sum of their numbers has 20 bits."""


@dataclass(frozen=True)
class Undecodable:
    """Why a survivor pattern cannot be decoded.

    Attributes
    ----------
    survivors : tuple of int
        The pattern: the workers that replied.
    reason : str
        One line.
    workers, blocks : tuple of int
        The pair of rows and the pair of columns of the table whose differences do not increase;
        empty when the reason is another.
    """

    survivors: tuple[int, ...]
    reason: str
    workers: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"survivors {','.join(map(str, self.survivors))}: {self.reason}"


@dataclass(frozen=True)
class Resolution:
    """Which workers resolve which blocks for one survivor pattern.

    Attributes
    ----------
    known : ndarray of int32, shape (k,)
        The surviving worker that holds the block alone, or -1.
    rows : ndarray of int32, shape (e,)
        The e workers that resolve the e blocks missing, in ascending order.
    """

    known: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]

    @property
    def missing(self) -> npt.NDArray[np.int32]:
        """The blocks to resolve, ascending."""
        return np.flatnonzero(self.known < 0).astype(np.int32)


def resolution(table: Table, survivors: Iterable[int]) -> Resolution | Undecodable:
    """Blocks that arrived plain, and the workers of lowest number (slope) for the rest.

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> plan = resolution(shift_table("systematic", 6, 3), [1, 3, 4, 5])
    >>> plan.known.tolist(), plan.missing.tolist(), plan.rows.tolist()
    ([-1, 1, -1], [0, 2], [3, 4])
    """
    alive = np.unique(np.fromiter(survivors, np.int32))
    held = table[alive] != ABSENT
    known = np.full(table.shape[1], -1, np.int32)
    single = held.sum(axis=1) == 1
    for worker, block in zip(alive[single][::-1], held[single].argmax(axis=1)[::-1], strict=True):
        known[block] = worker
    useful = np.any(held[:, known < 0], axis=1)
    rows, missing = alive[useful], int(np.sum(known < 0))
    if len(rows) < missing:
        reason = f"{missing} missing blocks, {len(rows)} replies that combine them"
        return Undecodable(tuple(map(int, alive)), reason)
    return Resolution(known, rows[:missing])


def chain(table: Table, rows: npt.NDArray[np.int32], missing: npt.NDArray[np.int32]) -> Table:
    """The rows sorted so that their differences increase over the missing blocks.

    Whether they do increase strictly is for `is_increasing` to say.

    Examples
    --------
    >>> t = np.array([[0, 3, 6], [0, 1, 2], [0, 2, 4]], np.int32)
    >>> chain(t, np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32)).tolist()
    [1, 2, 0]
    """
    span = table[rows, missing[-1]] - table[rows, missing[0]]
    return np.asarray(rows[np.argsort(span, kind="stable")], np.int32)


@numba.njit(cache=True)
def peel(sub: Table, length: int, period: int, width: int, unknown: Table, row: Table) -> int:
    """Zigzag from both ends: first in, first out; the definition of the order.

    The queue starts with all samples of one unknown (row ascending, then sample); a sample that
    becomes single joins at the end, row ascending; a sample already resolved is passed over.

    Parameters
    ----------
    sub : ndarray of int32, shape (e, e)
        Shifts of the workers used (rows) for the blocks missing (columns).
    length, period, width : int
        Position p < length of a block is an unknown where p % period < width (1-D: 1, 1).
    unknown, row : ndarray of int32, shape (unknowns,), written
        In the order of resolution: column * length + position, and the row it is read from.

    Returns
    -------
    int
        Number of unknowns resolved; all of them when the pattern is decodable.

    Examples
    --------
    >>> unknown, row = np.empty(4, np.int32), np.empty(4, np.int32)
    >>> peel(np.array([[0, 0], [0, 1]], np.int32), 2, 1, 1, unknown, row)
    4
    >>> unknown.tolist(), row.tolist()
    ([0, 3, 2, 1], [1, 1, 0, 0])
    """
    e = sub.shape[0]
    samples = length + sub.max()
    held = _held(sub, samples, length, period, width)
    queue = np.empty(e * samples, np.int32)
    tail = 0
    for i in range(e):
        for s in range(samples):
            if held[i, s] >> _FIELD == 1:
                queue[tail] = i * samples + s
                tail += 1
    head = 0
    done = 0
    while head < tail:
        i, s = divmod(queue[head], samples)
        head += 1
        if held[i, s] == 0:
            continue
        j = held[i, s] & ((1 << _FIELD) - 1)
        p = s - sub[i, j]
        unknown[done] = j * length + p
        row[done] = i
        done += 1
        for other in range(e):
            if sub[other, j] >= 0:
                at = p + sub[other, j]
                held[other, at] -= (1 << _FIELD) + j
                if held[other, at] >> _FIELD == 1:
                    queue[tail] = other * samples + at
                    tail += 1
    return done


@numba.njit(cache=True)
def _held(sub: Table, samples: int, length: int, period: int, width: int) -> Table:
    # per sample: the number of its unresolved terms (high bits) and the sum of their columns
    e = sub.shape[0]
    held = np.zeros((e, samples), np.int32)
    for i in range(e):
        for j in range(e):
            if sub[i, j] >= 0:
                for p in range(length):
                    if period == 1 or p % period < width:
                        held[i, p + sub[i, j]] += (1 << _FIELD) + j
    return held


@numba.njit(cache=True)
def peel_heads(sub: Table, length: int, period: int, width: int, unknown: Table, row: Table) -> int:
    """Zigzag from the heads only, for tables without the increasing-difference property.

    Rounds over the blocks, ascending: the first unknown of the block that is not resolved is read
    from the first row, ascending, where it is alone. Parameters and result as `peel`.

    Examples
    --------
    >>> unknown, row = np.empty(4, np.int32), np.empty(4, np.int32)
    >>> peel_heads(np.array([[0, 0], [0, 1]], np.int32), 2, 1, 1, unknown, row)
    4
    >>> unknown.tolist(), row.tolist()
    ([0, 2, 1, 3], [1, 0, 1, 0])
    """
    e = sub.shape[0]
    head = np.zeros(e, np.int64)
    done = 0
    moved = True
    while moved:
        moved = False
        for j in range(e):
            while head[j] < length and head[j] % period >= width:
                head[j] += 1
            if head[j] == length:
                continue
            for i in range(e):
                if _alone(sub, i, j, head, length, period, width):
                    unknown[done] = j * length + head[j]
                    row[done] = i
                    done += 1
                    head[j] += 1
                    moved = True
                    break
    return done


@numba.njit(cache=True)
def _alone(sub: Table, i: int, j: int, head: Table, length: int, period: int, width: int) -> bool:
    if sub[i, j] < 0:
        return False
    for other in range(sub.shape[1]):
        q = head[j] + sub[i, j] - sub[i, other]
        inside = other != j and sub[i, other] >= 0 and head[other] <= q < length
        if inside and q % period < width:
            return False
    return True


def fault(
    table: Table, use: Resolution, stuck: Iterable[int], survivors: Iterable[int]
) -> Undecodable:
    """The pair of workers and the pair of blocks for which a pattern does not peel.

    Equal differences are looked for first, then differences that do not increase.

    Parameters
    ----------
    table : ndarray, shape (n, k)
    use : Resolution
    stuck : iterable of int
        Blocks that peeling left unresolved.
    survivors : iterable of int

    Examples
    --------
    >>> hankel = np.add.outer(np.arange(4), np.arange(3)).astype(np.int32)
    >>> print(fault(hankel, resolution(hankel, [0, 1, 3]), [0, 1, 2], [0, 1, 3]))
    survivors 0,1,3: workers 0 and 1 shift block 1 against block 0 by 1 and 1, which do not increase
    """
    alive = tuple(map(int, survivors))
    blocks = np.sort(np.fromiter(stuck, np.int32))
    whole = np.all(table[np.ix_(use.rows, blocks)] != ABSENT, axis=1)
    rows = chain(table, use.rows[whole], blocks)
    found: tuple[int, ...] = ()
    for tie in (True, False):
        for a, i in enumerate(rows):
            for upper in rows[a + 1 :]:
                gain = (table[upper, blocks] - table[i, blocks]).astype(np.int64)
                late = gain[None, :] - gain[:, None]
                bad = np.argwhere(np.triu(late == 0 if tie else late <= 0, 1))
                if len(bad) and not found:
                    found = (int(i), int(upper), *map(int, blocks[bad[0]]))
    if not found:
        return Undecodable(alive, f"blocks {','.join(map(str, blocks))} cannot be told apart")
    i, upper, j, other = found
    low, high = (int(table[w, other] - table[w, j]) for w in (i, upper))
    reason = (
        f"workers {i} and {upper} shift block {other} against block {j} by {low} and {high}, "
        "which do not increase"
    )
    return Undecodable(alive, reason, (i, upper), (j, other))


def undecodable(table: Table, patterns: Iterable[Iterable[int]], length: int) -> Undecodable | None:
    """First survivor pattern that a zigzag cannot decode, or None.

    A pattern whose table has the increasing-difference property is decodable at every length; any
    other is peeled symbolically, which is exact for blocks of `length` units and for shorter ones
    (what blocks peeling in a short block blocks it in a longer one too).

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    patterns : iterable of survivor sets
    length : int
        Units per data block.

    Examples
    --------
    >>> from itertools import combinations
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> undecodable(shift_table("vandermonde", 6, 4), combinations(range(6), 4), 100) is None
    True
    >>> hankel = np.add.outer(np.arange(4), np.arange(2)).astype(np.int32)
    >>> undecodable(hankel, combinations(range(4), 2), 100).workers
    (0, 1)
    """
    for survivors in patterns:
        alive = tuple(map(int, survivors))
        use = resolution(table, alive)
        if isinstance(use, Undecodable):
            return use
        missing = use.missing
        if not len(missing) or is_increasing(
            table[np.ix_(chain(table, use.rows, missing), missing)]
        ):
            continue
        unknown = np.empty(len(missing) * length, np.int32)
        sub = np.ascontiguousarray(table[np.ix_(use.rows, missing)])
        if (done := peel(sub, length, 1, 1, unknown, np.empty_like(unknown))) < len(unknown):
            left = np.bincount(unknown[:done] // length, minlength=len(missing)) < length
            return fault(table, use, missing[left], alive)
    return None
