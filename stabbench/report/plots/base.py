"""What a plot is, how it is saved, and how its lines are divided into readable panels."""

import dataclasses
import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report.entries import Entry
from stabbench.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 6
"""Most lines in one panel; a panel with fewer lines than this takes in small families."""
FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "stabbench"},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": "stabbench"},
}


@dataclasses.dataclass(frozen=True)
class Plot:
    """A plot: the table that it shows and the function that draws it.

    Attributes
    ----------
    name : str
        Name of its files, without an ending.
    title : str
        What is shown.
    caption : str
        How to read it, for the page.
    data : Table
        All numbers of the plot; they stand as CSV beside it.
    draw : callable
        From `data` to a matplotlib Figure. It is called within `style.context`.
    """

    name: str
    title: str
    caption: str
    data: Table
    draw: Callable[[Table], "Figure"]


def render(plot: Plot, formats: Sequence[str]) -> dict[str, bytes]:
    """The plot's files by format, the same bytes for the same data."""
    from stabbench.report.style import context

    files = {}
    with context():
        figure = plot.draw(plot.data)
        for suffix in formats:
            out = io.BytesIO()
            figure.savefig(out, format=suffix, metadata=_METADATA[suffix])
            files[suffix] = out.getvalue()
    return files


def slug(*words: str) -> str:
    """A name for files from words; empty words vanish.

    Examples
    --------
    >>> slug("cost", "", "float32/float64")
    'cost-float32-float64'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(word for word in words if word)).strip("-")


def labels(found: Sequence[Entry]) -> dict[tuple[str, str], str]:
    """What each line is called: the code, and the decoder where a code has several.

    Names that would be the same, such as those of two users' files, are told apart by number.
    """
    decoders: dict[str, set[str]] = {}
    for e in found:
        decoders.setdefault(e.key[0], set()).add(e.key[1])
    names: dict[tuple[str, str], str] = {}
    for e in found:
        plain = e.code if len(decoders[e.key[0]]) == 1 else f"{e.code} · {e.decoder}"
        others = {name for key, name in names.items() if key != e.key}
        if e.key not in names:
            count = 2
            name = plain
            while name in others:
                name, count = f"{plain} ({count})", count + 1
            names[e.key] = name
    return names


def groups(found: Sequence[Entry], most: int = LINES) -> list[tuple[str, list[tuple[str, str]]]]:
    """Lines divided into panels of at most `most`, families together.

    Parameters
    ----------
    found : sequence of Entry
    most : int

    Returns
    -------
    list of (str, list of key)
        The families of a panel in words, and the keys of its lines in order.
    """
    families: dict[str, list[tuple[str, str]]] = {}
    for e in found:
        keys = families.setdefault(e.family, [])
        if e.key not in keys:
            keys.append(e.key)
    panels: list[tuple[list[str], list[tuple[str, str]]]] = []
    for family, keys in families.items():
        keys.sort(key=lambda key: key[0])
        if panels and len(panels[-1][1]) + len(keys) <= most:
            panels[-1][0].append(family)
            panels[-1][1].extend(keys)
            continue
        count = -(-len(keys) // most)
        size = -(-len(keys) // count)
        panels += [([family], keys[i : i + size]) for i in range(0, len(keys), size)]
    return [(", ".join(names), keys) for names, keys in panels]
