"""The command line: verbs that are loaded when they run, and one-line errors."""

import importlib
import io
import os
import sys
from typing import Any

import click

from stabbench import __version__
from stabbench.errors import InputError

VERBS = {
    "sweep": ("stabbench.cli.sweep", "Run a grid of cases into a directory."),
    "report": ("stabbench.cli.report", "Write tables, plots and index.html of a sweep."),
    "gate": ("stabbench.cli.gate", "Judge a sweep by bounds and a baseline."),
    "worst": ("stabbench.cli.worst", "Find the worst of all straggler patterns, exactly."),
    "explore": ("stabbench.cli.explore", "Table the trade-offs of gradient codes."),
    "reproduce": ("stabbench.cli.reproduce", "Recompute the published numbers."),
    "train": ("stabbench.cli.train", "Train under coded computation or compressed gossip."),
    "compare": ("stabbench.cli.compare", "Compare two sweeps case by case, in digits."),
    "show": ("stabbench.cli.show", "Show one record in full, or compute it again."),
    "list": ("stabbench.cli.inspect", "List codes, decoders, data and other names."),
    "info": ("stabbench.cli.inspect", "Explain a code, decoder, problem or data family."),
    "check": ("stabbench.cli.check", "Test whether a code keeps its promises."),
    "doctor": ("stabbench.cli.doctor", "Examine the environment and known traps."),
}


class Group(click.Group):
    """A group that refuses an unknown command with the nearest ones."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            from stabbench.grammar import near

            raise InputError(f"unknown command {args[0]!r}; {near(args[0], known)}")
        return super().resolve_command(ctx, args)


class Verbs(Group):
    """A group that imports a verb only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all verbs, in the order of a session."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(VERBS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: stabbench sweep smoke, then stabbench report results/smoke.",
)
@click.version_option(__version__, message="%(version)s")
def main_group() -> None:
    """How many digits does a coded-computing scheme lose, on which stragglers, and why?"""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors of the input are one line on stderr and exit status 2.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the process unless given.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale may lack our characters
    try:
        sys.exit(main_group.main(arguments, prog_name="stabbench", standalone_mode=False) or 0)
    except InputError as error:
        _fail(str(error), 2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(f"{error.format_message()}\n")
        sys.exit(2)
    except click.Abort:
        _fail("interrupted; the same command goes on where it stopped", 130)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except KeyboardInterrupt:
        _fail("interrupted; the same command goes on where it stopped", 130)
    except BrokenPipeError:
        # the reader of our output has left; a second failure at exit would only add noise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _fail(message: str, status: int) -> None:
    sys.stderr.write(f"stabbench: {' '.join(message.split())}\n")
    sys.exit(status)
