"""What all verbs share that run cases into a directory: options, progress, the closing lines."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from stabbench.errors import InputError

NAMED = ("code", "method", "n", "stragglers", "precision", "decoder", "mode", "data", "patterns")
OPTIONS = (
    click.Option(["-o", "--output"], help="Directory of the records.  [default: results/SOURCE]"),
    click.Option(["--aside"], is_flag=True, help="Move records of another sweep there aside."),
    click.Option(["-j", "--jobs"], type=int, default=2, show_default=True, help="Processes."),
    click.Option(["--timeout"], type=float, default=0.0, help="Seconds per case, 0 for no limit."),
    click.Option(["--dry-run"], is_flag=True, help="List the cases and stop."),
    click.Option(["--keep-going/--fail-fast"], default=True, help="What to do when a case fails."),
)


def run_options(command: click.Command) -> click.Command:
    """Add the options of a run to a command."""
    command.params.extend(OPTIONS)
    return command


def running(
    planned: Any,
    name: str,
    *,
    output: str | None,
    aside: bool,
    jobs: int,
    timeout: float,
    dry_run: bool,
    keep_going: bool,
) -> int:
    """Run a plan with progress, or list it; the exit status is 1 if a case failed.

    Parameters
    ----------
    planned : stabbench.sweeps.grid.Plan
    name : str
        Preset or file, which names the default directory.
    output, aside, jobs, timeout, dry_run, keep_going
        The options of `run_options`.
    """
    from stabbench.sweeps.api import run_plan
    from stabbench.sweeps.runner import CaseError, Options
    from stabbench.sweeps.store import Store

    shown = telling(planned.cases)
    options = Options(jobs, not keep_going, timeout)
    if dry_run:
        for case in planned.cases:
            click.echo(f"{case.id}  {words(case, shown)}")
        click.echo(_cases(len(planned.cases)))
        return 0
    directory = Path(output or Path("results") / Path(name).stem)
    if aside:
        moved = Store(directory).put_aside([case.id for case in planned.cases])
        if moved:
            click.echo(f"the records of another sweep are now {moved}", err=True)
    start = time.monotonic()
    with progress(len(planned.cases), shown, directory) as show:
        try:
            store = run_plan(planned, directory, options, show)
        except CaseError as error:
            raise InputError(f"{error}; stopped by --fail-fast") from None
    statuses = [record.status for record in store.records.values()]
    click.echo(f"{_counts(statuses)} in {directory} ({time.monotonic() - start:.1f} s)")
    click.echo(f"tables and plots: stabbench report {directory}")
    return 1 if {"failed", "timeout"} & set(statuses) else 0


def telling(cases: Sequence[Any]) -> list[str]:
    """The parameters that lines about these cases show: those always named, and all that differ."""
    values: dict[str, set[str]] = {}
    for case in cases:
        for key, value in case.parameters.items():
            values.setdefault(key, set()).add(repr(value))
    differ = (key for key, found in values.items() if len(found) > 1)
    return list(dict.fromkeys([*NAMED, *differ]))


def words(case: Any, keys: Sequence[str]) -> str:
    """The parameters that tell cases apart, on one line."""
    return " ".join(f"{key}={case[key]}" for key in keys if case.get(key) is not None)


@contextmanager
def progress(total: int, shown: Sequence[str], directory: Path) -> Iterator[Any]:
    """A bar on a terminal, a line per case elsewhere; both on stderr."""
    if not sys.stderr.isatty():
        done = 0

        def line(record: Any) -> None:
            nonlocal done
            done += 1
            click.echo(f"[{done}] {_result(record, shown)}", err=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from stabbench.sweeps.store import Store

    now = TextColumn("{task.fields[at]}")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), now)
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("", total=total, completed=len(Store(directory).records), at="")
        yield lambda record: bar.update(task, advance=1, at=words(record.case, shown)[:40])


def _result(record: Any, shown: Sequence[str]) -> str:
    digits = record.measures.get("digits", {})
    result = f"{digits['worst']:.1f} digits" if "worst" in digits else record.status
    if "worst" in digits and record.measures.get("undecodable"):
        result += f" where decodable, {record.measures['undecodable']:.1%} not"
    reason = f" ({record.reason})" if record.reason else ""
    return f"{words(record.case, shown)}: {result}{reason}"


def _counts(statuses: Sequence[str]) -> str:
    kinds = sorted(set(statuses), key=lambda status: (status != "ok", status))
    return f"{_cases(len(statuses))}: " + ", ".join(f"{statuses.count(k)} {k}" for k in kinds)


def _cases(number: int) -> str:
    return "1 case" if number == 1 else f"{number} cases"
