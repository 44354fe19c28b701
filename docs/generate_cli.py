"""Write docs/cli.md from what ``--help`` prints: one section per command.

``python docs/generate_cli.py`` writes the page; the tests compare it with ``page()``.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from stabbench.cli import main_group

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 88
HEAD = """\
# Command line

This page is what `--help` prints, written by `docs/generate_cli.py`.
"""


def commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield a context for the command and for each one below it, in the order of ``--help``."""
    settings = {**command.context_settings, "terminal_width": WIDTH}
    context = command.context_class(command, parent=parent, info_name=name, **settings)
    yield context
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            if found is not None and not found.hidden:
                yield from commands(found, verb, context)


def section(context: click.Context) -> str:
    """Return the Markdown section of one command."""
    lines = [line.rstrip() for line in context.get_help().splitlines()]
    return "\n".join([f"## {context.command_path}", "", "```text", *lines, "```", ""])


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *map(section, commands(main_group, "stabbench"))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
