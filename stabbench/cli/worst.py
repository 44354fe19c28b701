"""The verb ``worst``."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stabbench.cli.options import workers
from stabbench.errors import InputError

SAVE_EVERY = 5.0
MANY = click.IntRange(min=1)


@click.command("worst")
@click.argument("code")
@workers
@click.option("-p", "--precision", default="float64", show_default=True, help="Or exact.")
@click.option(
    "-j", "--threads", type=MANY, default=2, show_default=True, help="Threads of the scan."
)
@click.option(
    "--limit", type=MANY, default=200_000_000, show_default=True, help="Most patterns visited."
)
@click.option("-o", "--output", type=click.Path(), help="Directory for plot, data and state.")
@click.option("--format", "formats", default="png,svg", show_default=True, help="Kinds of plots.")
def worst_command(
    code: str,
    n: int,
    stragglers: int,
    precision: str,
    threads: int,
    limit: int,
    output: str | None,
    formats: str,
) -> None:
    """Find the worst of all straggler patterns of CODE, exactly, and their distribution.

    All patterns are visited up to --limit, beyond it a search gives a lower bound. With -o a plot
    is written, and a scan that was interrupted goes on where it stopped.
    """
    from stabbench.analysis.conditioning import Budget, survey
    from stabbench.analysis.numbers import stored_system
    from stabbench.analysis.worst import worst_amplification
    from stabbench.cli.options import names
    from stabbench.codes.registry import code as build
    from stabbench.report import worst
    from stabbench.report.plots.base import known_formats

    kinds = known_formats(names((formats,)))
    built = build(code, n, stragglers)
    system, generator = stored_system(built, precision)
    state = None if output is None else Path(output) / "state.json"
    started = time.perf_counter()
    found = survey(
        generator,
        stragglers,
        owner=system.owner,
        symmetry=built.symmetry,
        threads=threads,
        budget=Budget(patterns=limit),
        progress=_progress(state),
        resume=_load(state),
    )
    if sys.stderr.isatty():
        click.echo("", err=True)
    name = f"{built.spec}, n={n}, {stragglers} stragglers, {precision}"
    grown = worst_amplification(built, system, generator, found)
    click.echo("\n".join(worst.lines(found, name, grown)))
    click.echo(f"in all          {time.perf_counter() - started:.3g} s with preparation")
    if output is not None:
        for path in worst.write(found, name, grown, Path(output), kinds):
            click.echo(f"written         {path}")
        assert state is not None
        state.unlink(missing_ok=True)


def _load(state: Path | None) -> dict[str, Any] | None:
    if state is None or not state.exists():
        return None
    try:
        stored: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{state}: cannot be read ({error}); remove it to start anew") from None
    click.echo(f"going on from {state}", err=True)
    return stored


def _progress(state: Path | None) -> Callable[[Any, int], None]:
    """A line that is written over on a terminal, and the state every few seconds."""
    from stabbench.files.atomic import write_text

    saved = time.monotonic()

    def show(tally: Any, end: int) -> None:
        nonlocal saved
        done = tally.next_rank / end
        if sys.stderr.isatty():
            bar = ("#" * round(30 * done)).ljust(30, ".")
            click.echo(f"\r[{bar}] {done:6.1%} of {end} patterns", err=True, nl=False)
        if state is not None and time.monotonic() - saved > SAVE_EVERY and tally.next_rank < end:
            write_text(state, json.dumps(tally.to_dict()))
            saved = time.monotonic()

    return show
