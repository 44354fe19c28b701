"""The verb ``sweep``."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from stabbench.cli.options import integers, names
from stabbench.errors import InputError


@click.command("sweep")
@click.argument("source", required=False, metavar="[PRESET|FILE.toml]")
@click.option("-s", "--scheme", "codes", multiple=True, help="Codes, such as poly[nodes=leja].")
@click.option("-n", "n", multiple=True, help="Numbers of workers: 10,20 or 8:20:4.")
@click.option("-S", "--stragglers", multiple=True, help="Numbers of stragglers: 2,4.")
@click.option("-p", "--precision", multiple=True, help="Precisions: float32,float64.")
@click.option("-d", "--decoder", multiple=True, help="Decoders: solve,lstsq.")
@click.option("--data", multiple=True, help="Data: digits, gaussian[rows=512] or a file.")
@click.option("--patterns", multiple=True, help="Straggler patterns: all, random:500, auto.")
@click.option("--problem", help="What is computed: matvec.")
@click.option("--vectors", type=int, help="Columns of the right-hand side.")
@click.option("--spare", help="Replies beyond the threshold: use or drop.")
@click.option("--trials", type=int, help="Draws of the data per case.")
@click.option("--seed", type=int, help="Seed of data and random patterns.")
@click.option("--reference", help="Exact reference: flint or mpmath.")
@click.option("-o", "--output", help="Directory of the records.  [default: results/SOURCE]")
@click.option("-j", "--jobs", type=int, default=2, show_default=True, help="Processes.")
@click.option("--timeout", type=float, default=0.0, help="Seconds per case, 0 for no limit.")
@click.option("--dry-run", is_flag=True, help="List the cases and stop.")
@click.option("--keep-going/--fail-fast", default=True, help="What to do when a case fails.")
def sweep_command(
    source: str | None,
    output: str | None,
    jobs: int,
    timeout: float,
    dry_run: bool,
    keep_going: bool,
    **options: Any,
) -> int:
    """Run a grid of cases into a directory.

    The grid is that of a preset (smoke, standard, paper) or a TOML file, with the options in place
    of its values; without either, the options are the grid and -s, -n, -S are needed. A sweep can
    be stopped at any moment: the same command goes on where it stopped.
    """
    from stabbench.sweeps import grid
    from stabbench.sweeps.api import run_plan
    from stabbench.sweeps.runner import CaseError, Options

    run_options = Options(jobs, not keep_going, timeout)
    planned = grid.plan(grid.load(source, _axes(options)))
    if dry_run:
        for case in planned.cases:
            click.echo(f"{case.id}  {_words(case)}")
        click.echo(f"{len(planned.cases)} cases")
        return 0
    directory = Path(output or Path("results") / Path(source or "sweep").stem)
    start = time.monotonic()
    with _progress(len(planned.cases), directory) as progress:
        try:
            store = run_plan(planned, directory, run_options, progress)
        except CaseError as error:
            raise InputError(f"{error}; stopped by --fail-fast") from None
    seconds = time.monotonic() - start
    statuses = [record.status for record in store.records.values()]
    click.echo(f"{_counts(statuses)} in {directory} ({seconds:.1f} s)")
    click.echo(f"tables and plots: stabbench report {directory}")
    return 1 if {"failed", "timeout"} & set(statuses) else 0


def _axes(options: dict[str, Any]) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for key, value in options.items():
        if value in (None, ()):
            continue
        if key in ("n", "stragglers"):
            axes[key] = integers({"n": "-n", "stragglers": "-S"}[key], value)
        elif isinstance(value, tuple):
            axes[key] = list(value) if key == "data" else names(value)
        else:
            axes[key] = value
    return axes


def _words(case: Any) -> str:
    keys = ("code", "n", "stragglers", "precision", "decoder", "data", "patterns")
    return " ".join(f"{key}={case[key]}" for key in keys if case.get(key) is not None)


def _counts(statuses: Sequence[str]) -> str:
    kinds = sorted(set(statuses), key=lambda status: (status != "ok", status))
    return f"{len(statuses)} cases: " + ", ".join(f"{statuses.count(k)} {k}" for k in kinds)


def _line(record: Any) -> str:
    digits = record.measures.get("digits")
    result = f"{digits['worst']:.1f} digits" if digits else record.status
    reason = f" ({record.reason})" if record.reason else ""
    return f"{_words(record.case)}: {result}{reason}"


@contextmanager
def _progress(total: int, directory: Path) -> Iterator[Any]:
    """A bar on a terminal, a line per case elsewhere; both on stderr."""
    if not sys.stderr.isatty():
        done = 0

        def line(record: Any) -> None:
            nonlocal done
            done += 1
            click.echo(f"[{done}] {_line(record)}", err=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from stabbench.sweeps.store import Store

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("", total=total, completed=len(Store(directory).records), at="")
        yield lambda record: bar.update(task, advance=1, at=_short(record))


def _short(record: Any) -> str:
    case = record.case
    return " ".join(str(case.get(key, "")) for key in ("code", "n", "precision"))[:40]
