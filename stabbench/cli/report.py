"""The verb ``report``."""

import click

from stabbench.cli.options import directory as directory_argument


@click.command("report")
@directory_argument
@click.option("-o", "--output", type=click.Path(), help="Where to write.  [default: DIR/report]")
@click.option("--format", "formats", default="png,svg", show_default=True, help="Kinds of plots.")
def report_command(directory: str, output: str | None, formats: str) -> None:
    """Write tables (md, csv, tex), plots and index.html of a sweep, and print the main table."""
    from stabbench.cli.options import names
    from stabbench.report import report

    result = report(directory, output, formats=tuple(names((formats,))))
    click.echo(result.terminal(), nl=False)
    click.echo(f"report: {result.index}")
