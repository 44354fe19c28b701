"""The command line: verbs that are loaded when they run, and one-line errors."""

import importlib
import io
import os
import sys
from typing import Any, ClassVar

import click

from stabbench import __version__
from stabbench.cli.groups import LazyGroup
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
RESUMED = ("sweep", "train")
INTERRUPTED = 130


class Verbs(LazyGroup):
    """The verbs of the command line."""

    texts: ClassVar = {name: text for name, (_, text) in VERBS.items()}

    def make(self, name: str) -> click.Command:
        """The command of a verb, imported now."""
        command: click.Command = getattr(importlib.import_module(VERBS[name][0]), f"{name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; an interrupt is raised as what `main` reports in one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort(_interrupted(ctx.invoked_subcommand)) from None


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
    except click.Abort as error:
        _fail(str(error) or _interrupted(), INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except KeyboardInterrupt:
        _fail(_interrupted(), INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output has left; a second failure at exit would only add noise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _interrupted(verb: str | None = None) -> str:
    """What is said of an interrupted verb."""
    again = "; the same command goes on where it stopped" if verb in RESUMED else ""
    return f"interrupted{again}"


def _fail(message: str, status: int) -> None:
    if status == INTERRUPTED and sys.stderr.isatty():
        sys.stderr.write("\n")  # below the ^C
    sys.stderr.write(f"stabbench: {' '.join(message.split())}\n")
    sys.exit(status)
