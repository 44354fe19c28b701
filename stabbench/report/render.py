"""How tables look: in a terminal, as Markdown, CSV and LaTeX. What they hold is in `tables`."""

import csv
import io
import math
import os
import re
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from stabbench.report.table import Column, Kind, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

ASCII = str.maketrans(
    {"κ": "kappa", "₂": "_2", "∞": "inf", "µ": "u", "·": "-", "–": "-", "—": "-", "×": "x"}
)
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "κ": r"$\kappa$",
    "₂": r"$_2$",
    "∞": r"$\infty$",
    "µ": r"$\mu$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "–": "--",
    "—": "---",
}
_POWER = re.compile(r"^(-?[0-9.]+)e(-?[0-9]+)$")


def shown(value: Any, kind: Kind = "text") -> str:
    """A value as people read it.

    Examples
    --------
    >>> shown(9.1171e-7, "number"), shown(5.71, "digits"), shown(0.125, "share")
    ('9.12e-7', '5.7', '12.5 %')
    >>> shown(float("inf"), "number"), shown(float("inf"), "digits"), shown(3.2e-5, "seconds")
    ('∞', 'exact', '32 µs')
    """
    if value is None:
        return ""
    if kind in ("text", "integer"):
        return " ".join(str(value).split())
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return ("exact" if kind == "digits" else "∞") if value > 0 else "-∞"
    if kind == "digits":
        return f"{value:.1f}"
    if kind == "share":
        return f"{100 * value:.3g} %"
    return _seconds(value) if kind == "seconds" else _number(value)


def common(shared: Sequence[tuple[Column, Any]]) -> str:
    """What all rows of a table have in common, as a sentence; empty for nothing.

    Parameters
    ----------
    shared : sequence of (Column, value)
        See `stabbench.report.table.Table.condensed`.
    """
    words = [f"{column.title} {shown(value, column.kind)}" for column, value in shared]
    return f"all rows: {', '.join(words)}" if words else ""


def terminal(
    table: Table, width: int | None = None, *, color: bool = False, ascii_only: bool = False
) -> str:
    """A table as text for a terminal; what all rows have in common stands once, below the title.

    Parameters
    ----------
    table : Table
    width : int, optional
        Characters per line; less important columns are left out, then names fold, until the table
        fits. None means no limit, as for files and pipes.
    color : bool
        Whether to use colours and bold letters.
    ascii_only : bool
        Whether only ASCII characters may occur.

    Returns
    -------
    str
        Ends with a line feed.
    """
    from rich.console import Console
    from rich.text import Text

    short, shared = table.condensed()
    kept, left_out = _fitting(short, width)
    drawn, natural = _rich(kept, ascii_only)
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(natural, 20) if width is None else max(width, 20),
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(Text(_plain(table.title, ascii_only), style="bold"), soft_wrap=width is None)
    if shared:
        words = Text(_plain(common(shared), ascii_only), style="dim")
        console.print(words, soft_wrap=width is None)
    console.print(drawn)
    notes = [*table.notes]
    if left_out:
        titles = ", ".join(column.title for column in left_out)
        notes.append(f"columns left out for the width: {titles}")
    for note in notes:
        console.print(Text(_plain(note, ascii_only), style="dim"), soft_wrap=width is None)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def text_for(stream: TextIO, *tables: Table) -> str:
    """Tables as text for a stream: as wide as the terminal, plain and whole for pipes and files.

    Parameters
    ----------
    stream : text file
        Its encoding decides whether only ASCII characters occur.
    *tables : Table

    Returns
    -------
    str
        The tables with an empty line between them; nothing is written.
    """
    try:
        "κ₂∞µ·─".encode(stream.encoding or "ascii")
        ascii_only = False
    except (UnicodeEncodeError, LookupError):
        ascii_only = True
    is_terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else None
    color = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return "\n".join(terminal(t, width, color=color, ascii_only=ascii_only) for t in tables)


