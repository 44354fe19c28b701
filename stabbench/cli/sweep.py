"""The verb ``sweep``."""

from typing import Any

import click

from stabbench.cli.options import integers, names
from stabbench.cli.runs import run_options, running

RUN = ("output", "aside", "jobs", "timeout", "dry_run", "keep_going")


@run_options
@click.command("sweep")
@click.argument("source", required=False, metavar="[PRESET|FILE.toml]")
@click.option("-s", "--scheme", "codes", multiple=True, help="Codes, such as poly[nodes=leja].")
@click.option("-n", "n", multiple=True, help="Numbers of workers: 10,20 or 8:20:4.")
@click.option("-S", "--stragglers", multiple=True, help="Numbers of stragglers: 2,4.")
@click.option("-p", "--precision", multiple=True, help="Precisions: float32,float64.")
@click.option("-d", "--decoder", multiple=True, help="Decoders: solve,lstsq.  [default: usual]")
@click.option("--data", multiple=True, help="Data: digits, gaussian[rows=512] or a file.")
@click.option("--patterns", multiple=True, help="Straggler patterns: all, random:500, auto.")
@click.option("--problem", help="What is computed, see: stabbench list problems.")
@click.option("--vectors", type=int, help="Columns of the right-hand side.")
@click.option("--spare", help="Replies beyond the threshold: use or drop.")
@click.option("--trials", type=int, help="Draws of the data per case.")
@click.option("--seed", type=int, help="Seed of data and random patterns.")
@click.option("--reference", help="Exact reference: flint or mpmath.")
@click.option("--noise", help="Noise on inputs:SNR, outputs:SNR or relative:SNR, in dB.")
def sweep_command(source: str | None, **options: Any) -> int:
    """Run a grid of cases into a directory.

    The grid is that of a preset (smoke, standard, paper) or a TOML file, with the options in place
    of its values; without either, the options are the grid and -s, -n, -S are needed. A sweep can
    be stopped at any moment: the same command goes on where it stopped.
    """
    from stabbench.sweeps import grid

    run = {key: options.pop(key) for key in RUN}
    return running(grid.plan(grid.load(source, _axes(options))), source or "sweep", **run)


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
