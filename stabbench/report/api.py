"""The report of a stored sweep: tables, plots and one page, written into a directory."""

import dataclasses
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from stabbench.errors import InputError
from stabbench.report import render, tables
from stabbench.report.files import write
from stabbench.report.plots.base import Plot, known_formats
from stabbench.report.plots.base import render as draw
from stabbench.report.sections import Section, sections
from stabbench.report.table import Table
from stabbench.sweeps.store import Store

LINK = re.compile(r'(?:href|src)="((?:plots|tables)/\w[\w.+-]*)"')
OURS = " – stabbench"
RENDERERS = {"csv": render.comma_separated, "md": render.markdown, "tex": render.latex}


@dataclasses.dataclass(frozen=True)
class Report:
    """What was written where.

    Attributes
    ----------
    directory : Path
    index : Path
        The page that shows everything.
    tables, plots : tuple of Path
        Tables as CSV, Markdown and LaTeX; plots with their data as CSV.
    sections : tuple of Section
        The tables and plots themselves.
    statuses : Table
        How many cases have which status, the missing ones among them.
    expected, missing : int
        Cases of the sweep, and those that have no record yet.
    """

    directory: Path
    index: Path
    tables: tuple[Path, ...]
    plots: tuple[Path, ...]
    sections: tuple[Section, ...]
    statuses: Table
    expected: int
    missing: int

    def brief(self) -> list[Table]:
        """What a terminal shows of it: a table per kind of case, and the statuses."""
        main = [section.brief() for section in self.sections]
        return [*(table for table in main if table is not None), self.statuses]


def report(
    directory: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    formats: Sequence[str] = ("png", "svg"),
) -> Report:
    """Write tables, plots and ``index.html`` of a sweep, finished or not.

    Parameters
    ----------
    directory : path
        Where the sweep is stored.
    output : path, optional
        Where the report goes; ``report`` inside `directory` unless given.
    formats : sequence of str
        Of the plots: ``png``, ``svg``, ``pdf``; without any, only their data are written.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        No sweep or no record in `directory`, an unknown format, an output that cannot be written.

    Examples
    --------
    >>> import tempfile, stabbench as sb
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = sb.sweep(None, directory, codes="dct", n=[4, 6], stragglers=1)
    ...     written = report(directory, formats=["svg"])
    >>> written.index.name, written.sections[0].tables[0].values("n")
    ('index.html', [4, 6])
    """
    from stabbench.report.html import page

    formats = known_formats(formats)
    store = Store.existing(directory)
    records = [store.records[case] for case in store.expected if case in store.records]
    if not records:
        raise InputError(
            f"{store.path}: holds none of its {len(store.expected)} cases yet; run the sweep first"
        )
    target = store.directory / "report" if output is None else Path(output)
    statuses = tables.statuses(records, len(store.missing))
    found = sections(records)
    old = listed(target)
    every = [statuses, *(table for section in found for table in section.tables)]
    written = [*_write_tables(target / "tables", every)]
    plots = [p for section in found for p in section.plots]
    drawn = [path for plot in plots for path in _write_plot(target / "plots", plot, formats)]
    text = page(store, found, statuses, tuple(formats))
    index = write(target / "index.html", text)
    for path in old - {*written, *drawn}:
        path.unlink(missing_ok=True)
    counts = len(store.expected), len(store.missing)
    return Report(target, index, tuple(written), tuple(drawn), tuple(found), statuses, *counts)


def listed(target: Path) -> set[Path]:
    """The tables and plots that the page of an earlier report in this directory refers to."""
    index = target / "index.html"
    if not index.is_file():
        return set()
    text = index.read_text(encoding="utf-8", errors="replace")
    ours = f"{OURS}</title>" in text
    return {target / name for name in LINK.findall(text)} if ours else set()


def _write_tables(folder: Path, every: Iterable[Table]) -> Iterable[Path]:
    for table in every:
        for suffix, renderer in RENDERERS.items():
            yield write(folder / f"{table.name}.{suffix}", renderer(table))


def _write_plot(folder: Path, plot: Plot, formats: Sequence[str]) -> Iterable[Path]:
    yield write(folder / f"{plot.name}.csv", render.comma_separated(plot.data))
    for suffix, content in draw(plot, formats).items():
        yield write(folder / f"{plot.name}.{suffix}", content)
