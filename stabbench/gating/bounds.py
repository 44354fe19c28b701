"""Bounds: limits on measures, read from a TOML file with the source of each."""

import dataclasses
import fnmatch
import math
import os
import tomllib
from pathlib import Path
from typing import Any

from stabbench.errors import InputError
from stabbench.grammar import near
from stabbench.sweeps.case import Record

STABILITY = (
    *("code", "n", "stragglers", "precision", "decoder", "problem", "data", "vectors"),
    *("patterns", "spare", "trials", "seed", "reference", "noise"),
)
LAYERS = ("mode", "width", "depth", "steps", "batch", "rate", "arrivals")
DESCENT = ("method", "iterations", "momentum", "times")
GOSSIP = (
    *("compressor", "graph", "weights", "mixing", "accumulation", "sender", "consensus"),
    *("decay", "points"),
)
MATCHED = ("kind", *STABILITY, *LAYERS, *DESCENT, *GOSSIP)
"""The parameters of every kind of case; of later kinds those that earlier ones lack."""
BOUND_KEYS = ("name", "measure", "at_most", "at_least", "slack", "source", *MATCHED)


@dataclasses.dataclass(frozen=True)
class Bound:
    """A limit on one measure of the records that match.

    Parameters
    ----------
    name : str
    measure : str
        Path of a number in the measures, such as ``test_ratio.worst``.
    at_most, at_least : float or None
        The limit; one of them.
    match : dict
        Shell patterns for the ``kind`` of a case and for its parameters. Brackets are those of the
        grammar, no sets of characters; a name without them matches any parameters.
    slack : float
        Factor: if even the measured value nearest to the limit is farther from it than this, the
        bound is reported as one that could not fail.
    source : str
        Where the limit comes from.
    """

    name: str
    measure: str
    at_most: float | None
    at_least: float | None
    match: dict[str, str]
    slack: float
    source: str

    def applies(self, record: Record) -> bool:
        """Whether the record is one of those that the bound is for."""
        return all(self._matches(record, key) for key in self.match)

    def is_of_kind(self, record: Record) -> bool:
        """Whether the bound is for cases of this kind."""
        return "kind" not in self.match or self._matches(record, "kind")

    def _matches(self, record: Record, key: str) -> bool:
        pattern = self.match[key].replace("[", "[[]")
        return any(fnmatch.fnmatchcase(value, pattern) for value in _values(record, key))

    def holds(self, value: float) -> bool:
        """Whether a measured value is within the limit; NaN is not."""
        if self.at_most is not None:
            return value <= self.at_most
        assert self.at_least is not None
        return value >= self.at_least

    @property
    def limit(self) -> str:
        """The limit in words."""
        return f"<= {self.at_most:g}" if self.at_most is not None else f">= {self.at_least:g}"

    def is_loose(self, values: list[float]) -> bool:
        """Whether every measured value is farther from the limit than the slack."""
        if self.at_most is not None:
            return max(values) * self.slack < self.at_most
        assert self.at_least is not None
        return min(values) > self.at_least + math.log10(self.slack)


def load_bounds(path: str | os.PathLike[str]) -> list[Bound]:
    """Read a bounds file.

    Raises
    ------
    InputError
        The file cannot be read or is no TOML, or a bound has an unknown key, no measure, no limit
        or two, or no source.
    """
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML ({error})") from None
    tables = document.get("bound")
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{path}: holds no [[bound]] table")
    return [_bound(table, f"{path}, bound {i}") for i, table in enumerate(tables, start=1)]


def _bound(table: dict[str, Any], where: str) -> Bound:
    for key in table:
        if key not in BOUND_KEYS:
            raise InputError(f"{where}: unknown key {key!r}; {near(key, BOUND_KEYS)}")
    for key in ("name", "measure", "source"):
        if not isinstance(table.get(key), str) or not table[key]:
            raise InputError(f"{where}: {key} is missing; every bound needs one")
    limits = [key for key in ("at_most", "at_least") if key in table]
    if len(limits) != 1:
        raise InputError(f"{where}: needs at_most or at_least, one of them")
    for key in (*limits, *(["slack"] if "slack" in table else [])):
        value = table[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise InputError(f"{where}: {key}={value!r}; allowed are numbers")
    for key in MATCHED:
        if not isinstance(table.get(key, ""), str | int | float):
            raise InputError(f"{where}: {key}={table[key]!r}; allowed are texts and numbers")
    if table.get("slack", 1.0) < 1:
        raise InputError(f"{where}: slack={table['slack']}; allowed is a factor >= 1")
    return Bound(
        table["name"],
        table["measure"],
        table.get("at_most"),
        table.get("at_least"),
        {key: _text(table[key]) for key in MATCHED if key in table},
        float(table.get("slack", 1000.0)),
        table["source"],
    )


def measure_of(record: Record, path: str) -> float | None:
    """A number in the measures by its path, None where the record has no number there."""
    value: Any = record.measures
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
        if value is None:
            return None
    return float(value) if isinstance(value, int | float) else None


def _text(value: Any) -> str:
    """A parameter as it is matched: 1.0 is 1."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(record: Record, key: str) -> tuple[str, ...]:
    if key == "kind":
        return (record.case.kind,)
    value = _text(record.case.get(key, ""))
    return (value, value.partition("[")[0])
