"""Grids: what a sweep asks for, from presets, TOML files and options, expanded into cases."""

import dataclasses
import itertools
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from stabbench.analysis.survivors import policy
from stabbench.errors import InputError
from stabbench.grammar import expand, near, parse
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.stability import Request

AXES = ("codes", "n", "stragglers", "precision", "decoder", "data", "patterns")
SINGLE = ("problem", "vectors", "spare", "trials", "seed", "reference", "noise")
DEFAULTS: dict[str, Any] = {
    field.name: field.default
    for field in dataclasses.fields(Request)
    if field.default is not dataclasses.MISSING
}


@dataclasses.dataclass(frozen=True)
class Grid:
    """A product of axes; every value is a tuple.

    Parameters
    ----------
    codes : tuple of str
        Grammar strings; list values and ``draws=N`` inside them expand further.
    n, stragglers : tuple of int
    precision, decoder, data, patterns : tuple of str
    fixed : mapping
        ``problem``, ``vectors``, ``spare``, ``trials``, ``seed``, ``reference``, ``noise``.
    """

    codes: tuple[str, ...]
    n: tuple[int, ...]
    stragglers: tuple[int, ...]
    precision: tuple[str, ...]
    decoder: tuple[str, ...]
    data: tuple[str, ...]
    patterns: tuple[str, ...]
    fixed: Mapping[str, Any]

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str) -> "Grid":
        """Read a table of axes and single values, with the defaults of `Request`.

        Raises
        ------
        InputError
            Unknown key, missing codes, n or stragglers, or a value of a wrong type.
        """
        for key in table:
            if key not in (*AXES, *SINGLE):
                raise InputError(f"{where}: unknown key {key!r}; {near(key, (*AXES, *SINGLE))}")
        axes = {}
        for axis in AXES:
            value = table.get(axis, DEFAULTS.get(axis, ()))
            values = tuple(value) if isinstance(value, list | tuple) else (value,)
            if not values:
                raise InputError(f"{where}: {axis} is missing; give at least one")
            axes[axis] = tuple(_typed(axis, item, where) for item in values)
        fixed = {key: _typed(key, table.get(key, DEFAULTS[key]), where) for key in SINGLE}
        return cls(**axes, fixed=fixed)

    def requests(self) -> list[Request]:
        """Every combination of the axes, in order, without repetition."""
        codes = [str(spec) for text in self.codes for spec in expand(parse(text))]
        decoders = [str(spec) for text in self.decoder for spec in expand(parse(text))]
        data = [text for item in self.data for text in _expand_data(item)]
        product = itertools.product(
            data, self.patterns, codes, self.n, self.stragglers, self.precision, decoders
        )
        return [
            Request(
                code=code,
                n=n,
                stragglers=s,
                precision=precision,
                decoder=decoder,
                data=source,
                patterns=patterns,
                **self.fixed,
            )
            for source, patterns, code, n, s, precision, decoder in product
        ]

    def to_json(self) -> dict[str, Any]:
        """The grid as it is stored in the header of a records file."""
        table = dataclasses.asdict(self)
        fixed = {key: value for key, value in self.fixed.items() if value != ""}
        return {key: list(value) for key, value in table.items() if key != "fixed"} | fixed


@dataclasses.dataclass(frozen=True)
class Plan:
    """The cases of a sweep, and the records of combinations that do not exist.

    Attributes
    ----------
    request : dict
        What was asked for, stored with the records.
    cases : list of Case
        All cases, in order.
    skipped : dict
        Records, by case id, of combinations that a code refuses.
    """

    request: dict[str, Any]
    cases: list[Case]
    skipped: dict[str, Record]


def plan(grids: Iterable[Grid]) -> Plan:
    """Expand grids into cases.

    A combination of code, n and stragglers that the code refuses becomes a skipped record with the
    reason, provided that the grid has another combination which that code accepts.

    Raises
    ------
    InputError
        Anything wrong with a name or a number; a code that accepts no combination at all.
    """
    tables, cases, skipped = [], {}, {}
    for grid in grids:
        tables.append(grid.to_json())
        refused: dict[str, list[tuple[Request, InputError]]] = {}
        accepted = set()
        for request in grid.requests():
            if not 0 <= request.stragglers < request.n:
                raise InputError(
                    f"n={request.n} workers, {request.stragglers} stragglers; "
                    "allowed are stragglers from 0 to n - 1"
                )
            policy(request.patterns).count(request.n, request.stragglers)
            try:
                case = request.case()
            except InputError as refusal:
                refused.setdefault(request.code, []).append((request, refusal))
                continue
            accepted.add(request.code)
            cases[case.id] = case
        for code, failures in refused.items():
            if code not in accepted:
                raise failures[0][1]
            for request, error in failures:
                case = Case("stability", request.written())
                cases[case.id] = case
                skipped[case.id] = Record(case, "skipped", str(error))
    return Plan({"grids": tables}, list(cases.values()), skipped)


def presets() -> dict[str, str]:
    """The text of every preset by name."""
    folder = resources.files("stabbench.sweeps") / "presets"
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }


def load(source: str | None, overrides: Mapping[str, Any]) -> list[Grid]:
    """The grids of a preset or TOML file, with options in place of its values.

    Parameters
    ----------
    source : str or None
        Name of a preset, path of a file, or None for options alone.
    overrides : mapping
        Axes and single values that replace those of every grid.

    Raises
    ------
    InputError
        Unknown preset, a file that cannot be read or is no TOML, unknown keys.
    """
    if source is None:
        return [Grid.of(overrides, "options")]
    tables = _tables(source)
    return [Grid.of({**table, **overrides}, f"{source}, grid {i}") for i, table in tables]


def _tables(source: str) -> list[tuple[int, dict[str, Any]]]:
    known = presets()
    if source in known:
        text = known[source]
    elif source.endswith(".toml"):
        try:
            text = Path(source).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise InputError(f"{source}: cannot be read ({reason})") from None
    else:
        raise InputError(f"unknown preset {source!r}; {near(source, known)}, or a .toml file")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: no TOML ({error})") from None
    tables = document.pop("grid", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise InputError(f"{source}: holds no [[grid]] table")
    merged = [{**document, **table} for table in tables]
    return list(enumerate(merged, start=1))


def _typed(key: str, value: Any, where: str) -> Any:
    integer = key in ("n", "stragglers", "vectors", "trials", "seed")
    if integer and (isinstance(value, bool) or not isinstance(value, int)):
        raise InputError(f"{where}: {key}={value!r}; allowed are integers")
    if not integer and not isinstance(value, str):
        raise InputError(f"{where}: {key}={value!r}; allowed are texts")
    return value


def _expand_data(text: str) -> list[str]:
    try:
        specs = expand(parse(text))
    except InputError:
        return [text]
    return [str(spec) for spec in specs] if "[" in text else [text]
