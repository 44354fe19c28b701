"""Published numbers beside recomputed ones, with a verdict for each, as rows, a table or a page."""

import dataclasses
import html as escaping
import math
from collections.abc import Callable, Sequence

from stabbench.errors import InputError
from stabbench.published.quantities import Measured, eigenvalue_ratio, measure, saturated
from stabbench.published.rows import Published, chosen
from stabbench.report.render import markdown, shown
from stabbench.report.table import Column, Table, table

COLUMNS = (
    Column("id", "number", importance=0),
    Column("source", "source", importance=3),
    Column("code", "code", importance=2),
    Column("quantity", "quantity", importance=2),
    Column("published", "published", "number", importance=0),
    Column("measured", "measured", "number", importance=0),
    Column("difference", "difference", "share", importance=1),
    Column("verdict", "verdict", importance=0),
    Column("why", "why", importance=1),
)
STYLE = """
body { font: 15px sans-serif; margin: 2em }
table { border-collapse: collapse }
th, td { padding: .3em .6em; border-bottom: 1px solid #ccc; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
"""


@dataclasses.dataclass(frozen=True)
class Reproduced:
    """A published number beside the recomputed one.

    Attributes
    ----------
    row : Published
    measured : float or None
    difference : float or None
        measured / published - 1.
    verdict : str
        ``agrees``, ``differs`` or ``not computable``.
    why : str
        Why it differs or cannot be computed, or how it was measured.
    """

    row: Published
    measured: float | None
    difference: float | None
    verdict: str
    why: str


def reproduce(
    source: str | None = None, progress: Callable[[Published], None] = lambda row: None
) -> list[Reproduced]:
    """Recompute published numbers from their definitions.

    Parameters
    ----------
    source : str, optional
        Part of a source or of an id; all numbers unless given.
    progress : callable, optional
        Called with each row before it is computed.

    Returns
    -------
    list of Reproduced

    Raises
    ------
    InputError
        If no number has such a source.

    Examples
    --------
    >>> [row.verdict for row in reproduce("hilbert-1")]
    ['agrees', 'agrees', 'differs']
    """
    found = []
    for row in chosen(source):
        progress(row)
        found.append(judge(row))
    return found


def judge(row: Published) -> Reproduced:
    """The verdict on one published number."""
    try:
        measured = measure(row)
    except InputError as error:
        measured = Measured(None, str(error))
    if measured.value is None:
        return Reproduced(row, None, None, "not computable", measured.note)
    difference = measured.value / row.published - 1
    apart = max(-difference, 0.0) if "at least" in row.quantity else abs(difference)
    if apart <= row.rtol and not other_definition(row, measured.value):
        return Reproduced(row, measured.value, difference, "agrees", measured.note)
    return Reproduced(row, measured.value, difference, "differs", reason(row, measured))


def other_definition(row: Published, measured: float) -> bool:
    """Whether a number within rtol is nevertheless that of another definition.

    Sources print three digits. A number more than two units of the third digit away from what its
    name says, and within one of the ratio of eigenvalues, is that ratio.
    """
    if not row.quantity.startswith(("min kappa_2", "max kappa_2")):
        return False
    unit = 10.0 ** (math.floor(math.log10(row.published)) - 2)
    if abs(measured - row.published) <= 2 * unit:
        return False
    ratio = eigenvalue_ratio(row)
    return ratio is not None and abs(ratio - row.published) <= unit


def reason(row: Published, measured: Measured) -> str:
    """Why a number differs: another definition that gives it, else what is known of the source."""
    if "kappa_2" in row.quantity:
        ratio = eigenvalue_ratio(row)
        if ratio is not None and abs(ratio / row.published - 1) <= row.rtol:
            return f"max |eigenvalue| / min |eigenvalue| of square survivor sets gives {ratio:.4g}"
        if "full matrix" in row.quantity and row.published > 1e15:
            return f"limited by float64, in which numpy.linalg.cond gives {saturated(row):.3g}"
    parts = [part for part in (measured.note, row.reason) if part]
    return "; ".join(parts) or "unexplained"


def as_table(rows: Sequence[Reproduced]) -> Table:
    """The rows as a table, which `stabbench.report.render` shows in every format."""
    cells = [
        {
            "id": item.row.id,
            "source": item.row.source,
            "code": f"{item.row.code} n={item.row.n} s={item.row.s}",
            "quantity": " ".join(part for part in (item.row.quantity, item.row.noise) if part),
            "published": item.row.published,
            "measured": item.measured,
            "difference": item.difference,
            "verdict": item.verdict,
            "why": item.why,
        }
        for item in rows
    ]
    counts = {
        verdict: sum(item.verdict == verdict for item in rows)
        for verdict in ("agrees", "differs", "not computable")
    }
    note = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    unread = sum(item.row.certainty.startswith("recalled") for item in rows)
    notes = (f"{note}.", *([f"{unread} numbers are recalled, not read."] if unread else []))
    return table("reproduction", "Published numbers, recomputed", COLUMNS, cells, notes)


def as_markdown(rows: Sequence[Reproduced]) -> str:
    """The rows as a table in Markdown."""
    return markdown(as_table(rows))


def as_html(rows: Sequence[Reproduced]) -> str:
    """The rows as a page that needs nothing else.

    Examples
    --------
    >>> as_html(reproduce("hilbert-2")).count("<tr>")
    2
    """
    found = as_table(rows)
    head = "".join(f"<th>{escaping.escape(column.title)}</th>" for column in found.columns)
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escaping.escape(found.title)}</title>",
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escaping.escape(found.title)}</h1>",
        f"<table><thead><tr>{head}</tr></thead><tbody>",
    ]
    for row in found.rows:
        cells = "".join(
            f"<td{' class=n' if column.numeric else ''}>"
            f"{escaping.escape(shown(value, column.kind))}</td>"
            for value, column in zip(row, found.columns, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    notes = "".join(f"<p>{escaping.escape(note)}</p>" for note in found.notes)
    return "\n".join([*lines, f"</tbody></table>{notes}</body></html>"]) + "\n"
