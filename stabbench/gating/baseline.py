"""Baselines: the records of an earlier sweep, slim and sorted, kept beside the code."""

import dataclasses
import json
import os
from pathlib import Path

from stabbench.errors import InputError
from stabbench.files.atomic import write_text
from stabbench.sweeps.case import Record
from stabbench.sweeps.store import Store

KEPT = ("digits", "test_ratio", "undecodable")
"""Measures that a baseline keeps."""


def load_baseline(directory: str | os.PathLike[str]) -> dict[Path, list[Record]]:
    """The records of every ``*.jsonl`` file in a directory, one file per sweep.

    Raises
    ------
    InputError
        No such directory or no records in it, or a damaged line.
    """
    files = sorted(Path(directory).glob("*.jsonl"))
    if not files:
        raise InputError(f"{directory}: no baseline; allowed is a directory with *.jsonl files")
    records: dict[Path, list[Record]] = {}
    for file in files:
        records[file] = []
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise InputError(f"{file}: cannot be read ({reason})") from None
        for number, line in enumerate(lines, start=1):
            try:
                parsed = json.loads(line)
                if parsed.get("type") == "record":
                    records[file].append(Record.from_json(parsed))
            except InputError as error:
                raise InputError(f"{file}, line {number}: {error}") from None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(f"{file}, line {number}: damaged ({error})") from None
    if not any(records.values()):
        raise InputError(f"{directory}: no baseline; its *.jsonl files hold no records")
    return records


def write_baseline(directory: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write the records of a finished sweep, sorted and without times, as a baseline.

    Parameters
    ----------
    directory : path
        A finished sweep.
    target : path
        File to write, ``results/baseline/NAME.jsonl``.

    Raises
    ------
    InputError
        If the sweep is not finished, a case failed, or none measures digits.
    """
    store = Store.existing(directory)
    failed = [r for r in store.records.values() if r.status in ("failed", "timeout")]
    if store.missing or failed or not store.records:
        raise InputError(
            f"{directory}: {len(store.missing)} cases are missing and {len(failed)} failed; "
            "a baseline needs a finished sweep"
        )
    if not any("digits" in record.measures for record in store.records.values()):
        raise InputError(f"{directory}: no case measures digits to compare; give bounds instead")
    lines = []
    for case_id in sorted(store.records):
        record = store.records[case_id]
        kept = {k: v for k, v in record.measures.items() if k in KEPT}
        slim = dataclasses.replace(record, measures=kept, environment="")
        lines.append(json.dumps(slim.to_json(), sort_keys=True, allow_nan=False))
    path = Path(target)
    write_text(path, "\n".join(lines) + "\n")
    return path
