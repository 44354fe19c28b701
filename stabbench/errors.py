"""Errors that a user can cause and mend; everything else is a bug and keeps its traceback."""

from collections.abc import Mapping
from typing import Any


class InputError(ValueError):
    """A fault of the input, told in one line: what is wrong, where, and what is allowed.

    The command line prints the line and exits with status 2.

    Examples
    --------
    >>> raise InputError("precision 'float8': allowed are bfloat16, float16, float32, float64")
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: precision 'float8': allowed are bfloat16, float16, float32, float64
    """


class MissingError(InputError):
    """What was asked for is not there, such as labels of data without any."""


def require_least(given: Mapping[str, Any], where: str = "", /, **least: int) -> None:
    """Check that integers are not below their least values; None is none that is given.

    Parameters
    ----------
    given : mapping
        Holds a value for every name in `least`.
    where : str
        What they are parameters of, if it is to be told.

    Raises
    ------
    InputError
        The first that is below.

    Examples
    --------
    >>> require_least({"steps": 0}, steps=1)
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: steps=0; allowed is an integer >= 1
    """
    for key, low in least.items():
        if given[key] is not None and given[key] < low:
            prefix = f"{where}: " if where else ""
            raise InputError(f"{prefix}{key}={given[key]}; allowed is an integer >= {low}")
