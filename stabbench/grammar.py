"""The one grammar of names, ``name[parameter=value,...]``: parse, print, expand and bind.

Nothing here knows which codes, decoders or data exist; the registries of the other rooms do.
"""

import dataclasses
import difflib
import itertools
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal, TypeVar, Union

from stabbench.errors import InputError

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]
T = TypeVar("T")

_BARE = re.compile(r"[^\[\]=,'\"]+")
_NEEDS_QUOTES = re.compile(r"[\[\]=,'\"]|^\s|\s$|^$")


@dataclasses.dataclass(frozen=True)
class Spec:
    """A parsed name with its parameters, in the order in which they were written.

    Examples
    --------
    >>> str(parse("gaussian[ seed = 3 , select=20]"))
    'gaussian[seed=3,select=20]'
    """

    name: str
    parameters: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        inside = ",".join(f"{key}={_format(value)}" for key, value in self.parameters)
        return f"{self.name}[{inside}]"


def parse(text: str) -> Spec:
    """Read one ``name[parameter=value,...]`` string.

    Values are integers, floats, ``true``/``false``, words (quoted where they hold a separator) or
    ``[a,b,...]`` lists, which stand for a grid.

    Raises
    ------
    InputError
        If the text does not follow the grammar; the message shows where.

    Examples
    --------
    >>> parse("polynomial[nodes=[integers,equispaced],k=20]").parameters
    (('nodes', ('integers', 'equispaced')), ('k', 20))
    """
    reader = _Reader(text)
    spec = reader.spec()
    reader.end()
    return spec


def split(text: str) -> list[str]:
    """Split a comma-separated list at the commas outside brackets and quotes.

    Examples
    --------
    >>> split("gaussian[seed=1,select=5], haar")
    ['gaussian[seed=1,select=5]', 'haar']
    """
    parts, depth, quote, start = [], 0, "", 0
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[]":
            depth += 1 if character == "[" else -1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def expand(spec: Spec) -> list[Spec]:
    """Turn list values into the grid they stand for, and ``draws=N`` into N seeds from ``seed`` on.

    Raises
    ------
    InputError
        If a parameter is given twice, or `draws` is no positive integer.

    Examples
    --------
    >>> [str(s) for s in expand(parse("gaussian[draws=2]"))]
    ['gaussian[seed=0]', 'gaussian[seed=1]']
    >>> [str(s) for s in expand(parse("polynomial[nodes=[integers,leja]]"))]
    ['polynomial[nodes=integers]', 'polynomial[nodes=leja]']
    """
    parameters = _once(spec)
    draws = parameters.pop("draws", None)
    if draws is not None:
        if not isinstance(draws, int) or isinstance(draws, bool) or draws < 1:
            raise InputError(f"{spec}: draws={_format(draws)}; allowed is an integer >= 1")
        first = parameters.get("seed", 0)
        if not isinstance(first, int):
            raise InputError(f"{spec}: draws needs one integer seed, not {_format(first)}")
        parameters["seed"] = tuple(range(first, first + draws))
    axes = [value if isinstance(value, tuple) else (value,) for value in parameters.values()]
    grid = [
        Spec(spec.name, tuple(zip(parameters, choice, strict=True)))
        for choice in itertools.product(*axes)
    ]
    return list(dict.fromkeys(grid))


def bind(cls: type[T], spec: Spec, /, **fixed: Any) -> T:
    """Build the dataclass `cls` from the parameters of `spec`, checked against its typed fields.

    Parameters
    ----------
    cls : type
        A dataclass; its fields (those not in `fixed`) are the allowed parameters.
    spec : Spec
        Parameters with single values (see `expand` for lists).
    **fixed
        Fields given by the caller and not open to the grammar.

    Raises
    ------
    InputError
        Unknown parameter (near matches and the allowed ones are listed) or a value of a wrong type.
    """
    allowed = parameters_of(cls, exclude=fixed)
    values: dict[str, Any] = {}
    for key, value in _once(spec).items():
        if key not in allowed:
            raise InputError(f"{spec.name}: unknown parameter {key!r}; {near(key, allowed)}")
        values[key] = convert(value, allowed[key].type, f"{spec.name}: {key}")
    missing = [key for key, field in allowed.items() if field.required and key not in values]
    if missing:
        raise InputError(f"{spec.name}: parameter {missing[0]!r} is required")
    return cls(**fixed, **values)


