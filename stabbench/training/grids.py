"""Grids of training cases: presets and TOML files whose values may be lists, expanded into cases.

Every kind of training case brings a dataclass of its parameters; nothing here knows which.
"""

import dataclasses
import itertools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from stabbench.errors import InputError
from stabbench.grammar import convert, expand, near, parse
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.grid import Plan

Tables = list[tuple[str, dict[str, Any]]]


class Request(Protocol):
    """The parameters of one case: a dataclass that makes a case."""

    def case(self) -> Case:
        """The case, with every name written in full; raises InputError."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of training case.

    Parameters
    ----------
    name : str
        The kind, as in `Case`.
    request : dataclass type
        Its fields are the keys of a grid; each may be a list there.
    presets : str
        The package that holds the presets as TOML files.
    key : str
        The field that every grid must give; its plural stands for it.
    names : tuple of str
        Fields of the grammar, whose list values and ``draws`` expand further.
    """

    name: str
    request: Callable[..., Any]
    presets: str
    key: str = "code"
    names: tuple[str, ...] = ("code",)

    @property
    def plural(self) -> str:
        """What a grid may call its key field."""
        return f"{self.key}s"

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of a grid with their types."""
        import typing

        hints = typing.get_type_hints(self.request)
        return {field.name: hints[field.name] for field in dataclasses.fields(self.request)}  # type: ignore[arg-type]


def presets(kind: Kind) -> dict[str, str]:
    """The text of every preset by name."""
    folder = resources.files(kind.presets) / "presets"
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }


def load(kind: Kind, source: str | None, overrides: Mapping[str, Any]) -> Tables:
    """The grids of a preset or TOML file as tables, with options in place of their values.

    Parameters
    ----------
    kind : Kind
    source : str or None
        Name of a preset, path of a file, or None for options alone.
    overrides : mapping
        Values, or lists of them, that replace those of every grid.

    Returns
    -------
    list of (str, dict)
        Where each table comes from, and the table.

    Raises
    ------
    InputError
        Unknown preset, a file that cannot be read or is no TOML.
    """
    chosen = _keyed(kind, "options", overrides)
    if source is None:
        return [("options", chosen)]
    document = _document(kind, source)
    tables = document.pop("grid", [])
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{source}: holds no [[grid]] table")
    common = _keyed(kind, source, document)
    found = []
    for number, table in enumerate(tables, start=1):
        where = f"{source}, grid {number}"
        found.append((where, common | _keyed(kind, where, table) | chosen))
    return found


def _keyed(kind: Kind, where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """A table with its key field under one name, so that a later table replaces an earlier one."""
    if kind.key in table and kind.plural in table:
        raise InputError(f"{where}: both {kind.key} and {kind.plural}; give one of them")
    return {kind.key if name == kind.plural else name: value for name, value in table.items()}


def _document(kind: Kind, source: str) -> dict[str, Any]:
    known = presets(kind)
    if source in known:
        return tomllib.loads(known[source])
    if not source.endswith(".toml"):
        raise InputError(f"unknown preset {source!r}; {near(source, known)}, or a .toml file")
    try:
        return tomllib.loads(Path(source).expanduser().read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"{source}: cannot be read ({reason})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: no TOML ({error})") from None


def plan(kind: Kind, tables: Tables) -> Plan:
    """Expand tables into cases, as `stabbench.sweeps.grid.plan` does for stability.

    A combination that a code refuses becomes a skipped record, provided that the same code has
    another combination in the grid that it accepts.

    Raises
    ------
    InputError
        Anything wrong with a name or a number; a code that accepts no combination at all.
    """
    stored: list[dict[str, Any]] = []
    cases: dict[str, Case] = {}
    skipped: dict[str, Record] = {}
    for where, table in tables:
        axes = _axes(kind, where, table)
        stored.append({key: list(values) for key, values in axes.items()})
        refused: dict[str, list[tuple[Any, InputError]]] = {}
        accepted = set()
        for request in _requests(kind, axes):
            try:
                case = request.case()
            except InputError as refusal:
                refused.setdefault(getattr(request, kind.key), []).append((request, refusal))
                continue
            accepted.add(getattr(request, kind.key))
            cases[case.id] = case
        for code, failures in refused.items():
            if code not in accepted:
                raise failures[0][1]
            for request, error in failures:
                case = Case(kind.name, dataclasses.asdict(request))
                cases[case.id] = case
                skipped[case.id] = Record(case, "skipped", str(error))
    return Plan({"kind": kind.name, "grids": stored}, list(cases.values()), skipped)


def _axes(kind: Kind, where: str, table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    keys = kind.keys
    axes: dict[str, tuple[Any, ...]] = {}
    for key, value in table.items():
        if key not in keys:
            raise InputError(f"{where}: unknown key {key!r}; {near(key, (kind.plural, *keys))}")
        named = kind.plural if key == kind.key else key
        values = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not values:
            raise InputError(f"{where}: {named} is empty; give at least one value")
        axes[key] = tuple(_typed(keys[key], item, f"{where}: {named}") for item in values)
    if kind.key not in axes:
        raise InputError(f"{where}: {kind.plural} is missing; give at least one")
    return axes


def _typed(kind: Any, value: Any, where: str) -> Any:
    if kind is str and not isinstance(value, str):
        raise InputError(f"{where}={value!r}; allowed are texts")
    return convert(value, kind, where)


def _requests(kind: Kind, axes: Mapping[str, tuple[Any, ...]]) -> Iterable[Any]:
    spread = dict(axes)
    for key in set(kind.names) & set(axes):
        spread[key] = tuple(str(spec) for text in axes[key] for spec in expand(parse(text)))
    for choice in itertools.product(*spread.values()):
        yield kind.request(**dict(zip(spread, choice, strict=True)))
