"""How times are taken: a first call that does not count, then a few repeats.

Times are processor time, which other programs do not lengthen: wall time on an idle machine with
one BLAS thread. Results come from first calls, so that timing changes none.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stabbench.decoders.base import Plan

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")
Clock = Callable[[], float]
LEAST, MOST = 3, 5
ENOUGH = 0.02
"""Seconds of repeats after which no more are needed."""
LONG = 0.5
"""Seconds of a repeat that stands alone."""
BATCH = 64
BATCH_SECONDS = 0.03
"""A batch takes no more survivor sets than can be planned and decoded one by one in this time."""


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of processor time of a call over its repeats.

    Attributes
    ----------
    median, low, high : float
        Median, least and greatest.
    repeats : int
        The first call, which is discarded, is none of them.
    """

    median: float
    low: float
    high: float
    repeats: int

    def each(self, count: int) -> dict[str, Any]:
        """The record of a call that does `count` things alike, for one of them."""
        shares = {name: getattr(self, name) / count for name in ("median", "low", "high")}
        return shares | {"repeats": self.repeats}


def timed(call: Callable[[], T], clock: Clock = time.process_time) -> tuple[T, Timing]:
    """The result of a first call, and the time of repeats.

    The first call, in which kernels are compiled or loaded and memory is first touched, is
    discarded. Repeats go on until they have taken 20 ms in all, at least 3 and at most 5; one
    that takes longer than 0.5 s is the last.

    Parameters
    ----------
    call : callable
        Without arguments; every call does the same.
    clock : callable
        Seconds.

    Examples
    --------
    >>> moments = iter([0.0, 0.25, 1.0, 1.125, 2.0, 2.5])
    >>> timed(lambda: "done", lambda: next(moments))
    ('done', Timing(median=0.25, low=0.125, high=0.5, repeats=3))
    """
    result = call()
    taken: list[float] = []
    while len(taken) < MOST and not (len(taken) >= LEAST and sum(taken) >= ENOUGH):
        start = clock()
        call()
        taken.append(clock() - start)
        if taken[-1] > LONG:
            break
    found = Timing(statistics.median(taken), min(taken), max(taken), len(taken))
    return result, found


@dataclasses.dataclass(frozen=True)
class Stages:
    """Runs the stages of a trial, and times them where it is enabled.

    Examples
    --------
    >>> stages = Stages(enabled=True)
    >>> stages.run("encode", lambda: 1), stages.seconds["encode"]["repeats"]
    (1, 5)
    """

    enabled: bool
    seconds: dict[str, Any] = dataclasses.field(default_factory=dict)

    def run(self, stage: str, call: Callable[[], T]) -> T:
        """The result of a call."""
        if not self.enabled:
            return call()
        result, taken = timed(call)
        self.seconds[stage] = taken.each(1)
        return result


def decoding(
    plan: Callable[[Array], Plan],
    patterns: Array,
    single: int,
    replies: Array,
    most: int = BATCH,
    clock: Clock = time.process_time,
) -> dict[str, Any]:
    """Times of planning and of decoding, of one survivor set alone and of a batch.

    Parameters
    ----------
    plan : callable
        From patterns to their plan.
    patterns : int array, shape (P, n)
        Decodable ones; those of the batch are spread evenly over them.
    single : int
        Which of them is decoded alone.
    replies : array, shape (rows, L, m)
    most : int
        Survivor sets of a batch, 64 at most.
    clock : callable
        Seconds.

    Returns
    -------
    dict
        ``plan_single``, ``decode_single``, ``plan_batch``, ``decode_batch``: see `Timing`, seconds
        per survivor set; ``batch``, the survivor sets in a batch. A batch of one is the single set.
    """

    def both(chosen: Array) -> tuple[Timing, Timing]:
        made, planned = timed(lambda: plan(chosen).ready(replies), clock)
        return planned, timed(lambda: made.decode(replies), clock)[1]

    alone = both(patterns[single : single + 1])
    fits = int(BATCH_SECONDS / max(sum(part.median for part in alone), BATCH_SECONDS / BATCH))
    count = max(1, min(fits, most, len(patterns)))
    spread = np.linspace(0, len(patterns) - 1, count).astype(int)
    together = both(patterns[spread]) if count > 1 else alone
    return {
        "plan_single": alone[0].each(1),
        "decode_single": alone[1].each(1),
        "plan_batch": together[0].each(count),
        "decode_batch": together[1].each(count),
        "batch": count,
    }
