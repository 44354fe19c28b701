"""Published numbers as they stand in the data file."""

import csv
import dataclasses
from importlib import resources
from typing import Any

from stabbench.errors import InputError
from stabbench.grammar import near

NUMBERS = {"n": int, "survivors": int, "s": int, "power": float, "published": float, "rtol": float}


@dataclasses.dataclass(frozen=True)
class Published:
    """One published number with its definition; the columns are explained beside the data.

    Attributes
    ----------
    power : float or None
        Signal power of a noise study.
    expected : str
        The verdict that is known, ``agrees`` or ``differs``; it does not enter the computation.
    """

    id: str
    source: str
    certainty: str
    problem: str
    code: str
    n: int
    survivors: int
    s: int
    quantity: str
    noise: str
    power: float | None
    published: float
    rtol: float
    expected: str
    reason: str


def load() -> list[Published]:
    """All rows of the data file.

    Examples
    --------
    >>> load()[0].quantity
    'nmse of the worst pattern'
    """
    text = (resources.files("stabbench.published") / "data" / "published.csv").read_text("utf-8")
    rows = []
    for row in csv.DictReader(text.splitlines()):
        values: dict[str, Any] = dict(row)
        for key, kind in NUMBERS.items():
            values[key] = kind(row[key]) if row[key] else None
        rows.append(Published(**values))
    return rows


def chosen(source: str | None) -> list[Published]:
    """The rows whose source or id begins with a text, or contains it, in any case of letters.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> len(chosen("hilbert"))
    11
    """
    rows = load()
    if source is None:
        return rows
    word = source.lower()
    found = [row for row in rows if word in row.source.lower() or word in row.id.lower()]
    if not found:
        sources = dict.fromkeys(row.source for row in rows)
        raise InputError(f"no published numbers of {source!r}; {near(source, sources)}")
    return found
