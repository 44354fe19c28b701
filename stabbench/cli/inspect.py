"""The verbs ``list`` and ``info``."""

import inspect
from typing import Any

import click

from stabbench.cli.options import names
from stabbench.errors import InputError
from stabbench.grammar import Parameter, near, parameters_of, parse

KINDS = ("codes", "decoders", "problems", "data", "precisions", "patterns", "presets")


@click.command("list")
@click.argument("kind", metavar="|".join(KINDS))
@click.option("--group", "groups", multiple=True, help="Only codes of all these groups: mds,real.")
def list_command(kind: str, groups: tuple[str, ...]) -> None:
    """List the names of one kind with a line on each."""
    if kind not in KINDS:
        raise InputError(f"unknown kind {kind!r}; {near(kind, KINDS)}")
    rows = _rows(kind, set(names(groups)))
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        click.echo(f"{name:{width}}  {text}".rstrip())


@click.command("info")
@click.argument("name", metavar="CODE|DECODER|PROBLEM|DATA|PRECISION")
def info_command(name: str) -> None:
    """Explain a code, decoder, problem, data family or precision: definition, source, defaults."""
    from stabbench.arithmetic.precision import ALLOWED, precision
    from stabbench.codes.registry import CODES
    from stabbench.decoders.registry import DECODERS
    from stabbench.problems.data import FAMILIES
    from stabbench.problems.registry import PROBLEMS

    spec = parse(name)
    kinds: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        ("code", {**CODES.members}, CODES.aliases),
        ("decoder", {**DECODERS.members}, DECODERS.aliases),
        ("problem", {**PROBLEMS}, {}),
        ("data", {**FAMILIES}, {}),
    ]
    if ".py:" in name:
        kinds = [("code", {spec.name: CODES.find(spec)}, {})]
    found, allowed = [], set()
    for noun, members, aliases in kinds:
        own = aliases.get(spec.name, spec.name)
        if own in members:
            also = [alias for alias, meant in aliases.items() if meant == own]
            found.append(_explanation(noun, members[own], also))
            allowed |= set(_parameters(noun, members[own]))
    if name in ALLOWED:
        found.append(f"{name} (precision)\n\n{precision(name).description}")
    if not found:
        known = {word for _, members, aliases in kinds for word in (*members, *aliases)}
        known |= set(ALLOWED)
        raise InputError(f"unknown name {name!r}; {near(spec.name, known)}")
    for key, _ in spec.parameters:
        if key not in allowed:
            raise InputError(f"{spec.name}: unknown parameter {key!r}; {near(key, allowed)}")
    click.echo("\n\n".join(found))


def _parameters(noun: str, cls: Any) -> dict[str, Parameter]:
    from stabbench.codes import base as codes
    from stabbench.problems import base as problems

    return parameters_of(cls, (problems if noun == "problem" else codes).FIXED)


def _explanation(noun: str, cls: Any, aliases: list[str]) -> str:
    lines = [f"{cls.name} ({noun}{', also ' if aliases else ''}{', '.join(aliases)})"]
    lines += ["", _definition(cls), ""]
    lines += [f"source: {cls.source}"] if getattr(cls, "source", "") else []
    if getattr(cls, "groups", None):
        lines.append(f"groups: {', '.join(sorted(cls.groups))}")
    if getattr(cls, "problems", None):
        lines.append(f"problems: {', '.join(cls.problems)}")
    parameters = _parameters(noun, cls)
    lines.append("parameters:" if parameters else "parameters: none")
    for parameter in parameters.values():
        default = "required" if parameter.required else _default(parameter.default)
        lines.append(f"  {parameter.name} = {default}  ({parameter.allowed})  {parameter.help}")
    return "\n".join(lines)


def _definition(cls: Any) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


def _default(value: Any) -> str:
    return "none" if value is None else str(value).lower() if value in (True, False) else str(value)


def _rows(kind: str, groups: set[str]) -> list[tuple[str, str]]:
    if groups and kind != "codes":
        raise InputError(f"--group is for codes, not for {kind}")
    if kind == "codes":
        from stabbench.codes.registry import CODES

        known = sorted({group for cls in CODES.members.values() for group in cls.groups})
        for group in groups:
            if group not in known:
                raise InputError(f"unknown group {group!r}; {near(group, known)}")
        chosen = {n: c for n, c in CODES.members.items() if groups <= c.groups}
        return [(name, _definition(cls)) for name, cls in sorted(chosen.items())]
    if kind == "decoders":
        from stabbench.decoders.registry import DECODERS

        return [(name, _definition(cls)) for name, cls in sorted(DECODERS.members.items())]
    if kind == "problems":
        from stabbench.problems.registry import PROBLEMS

        return [(name, _definition(cls)) for name, cls in sorted(PROBLEMS.items())]
    if kind == "data":
        from stabbench.problems.data import FAMILIES

        return [(name, _definition(cls)) for name, cls in FAMILIES.items()]
    if kind == "precisions":
        from stabbench.arithmetic.precision import ALLOWED, precision

        return [(name, precision(name).description) for name in ALLOWED]
    if kind == "patterns":
        from stabbench.analysis.survivors import POLICIES

        return [(name, _definition(cls)) for name, cls in POLICIES.items()]
    from stabbench.sweeps.grid import presets

    return [(name, text.splitlines()[0].lstrip("# ")) for name, text in presets().items()]