def markdown(table: Table) -> str:
    """A table in GitHub's Markdown; what all rows have in common stands once, above it."""
    short, shared = table.condensed()
    heads = [_md(column.title) for column in short.columns]
    rules = ["---:" if column.numeric else ":---" for column in short.columns]
    body = [[_md(cell) for cell in row] for row in _cells(short)]
    lines = ["| " + " | ".join(row) + " |" for row in (heads, rules, *body)]
    notes = "".join(f"\n{_md(note)}\n" for note in table.notes)
    head = f"## {_md(table.title)}\n\n" + (f"{_md(common(shared))}\n\n" if shared else "")
    return head + "\n".join(lines) + "\n" + notes


def comma_separated(table: Table) -> str:
    """A table as CSV: keys as the header, numbers unrounded, ``inf`` and ``nan`` in words."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    writer.writerows([["" if value is None else value for value in row] for row in table.rows])
    return out.getvalue()


def latex(table: Table) -> str:
    """A table for LaTeX with the packages booktabs and longtable; see `markdown`."""
    short, shared = table.condensed()
    title = _tex(table.title) + (f" ({_tex(common(shared))})" if shared else "")
    spec = "".join("r" if column.numeric else "l" for column in short.columns)
    head = " & ".join(_tex(column.title) for column in short.columns) + r" \\"
    body = [" & ".join(_tex(cell) for cell in row) + r" \\" for row in _cells(short)]
    notes = [rf"\par\noindent {_tex(note)}" for note in table.notes]
    lines = [
        "% needs: booktabs, longtable",
        rf"\begin{{longtable}}{{{spec}}}",
        rf"\caption{{{title}}}\label{{tab:{table.name}}}\\",
        r"\toprule",
        head,
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        head,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *body,
        r"\end{longtable}",
        *notes,
    ]
    return "\n".join(lines) + "\n"


def _cells(table: Table) -> list[list[str]]:
    kinds = [column.kind for column in table.columns]
    return [[shown(v, kind) for v, kind in zip(row, kinds, strict=True)] for row in table.rows]


def _number(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}" if abs(value) < 1e3 else f"{value:.0f}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _fitting(table: Table, width: int | None) -> tuple[Table, list[Column]]:
    """The table without the columns that a width has no room for, and those columns."""
    if width is None:
        return table, []
    cells = _cells(table)
    folded = min(max(width // 4, 12), 32)
    room = {}
    for i, column in enumerate(table.columns):
        longest = max([len(column.title), *(len(row[i]) for row in cells)])
        room[column.key] = 2 + (longest if column.numeric else min(longest, folded))
    dropped: list[Column] = []
    order = sorted(
        enumerate(table.columns), key=lambda pair: (pair[1].importance, pair[0]), reverse=True
    )
    for _, column in order:
        if sum(room.values()) <= width or column.importance == 0:
            break
        del room[column.key]
        dropped.append(column)
    left_out = [column for column in table.columns if column in dropped]
    return table.only(set(room)), left_out


def _rich(table: Table, ascii_only: bool) -> tuple["RichTable", int]:
    """The table of the library rich, and the width that it would like."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        box=box.ASCII2 if ascii_only else box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    total = 1
    cells = [[_plain(cell, ascii_only) for cell in row] for row in _cells(table)]
    for i, column in enumerate(table.columns):
        title = _plain(column.title, ascii_only)
        drawn.add_column(
            Text(title), justify="right" if column.numeric else "left", overflow="fold"
        )
        total += 3 + max([len(title), *(len(row[i]) for row in cells)])
    for row in cells:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn, total


def _plain(text: str, ascii_only: bool) -> str:
    if not ascii_only:
        return text
    return text.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _md(text: str) -> str:
    escaped = re.sub(r"([\\`*_{}\[\]<>|#~&$])", r"\\\1", text)
    return " ".join(escaped.split())


def _tex(text: str) -> str:
    power = _POWER.match(text)
    if power:
        return rf"${power[1]} \cdot 10^{{{power[2]}}}$"
    if re.fullmatch(r"-[0-9.]+", text):
        return f"${text}$"
    return "".join(LATEX.get(character, character) for character in " ".join(text.split()))
