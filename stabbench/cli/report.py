"""The verb ``report``."""

import sys

import click

from stabbench.cli.options import directory as directory_argument


@click.command("report")
@directory_argument
@click.option("-o", "--output", type=click.Path(), help="Where to write.  [default: DIR/report]")
@click.option("--format", "formats", default="png,svg", show_default=True, help="Kinds of plots.")
def report_command(directory: str, output: str | None, formats: str) -> None:
    """Write tables (md, csv, tex), plots and index.html of a sweep, and print the main tables.

    Where the main table is long, the best codes and the worst one are printed instead.
    """
    from stabbench.cli.options import names
    from stabbench.report import render, report

    result = report(directory, output, formats=names((formats,)))
    click.echo(render.text_for(sys.stdout, *result.brief()), nl=False)
    click.echo(f"report: {result.index}")
