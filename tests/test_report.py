"""Reports: what tables and plots hold, on whole, partial and odd sweeps; how tables are written."""

import csv
import dataclasses
import io
import itertools
import json
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.metrics import Statistic
from stabbench.errors import InputError
from stabbench.report import Report, registry, render, report, style, tables
from stabbench.report.plots import base
from stabbench.report.plots.comparison import comparisons
from stabbench.report.plots.cost import cost
from stabbench.report.plots.distribution import distribution
from stabbench.report.plots.draws import spread
from stabbench.report.plots.errors import error_against_n
from stabbench.report.plots.heatmap import heatmap
from stabbench.report.plots.prediction import prediction
from stabbench.report.registry import Fact, register
from stabbench.report.sections import sections
from stabbench.report.table import Column, Table
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.store import Store

MAKERS = (heatmap, error_against_n, distribution, comparisons, prediction, cost)
NASTY = 'a_b & 50% #1 {x} $y$ ~^ \\z | <b>"q"</b> `c` κ₂ ∞'


def statistic(median: float, worst: float, survivors: tuple[int, ...] = (0, 2)) -> Statistic:
    return Statistic(median, worst, worst, worst, median, survivors)


def record(
    code: str = "dct", status: str = "ok", error: float | None = 1e-5, **changes: Any
) -> Record:
    """A record by hand; without an error there are no measures."""
    reason = changes.pop("reason", "")
    parameters = {
        "code": code,
        "n": 4,
        "stragglers": 2,
        "precision": "float32",
        "decoder": "solve",
        "problem": "matvec",
        "data": "gaussian",
        "patterns": "all",
    } | changes
    measures: dict[str, Any] = {}
    if error is not None:
        measures = {
            "patterns": 6,
            "storage": 0.5,
            "undecodable": 0.0,
            "relative_error": statistic(error / 10, error),
            "condition_number": statistic(10.0, 100.0),
            "amplification": statistic(5.0, 50.0),
            "predicted_error": statistic(5.0 * 2**-24, 50.0 * 2**-24),
            "expected_error": statistic(2.0 * 2**-24, 10.0 * 2**-24),
            "distribution": [error / 10, error / 10, error],
            "seconds": {"encode": 1e-3, "compute": 2e-3, "decode": 3e-6},
            "budget": {"encode": 1e-7, "compute": 3e-7, "decode": 2e-7, "total": 4e-7},
            "trusted": 1.0,
        }
    return Record(Case("stability", parameters), status, reason, measures, "exhaustive", "env")  # type: ignore[arg-type]


def stored(directory: Path, records: list[Record], missing: int = 0) -> Path:
    """A sweep of these records and some that are missing."""
    others = [Case("stability", {"missing": i}).id for i in range(missing)]
    with Store(directory) as store:
        request = {"grids": [{"codes": ["<script>alert(1)</script>"], "n": [4]}]}
        store.open(request, [r.case.id for r in records] + others)
        store.add_environment("env", {"python": "3", "packages": {"numpy": "2"}})
        for r in records:
            store.add(r)
    return directory


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Report:
    directory = tmp_path_factory.mktemp("sweep")
    sb.sweep(
        None,
        directory,
        codes=["dct", "polynomial[nodes=equispaced]"],
        n=[4, 6],
        stragglers=2,
        precision=["float32", "float64"],
        data="gaussian[rows=24,columns=8]",
    )
    return report(directory)


