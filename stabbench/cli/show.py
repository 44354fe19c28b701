"""The verb ``show``."""

import json

import click

from stabbench.cli.options import directory as directory_argument
from stabbench.errors import InputError


@click.command("show")
@directory_argument
@click.argument("id")
@click.option("--rerun", is_flag=True, help="Compute the case again and show both.")
def show_command(directory: str, id: str, rerun: bool) -> None:
    """Show one record in full, as JSON; ID may be the beginning of an id."""
    from stabbench.sweeps.runner import compute
    from stabbench.sweeps.store import Store

    store = Store.existing(directory)
    found = [key for key in store.records if key.startswith(id)]
    if len(found) != 1:
        ids = ", ".join(sorted(found or store.records)[:5])
        what = "several records" if found else "no record"
        raise InputError(f"{store.path}: {what} with id {id!r}; among the ids are {ids}")
    record = store.records[found[0]]
    shown = record.to_json() | {"environment": store.environments.get(record.environment, {})}
    if rerun:
        shown = {"stored": shown, "rerun": compute(record.case).to_json()}
    click.echo(json.dumps(shown, indent=2, sort_keys=True))
