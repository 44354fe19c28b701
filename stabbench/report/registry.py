"""Which tables and plots each kind of case has. Other rooms register kinds of their own here."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from stabbench.report.plots.base import Plot
from stabbench.report.table import Table
from stabbench.sweeps.case import Record

PlotMaker = Callable[[Sequence[Record]], Iterable[Plot]]
TableMaker = Callable[[Sequence[Record]], Iterable[Table]]
FactMaker = Callable[[Sequence[Record]], Iterable["Fact"]]

BriefMaker = Callable[[Sequence[Record]], Table | None]


@dataclasses.dataclass(frozen=True)
class Fact:
    """A line for the head of the page: a value, what it is, where it was found."""

    value: str
    meaning: str
    details: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Sheet:
    """What a report shows for one kind of case.

    Attributes
    ----------
    title : str
        Heading of the section.
    tables, plots : tuple of functions
        From all records of the kind, of any status, to tables or plots; none if nothing applies.
    facts : function, optional
        From the records to the facts at the head of the page.
    terms : tuple of (str, str)
        Words of the tables and plots with their definitions.
    brief : function, optional
        From the records to the table that stands for the first one where that is long.
    """

    title: str
    tables: tuple[TableMaker, ...]
    plots: tuple[PlotMaker, ...] = ()
    facts: FactMaker | None = None
    terms: tuple[tuple[str, str], ...] = ()
    brief: BriefMaker | None = None


SHEETS: dict[str, Sheet] = {}


def register(
    kind: str,
    *,
    title: str,
    tables: Iterable[TableMaker],
    plots: Iterable[PlotMaker] = (),
    facts: FactMaker | None = None,
    terms: Iterable[tuple[str, str]] = (),
    brief: BriefMaker | None = None,
) -> None:
    """State the tables and plots of a kind of case, in the order in which a report shows them.

    A room calls this once, when its module is imported. Makers are called with the records of the
    kind that a sweep has so far, whatever their status; they must take a partial sweep. Records of
    a kind that nobody registered appear in a plain table of their parameters and measures.

    Parameters
    ----------
    kind : str
        The kind of the cases.
    title : str
        Heading of the section.
    tables, plots : iterable of functions
        See `Sheet`; a maker of plots returns `stabbench.report.plots.base.Plot` values, whose
        data are a `stabbench.report.table.Table` and whose `draw` imports matplotlib itself.
    facts : function, optional
        From the records to a few `Fact` values for the head of the page.
    terms : iterable of (str, str)
        Definitions for the page's section on reading it.
    brief : function, optional
        From the records to what a terminal shows where the first table is long; the first rows of
        that table unless given.

    Raises
    ------
    ValueError
        If the kind is registered already.

    Examples
    --------
    >>> from stabbench.report.table import Column, Table
    >>> def counted(records):
    ...     yield Table("count", "Count", (Column("n", "n", "integer"),), ((len(records),),))
    >>> register("example", title="Example", tables=[counted])
    >>> SHEETS.pop("example").title
    'Example'
    """
    if kind in SHEETS:
        raise ValueError(f"kind {kind!r} is registered already")
    SHEETS[kind] = Sheet(title, tuple(tables), tuple(plots), facts, tuple(terms), brief)
