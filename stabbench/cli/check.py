"""The verb ``check``."""

import click

from stabbench.cli.options import workers


@click.command("check")
@click.argument("code")
@workers
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Survivor sets tried one by one.",
)
def check_command(code: str, n: int, stragglers: int, limit: int) -> int:
    """Test whether CODE keeps its promises: linear, right dtypes, every threshold decodes.

    That exact decoding gives what is wanted is proved, exactly or in balls; what cannot be proved
    fails.

    CODE is a name such as poly[nodes=leja] or a class in a file: my_code.py:MyCode. Exit status 1
    if a check fails.
    """
    from stabbench.analysis.checks import check, check_size
    from stabbench.codes.registry import code as build

    check_size(n, stragglers, limit)
    findings = check(build(code, n, stragglers), limit)
    for finding in findings:
        click.echo(f"{'ok  ' if finding.passed else 'FAIL'}  {finding.name}: {finding.detail}")
    failed = sum(not finding.passed for finding in findings)
    click.echo(f"{len(findings) - failed} passed, {failed} failed")
    return 1 if failed else 0
