"""What a plot is, how it is saved, and how its lines are divided into readable panels."""

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.report.entries import Entry, by_setting, entries
from stabbench.report.table import Table
from stabbench.sweeps.case import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 6
"""Most lines in one panel; a panel with fewer lines than this takes in small families."""
ROWS = 5
"""Most rows of panels in one figure."""
FORMATS = ("png", "svg", "pdf")
Key = tuple[str, str]


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
    """The plot's files by format, the same bytes for the same data.

    The canvases are used directly: ``savefig`` draws everything twice.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from stabbench.report.style import context

    canvases: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "png": (FigureCanvasAgg, "print_png", {"Software": None}),
        "svg": (FigureCanvasSVG, "print_svg", {"Date": None, "Creator": "stabbench"}),
        "pdf": (FigureCanvasPdf, "print_pdf", {"CreationDate": None, "Creator": "stabbench"}),
    }
    files = {}
    with context():
        figure = plot.draw(plot.data)
        layout, dpi = figure.get_layout_engine(), figure.dpi
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        for suffix in formats:
            out = io.BytesIO()
            canvas, method, metadata = canvases[suffix]
            getattr(canvas(figure), method)(out, metadata=metadata)
            figure.dpi = dpi
            files[suffix] = out.getvalue()
    return files


@dataclasses.dataclass(frozen=True)
class Page:
    """The share of one figure in the lines of a report.

    Attributes
    ----------
    precision, setting, number : str
        What tells the figure from the others; `number` is empty where one figure is enough.
    panels : list of (str, list of key)
        See `groups`.
    entries : list of Entry
        Measured entries of this precision and setting.
    names : dict
        See `labels`.
    """

    precision: str
    setting: str
    number: str
    panels: list[tuple[str, list[Key]]]
    entries: list[Entry]
    names: dict[Key, str]

    def title(self, what: str) -> str:
        """The title of the figure."""
        words = [self.setting, f"part {self.number}" if self.number else ""]
        inside = ", ".join(word for word in words if word)
        return f"{what}, {self.precision}" + (f" ({inside})" if inside else "")

    def lines(self) -> Iterator[tuple[dict[str, Any], list[Entry]]]:
        """Every line: its place, colour and name as columns of a table, and its entries."""
        for panel, (families, keys) in enumerate(self.panels):
            for line, key in enumerate(keys):
                place = {"panel": panel, "families": families, "line": line}
                mine = [e for e in self.entries if e.key == key]
                yield (
                    {"precision": self.precision, **place, "code": self.names[key]},
                    sorted(mine, key=lambda e: (e.stragglers, e.n)),
                )


def pages(records: Sequence[Record]) -> Iterator[Page]:
    """Lines per setting and precision, divided into figures and panels that stay readable."""
    for setting, found in by_setting(entries(records)).items():
        measured = [e for e in found if e.value("relative_error") is not None]
        for precision in dict.fromkeys(e.precision for e in measured):
            here = [e for e in measured if e.precision == precision]
            apart = crossed(here)
            names = labels(here, decoders=not apart)
            panels = groups(here, decoders=apart)
            for start in range(0, len(panels), ROWS):
                number = str(start // ROWS + 1) if len(panels) > ROWS else ""
                part = panels[start : start + ROWS]
                yield Page(precision, setting, number, part, here, names)


def slug(*words: str) -> str:
    """A name for files from words; empty words vanish.

    Examples
    --------
    >>> slug("cost", "", "float32/float64")
    'cost-float32-float64'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(word for word in words if word)).strip("-")


def crossed(found: Sequence[Entry]) -> bool:
    """Whether most codes are there with several decoders, which then get panels of their own."""
    decoders: dict[str, set[str]] = {}
    for e in found:
        decoders.setdefault(e.key[0], set()).add(e.key[1])
    several = sum(len(names) > 1 for names in decoders.values())
    return len(decoders) > 1 and 2 * several > len(decoders)


def labels(found: Sequence[Entry], *, decoders: bool = True) -> dict[Key, str]:
    """What each line is called: the code, and the decoder where a code has several.

    Names that would be the same, such as those of two users' files, are told apart by number.

    Parameters
    ----------
    found : sequence of Entry
    decoders : bool
        Whether decoders are named at all; they are not where the panels name them.
    """
    used: dict[str, set[str]] = {}
    for e in found:
        used.setdefault(e.key[0], set()).add(e.key[1])
    names: dict[Key, str] = {}
    for e in found:
        if e.key in names:
            continue
        plain = e.code if len(used[e.key[0]]) == 1 or not decoders else f"{e.code} · {e.decoder}"
        others = {name for key, name in names.items() if decoders or key[0] != e.key[0]}
        tries = [plain, *(f"{plain} ({count})" for count in range(2, len(others) + 2))]
        names[e.key] = next(name for name in tries if name not in others)
    return names


def groups(
    found: Sequence[Entry], most: int = LINES, *, decoders: bool = False
) -> list[tuple[str, list[Key]]]:
    """Lines divided into panels of at most `most`, families together.

    Parameters
    ----------
    found : sequence of Entry
    most : int
    decoders : bool
        Whether every decoder has panels of its own.

    Returns
    -------
    list of (str, list of key)
        The families of a panel in words, and the keys of its lines in order.
    """
    split: dict[str, dict[str, list[Key]]] = {}
    for e in found:
        families = split.setdefault(e.decoder if decoders else "", {})
        keys = families.setdefault(e.family, [])
        if e.key not in keys:
            keys.append(e.key)
    return [
        (f"{words}, {decoder}" if decoder else words, keys)
        for decoder, families in split.items()
        for words, keys in _packed(families, most)
    ]


def _packed(families: dict[str, list[Key]], most: int) -> list[tuple[str, list[Key]]]:
    """Large families divided evenly, small ones put together."""
    panels: list[tuple[list[str], list[Key]]] = []
    for family, keys in families.items():
        ordered = sorted(keys, key=lambda key: key[0])
        if panels and len(panels[-1][1]) + len(keys) <= most:
            panels[-1][0].append(family)
            panels[-1][1].extend(ordered)
            continue
        size = -(-len(keys) // -(-len(keys) // most))
        panels += [([family], ordered[i : i + size]) for i in range(0, len(keys), size)]
    return [(", ".join(names), keys) for names, keys in panels]
