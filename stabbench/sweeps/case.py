"""Cases and records: what was asked, what came out, and how both are written as JSON."""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args

from stabbench.analysis.metrics import Statistic
from stabbench.errors import InputError
from stabbench.files.inputs import Input, written

Scalar = str | int | float | bool
Status = Literal["ok", "undecodable", "overflow", "skipped", "failed", "timeout"]
SCHEMA = 2
SUMMARIES = (
    *("relative_error", "relative_error_of_all"),
    *("condition_number", "amplification", "test_ratio"),
)
NUMBERS = ("digits", "ratio_digits", "budget", "predicted_stages", "stage_ratios")
"""Measures upon which gates and reports build: statistics, and numbers by name."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One measurement that can be asked for.

    Parameters
    ----------
    kind : str
        What is measured: ``stability``, and kinds that other rooms bring.
    parameters : mapping of str to str, int, float or bool
        Everything that decides the result; nothing about machine or presentation.

    Examples
    --------
    >>> Case("stability", {"n": 6, "code": "dct"}).id == Case(
    ...     "stability", {"code": "dct", "n": 6}
    ... ).id
    True
    """

    kind: str
    parameters: Mapping[str, Scalar]

    @functools.cached_property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of kind and sorted parameters."""
        text = json.dumps([self.kind, sorted(self.parameters.items())], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __getitem__(self, key: str) -> Any:
        return self.parameters[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter `key`, or `default`."""
        return self.parameters.get(key, default)


class Made(Protocol):
    """A code, decoder, data family or problem, which knows the files that it is made of."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files, by path and content."""


def case_of(kind: str, parameters: dict[str, Any], *made: Made) -> Case:
    """The case of what was built, with the digests of all files that this reads as ``files``.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> case_of("stability", {"n": 6}, code("dct", 6, 2)).parameters
    {'n': 6}
    """
    files = written(named for each in made for named in each.inputs)
    return Case(kind, parameters | ({"files": files} if files else {}))


@dataclasses.dataclass(frozen=True)
class Record:
    """The result of a case.

    Attributes
    ----------
    case : Case
    status : str
        ``ok``, ``undecodable`` (no pattern decodes), ``overflow`` (some pattern overflowed or broke
        down), ``skipped`` (the combination does not exist), ``failed`` or ``timeout``.
    reason : str
        Why, where the status is not ``ok``.
    measures : dict
        By name: `Statistic` over patterns and trials, numbers, lists or texts.
    label : str
        Over what the worst is: ``exhaustive``, ``symmetric`` or ``search (lower bound)``.
    environment : str
        Key of the environment in which it was computed.
    """

    case: Case
    status: Status = "ok"
    reason: str = ""
    measures: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    label: str = ""
    environment: str = ""

    def __getattr__(self, name: str) -> Any:
        measures = self.__dict__.get("measures", {})
        if name in measures:
            return measures[name]
        raise AttributeError(
            f"record has no measure {name!r}; it has {', '.join(sorted(measures)) or 'none'}"
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object; numbers that are not finite become strings."""
        measures = {
            name: _finite(dataclasses.asdict(value) if isinstance(value, Statistic) else value)
            for name, value in self.measures.items()
        }
        return {
            "type": "record",
            "schema": SCHEMA,
            "id": self.case.id,
            "kind": self.case.kind,
            "case": dict(self.case.parameters),
            "status": self.status,
            "reason": self.reason,
            "label": self.label,
            "measures": measures,
            "environment": self.environment,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Record":
        """The record of a JSON object.

        Raises
        ------
        InputError
            If it is of another schema or status, its id does not belong to its case, or a measure
            that others build upon is none.
        """
        if data.get("schema") != SCHEMA:
            raise InputError(f"record of schema {data.get('schema')!r}; allowed is {SCHEMA}")
        case = Case(data["kind"], data["case"])
        if case.id != data["id"]:
            raise InputError(f"record {data['id']}: the id of its case is {case.id}")
        if data["status"] not in get_args(Status):
            allowed = ", ".join(get_args(Status))
            raise InputError(f"record {case.id}: status {data['status']!r}; allowed are {allowed}")
        measures = {name: _measure(value) for name, value in data["measures"].items()}
        for name, value in measures.items():
            if not _is_sound(name, value):
                shown = json.dumps(data["measures"][name])[:60]
                raise InputError(
                    f"record {case.id}: measure {name} = {shown}; allowed are numbers by name"
                )
        return cls(
            case, data["status"], data["reason"], measures, data["label"], data["environment"]
        )


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _measure(value: Any) -> Any:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, list):
        return [_measure(item) for item in value]
    if isinstance(value, dict):
        parsed = {key: _measure(item) for key, item in value.items()}
        if "worst_survivors" in parsed:
            parsed["worst_survivors"] = tuple(parsed["worst_survivors"])
            return Statistic(**parsed)
        return parsed
    return value


def _is_sound(name: str, value: Any) -> bool:
    """Whether a measure is what its name promises, every statistic with numbers alone."""
    if name in SUMMARIES and not isinstance(value, Statistic):
        return False
    if name in NUMBERS and not isinstance(value, dict):
        return False
    if isinstance(value, Statistic):
        fields = dataclasses.asdict(value)
        survivors = fields.pop("worst_survivors")
        return all(map(_is_number, (*fields.values(), *survivors)))
    return name not in NUMBERS or all(map(_is_number, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
