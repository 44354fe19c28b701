"""Errors that a user can cause and mend; everything else is a bug and keeps its traceback."""


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
