"""The verb ``reproduce``."""

import sys
from pathlib import Path

import click


@click.command("reproduce")
@click.argument("source", required=False)
@click.option("-o", "--output", type=click.Path(), help="Directory for reproduce.md, .html, .csv.")
def reproduce_command(source: str | None, output: str | None) -> int:
    """Recompute published numbers and say where they agree, where they differ, and why.

    SOURCE is a part of the name of a source or of the id of a number; all numbers without it. Exit
    status 1 if a verdict is not the one that is known.
    """
    from stabbench.files.atomic import write_text
    from stabbench.published import reproduction
    from stabbench.report import render

    found = reproduction.reproduce(source, lambda row: _tell(row.id))
    table = reproduction.as_table(found)
    click.echo(render.text_for(sys.stdout, table), nl=False)
    if output is not None:
        for suffix, text in (
            ("md", reproduction.as_markdown(found)),
            ("html", reproduction.as_html(found)),
            ("csv", render.comma_separated(table)),
        ):
            path = Path(output) / f"reproduce.{suffix}"
            write_text(path, text)
            click.echo(f"written {path}")
    unexpected = [
        item for item in found if item.row.certainty == "read" and item.verdict != item.row.expected
    ]
    for item in unexpected:
        click.echo(f"unexpected: {item.row.id}: {item.verdict}, known as {item.row.expected}")
    return 1 if unexpected else 0


def _tell(name: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{name:60}", err=True, nl=False)
