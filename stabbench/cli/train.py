"""The verb ``train``: coded layers, coded descent and compressed gossip."""

import dataclasses
from typing import Any, ClassVar

import click

from stabbench.cli.groups import LazyGroup
from stabbench.cli.options import described, names
from stabbench.cli.runs import run_options, running

KINDS = {
    "layers": "Networks whose layer products go through a code.",
    "descent": "Gradient descent with coded gradients.",
    "gossip": "Decentralized training with compressed gossip.",
}
HOLDERS = {int: "INTEGER,...", float: "NUMBER,...", str: "NAME,..."}
WHOLE = "data"
"""The option that is no list, as the path of a file may hold commas."""
SHORT = {"n": "-n", "stragglers": "-S", "precision": "-p", "decoder": "-d"}


class Kinds(LazyGroup):
    """The kinds of training; their commands take one option per parameter of a case."""

    texts: ClassVar = KINDS

    def make(self, name: str) -> click.Command:
        """The command of a kind, made from the fields of its cases."""
        return _command(name)


@click.command("train", cls=Kinds)
def train_command() -> None:
    """Train models under coded computation or compressed gossip."""


def _command(name: str) -> click.Command:
    from stabbench.training import api, grids

    kind = api.kind_of(name)
    request: Any = kind.request
    keys = kind.keys
    parameters: list[click.Parameter] = [
        click.Argument(["source"], required=False, metavar="[PRESET|FILE.toml]")
    ]
    texts = described(request)
    defaults = {f.name: f.default for f in dataclasses.fields(request)}
    for key, type_ in keys.items():
        short = "-s" if key == kind.key else SHORT.get(key)
        flags = [*([short] if short else []), f"--{key.replace('_', '-')}", key]
        default, metavar = defaults[key], "NAME" if key == WHOLE else HOLDERS[type_]
        shown = "" if default in (None, dataclasses.MISSING) else f"  [default: {default}]"
        parameters.append(
            click.Option(flags, multiple=True, metavar=metavar, help=texts[key] + shown)
        )

    def callback(source: str | None, **options: Any) -> int:
        run = {key: options.pop(key) for key in list(options) if key not in keys}
        axes = {key: _values(key, keys[key], values) for key, values in options.items() if values}
        planned = api.plan(name, source, axes)
        return running(planned, source or name, **run)

    known = ", ".join(grids.presets(kind))
    command = click.Command(
        name,
        params=parameters,
        callback=callback,
        help=(
            f"{KINDS[name]}\n\nThe grid is that of a preset ({known}) or a TOML file, with the "
            "options in place of its values; lists, with commas, make a grid. Stop at any moment: "
            "the same command goes on."
        ),
    )
    return run_options(command)


def _values(key: str, type_: Any, values: tuple[str, ...]) -> list[Any]:
    from stabbench.grammar import parse_scalar

    if key == WHOLE:
        return list(values)
    found = names(values)
    return found if type_ is str else [parse_scalar(text) for text in found]
