"""The public functions: run one method, or a grid of them into a directory."""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from stabbench.sweeps import grid
from stabbench.sweeps.api import run_plan
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.store import Store
from stabbench.training import grids
from stabbench.training.gossip.cases import GOSSIP, Request
from stabbench.training.gossip.limits import StabilityWarning


def evaluate(method: str, **parameters: Any) -> Record:
    """Run one method of decentralized training.

    Parameters
    ----------
    method : str
        A method of the grammar.
    **parameters
        The other fields of `Request`.

    Returns
    -------
    Record
        Its measures are attributes: ``gap``, ``local_drift``, ``global_drift``, ``trace``.

    Raises
    ------
    InputError
        Anything that is not allowed.

    Warns
    -----
    StabilityWarning
        If the steps are outside a stability limit, which is named.

    Examples
    --------
    >>> record = evaluate("ecsd", problem="logistic[dimension=20]", steps=100)
    >>> record.status, record.replica_difference, record.global_drift < 1e-6
    ('ok', 0.0, True)
    """
    record = compute(Request(method, **parameters).case())
    if words := record.measures.get("warning"):
        warnings.warn(words, StabilityWarning, stacklevel=2)
    return record


def plan(source: str | None, axes: Mapping[str, Any]) -> grid.Plan:
    """The cases of a preset, a TOML file or options alone; any value may be a list.

    Parameters
    ----------
    source : str or None
        ``smoke``, ``claims``, ``ratios``, ``precision``, ``stability``, a .toml file, or None.
    axes : mapping
        Fields of `Request` (``methods`` for `method`) that replace those of every grid.

    Examples
    --------
    >>> len(plan(None, {"methods": ["dcd", "ecsd"], "compressor": "top-k[ratio=[0.1,0.01]]"}).cases)
    4
    """
    return grids.plan(GOSSIP, grids.load(GOSSIP, source, axes))


def run_gossip(
    source: str | None,
    directory: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Callable[[Record], None] = lambda record: None,
    **axes: Any,
) -> Store:
    """Run a grid of methods into a directory; finished cases are not run again.

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
    ...     store = run_gossip(
    ...         None,
    ...         directory,
    ...         methods=["d-psgd", "ecsd"],
    ...         steps=10,
    ...         problem="logistic[dimension=9]",
    ...     )
    >>> [record.status for record in store.records.values()]
    ['ok', 'ok']
    """
    return run_plan(plan(source, axes), directory, options or Options(), progress)
