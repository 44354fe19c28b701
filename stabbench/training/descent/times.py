"""Drawn times of workers and iterations; the model itself is `stabbench.analysis.timemodel`."""

from typing import Any

import numpy as np

from stabbench.analysis.timemodel import TimeModel, expected_time, iterations
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import GradientCode
from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse

Array = np.ndarray[Any, np.dtype[Any]]
NAME = "shifted"


def times(text: str) -> TimeModel:
    """The time model that a grammar string names, ``shifted[x0=...,x_rate=...,y0=...,y_rate=...]``.

    Raises
    ------
    InputError
        Unknown name or parameter, a negative shift, a rate that is not positive.

    Examples
    --------
    >>> times("shifted[x0=0]").y0
    6.0
    """
    spec = parse(text)
    if spec.name != NAME:
        raise InputError(f"unknown times {spec.name!r}; {near(spec.name, [NAME])}")
    return bind(TimeModel, spec)


def times_spec(model: TimeModel) -> str:
    """The grammar string of a time model with every parameter.

    Examples
    --------
    >>> times_spec(TimeModel())
    'shifted[x0=1.6,x_rate=0.8,y0=6.0,y_rate=0.1]'
    """
    return canonical(model, NAME, full=True)


def drawn(
    model: TimeModel, code: GradientCode | None, n: int, steps: int, seed: int
) -> tuple[Array, Array]:
    """Times of iterations and the messages that have come by then, see `timemodel.iterations`.

    Every code has the same X and Y.

    Examples
    --------
    >>> moments, counts = drawn(TimeModel(), None, n=3, steps=2, seed=0)
    >>> moments.shape, counts.tolist()
    ((2,), [[1, 1, 1], [1, 1, 1]])
    """
    return iterations(code, *model.draw(stream("worker times", seed), (steps, n)))


def expected(model: TimeModel, code: GradientCode | None, n: int) -> float:
    """Expected time of an iteration; without a code all n workers are waited for.

    Examples
    --------
    >>> round(expected(TimeModel(), None, 8), 3)
    36.114
    """
    return model.expected(n, 1, 1, 0) if code is None else expected_time(code, model).value
