"""The verb ``gate``."""

import click

from stabbench.cli.options import directory as directory_argument


@click.command("gate")
@directory_argument
@click.option("--bounds", type=click.Path(), help="TOML file of bounds.")
@click.option("--baseline", type=click.Path(), help="Directory of earlier records (*.jsonl).")
@click.option("--tolerance", default=0.5, show_default=True, help="Digits a case may lose.")
@click.option("--junit", type=click.Path(), help="Write the verdict as JUnit XML.")
@click.option("--write-baseline", type=click.Path(), help="Write the sweep as a baseline file.")
def gate_command(
    directory: str,
    bounds: str | None,
    baseline: str | None,
    tolerance: float,
    junit: str | None,
    write_baseline: str | None,
) -> int:
    """Judge a sweep by bounds and a baseline.

    Exit status: 0 passed, 1 worse than allowed, 2 wrong input, 3 could not measure (no records, a
    sweep that is not finished or lacks a case of its baseline, a failed case, a bound without a
    record to judge).
    """
    from stabbench import gating

    if write_baseline is not None:
        click.echo(f"baseline: {gating.write_baseline(directory, write_baseline)}")
        return 0
    verdict = gating.gate(
        directory, bounds=bounds, baseline=baseline, junit=junit, tolerance=tolerance
    )
    for finding in verdict.findings:
        click.echo(f"{finding.level}: {finding.text}", err=finding.level == "worse")
    click.echo(f"gate: {verdict.word} ({verdict.checked} comparisons)")
    return verdict.exit_code
