"""A table of values: columns, rows and notes. How it looks is in `render`."""

import dataclasses
from typing import Any, Literal

Kind = Literal["text", "integer", "digits", "number", "share", "seconds"]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    key : str
        Name in CSV files, unique in its table.
    title : str
        Heading for people.
    kind : str
        ``text`` (left-aligned), ``integer``, ``digits`` (decimal digits), ``number``, ``share``
        (shown in percent) or ``seconds``, all right-aligned.
    importance : int
        0 is always shown; columns with larger numbers leave a narrow terminal first.
    """

    key: str
    title: str
    kind: Kind = "text"
    importance: int = 1

    @property
    def numeric(self) -> bool:
        """Whether values are numbers, which align to the right and sort by size."""
        return self.kind != "text"


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of values under columns.

    Parameters
    ----------
    name : str
        Name of its files.
    title : str
    columns : tuple of Column
    rows : tuple of tuple
        Raw values, None where there is none; formatting happens when the table is rendered.
    notes : tuple of str
        Sentences below the table.

    Examples
    --------
    >>> Table("t", "T", (Column("n", "n", "integer"),), ((6,), (12,))).values("n")
    [6, 12]
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def values(self, key: str) -> list[Any]:
        """The values of one column."""
        index = [column.key for column in self.columns].index(key)
        return [row[index] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries by column key."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, row, strict=True)) for row in self.rows]

    def only(self, keys: set[str]) -> "Table":
        """The table with the columns of these keys."""
        kept = [i for i, column in enumerate(self.columns) if column.key in keys]
        return dataclasses.replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
        )

    def head(self, count: int) -> "Table":
        """The first rows, with a note of how many were left out and where they are."""
        if len(self.rows) <= count:
            return self
        note = f"{len(self.rows) - count} more rows are in tables/{self.name}.md"
        return dataclasses.replace(self, rows=self.rows[:count], notes=(*self.notes, note))

    def condensed(self) -> tuple["Table", tuple[tuple[Column, Any], ...]]:
        """The table without columns that say the same in every row, and what those say.

        Columns without any value vanish. Digits and at least one other column stay.

        Examples
        --------
        >>> columns = (Column("n", "n", "integer"), Column("code", "code"))
        >>> short, shared = Table("t", "T", columns, ((6, "dct"), (6, "haar"))).condensed()
        >>> short.rows, [(column.key, value) for column, value in shared]
        ((('dct',), ('haar',)), [('n', 6)])
        """
        if not self.rows:
            return self, ()
        columns = [(c, self.values(c.key)) for c in self.columns if c.kind != "digits"]
        same = [(c, values[0]) for c, values in columns if all(v == values[0] for v in values)]
        if len(self.rows) == 1:
            same = [(c, value) for c, value in same if value in (None, "")]
        gone = {c.key for c, _ in same if len(same) < len(columns) or c is not columns[0][0]}
        kept = {c.key for c in self.columns} - gone
        shared = [(c, v) for c, v in same if c.key in gone and v not in (None, "")]
        return self.only(kept), tuple(shared)


def table(
    name: str,
    title: str,
    columns: tuple[Column, ...],
    rows: list[dict[str, Any]],
    notes: tuple[str, ...] = (),
) -> Table:
    """A table from rows as dictionaries; a missing key is a missing value."""
    keys = [column.key for column in columns]
    return Table(
        name, title, columns, tuple(tuple(row.get(k) for k in keys) for row in rows), notes
    )