def _once(spec: Spec) -> dict[str, Value]:
    """The parameters by name, each given once."""
    found: dict[str, Value] = {}
    for key, value in spec.parameters:
        if key in found:
            raise InputError(f"{spec.name}: parameter {key!r} is given twice")
        found[key] = value
    return found


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter that a dataclass offers to the grammar."""

    name: str
    type: Any
    default: Any
    required: bool
    help: str

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        return describe(self.type)


def parameters_of(cls: type, exclude: Iterable[str] = ()) -> dict[str, Parameter]:
    """The parameters of a dataclass by name, without those in `exclude`."""
    hints = typing.get_type_hints(cls)
    hidden = set(exclude)
    found = {}
    for field in dataclasses.fields(cls):
        if field.name in hidden or not field.init:
            continue
        required = field.default is dataclasses.MISSING
        found[field.name] = Parameter(
            field.name,
            hints[field.name],
            None if required else field.default,
            required,
            field.metadata.get("help", ""),
        )
    return found


def canonical(instance: Any, name: str, exclude: Iterable[str] = (), *, full: bool = False) -> str:
    """The grammar string that builds `instance` again; defaults are left out unless `full`."""
    pairs = []
    for key, parameter in parameters_of(type(instance), exclude).items():
        value = getattr(instance, key)
        if value is not None and (full or value != parameter.default):
            pairs.append((key, str(value) if isinstance(value, Fraction) else value))
    return str(Spec(name, tuple(pairs)))


def near(word: str, allowed: Iterable[str]) -> str:
    """A hint for an unknown word: near matches first, then everything that is allowed."""
    names = sorted(allowed)
    close = difflib.get_close_matches(word, names, n=3)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{hint}allowed: {', '.join(names) if names else 'none'}"


def convert(value: Value, kind: Any, where: str) -> Any:
    """Check and convert one grammar value to a field's type."""
    for option in _options(kind):
        try:
            return _convert_one(value, option)
        except (TypeError, ValueError, ArithmeticError):
            continue
    raise InputError(f"{where}={_format(value)}; allowed: {describe(kind)}")


def describe(kind: Any) -> str:
    """What a type admits, in words for messages and tables.

    Examples
    --------
    >>> describe(Literal["forward", "both-ends"]), describe(int | None), describe(Fraction)
    ('forward | both-ends', 'an integer', 'a number or fraction')
    """
    words = {
        int: "an integer",
        float: "a number",
        bool: "true | false",
        str: "a word",
        Fraction: "a number or fraction",
    }
    parts = []
    for option in _options(kind):
        if typing.get_origin(option) is Literal:
            parts += [str(choice) for choice in typing.get_args(option)]
        elif option is not type(None):
            parts.append(words[option])
    return " | ".join(parts)


def _options(kind: Any) -> tuple[Any, ...]:
    if typing.get_origin(kind) in (Union, types.UnionType):
        return typing.get_args(kind)
    return (kind,)


def _convert_one(value: Value, kind: Any) -> Any:
    if typing.get_origin(kind) is Literal:
        choices = {str(choice): choice for choice in typing.get_args(kind)}
        if str(value) not in choices:
            raise ValueError
        return choices[str(value)]
    if isinstance(value, tuple) or kind is type(None) or isinstance(value, bool) != (kind is bool):
        raise TypeError
    return _CONVERTERS[kind](value)


def _integer(value: Scalar) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int):
        raise TypeError
    return value


def _fraction(text: str) -> Fraction:
    """A fraction; with an exponent only in the range of floats, as 1e999999999 never ends."""
    if "e" in text.lower():
        number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return Fraction(repr(number))
    return Fraction(text)


def _number(value: Scalar) -> float:
    number = float(_fraction(value)) if isinstance(value, str) else float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


_CONVERTERS: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    int: _integer,
    float: _number,
    Fraction: lambda value: _fraction(str(value)),
    str: lambda value: value if isinstance(value, str) else _format(value),
}


def _format(value: Value) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(_format(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if _NEEDS_QUOTES.search(value) or not isinstance(parse_scalar(value), str):
            return "'" + value + "'" if "'" not in value else '"' + value + '"'
        return value
    return repr(value)


def parse_scalar(word: str) -> Scalar:
    """Read a value: an integer, a number, ``true`` or ``false``, else the word itself.

    Examples
    --------
    >>> parse_scalar("12"), parse_scalar("1e-3"), parse_scalar("true"), parse_scalar("leja")
    (12, 0.001, True, 'leja')
    """
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            number: int | float = kind(word)
        except ValueError:
            continue
        if isinstance(number, int) or math.isfinite(number):
            return number
    return word


class _Reader:
    """A recursive-descent reader over one string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def fail(self, expected: str) -> InputError:
        return InputError(
            f"{self.text!r}: expected {expected} at character {self.position + 1}; "
            "the form is name[parameter=value,...]"
        )

    def peek(self) -> str:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position] if self.position < len(self.text) else ""

    def take(self, character: str) -> None:
        if self.peek() != character:
            raise self.fail(repr(character))
        self.position += 1

    def end(self) -> None:
        if self.peek():
            raise self.fail("the end")

    def word(self, what: str) -> str:
        self.peek()
        match = _BARE.match(self.text, self.position)
        if not match or not match.group().strip():
            raise self.fail(what)
        self.position = match.end()
        return match.group().strip()

    def spec(self) -> Spec:
        name = self.word("a name")
        parameters = []
        if self.peek() == "[":
            self.take("[")
            while self.peek() != "]":
                key = self.word("a parameter name")
                self.take("=")
                parameters.append((key, self.value()))
                if self.peek() != "]":
                    self.take(",")
            self.take("]")
        return Spec(name, tuple(parameters))

    def value(self) -> Value:
        if self.peek() != "[":
            return self.scalar()
        self.take("[")
        items = [self.scalar()]
        while self.peek() == ",":
            self.take(",")
            items.append(self.scalar())
        self.take("]")
        return tuple(items)

    def scalar(self) -> Scalar:
        quote = self.peek()
        if quote in ("'", '"'):
            close = self.text.find(quote, self.position + 1)
            if close < 0:
                raise self.fail(f"a closing {quote}")
            word = self.text[self.position + 1 : close]
            self.position = close + 1
            return word
        return parse_scalar(self.word("a value"))
