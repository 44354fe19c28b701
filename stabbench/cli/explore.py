"""The verb ``explore``."""

import sys
from pathlib import Path
from typing import Any

import click

from stabbench.cli.options import integers, names
from stabbench.errors import InputError
from stabbench.grammar import near

DESIGNS = ("gradient",)


@click.command("explore")
@click.argument("design", metavar="gradient")
@click.option("-n", "n", type=int, required=True, help="Number of workers.")
@click.option(
    "-s", "--scheme", "schemes", multiple=True, help="Schemes.  [default: all exact ones]"
)
@click.option("-S", "--stragglers", multiple=True, help="Numbers of stragglers.  [default: all]")
@click.option("-p", "--precision", multiple=True, help="Precisions.  [default: float32,float64]")
@click.option("-d", "--decoder", default="weights", show_default=True, help="Decoder.")
@click.option("--patterns", default="auto:20", show_default=True, help="Straggler patterns.")
@click.option("--seed", default=0, show_default=True, help="Seed of data and random patterns.")
@click.option("-o", "--output", type=click.Path(), help="Directory for table and plot.")
@click.option("--format", "formats", default="png,svg", show_default=True, help="Kinds of plots.")
def explore_command(design: str, n: int, output: str | None, formats: str, **options: Any) -> None:
    """Table all (d, s, m) that gradient codes admit with n workers.

    Load d, stragglers s and what a worker sends in gradients, of every design, with its worst
    condition number, amplification and errors; designs that no other one beats are marked.
    """
    from stabbench.analysis import explore
    from stabbench.report import gradient, render
    from stabbench.report.plots.base import known_formats
    from stabbench.report.worst import save

    if design not in DESIGNS:
        raise InputError(f"explore {design!r}: {near(design, DESIGNS)}")
    kinds = known_formats(names((formats,)))
    rows = explore.gradient(
        n,
        names(options["schemes"]) or explore.SCHEMES,
        stragglers=integers("-S", options["stragglers"]) or None,
        precisions=names(options["precision"]) or ("float32", "float64"),
        decoder=options["decoder"],
        patterns=options["patterns"],
        seed=options["seed"],
        progress=_tell,
    )
    if sys.stderr.isatty():
        click.echo("\r" + " " * 60 + "\r", err=True, nl=False)
    click.echo(render.text_for(sys.stdout, gradient.designs_table(rows, n)), nl=False)
    if output is not None:
        for path in save(gradient.designs_plot(rows, n), Path(output), kinds):
            click.echo(f"written {path}")


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{text[:60]:60}", err=True, nl=False)
