"""The sections of a report: the tables and plots of each kind of case that a sweep holds."""

import dataclasses
import importlib
from collections.abc import Iterable

from stabbench.report import tables
from stabbench.report.plots.base import Plot
from stabbench.report.registry import SHEETS, Fact, Sheet
from stabbench.report.table import Table
from stabbench.sweeps.case import Record

BUILT_IN = (
    "stabbench.report.stability",
    "stabbench.training.layers.report",
    "stabbench.training.descent.report",
    "stabbench.training.gossip.report",
)


@dataclasses.dataclass(frozen=True)
class Section:
    """The records of one kind of case with their tables and plots.

    Attributes
    ----------
    kind : str
    sheet : Sheet
    records : tuple of Record
    tables : tuple of Table
    plots : tuple of Plot
        Not drawn yet.
    facts : tuple of Fact
    """

    kind: str
    sheet: Sheet
    records: tuple[Record, ...]
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    facts: tuple[Fact, ...]

    def brief(self) -> Table | None:
        """What a terminal shows: the first table, or a shorter one where it has many rows."""
        if not self.tables or len(self.tables[0].rows) <= tables.SCREEN:
            return self.tables[0] if self.tables else None
        short = self.sheet.brief(self.records) if self.sheet.brief else None
        return short or self.tables[0].head(tables.SCREEN)


def sections(records: Iterable[Record]) -> list[Section]:
    """A section per kind; a kind that nobody registered gets a plain table.

    Parameters
    ----------
    records : iterable of Record
        Of any kinds and statuses.
    """
    for module in BUILT_IN:
        importlib.import_module(module)
    kinds: dict[str, list[Record]] = {}
    for record in records:
        kinds.setdefault(record.case.kind, []).append(record)
    found = []
    for kind, mine in kinds.items():
        sheet = SHEETS.get(kind, Sheet(f"Cases of kind {kind}", (tables.plain,)))
        made = [table for maker in sheet.tables for table in maker(mine)]
        plots = [plot for maker in sheet.plots for plot in maker(mine)]
        facts = tuple(sheet.facts(mine)) if sheet.facts else ()
        found.append(Section(kind, sheet, tuple(mine), tuple(made), tuple(plots), facts))
    return found
