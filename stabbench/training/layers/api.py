"""The public functions: train one scheme, or run a grid of them into a directory."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from stabbench.sweeps import grid
from stabbench.sweeps.api import run_plan
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.store import Store
from stabbench.training import grids
from stabbench.training.layers.cases import LAYERS, Request


def evaluate(code: str, **parameters: Any) -> Record:
    """Train one scheme over several seeds and compare it with the uncoded network.

    Parameters
    ----------
    code : str
        A code of the grammar, or ``uncoded``.
    **parameters
        The other fields of `Request`.

    Returns
    -------
    Record
        Its measures are attributes: ``accuracy_difference``, ``layer_error``, ``per_step``.

    Raises
    ------
    InputError
        Anything that is not allowed.

    Examples
    --------
    >>> record = evaluate("gaussian", n=6, stragglers=2, width=16, steps=22, trials=2)
    >>> record.status, record.layer_error["worst"] < 1e-2
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
    return grids.plan(LAYERS, grids.load(LAYERS, source, axes))


def train_layers(
    source: str | None,
    directory: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Callable[[Record], None] = lambda record: None,
    **axes: Any,
) -> Store:
    """Train a grid of schemes into a directory; finished cases are not trained again.

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
    ...     store = train_layers(
    ...         None, directory, codes=["uncoded", "dct"], width=16, steps=4, trials=1
    ...     )
    >>> [record.status for record in store.records.values()]
    ['ok', 'ok']
    """
    return run_plan(plan(source, axes), directory, options or Options(), progress)
