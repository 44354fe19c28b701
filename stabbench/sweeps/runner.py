"""Running cases: in this process or in several, with every record stored as it is finished."""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from stabbench.errors import InputError
from stabbench.files.inputs import planned_with
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.environment import environment, key
from stabbench.sweeps.kinds import runner
from stabbench.sweeps.store import Store

Progress = Callable[[Record], None]
LONGEST = 1e8


@dataclasses.dataclass(frozen=True)
class Options:
    """How a sweep runs; nothing here changes a result.

    Parameters
    ----------
    jobs : int
        Worker processes.
    fail_fast : bool
        Stop at the first failed case.
    timeout : float
        Seconds per case, 0 for no limit.
    """

    jobs: int = 1
    fail_fast: bool = False
    timeout: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.jobs < 1:
            raise InputError(f"jobs={self.jobs}; allowed is an integer >= 1")
        if not 0 <= self.timeout <= LONGEST:
            raise InputError(f"timeout={self.timeout}; allowed is 0 .. {LONGEST:g} seconds")


class CaseError(Exception):
    """A case failed and the sweep was asked to stop there."""


def run(cases: list[Case], store: Store, options: Options, progress: Progress) -> None:
    """Compute the cases and add their records to an open store.

    Parameters
    ----------
    cases : list of Case
        Those that have no record yet.
    store : Store
        Open for writing.
    options : Options
    progress : callable
        Called with every record after it is stored.

    Raises
    ------
    CaseError
        With `fail_fast`, at the first failed case; its record is stored.
    """
    if not cases:
        return
    description = environment()
    name = key(description)
    store.add_environment(name, description)
    with contextlib.closing(_results(cases, options)) as results:
        for result in results:
            record = dataclasses.replace(result, environment=name)
            store.add(record)
            progress(record)
            if options.fail_fast and record.status == "failed":
                raise CaseError(f"case {record.case.id}: {record.reason}")


def compute(case: Case, timeout: float = 0.0) -> Record:
    """The record of one case; an error inside becomes status ``failed`` with its last line.

    So does a file whose content is not the one that the case was planned with. One BLAS thread is
    used, so that rounding does not depend on the number of cores.
    """
    import threadpoolctl

    try:
        with (
            threadpoolctl.threadpool_limits(1),
            _limit(timeout),
            planned_with(case.get("files", "")),
        ):
            return runner(case)(case)
    except TimeoutError:
        return Record(case, "timeout", f"longer than {timeout:g} s")
    except InputError as error:
        return Record(case, "failed", str(error))
    except Exception as error:  # noqa: BLE001  (a failed case must not end the sweep)
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return Record(case, "failed", f"{type(error).__name__}: {error} ({place})")


def _results(cases: list[Case], options: Options) -> Generator[Record]:
    if options.jobs == 1 or len(cases) == 1:
        yield from (compute(case, options.timeout) for case in cases)
        return
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(
        min(options.jobs, len(cases)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    )
    try:
        with _uninterrupted():
            futures = [executor.submit(compute, case, options.timeout) for case in cases]
        for future in as_completed(futures):
            yield future.result()
    except BrokenExecutor:
        raise InputError(
            "a worker process died, perhaps for lack of memory; finished cases are kept: "
            "run the same command with fewer jobs"
        ) from None
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        raise
    executor.shutdown()


def _end_with_parent() -> None:
    """End this worker process once its parent is dead: one that is killed takes nobody along."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold an interrupt back until the worker processes have started.

    They inherit the mask, so that an interrupt of the terminal reaches this process alone. The
    resource tracker, which unblocks the signal as it starts, must run before.
    """
    resource_tracker.ensure_running()
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the main thread after some seconds of real time."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    if not seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
