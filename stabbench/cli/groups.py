"""Groups of commands that are listed without being imported. What they hold: their subclasses."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import click

from stabbench.errors import InputError


class LazyGroup(click.Group, ABC):
    """A group that makes a command only when it is called.

    Attributes
    ----------
    texts : mapping
        The line of help of every command, in the order of the list.
    """

    texts: ClassVar[Mapping[str, str]]

    @abstractmethod
    def make(self, name: str) -> click.Command:
        """The command of this name, one of `texts`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(self.texts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, None where there is none."""
        return self.make(cmd_name) if cmd_name in self.texts else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest ones."""
        if args and args[0] not in self.texts and not args[0].startswith("-"):
            from stabbench.grammar import near

            words = " ".join(("unknown command", *ctx.command_path.split()[1:]))
            raise InputError(f"{words} {args[0]!r}; {near(args[0], self.texts)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their lines of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.texts.items()))
