"""Draw the picture of the README: digits that well-known codes keep in float32, against n.

    python docs/readme_figure.py

runs a sweep of its own (all pairs of stragglers, under half a minute) and writes
docs/_static/digits.svg, with the same bytes for the same records.
"""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stabbench as sb
from stabbench.report import style
from stabbench.report.entries import Entry, as_digits, entries
from stabbench.report.plots.base import Plot, render
from stabbench.report.plots.frame import frame
from stabbench.report.table import Column, Table, table
from stabbench.sweeps.runner import Options

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TARGET = Path(__file__).parent / "_static" / "digits.svg"
SIZES = list(range(6, 31, 3))
CODES = {
    "replication": ("replication, stored 3 times", "#000000"),
    "rotation": ("rotation", "#0072B2"),
    "gaussian": ("random Gaussian", "#CC79A7"),
    "chebyshev-basis": ("Chebyshev basis and nodes", "#009E73"),
    "polynomial": ("polynomial, Chebyshev nodes", "#E69F00"),
    "polynomial[nodes=equispaced]": ("polynomial, equispaced nodes", "#D55E00"),
}
LEAST = -1.0
MOST = -math.log10(2**-24)
TITLE = "How many digits survive two stragglers in float32"
NOTE = (
    "A matrix-vector product is coded over n workers; any n − 2 replies decode it. Solid: correct "
    "digits with the worst pair of stragglers. Dashed: what independent rounding errors let expect."
)
COLUMNS = (
    Column("code", "code"),
    Column("n", "n", "integer"),
    Column("worst", "worst digits", "digits"),
    Column("expected", "expected digits", "digits"),
)


def measure() -> list[Entry]:
    """Run the sweep in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        store = sb.sweep(
            None,
            directory,
            codes=list(CODES),
            n=SIZES,
            stragglers=2,
            precision="float32",
            patterns="all",
            trials=3,
            options=Options(jobs=1),
        )
        return [e for e in entries(list(store.records.values())) if e.digits() is not None]


def rows(found: Sequence[Entry]) -> list[dict[str, Any]]:
    """The numbers of the picture, line by line."""
    return [
        {
            "code": code,
            "n": e.n,
            "worst": e.digits(),
            "expected": as_digits(e.value("expected_error")),
        }
        for code in CODES
        for e in sorted(found, key=lambda e: e.n)
        if e.code == code
    ]


def draw(data: Table) -> "Figure":
    """Draw a line per code, named at its right end."""
    space = frame(data, [3.9], [5.2], left=0.6, right=2.45, titled=False)
    axes = space.panel(0, 0)
    axes.set(ylim=(LEAST, 7.8), xlim=(SIZES[0] - 0.4, SIZES[-1] + 0.3), xlabel="workers n")
    axes.set_ylabel("correct decimal digits")
    axes.set_xticks(SIZES)
    axes.axhspan(LEAST, 0, color="#F1EDEC", zorder=0)
    axes.axhline(MOST, color=style.GREY, linewidth=0.9, linestyle=":")
    words: dict[str, Any] = {"fontsize": 8, "color": "#555555", "va": "center"}
    axes.text(SIZES[0], MOST + 0.25, "all that float32 holds", **words)
    axes.text(SIZES[0], -0.35, "not one digit is right", **words)
    ends = []
    for code, (_, paint) in CODES.items():
        mine = [row for row in data.records() if row["code"] == code]
        n, worst = [row["n"] for row in mine], [row["worst"] for row in mine]
        axes.plot(n, [row["expected"] for row in mine], "--", color=paint, linewidth=0.9, alpha=0.6)
        axes.plot(n, worst, color=paint, marker="o", markersize=4, linewidth=2)
        ends.append((max(worst[-1], LEAST), sum(worst), code))
    _labels(axes, ends)
    return space.figure


def _labels(axes: "Axes", ends: Sequence[tuple[float, float, str]]) -> None:
    """Names at the right ends of the lines, moved apart where they would overlap."""
    place = -math.inf
    for y, _, code in sorted(ends):
        place = max(y, place + 0.36)
        name, paint = CODES[code]
        axes.annotate(
            name,
            (SIZES[-1], place),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            fontweight="bold",
            color=paint,
            annotation_clip=False,
        )


def main() -> None:
    """Measure, draw and write."""
    data = table("digits", TITLE, COLUMNS, rows(measure()), (NOTE,))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(render(Plot("digits", TITLE, NOTE, data, draw), ["svg"])["svg"])


if __name__ == "__main__":
    main()
