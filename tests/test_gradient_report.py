"""The explorer's table and plot show what was measured; the gallery examples run."""

import runpy
from pathlib import Path

import pytest

from stabbench.analysis import explore
from stabbench.report.gradient import designs_plot, designs_table
from stabbench.report.plots.base import render

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def test_table_and_plot_hold_the_designs() -> None:
    rows = explore.gradient(6, ["kadhe", "ye-abbe"])
    table = designs_table(rows, 6)
    assert table.values("code") == [row.code for row in rows]
    assert table.values("error_float32") == [row.error["float32"] for row in rows]
    assert [bool(x) for x in table.values("pareto")] == [row.pareto for row in rows]
    plot = designs_plot(rows, 6)
    assert plot.data.values("digits") == [row.digits["float32"] for row in rows]
    assert set(plot.data.values("scheme")) == {"kadhe", "ye-abbe"}
    assert render(plot, ("png",))["png"].startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize(
    "name", ["plot_gradient_exact_weights", "plot_gradient_roots", "plot_gradient_tail"]
)
def test_gallery_examples_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    printed = capsys.readouterr().out
    if name != "plot_gradient_tail":
        assert "e-0" in printed
        return
    pairs = [line.split(": ")[1].split(", bound ") for line in printed.splitlines()]
    assert len(pairs) == 8
    for share, bound in ((float(a), float(b)) for a, b in pairs):
        assert share <= bound + 3 * (bound / 2000) ** 0.5  # of 2000 draws
