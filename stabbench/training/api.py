"""The public functions of all kinds of training: one case, the plan of a grid, a whole grid."""

import importlib
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from stabbench.errors import InputError
from stabbench.grammar import near
from stabbench.sweeps import grid
from stabbench.sweeps.api import run_plan
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.store import Store
from stabbench.training import grids

KINDS = ("layers", "descent", "gossip")


def kind_of(name: str) -> grids.Kind:
    """The kind of training case of a name.

    Parameters
    ----------
    name : str
        ``layers`` (networks whose layer products are coded), ``descent`` (descent with coded
        gradients) or ``gossip`` (decentralized training).

    Raises
    ------
    InputError
        Any other name.
    """
    if name not in KINDS:
        raise InputError(f"unknown kind of training {name!r}; {near(name, KINDS)}")
    module = importlib.import_module(f"stabbench.training.{name}.cases")
    kind: grids.Kind = getattr(module, name.upper())
    return kind


def evaluate(kind: str, scheme: str, **parameters: Any) -> Record:
    """Train one scheme and measure it.

    Parameters
    ----------
    kind : str
        See `kind_of`.
    scheme : str
        The code, or for gossip the method, in the grammar; ``uncoded`` for no code.
    **parameters
        The other fields of the kind's ``Request``.

    Returns
    -------
    Record
        Its measures are attributes: ``accuracy_difference`` and ``layer_error`` of layers,
        ``gradient_error`` of descent, ``gap`` and ``global_drift`` of gossip.

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
    >>> coded = evaluate("layers", "gaussian", n=6, stragglers=2, width=16, steps=22, trials=2)
    >>> coded.status, coded.layer_error["worst"] < 1e-2
    ('ok', True)
    >>> copies = evaluate(
    ...     "descent", "fractional-repetition", n=6, stragglers=2, iterations=20, trials=2
    ... )
    >>> copies.status, copies.gradient_error["worst"] < 1e-5
    ('ok', True)
    >>> gossip = evaluate("gossip", "ecsd", problem="logistic[dimension=20]", steps=100)
    >>> gossip.status, gossip.replica_difference, gossip.global_drift < 1e-6
    ('ok', 0.0, True)
    """
    record = compute(kind_of(kind).request(scheme, **parameters).case())
    if words := record.measures.get("warning"):
        from stabbench.training.gossip.limits import StabilityWarning

        warnings.warn(words, StabilityWarning, stacklevel=2)
    return record


def plan(kind: str, source: str | None, axes: Mapping[str, Any]) -> grid.Plan:
    """The cases of a preset, a TOML file or options alone; any value may be a list.

    Parameters
    ----------
    kind : str
        See `kind_of`.
    source : str or None
        A preset of the kind, a .toml file, or None.
    axes : mapping
        Fields of the kind's ``Request`` that replace those of every grid; ``codes`` or
        ``methods`` stand for its first field.

    Examples
    --------
    >>> axes = {"methods": ["dcd", "ecsd"], "compressor": "top-k[ratio=[0.1,0.01]]"}
    >>> len(plan("gossip", None, axes).cases)
    4
    """
    chosen = kind_of(kind)
    return grids.plan(chosen, grids.load(chosen, source, axes))


def train(
    kind: str,
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
    kind, source, **axes
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
    ...     store = train(
    ...         "layers", None, directory, codes=["uncoded", "dct"], width=16, steps=4, trials=1
    ...     )
    >>> [record.status for record in store.records.values()]
    ['ok', 'ok']
    """
    return run_plan(plan(kind, source, axes), directory, options or Options(), progress)
