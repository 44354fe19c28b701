"""The verb ``doctor``."""

from typing import Any

import click


@click.command("doctor")
def doctor_command() -> int:
    """Examine the environment: versions, BLAS, cache directories, and traps that were measured.

    Exit status 1 if something that the suite relies on does not hold here.
    """
    from stabbench.sweeps.doctor import examine
    from stabbench.sweeps.environment import environment

    for key, value in environment().items():
        click.echo(f"{key:13} {_text(value)}")
    click.echo("")
    failed = 0
    for finding in examine():
        failed += not finding.passed
        click.echo(f"{'ok  ' if finding.passed else 'FAIL'}  {finding.name}: {finding.detail}")
    return 1 if failed else 0


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)
