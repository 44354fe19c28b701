"""The verb ``compare``."""

from collections import Counter

import click


@click.command("compare")
@click.argument("old", type=click.Path(), metavar="A")
@click.argument("new", type=click.Path(), metavar="B")
@click.option("--tolerance", default=0.5, show_default=True, help="Digits that count as same.")
@click.option("--all", "every", is_flag=True, help="List cases that are the same, too.")
def compare_command(old: str, new: str, tolerance: float, every: bool) -> None:
    """Compare two sweeps case by case, in digits of the worst pattern that decodes."""
    from stabbench.gating import name_of
    from stabbench.sweeps.compare import compare
    from stabbench.sweeps.store import Store

    before, after = (Store.existing(directory).records.values() for directory in (old, new))
    pairs = compare(before, after, tolerance)
    for pair in pairs:
        if pair.change == "same" and not every:
            continue
        digits = [" absent" if d is None else f"{d:7.2f}" for d in (pair.old, pair.new)]
        lost = "" if pair.lost is None else "; do not decode: {:.1%}, now {:.1%}".format(*pair.lost)
        click.echo(f"{pair.change:8}{digits[0]} {digits[1]}  {name_of(pair.case)}{lost}")
    counts = Counter(pair.change for pair in pairs)
    click.echo(", ".join(f"{counts[k]} {k}" for k in ("worse", "better", "same", "new", "missing")))
