"""The public functions: one gradient code, or a grid of them into a directory."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from stabbench.sweeps import grid
from stabbench.sweeps.api import run_plan
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.store import Store
from stabbench.training import grids
from stabbench.training.descent.cases import DESCENT, Request


def evaluate(code: str, **parameters: Any) -> Record:
    """Descend with one gradient code over several seeds and compare with the uncoded descent.

    Parameters
    ----------
    code : str
        A gradient code of the grammar, or ``uncoded``.
    **parameters
        The other fields of `Request`.

    Returns
    -------
    Record
        Its measures are attributes: ``accuracy_difference``, ``gradient_error``,
        ``decoding_error``, ``arithmetic_error``, ``expected_time``.

    Raises
    ------
    InputError
        Anything that is not allowed.

    Examples
    --------
    >>> record = evaluate("fractional-repetition", n=6, stragglers=2, iterations=20, trials=2)
    >>> record.status, record.gradient_error["worst"] < 1e-5
    ('ok', True)
    """
    return compute(Request(code, **parameters).case())


def plan(source: str | None, axes: Mapping[str, Any]) -> grid.Plan:
    """The cases of a preset, a TOML file or options alone; any value may be a list.

    Parameters
    ----------
    source : str or None
        ``smoke``, ``standard``, a .toml file, or None.
    axes : mapping
        Fields of `Request` (``codes`` for `code`) that replace those of every grid.
    """
    return grids.plan(DESCENT, grids.load(DESCENT, source, axes))


def train_descent(
    source: str | None,
    directory: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Callable[[Record], None] = lambda record: None,
    **axes: Any,
) -> Store:
    """Run a grid of coded descents into a directory; finished cases are not run again.

    Parameters
    ----------
    source, **axes
        See `plan`.
    directory : path
        Where ``records.jsonl`` is written.
    options : Options, optional
        Processes, fail-fast, time limit.
    progress : callable, optional
        Called with every record once it is stored.

    Returns
    -------
    Store
        Closed, with all records.

    Raises
    ------
    InputError
        Anything that is not allowed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = train_descent(
    ...         None, directory, codes="fractional-repetition", n=4, stragglers=1, iterations=2
    ...     )
    >>> len(store.records)
    1
    """
    return run_plan(plan(source, axes), directory, options or Options(), progress)
