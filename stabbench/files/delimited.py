"""Tables of numbers in text: separators, header line, decimal comma, quotes.

Where the text comes from and what becomes of the array: files.py.
"""

import csv
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError

_Line = tuple[int, str]
_FORTRAN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[dD]([+-]?\d+)|([+-]\d{3}))", re.ASCII)


def parse_table(content: bytes, where: str) -> tuple[NDArray[np.inexact], list[str]]:
    r"""Read a table of numbers from the bytes of a text file.

    Rows are lines ended by LF, CRLF or CR. The separator is the first of semicolon, tab and comma
    that occurs outside quotes, else white space. Blank lines and lines that start with ``#`` are
    skipped; a first line of words without any number is a header. With semicolons or tabs a comma
    inside a number is the decimal mark.

    Parameters
    ----------
    content : bytes
        UTF-8, with or without a byte-order mark.
    where : str
        Begin of every error message: what is read, and from where.

    Returns
    -------
    array : ndarray, shape (rows, columns)
        float64, or complex128 where a cell such as ``1+2j`` or ``1+2i`` is complex.
    notes : list of str
        What was skipped or interpreted.

    Raises
    ------
    InputError
        Other encodings, no rows, rows of different lengths, cells that are not numbers.

    Examples
    --------
    >>> parse_table(b"size;weight\r\n1,5;2\r\n-3;1e1\r\n", "data 'a.csv'")
    (array([[ 1.5,  2. ],
           [-3. , 10. ]]), ["header line skipped: 'size', 'weight'", 'decimal commas read'])
    """
    lines = _lines(content, where)
    if not lines:
        raise InputError(f"{where}: no rows; allowed are one or more rows of numbers")
    separator = _separator(lines)
    notes = []
    first, width = lines[0][0], len(_cells(lines[0], separator, where))
    header = _header(lines[0], separator, where)
    if header:
        notes.append(f"header line skipped: {listed([repr(name) for name in header], 6)}")
        lines = lines[1:]
    if not lines:
        raise InputError(f"{where}: only a header line; allowed are one or more rows of numbers")
    comma = separator in (";", "\t") and any("," in line for _, line in lines)
    if comma:
        notes.append("decimal commas read")
    rows = []
    for line in lines:
        cells = _cells(line, separator, where)
        if len(cells) != width:
            raise InputError(
                f"{where}: {len(cells)} cells in line {line[0]}, {width} in line {first}; "
                "allowed are rows of one length"
            )
        rows.append(_row(cells, comma, f"{where}: line {line[0]}"))
    array = np.vstack(rows)
    if not header and min(array.shape) > 1 and np.array_equal(array[0], np.arange(width)):
        notes.append(f"line {first} is 0, 1, ..., {width - 1}: read as data, not as column numbers")
    return array, notes


def listed(words: Sequence[str], most: int) -> str:
    """Print the first few words.

    Examples
    --------
    >>> listed(["a", "b", "c"], 2)
    'a, b, ...'
    """
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")


def _lines(content: bytes, where: str) -> list[_Line]:
    """Return the lines that count, each with its number in the file from 1."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start}; allowed is UTF-8") from error
    if "\0" in text:
        raise InputError(f"{where}: null bytes, not text; allowed is UTF-8 text")
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    return [
        (number, line)
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("#")
    ]


def _separator(lines: list[_Line]) -> str | None:
    """Return the separator of the table; None is white space."""
    unquoted = [re.sub(r'"[^"]*"', "", line) for _, line in lines]
    return next((mark for mark in (";", "\t", ",") if any(mark in line for line in unquoted)), None)


def _cells(line: _Line, separator: str | None, where: str) -> list[str]:
    """Split a line at its separators, quotes removed."""
    number, text = line
    if '"' not in text:
        return text.split(separator)
    if separator is None:
        text = text.strip()
    try:
        return next(
            csv.reader([text], delimiter=separator or " ", skipinitialspace=True, strict=True)
        )
    except csv.Error as error:
        raise InputError(
            f"{where}: unbalanced quotes in line {number}; allowed are numbers, quoted or not"
        ) from error


def _header(line: _Line, separator: str | None, where: str) -> list[str]:
    """Return the names in the first line, an empty list where it is a row of numbers."""
    cells = [cell.strip() for cell in _cells(line, separator, where)]
    words = any(letter.isalpha() for cell in cells for letter in cell)
    numbers = [_number(cell, comma) for cell in cells for comma in (False, True)]
    if not words or any(number is not None for number in numbers):
        return []
    if "" in cells:
        # pandas writes an unnamed index column: taken as data it would be one more column
        raise InputError(
            f"{where}: no name in column {cells.index('') + 1} of the header in line {line[0]}; "
            "allowed are tables without an index column"
        )
    return cells


def _row(cells: list[str], comma: bool, where: str) -> NDArray[np.inexact]:
    """Convert the cells of a line."""
    values = []
    for column, cell in enumerate(cells, start=1):
        value = _number(cell, comma)
        if value is None:
            mark = "a decimal comma, as elsewhere in the file" if comma else "a decimal point"
            shown = cell if len(cell) <= 40 else cell[:40] + "..."
            raise InputError(
                f"{where}, column {column}: {shown!r} is no number; allowed are numbers with {mark}"
            )
        values.append(value)
    return np.array(values)


def real(word: str) -> float | None:
    """Return the number that a word is, None where it is none.

    Fortran's exponents are read too: ``1.5D+05``, and ``1.5-105`` where three digits leave no
    place for the letter.

    Examples
    --------
    >>> [real(word) for word in ("-.5", "1.5D+05", "1.5-105", "1_000", "one")]
    [-0.5, 150000.0, 1.5e-105, None, None]
    """
    # float() also takes 1_000 and the digits of every script
    if "_" in word or not word.isascii():
        return None
    try:
        return float(word)
    except ValueError:
        fortran = _FORTRAN.fullmatch(word)
    return float(f"{fortran[1]}e{fortran[2] or fortran[3]}") if fortran else None


def _number(cell: str, comma: bool) -> float | complex | None:
    """Return the number in a cell, None where there is none."""
    text = cell.strip()
    if "_" in text or not text.isascii() or (comma and "." in text):
        return None
    if comma:
        text = text.replace(",", ".")
    value = real(text)
    if value is not None:
        return value
    if not any(letter.isdigit() for letter in text):
        return None  # "i" and "j" are names of columns, not imaginary units
    try:
        return complex(text[:-1] + "j" if text.endswith("i") else text)
    except ValueError:
        return None
