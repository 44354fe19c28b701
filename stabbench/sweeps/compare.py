"""Two sets of records paired by case, in digits."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from stabbench.errors import InputError
from stabbench.sweeps.case import Record
from stabbench.sweeps.stability import KIND

Change = Literal["worse", "better", "same", "new", "missing"]


@dataclasses.dataclass(frozen=True)
class Pair:
    """One case in the old and the new set.

    Attributes
    ----------
    id : str
    case : mapping
        Its parameters.
    old, new : float or None
        Worst digits over trials and the patterns that decode; -inf on overflow or failure, and
        where no pattern decodes; None where absent.
    change : str
        ``worse``, ``better`` or ``same`` by more than the tolerance, ``worse`` too where more
        patterns do not decode, ``better`` where fewer; ``new`` or ``missing``.
    lost : (float, float) or None
        The shares of patterns that do not decode, where they differ.
    """

    id: str
    case: Mapping[str, Any]
    old: float | None
    new: float | None
    change: Change
    lost: tuple[float, float] | None = None


def worst_digits(record: Record) -> float:
    """The correct digits of the worst pattern that decodes and trial, -inf where there are none.

    Zero error counts as 17 digits, a little more than float64 can tell.
    """
    return min(float(record.measures.get("digits", {}).get("worst", -math.inf)), 17.0)


def compare(old: Iterable[Record], new: Iterable[Record], tolerance: float = 0.5) -> list[Pair]:
    """Pair records by case id; skipped records, and cases that measure no digits, do not count.

    Parameters
    ----------
    old, new : iterables of Record
    tolerance : float
        Digits by which two results may differ and still be the same.

    Returns
    -------
    list of Pair
        Worse first, by the digits lost.

    Raises
    ------
    InputError
        A tolerance that is negative or no number.
    """
    if not tolerance >= 0:
        raise InputError(f"compare: tolerance={tolerance}; allowed are digits >= 0")
    before = {r.case.id: r for r in old if _counts(r)}
    after = {r.case.id: r for r in new if _counts(r)}
    pairs = []
    for case_id in {**before, **after}:
        a, b = before.get(case_id), after.get(case_id)
        either = b or a
        assert either is not None
        one = None if a is None else worst_digits(a)
        two = None if b is None else worst_digits(b)
        lost = _lost(a, b)
        change = _change(one, two, tolerance)
        if lost is not None and change != "worse":
            change = "worse" if lost[1] > lost[0] else "better"
        pairs.append(Pair(case_id, either.case.parameters, one, two, change, lost))
    order = {"worse": 0, "missing": 1, "better": 2, "new": 3, "same": 4}
    return sorted(pairs, key=lambda pair: (order[pair.change], _gain(pair), pair.id))


def _counts(record: Record) -> bool:
    return record.status != "skipped" and record.case.kind == KIND


def _change(old: float | None, new: float | None, tolerance: float) -> Change:
    if old is None:
        return "new"
    if new is None:
        return "missing"
    if old == new or abs(old - new) <= tolerance:
        return "same"
    return "worse" if new < old else "better"


def _lost(old: Record | None, new: Record | None) -> tuple[float, float] | None:
    """Shares of patterns that do not decode, where both are known and differ."""
    if old is None or new is None:
        return None
    before, after = old.measures.get("undecodable"), new.measures.get("undecodable")
    return None if before is None or after is None or before == after else (before, after)


def _gain(pair: Pair) -> float:
    if pair.old is None or pair.new is None or pair.old == pair.new:
        return 0.0
    return pair.new - pair.old
