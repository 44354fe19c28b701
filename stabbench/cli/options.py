"""Options that several verbs share, and how lists of names and numbers are read."""

import inspect
from collections.abc import Callable
from typing import Any

import click

from stabbench.errors import InputError
from stabbench.grammar import split


def names(values: tuple[str, ...]) -> list[str]:
    """Grammar strings from repeated options that may hold comma-separated lists."""
    return [name for value in values for name in split(value)]


def integers(option: str, values: tuple[str, ...]) -> list[int]:
    """Integers from repeated options: ``10,20`` and ranges ``8:20:4`` (end included)."""
    found: list[int] = []
    for part in names(values):
        try:
            numbers = [int(piece) for piece in part.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            found += numbers
        elif len(numbers) in (2, 3) and numbers[0] > numbers[1]:
            raise InputError(f"{option} {part}: an empty range; allowed are ranges that rise")
        elif len(numbers) in (2, 3) and (step := (*numbers, 1)[2]) > 0:
            found += range(numbers[0], numbers[1] + 1, step)
        else:
            raise InputError(f"{option} {part}: allowed are integers, as 10,20 or 8:20:4")
    return found


def workers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The required options -n and -S of verbs that take one code."""
    function = click.option(
        "-S", "--stragglers", type=int, required=True, help="Stragglers to be tolerated."
    )(function)
    return click.option("-n", "n", type=int, required=True, help="Number of workers.")(function)


directory = click.argument("directory", type=click.Path(), metavar="DIR")


def described(cls: type) -> dict[str, str]:
    """What a class's docstring says of each parameter, on one line each.

    Examples
    --------
    >>> from stabbench.grammar import Parameter
    >>> described(Parameter)
    {}
    """
    texts: dict[str, str] = {}
    current: list[str] = []
    section = (inspect.getdoc(cls) or "").partition("Parameters\n----------\n")[2]
    for line in section.splitlines():
        if line.startswith("    "):
            for name in current:
                texts[name] = f"{texts.get(name, '')} {line.strip()}".strip()
        elif " : " in line:
            current = line.partition(" : ")[0].split(", ")
        elif line.strip():
            break
    return {name: text.replace("``", "").replace("`", "") for name, text in texts.items()}
