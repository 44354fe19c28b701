"""The page of a report: one static file without scripts or fonts from elsewhere."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stabbench.report.render import common, shown
from stabbench.report.sections import Section
from stabbench.report.table import Table
from stabbench.sweeps.store import Store

TEMPLATES = Path(__file__).parent / "templates"
WHOLE = 16.0
"""Digits at which the bar in a cell is full, about those of float64."""


def page(store: Store, found: Sequence[Section], statuses: Table, formats: Sequence[str]) -> str:
    """The HTML of a report.

    Parameters
    ----------
    store : Store
        The sweep.
    found : sequence of Section
    statuses : Table
        How many cases have which status.
    formats : sequence of str
        Formats in which the plots are beside the page.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    picture = next((name for name in ("svg", "png") if name in formats), "")
    return environment.get_template("index.html").render(
        name=store.directory.resolve().name,
        expected=len(store.expected),
        missing=len(store.missing),
        counts=_counts(found),
        facts=[fact for section in found for fact in section.facts],
        statuses=_view(statuses),
        sections=[
            {
                "kind": section.kind,
                "title": section.sheet.title,
                "tables": [_view(table) for table in section.tables],
                "plots": section.plots,
            }
            for section in found
        ],
        terms=[term for section in found for term in section.sheet.terms],
        formats=formats,
        picture=picture,
        grids=_grids(store.header or {}),
        environments=_environments(store),
    )


def _counts(found: Sequence[Section]) -> list[tuple[str, int]]:
    return Counter[str](r.status for section in found for r in section.records).most_common()


def _view(table: Table) -> dict[str, Any]:
    short, shared = table.condensed()
    rows = [
        [
            _cell(value, column.key, column.kind)
            for value, column in zip(row, short.columns, strict=True)
        ]
        for row in short.rows
    ]
    return {
        "name": table.name,
        "title": table.title,
        "common": common(shared),
        "columns": short.columns,
        "rows": rows,
        "notes": table.notes,
    }


def _cell(value: Any, key: str, kind: Any) -> dict[str, Any]:
    """The text of a cell, the value that sorts it, and what paints it."""
    number = kind != "text" and isinstance(value, int | float)
    bar = None
    if kind == "digits" and key == "digits_worst" and number and not math.isnan(value):
        bar = round(100 * min(max(value, 0.0), WHOLE) / WHOLE)
    return {
        "text": shown(value, kind),
        "sort": value if number else None,
        "bar": bar,
        "status": str(value) if key == "status" else None,
    }


def _grids(header: Mapping[str, Any]) -> list[dict[str, str]]:
    request = header.get("request", {})
    grids = request.get("grids", [request])
    return [{key: _words(value) for key, value in grid.items()} for grid in grids]


def _environments(store: Store) -> list[dict[str, Any]]:
    used = Counter(record.environment for record in store.records.values())
    return [
        {
            "key": key,
            "records": used[key],
            "facts": {name: _words(value) for name, value in facts.items()},
        }
        for key, facts in store.environments.items()
    ]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value)
