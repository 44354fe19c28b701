"""The public functions: evaluate one case, run a sweep."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from stabbench.codes.base import Code
from stabbench.sweeps import grid
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute, run
from stabbench.sweeps.stability import Request
from stabbench.sweeps.store import Store


def evaluate(
    code: Code | str,
    *,
    precision: str = "float32",
    decoder: str = "auto",
    problem: str = "auto",
    data: str = "gaussian",
    patterns: str = "all",
    trials: int = 1,
    seed: int = 0,
    **others: Any,
) -> Record:
    """Measure one code: errors against the exact result, condition numbers, amplification, budget.

    Parameters
    ----------
    code : Code or str
        A code, or its name with `n` and `stragglers` among the further parameters.
    precision, decoder, problem, data, patterns : str
        Names of the grammar.
    trials, seed : int
        Trial t uses the data of seed + t.
    **others
        ``n`` and ``stragglers`` for a name; ``vectors``, ``spare``, ``reference``,
        ``noise``.

    Returns
    -------
    Record
        Its measures are attributes: ``relative_error.median``, ``.worst``, ``.worst_survivors``.

    Raises
    ------
    InputError
        Anything that is not allowed.

    Examples
    --------
    >>> import stabbench as sb
    >>> code = sb.code("gaussian", n=6, stragglers=2)
    >>> record = sb.evaluate(code, precision="float32", data="gaussian[rows=64,columns=16]")
    >>> record.status, record.relative_error.worst < 1e-3
    ('ok', True)
    """
    names = {"code": code} if isinstance(code, str) else _names(code)
    request = Request(
        **names,
        **others,
        precision=precision,
        decoder=decoder,
        problem=problem,
        data=data,
        patterns=patterns,
        trials=trials,
        seed=seed,
    )
    return compute(request.case())


def sweep(
    source: str | None,
    directory: str | os.PathLike[str],
    *,
    options: Options | None = None,
    progress: Callable[[Record], None] = lambda record: None,
    **axes: Any,
) -> Store:
    """Run a sweep into a directory; cases that already have a record there are not run again.

    Parameters
    ----------
    source : str or None
        A preset (``smoke``, ``standard``, ``paper``), a TOML file, or None for `axes` alone.
    directory : path
        Where ``records.jsonl`` is written.
    options : Options, optional
        Processes, fail-fast, time limit.
    progress : callable, optional
        Called with every record once it is stored.
    **axes
        ``codes``, ``n``, ``stragglers``, ``precision``, ``decoder``, ``data``, ``patterns`` (one
        value or a list), ``problem``, ``vectors``, ``spare``, ``trials``, ``seed``,
        ``reference``, ``noise``.

    Returns
    -------
    Store
        Closed, with all records.

    Raises
    ------
    InputError
        Anything that is not allowed; existing records are left as they are.

    Examples
    --------
    >>> import tempfile, stabbench as sb
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = sb.sweep(None, directory, codes="dct", n=[4, 6], stragglers=1)
    >>> len(store.records)
    2
    """
    return run_plan(grid.plan(grid.load(source, axes)), directory, options or Options(), progress)


def run_plan(
    planned: grid.Plan,
    directory: str | os.PathLike[str],
    options: Options,
    progress: Callable[[Record], None],
) -> Store:
    """Run the missing cases of a plan into a directory, see `sweep`."""
    with Store(directory) as store:
        store.open(planned.request, [case.id for case in planned.cases])
        for case_id, record in planned.skipped.items():
            if case_id not in store.records:
                store.add(record)
                progress(record)
        waiting = [case for case in planned.cases if case.id not in store.records]
        run(waiting, store, options, progress)
    return store


def _names(code: Code) -> Mapping[str, Any]:
    return {"code": code.full_spec, "n": code.n, "stragglers": code.stragglers}