class Links(HTMLParser):
    """Everything that a page refers to, and the elements that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("href", "src")]
        self.ids += [value or "" for key, value in attrs if key == "id"]


def test_a_report_writes_every_table_and_plot_in_every_format(written: Report) -> None:
    files = {str(path.relative_to(written.directory)) for path in written.directory.rglob("*.*")}
    names = {"summary", "advice", "why", "cost", "times", "statuses"}
    assert {f"tables/{name}.{end}" for name in names for end in ("csv", "md", "tex")} <= files
    plots = {plot.name for section in written.sections for plot in section.plots}
    assert {f"plots/{name}.{end}" for name in plots for end in ("csv", "png", "svg")} <= files
    assert {"digits-s2", "prediction", "cost", "error-against-n", "distribution"} == plots
    assert {written.index, *written.tables, *written.plots} == {
        written.directory / name for name in files
    }
    assert not [name for name in files if Path(name).name.startswith(".")]


def test_the_page_stands_alone_and_its_links_lead_somewhere(written: Report) -> None:
    page = Links(written.index.read_text(encoding="utf-8"))
    assert not {"link", "iframe"} & set(page.tags)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (written.directory / link).is_file(), link
    assert len(page.ids) == len(set(page.ids))


def test_the_plotted_numbers_are_those_of_the_records(written: Report) -> None:
    store = Store.existing(written.directory.parent)
    lines = (written.directory / "plots" / "error-against-n.csv").read_text()
    every = [r for r in csv.DictReader(io.StringIO(lines)) if r["precision"] == "float32"]
    rows = {(row["code"], int(row["n"])): row for row in every}
    found = [r for r in store.records.values() if r.case["precision"] == "float32"]
    assert len(rows) == len(found) == 4
    for r in found:
        row = rows[r.case["code"], r.case["n"]]
        assert float(row["worst"]) == r.relative_error.worst
        assert float(row["median"]) == r.relative_error.median
        assert float(row["bound"]) == r.predicted_error.worst


def test_plots_are_the_same_bytes_again(written: Report, tmp_path: Path) -> None:
    again = report(written.directory.parent, tmp_path, ["svg"])
    name = "prediction.svg"
    first = (written.directory / "plots" / name).read_bytes()
    assert (again.directory / "plots" / name).read_bytes() == first
    ET.fromstring(first)


def test_stragglers_are_the_complement_of_the_survivors() -> None:
    (row,) = tables.summary([record()]).records()
    assert row["worst_stragglers"] == "1,3"
    assert row["code"] == "dct"
    assert row["digits_worst"] == pytest.approx(5.0)
    assert row["digits_median"] == pytest.approx(6.0)


def test_codes_lose_their_defaults_in_tables() -> None:
    codes = ["polynomial[nodes=chebyshev]", "gaussian[seed=0,select=1]", "gone/away.py:Mine[a=1]"]
    found = tables.summary([record(code) for code in codes]).values("code")
    assert found == ["polynomial", "gaussian", "away.py:Mine[a=1]"]


def test_a_users_code_has_its_short_name_and_family(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text(
        "import numpy as np\n"
        "from stabbench import LinearCode\n"
        "class Parity(LinearCode):\n"
        "    def coefficients(self, bits):\n"
        "        return np.vstack([np.eye(self.blocks), np.ones((self.stragglers, self.blocks))])\n"
    )
    mine = sb.evaluate(f"{source}:Parity", n=4, stragglers=1, data="gaussian[rows=12,columns=8]")
    assert tables.summary([mine]).values("code") == ["mine.py:Parity"]
    (plot,) = prediction([mine])
    assert plot.data.values("family") == ["user"]


def test_digits_stand_right_beside_the_case_and_settings_behind() -> None:
    found = [record(), record(trials=3)]
    keys = [column.key for column in tables.summary(found).columns]
    case = ["code", "n", "stragglers", "precision", "decoder"]
    assert keys[:7] == [*case, "digits_median", "digits_worst"]
    assert keys[-3:] == ["data", "trials", "status"]


def test_settings_are_columns_only_where_they_differ() -> None:
    one, two = record(seed=0), record(seed=1)
    assert "seed" not in [c.key for c in tables.summary([one]).columns]
    assert tables.summary([one, two]).values("seed") == [0, 1]
    (plot,) = prediction([one, two])
    assert len(plot.data.rows) == 2


def test_the_budget_names_its_largest_stage_and_predictions() -> None:
    (table,) = tables.why([record()])
    (row,) = table.records()
    assert row["dominant"] == "compute"
    assert row["digits_bound"] == pytest.approx(-math.log10(50 * 2**-24))
    assert row["digits_expected"] == pytest.approx(-math.log10(10 * 2**-24))
    assert row["digits_kappa"] == pytest.approx(-math.log10(100 * 2**-24))


def test_advice_ranks_codes_with_their_best_decoder() -> None:
    found = [
        record("dct", error=1e-3),
        record("dct", error=1e-5, decoder="lstsq"),
        record("haar", error=1e-4),
        record("cauchy", error=math.inf, status="overflow"),
        record("rotation", error=None, status="skipped", reason="no"),
    ]
    (table,) = tables.advice(found)
    ranked = [(row["rank"], row["code"], row["decoder"]) for row in table.records()]
    assert ranked == [(1, "dct", "lstsq"), (2, "haar", "solve"), (3, "cauchy", "solve")]


def test_a_code_that_cannot_decode_everything_comes_last() -> None:
    good, part = record("dct", error=1e-2), record("haar", error=1e-6)
    part = dataclasses.replace(part, measures={**part.measures, "undecodable": 0.25})
    (table,) = tables.advice([part, good])
    assert table.values("code") == ["dct", "haar"]


def test_statuses_count_reasons_and_what_is_missing() -> None:
    found = [
        record(),
        record("haar", "skipped", None, reason="no such thing"),
        record("cauchy", "skipped", None, reason="no such thing"),
        record("rotation", "timeout", None, reason="longer than 5 s"),
    ]
    table = tables.statuses(found, missing=7)
    rows = [(row["status"], row["cases"], row["reason"]) for row in table.records()]
    assert rows == [
        ("ok", 1, ""),
        ("skipped", 2, "no such thing"),
        ("timeout", 1, "longer than 5 s"),
        ("missing", 7, "not computed yet"),
    ]


def test_a_partial_sweep_says_so(tmp_path: Path) -> None:
    found = [record(), record("haar", "failed", None, reason="ValueError: <boom>")]
    made = report(stored(tmp_path, found, missing=3), formats=["svg"])
    assert (made.expected, made.missing) == (5, 3)
    page = made.index.read_text(encoding="utf-8")
    assert "2 of 5 cases have a record" in page
    assert "ValueError: &lt;boom&gt;" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_sweep_without_any_number_still_has_a_page(tmp_path: Path) -> None:
    found = [record("haar", "skipped", None), record("dct", "undecodable", None)]
    made = report(stored(tmp_path, found), formats=["svg"])
    (section,) = made.sections
    assert [plot.name for plot in section.plots] == ["digits-s2"]
    assert made.index.is_file()


def test_skipped_cases_without_a_problem_get_no_map_beside_results() -> None:
    skipped = record("haar", "skipped", None, problem="auto")
    assert [plot.name for plot in heatmap([record(), skipped])] == ["digits-s2-matvec"]


@pytest.mark.parametrize("codes", [1, 3, 4])
def test_the_scale_of_a_low_map_has_room_for_its_labels(codes: int) -> None:
    (plot,) = heatmap([record(f"gaussian[k={k}]") for k in range(1, codes + 1)])
    with style.context():
        figure = plot.draw(plot.data)
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in figure.axes[-1].get_yticklabels()]
    assert all(not a.overlaps(b) for a, b in itertools.pairwise(boxes))


def test_markers_of_lines_and_of_the_edge_differ() -> None:
    assert not {"^", "v", "<", ">"} & set(style.MARKERS)
    assert len(set(style.MARKERS)) == len(style.MARKERS) >= len(style.COLORS)


def test_infinite_errors_stay_in_data_and_are_marked() -> None:
    found = [record(), record(n=6, error=math.inf, status="overflow")]
    for maker in MAKERS:
        for plot in maker(found):
            key = {"digits": "digits", "error-against-n": "worst"}.get(
                re.sub(r"-(s\d|float\d+)$", "", plot.name), "error"
            )
            assert any(math.isinf(value) for value in plot.data.values(key)), plot.name
            assert base.render(plot, ["svg"])["svg"].startswith(b"<?xml")
    (plot,) = error_against_n(found)
    with style.context():
        axes = plot.draw(plot.data).axes[0]
        top = axes.get_ylim()[1]
        marks = [line for line in axes.lines if line.get_marker() == "^"]
        assert [np.asarray(line.get_ydata()).tolist() for line in marks] == [[pytest.approx(top)]]
        legend = axes.get_legend()
        assert legend is not None
        assert "infinite (overflow)" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("errors", [[math.inf, math.inf], [0.0, 5e-324, 1e-3, 1e200]])
def test_extreme_errors_are_drawn_and_none_is_dropped(errors: list[float]) -> None:
    found = [
        record(code, n=n, error=error, decoder=decoder)
        for code in ("dct", "haar")
        for decoder in ("solve", "lstsq")
        for n, error in enumerate(errors, start=4)
    ]
    one, all_of_them = 2 * len(errors), 4 * len(errors)
    rows = {heatmap: one, error_against_n: all_of_them, distribution: 2 * 3, comparisons: 4}
    for maker in MAKERS:
        (plot,) = maker(found)
        assert len(plot.data.rows) == rows.get(maker, all_of_them), plot.name
        with style.context():
            plot.draw(plot.data).draw_without_rendering()


def test_drawn_lines_are_the_table() -> None:
    found = [record(n=n, error=10.0**-n) for n in (4, 6, 8)]
    (plot,) = error_against_n(found)
    with style.context():
        axes = plot.draw(plot.data).axes[0]
    solid = next(line for line in axes.lines if line.get_linestyle() == "-")
    assert np.asarray(solid.get_ydata()) == pytest.approx([1e-5, 1e-7, 1e-9])
    assert np.asarray(solid.get_xdata()).tolist() == [4, 6, 8]
    assert axes.get_yscale() == "log"


def test_heat_map_colours_are_the_digits_and_grey_where_missing() -> None:
    found = [record("dct", error=1e-3), record("haar", "skipped", None)]
    (plot,) = heatmap(found)
    with style.context():
        axes = plot.draw(plot.data).axes[0]
    shown: Any = np.ma.filled(np.ma.asarray(axes.images[0].get_array()), -1.0)
    assert shown.ravel() == pytest.approx([3.0, -1.0])
    assert [text.get_text() for text in axes.texts] == ["3.0", "skip"]


def test_the_distribution_takes_the_largest_n_and_all_its_quantiles() -> None:
    one = [record(n=4), record(n=6, error=1e-4)]
    assert list(distribution(one)) == []
    (plot,) = distribution([*one, record("haar", n=4), record("haar", n=6)])
    assert plot.data.values("n") == [6] * 6
    mine = [row for row in plot.data.records() if row["code"] == "dct"]
    assert [row["share"] for row in mine] == [0.0, 0.5, 1.0]
    assert [row["error"] for row in mine] == [1e-5, 1e-5, 1e-4]


@pytest.mark.parametrize("decoders", [["solve"], ["solve", "lstsq"]])
def test_many_codes_are_divided_into_readable_panels(decoders: list[str]) -> None:
    found = [
        record(f"unknown[a={a}]", decoder=decoder, n=n)
        for a in range(35)
        for decoder in decoders
        for n in (4, 6)
    ]
    plots = list(error_against_n(found))
    panels: dict[tuple[str, int], set[str]] = {}
    for plot in plots:
        for row in plot.data.records():
            panels.setdefault((plot.name, row["panel"]), set()).add(row["code"])
    assert max(len(codes) for codes in panels.values()) <= base.LINES
    assert sum(len(codes) for codes in panels.values()) == 35 * len(decoders)
    assert len({plot.name for plot in plots}) == len(plots)


def test_a_line_needs_two_values_of_n() -> None:
    found = [record(n=n) for n in (4, 6)] + [record("haar"), record(decoder="lstsq")]
    (plot,) = error_against_n(found)
    assert [(row["code"], row["n"]) for row in plot.data.records()] == [("dct", 4), ("dct", 6)]
    assert list(error_against_n(found[2:])) == []


def test_alike_precisions_with_few_lines_share_a_row_of_panels_and_none_is_empty() -> None:
    names = ("float32", "bfloat16", "float64")
    found = [
        record(code, n=n, precision=name)
        for code in ("dct", "haar")
        for name in names
        for n in (4, 6)
    ]
    (plot,) = error_against_n(found)
    places = {(row["panel"], row["precision"]) for row in plot.data.records()}
    assert places == {(0, "bfloat16"), (0, "float32"), (1, "float64")}
    with style.context():
        figure = plot.draw(plot.data)
    assert [axes.get_title("left") for axes in figure.axes] == ["bfloat16", "float32", "float64"]
    for axes in figure.axes:
        assert axes.get_xticks().tolist() == [4, 6]
        assert all(label.get_visible() for label in axes.get_xticklabels())
        assert len(axes.lines) > 0
    first, second = figure.axes[:2]
    assert first.get_ylim() == second.get_ylim()


def test_figures_show_the_main_setting_and_comparisons_the_others() -> None:
    found = [record(code, n=n) for code in ("dct", "haar") for n in (4, 6)]
    others = [
        record("dct", n=6, error=1e-3, data="uniform"),
        record("dct", n=6, error=1e-2, decoder="inverse"),
        record("cauchy", n=6, error=1e-1, spare="drop"),
    ]
    for maker in (heatmap, error_against_n):
        (plot,) = maker([*found, *others])
        assert {row["code"] for row in plot.data.records()} == {"dct", "haar"}
        assert len(plot.data.rows) == 4
    decoders, data = comparisons([*found, *others])
    assert (decoders.name, data.name) == ("decoders", "data")
    shown = [(row["code"], row["value"], row["worst"]) for row in decoders.data.records()]
    assert shown == [("dct", "solve", 5.0), ("dct", "inverse", 2.0)]
    assert data.data.values("value") == ["gaussian", "uniform"]
    assert decoders.data.notes == ("n = 6, s = 2, float32, data gaussian, 1 trial",)


def test_draws_are_counted_and_the_chosen_one_is_told_apart() -> None:
    errors = [1e-3, 1e-5, 1e-4]
    found = [record(f"gaussian[seed={i},select=1]", error=e) for i, e in enumerate(errors)]
    found.append(record("gaussian[seed=0,select=20]", error=1e-6))
    assert list(tables.draws([found[0], record()])) == []
    (table,) = tables.draws([*found, record()])
    (row,) = table.records()
    assert [row[f"digits_{key}"] for key in ("min", "median", "max")] == [3.0, 4.0, 5.0]
    assert (row["code"], row["draws"], row["select"]) == ("gaussian", 3, 20)
    assert row["digits_select"] == pytest.approx(6.0)
    (plot,) = spread([*found, record()])
    assert plot.data.values("select") == [1, 1, 1, 20]
    (map_of_digits,) = heatmap([*found, record()])
    assert set(map_of_digits.data.values("code")) == {"gaussian", "dct"}


def test_a_later_report_leaves_no_stale_plot_and_no_gap(tmp_path: Path) -> None:
    many = [record(code, n=n) for code in ("dct", "haar") for n in (4, 6)]
    target = tmp_path / "target"
    first = report(stored(tmp_path / "one", many), target, ["svg"])
    mine = target / "plots" / "mine.svg"
    mine.write_text("a file of the user")
    second = report(stored(tmp_path / "two", [record()]), target, ["png"])
    gone = {*first.tables, *first.plots} - {*second.tables, *second.plots}
    assert "error-against-n.svg" in {path.name for path in gone}
    assert not any(path.exists() for path in gone)
    assert all(path.is_file() for path in (*second.tables, *second.plots))
    assert mine.is_file()


def test_a_page_of_somebody_else_names_nothing_of_ours(tmp_path: Path) -> None:
    kept = tmp_path / "target" / "plots" / "theirs.png"
    kept.parent.mkdir(parents=True)
    kept.write_text("theirs")
    (tmp_path / "target" / "index.html").write_text('<img src="plots/theirs.png">')
    report(stored(tmp_path / "one", [record()]), tmp_path / "target", [])
    assert kept.is_file()


def test_what_all_rows_share_stands_once() -> None:
    table = tables.summary([record(), record("haar", n=6)])
    for write in (render.terminal, render.markdown, render.latex):
        shared = re.search(r"all rows: [^\n]*", write(table))
        assert shared is not None
        for words in ("s 2, precision float32, decoder solve", "data gaussian"):
            assert words in shared[0]
    assert "decoder" not in render.terminal(table).splitlines()[3]
    assert render.comma_separated(table).startswith(
        "code,n,stragglers,precision,decoder,digits_median,"
    )


def test_a_terminal_shows_the_best_codes_and_the_worst_of_a_long_sweep(tmp_path: Path) -> None:
    codes = {f"unknown[a={a}]": 10.0 ** (a - 9) for a in range(6)}
    found = [
        record(code, n=n, stragglers=s, error=error)
        for code, error in codes.items()
        for n in range(4, 16)
        for s in (1, 2)
    ]
    made = report(stored(tmp_path, found), formats=[])
    ranking, _ = made.brief()
    assert len(ranking.rows) == 8
    assert ranking.values("n") == [15, None, None, None] * 2
    assert ranking.values("rank") == [1, 2, 3, 6] * 2
    assert ranking.values("digits_worst") == pytest.approx([9.0, 8.0, 7.0, 4.0] * 2)
    assert max(map(len, render.terminal(ranking, 80).splitlines())) <= 80
    (short, _) = report(stored(tmp_path / "few", found[:40]), formats=[]).brief()
    assert short.name == "summary"


def test_a_kind_that_nobody_registered_gets_a_plain_table(tmp_path: Path) -> None:
    case = Case("novel", {"depth": 3, "name": "x"})
    found = Record(case, measures={"loss": 0.5, "error": statistic(1e-3, 1e-2), "list": [1]})
    made = report(stored(tmp_path, [found, record()]), formats=["svg"])
    assert [section.kind for section in made.sections] == ["novel", "stability"]
    (table,) = made.sections[0].tables
    assert table.values("case.depth") == [3]
    assert table.values("loss") == [0.5]
    assert table.values("error") == [1e-2]


def test_other_rooms_register_kinds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SHEETS", dict(registry.SHEETS))
    monkeypatch.setattr("stabbench.report.sections.SHEETS", registry.SHEETS)
    register(
        "novel",
        title="Novel",
        tables=[lambda found: [Table("n", "N", (Column("n", "n", "integer"),), ((len(found),),))]],
        facts=lambda found: [Fact("1", "of them")],
    )
    (section,) = sections([Record(Case("novel", {}))])
    assert section.tables[0].rows == ((1,),)
    assert section.facts == (Fact("1", "of them"),)
    with pytest.raises(ValueError, match="registered already"):
        register("novel", title="Again", tables=[])


@pytest.mark.parametrize("width", [20, 40, 80, 200, None])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_terminal_tables_fit_their_width(width: int | None, ascii_only: bool) -> None:
    long = record("polynomial[nodes=equispaced]", decoder="bjorck-pereyra[order=leja]")
    table = tables.summary([long, record(), record("haar", "skipped", None)])
    text = render.terminal(table, width, ascii_only=ascii_only)
    assert "digits worst" in " ".join(text.split()) or width == 20
    assert "\x1b" not in text
    if width:
        assert max(map(len, text.splitlines())) <= width
    else:
        assert "polynomial[nodes=equispaced]" in text
        assert "left out" not in text
    assert text.isascii() or not ascii_only


def test_narrow_terminals_name_the_columns_left_out() -> None:
    text = render.terminal(tables.summary([record()]), 80)
    assert re.search(r"left out for the width: .*amplification.*data", text, re.DOTALL)


def test_text_for_a_pipe_is_plain() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    text = render.text_for(stream, tables.summary([record()]), tables.statuses([record()]))
    assert text.isascii()
    assert "kappa_2 worst" in text


def nasty() -> Table:
    columns = (Column("a", NASTY), Column("b", "b", "number"), Column("c", "c", "digits"))
    return Table("t", NASTY, columns, ((NASTY, 9.1e-7, -math.inf), (None, math.inf, math.nan)))


def test_csv_keeps_every_value() -> None:
    rows = list(csv.reader(io.StringIO(render.comma_separated(nasty()))))
    assert rows == [["a", "b", "c"], [NASTY, "9.1e-07", "-inf"], ["", "inf", "nan"]]


def test_latex_escapes_every_special_character() -> None:
    text = render.latex(nasty())
    cell = next(line for line in text.splitlines() if line.endswith(r"\\") and "9.10" in line)
    assert cell.count(" & ") == 2
    assert r"a\_b \& 50\% \#1 \{x\} \$y\$ \textasciitilde{}\textasciicircum{}" in cell
    assert r"\textbackslash{}z" in cell
    assert r"$9.10 \cdot 10^{-7}$" in cell
    assert r"$\kappa$$_2$ $\infty$" in cell
    assert text.isascii()


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = render.markdown(nasty()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4] * 4
    assert r"\<b\>" in rows[2]


@pytest.mark.parametrize("formats", [["gif"], ["png", "svgz"]])
def test_unknown_formats_are_named(tmp_path: Path, formats: list[str]) -> None:
    with pytest.raises(InputError, match=r"plot format '(gif|svgz)'; .*allowed: pdf, png, svg"):
        report(stored(tmp_path, [record()]), formats=formats)


def test_nothing_to_report_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sweep is stored here") as error:
        report(tmp_path)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="holds none of its 2 cases yet"):
        report(stored(tmp_path, [], missing=2))


def test_an_output_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    directory = stored(tmp_path / "sweep", [record()])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        report(directory, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_pdf_can_be_had(tmp_path: Path) -> None:
    (plot,) = prediction([record()])
    assert base.render(plot, ["pdf"])["pdf"].startswith(b"%PDF")


def test_drawing_leaves_the_users_settings_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    (plot,) = cost([record()])
    base.render(plot, ["png"])
    assert dict(mpl.rcParams) == before


def test_a_read_only_cache_and_an_ascii_locale_do_not_matter(tmp_path: Path) -> None:
    directory = stored(tmp_path / "a sweep", [record()])
    cache = tmp_path / "cache"
    cache.write_text("no directory")
    program = (
        "import sys; from stabbench.report import report, render\n"
        "made = report(sys.argv[1], formats=['png'])\n"
        "sys.stdout.write(render.text_for(sys.stdout, made.statuses))\n"
    )
    environment = os.environ | {
        "MPLCONFIGDIR": str(cache),
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, str(directory)],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Cases by status" in done.stdout
    assert (directory / "report" / "plots" / "cost.png").is_file()


def test_importing_the_room_does_not_load_matplotlib() -> None:
    program = (
        "import sys, json, stabbench.report, stabbench.report.stability\n"
        "print(json.dumps([m for m in ('matplotlib', 'jinja2', 'rich') if m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
