"""What a plot is, how it is saved, and how its lines are divided into readable panels."""

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stabbench.arithmetic.precision import precision as units
from stabbench.errors import InputError
from stabbench.grammar import near
from stabbench.report.entries import Entry
from stabbench.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 6
"""Most lines in one panel; a panel with fewer lines than this takes in small families."""
ROWS = 5
"""Most rows of panels in one figure."""
ALIKE = 2.0**20
"""Precisions whose unit round-offs differ by less share an axis of errors."""
COLUMNS = 4
"""Most panels beside each other, unless one precision has more numbers of stragglers."""
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
        All numbers of the plot; they stand as CSV beside it. Its first note says in words what is
        the same for all of them.
    draw : callable
        From `data` to a matplotlib Figure. It is called within `style.context`.
    """

    name: str
    title: str
    caption: str
    data: Table
    draw: Callable[[Table], "Figure"]


def known_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """The formats, after a check that all are known.

    Raises
    ------
    InputError
        Naming the first that is not.

    Examples
    --------
    >>> known_formats(["png", "pdf"])
    ('png', 'pdf')
    """
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"plot format {name!r}; {near(name, FORMATS)}")
    return tuple(formats)


def render(plot: Plot, formats: Sequence[str]) -> dict[str, bytes]:
    """The plot's files by format, the same bytes for the same data; nothing without a format.

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
    files: dict[str, bytes] = {}
    if not formats:
        return files
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
class Block:
    """A row of panels with the same lines.

    Attributes
    ----------
    families : str
        What the lines are, in words.
    keys : list of key
        The lines in order.
    precisions : list of str
        A panel, or one per number of stragglers, for each.
    """

    families: str
    keys: list[Key]
    precisions: list[str]


@dataclasses.dataclass(frozen=True)
class Page:
    """The share of one figure in the lines of a report.

    Attributes
    ----------
    suffix : str
        What tells the name of the figure from that of others.
    words : str
        The same for its title.
    blocks : list of Block
    entries : list of Entry
        Everything that may be drawn.
    """

    suffix: str
    words: str
    blocks: list[Block]
    entries: list[Entry]

    @property
    def shown(self) -> list[Entry]:
        """The entries of the figure."""
        return [e for _, mine in self.lines() for e in mine]

    def lines(self) -> Iterator[tuple[dict[str, Any], list[Entry]]]:
        """Every line: its place, colour and name as columns of a table, and its entries."""
        for panel, block in enumerate(self.blocks):
            inside = [e for e in self.entries if e.precision in block.precisions]
            names = labels(inside, decoders=not apart(inside))
            for precision in block.precisions:
                for line, key in enumerate(block.keys):
                    place = {"panel": panel, "families": block.families, "line": line}
                    mine = [e for e in inside if e.key == key and e.precision == precision]
                    yield (
                        {"precision": precision, **place, "code": names[key]},
                        sorted(mine, key=lambda e: (e.stragglers, e.n)),
                    )


def pages(found: Sequence[Entry]) -> Iterator[Page]:
    """Lines divided into figures and panels that stay readable.

    A precision with many lines has a figure of its own; the others share one, those with the same
    lines side by side.
    """
    made: dict[str, list[tuple[str, list[Key]]]] = {}
    for e in sorted(found, key=lambda e: -e.unit):
        made.setdefault(e.precision, [])
    for precision in made:
        here = [e for e in found if e.precision == precision]
        made[precision] = groups(here, decoders=apart(here))
    few = {name: panels for name, panels in made.items() if len(panels) == 1}
    for precision, panels in made.items():
        if precision not in few or len(few) == 1:
            blocks = [Block(words, keys, [precision]) for words, keys in panels]
            yield from _numbered(precision if len(made) > 1 else "", precision, blocks, found)
    if len(few) > 1:
        words = "other precisions" if len(few) < len(made) else ""
        wide = len({e.stragglers for e in found if e.precision in few})
        suffix = "others" if words else ""
        yield from _numbered(suffix, words, _side_by_side(few, max(COLUMNS // wide, 1)), found)


def _numbered(
    suffix: str, words: str, blocks: list[Block], found: Sequence[Entry]
) -> Iterator[Page]:
    for start in range(0, len(blocks), ROWS):
        number = str(start // ROWS + 1) if len(blocks) > ROWS else ""
        name = "-".join(part for part in (suffix, number) if part)
        title = ", ".join(part for part in (words, f"part {number}" if number else "") if part)
        yield Page(name, title, blocks[start : start + ROWS], list(found))


def _side_by_side(few: dict[str, list[tuple[str, list[Key]]]], most: int) -> list[Block]:
    """A block for all precisions with the same lines; at most so many beside each other."""
    blocks: list[Block] = []
    for precision, ((families, keys),) in few.items():
        for block in blocks:
            ratio = units(block.precisions[0]).unit / units(precision).unit
            if block.keys == keys and len(block.precisions) < most and ratio < ALIKE:
                block.precisions.append(precision)
                break
        else:
            blocks.append(Block(families, keys, [precision]))
    return blocks


def panels_of(block: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    """The precision and the stragglers of every panel that the rows of a block fill."""
    names = list(dict.fromkeys(row["precision"] for row in block))
    found = {(row["precision"], row["stragglers"]) for row in block}
    return sorted(found, key=lambda pair: (names.index(pair[0]), pair[1]))


def slug(*words: str) -> str:
    """A name for files from words; empty words vanish.

    Examples
    --------
    >>> slug("cost", "", "float32/float64")
    'cost-float32-float64'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(word for word in words if word)).strip("-")


def apart(found: Sequence[Entry]) -> bool:
    """Whether decoders get panels of their own: most codes have several, and lines are many."""
    decoders: dict[str, set[str]] = {}
    for e in found:
        decoders.setdefault(e.key[0], set()).add(e.key[1])
    several = sum(len(names) > 1 for names in decoders.values())
    many = sum(map(len, decoders.values())) > LINES
    return many and len(decoders) > 1 and 2 * several > len(decoders)


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
