"""The explorer of gradient codes as a table, and stragglers against numbers sent as a plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stabbench.analysis.explore import Design
from stabbench.report.plots.base import Plot
from stabbench.report.table import Column, Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "designs"
CAPTION = (
    "Every square is a design: how many stragglers it tolerates against the real numbers that one "
    "worker sends, in gradients, coloured by the correct digits that remain at worst. Framed "
    "designs are on the Pareto front of storage, stragglers, numbers sent and digits."
)
PANELS = 4
WIDTH, HEIGHT = 2.6, 2.4


def designs_table(rows: Sequence[Design], n: int) -> Table:
    """The table of `explore.gradient`.

    Parameters
    ----------
    rows : sequence of Design
    n : int
        Number of workers.
    """
    precisions = list(rows[0].error) if rows else []
    columns = (
        Column("pareto", "front", importance=0),
        Column("code", "code", importance=0),
        Column("load", "d", "integer", importance=0),
        Column("stragglers", "s", "integer", importance=0),
        Column("reduction", "m", "integer", importance=0),
        Column("storage", "storage", "share", importance=3),
        Column("communication", "length sent / gradient", "number", importance=3),
        Column("sent", "real numbers sent / gradient", "number", importance=2),
        Column("kappa", "worst κ₂", "number"),
        Column("amplification", "worst a(F)", "number"),
        *(Column(f"error_{p}", f"error {p}", "number") for p in precisions),
        Column("time", "time", "number", importance=2),
        Column("label", "worst case", importance=3),
    )
    values = [
        {
            "pareto": "*" if row.pareto else "",
            "code": row.code,
            "load": row.load,
            "stragglers": row.stragglers,
            "reduction": row.reduction,
            "storage": row.storage,
            "communication": row.communication,
            "sent": row.sent,
            "kappa": row.kappa,
            "amplification": row.amplification,
            **{f"error_{p}": row.error[p] for p in precisions},
            "time": row.time,
            "label": row.label,
        }
        for row in rows
    ]
    title = f"Gradient codes of {n} workers"
    notes = ("* is on the Pareto front of storage, stragglers, real numbers sent and errors.",)
    return table(NAME, title, columns, values, notes)


def designs_plot(rows: Sequence[Design], n: int, precision: str = "float32") -> Plot:
    """Stragglers against numbers sent, coloured by digits kept; a panel per scheme."""
    columns = (
        Column("scheme", "scheme"),
        Column("code", "code"),
        Column("stragglers", "s", "integer"),
        Column("sent", "real numbers sent / gradient", "number"),
        Column("digits", "digits", "digits"),
        Column("pareto", "front"),
    )
    values = [
        {
            "scheme": scheme_of(row.code),
            "code": row.code,
            "stragglers": row.stragglers,
            "sent": row.sent,
            "digits": row.digits[precision],
            "pareto": "*" if row.pareto else "",
        }
        for row in rows
    ]
    title = f"Digits that gradient codes of {n} workers keep in {precision}"
    return Plot(NAME, title, CAPTION, table(NAME, title, columns, values, (precision,)), draw)


def scheme_of(code: str) -> str:
    """A code's name without d and m.

    Examples
    --------
    >>> scheme_of("kadhe[generator=chebyshev,d=5,m=3]"), scheme_of("ye-abbe[d=3,m=2]")
    ('kadhe[generator=chebyshev]', 'ye-abbe')
    """
    name, _, rest = code.partition("[")
    kept = [x for x in rest.rstrip("]").split(",") if x and x.partition("=")[0] not in ("d", "m")]
    return f"{name}[{','.join(kept)}]" if kept else name


def draw(data: Table) -> "Figure":
    """Draw one panel per scheme with one scale of digits."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows = data.records()
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    across = min(PANELS, len(schemes))
    down = -(-len(schemes) // across)
    figure = Figure(figsize=(WIDTH * across + 1.2, HEIGHT * down + 0.6), layout="constrained")
    figure.suptitle(data.title)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    image: Any = None
    most = max(row["digits"] for row in rows)
    for axes, scheme in zip(panels.flat, schemes, strict=False):
        own = [row for row in rows if row["scheme"] == scheme]
        image = axes.scatter(
            [row["stragglers"] for row in own],
            [row["sent"] for row in own],
            c=[row["digits"] for row in own],
            edgecolors=["black" if row["pareto"] else "none" for row in own],
            marker="s",
            cmap="cividis",
            vmin=0,
            vmax=most,
        )
        axes.set_title(scheme, fontsize=7.5)
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in panels.flat[len(schemes) :]:
        axes.set_visible(False)
    figure.supxlabel("stragglers")
    figure.supylabel("real numbers sent / gradient")
    figure.colorbar(image, ax=panels, label=f"digits kept, {data.notes[0]}")
    return figure
