"""Drawn times of workers and iterations; the model itself is `stabbench.analysis.timemodel`."""

from typing import Any

import numpy as np

from stabbench.analysis.timemodel import (
    TimeModel,
    block_times,
    expected_time,
    nested_times,
)
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.block_coordinate import BlockCoordinate
from stabbench.codes.gradient.nested import Nested
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


def sizes(code: GradientCode | None) -> tuple[int, int]:
    """Load d and reduction m; 1 and 1 without a code."""
    return (code.load, code.reduction) if code else (1, 1)


def worker_times(
    model: TimeModel, code: GradientCode | None, n: int, steps: int, seed: int
) -> Array:
    """Times d X + Y / m of every worker, shape (steps, n); the same X and Y for every code.

    Examples
    --------
    >>> worker_times(TimeModel(), None, n=3, steps=2, seed=0).shape
    (2, 3)
    """
    x, y = model.draw(stream("worker times", seed), (steps, n))
    load, reduction = sizes(code)
    return np.asarray(load * x + y / reduction)


def iteration_times(
    model: TimeModel, code: GradientCode | None, n: int, steps: int, seed: int
) -> Array:
    """When the master can decode, shape (steps,), for the draws of `worker_times`."""
    x, y = model.draw(stream("worker times", seed), (steps, n))
    if isinstance(code, Nested):
        return nested_times(code, x, y)
    if isinstance(code, BlockCoordinate):
        return block_times(code, x, y)
    stragglers = code.stragglers if code else 0
    drawn = np.sort(worker_times(model, code, n, steps, seed), axis=1)
    return np.asarray(drawn[:, n - stragglers - 1])


def expected(model: TimeModel, code: GradientCode | None, n: int) -> float:
    """Expected time of an iteration; without a code all n workers are waited for.

    Examples
    --------
    >>> round(expected(TimeModel(), None, 8), 3)
    36.114
    """
    return model.expected(n, 1, 1, 0) if code is None else expected_time(code, model).value
