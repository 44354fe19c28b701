"""Gossip runs as cases: identity, store, presets, grids, divergence, report."""

import json
import math
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from stabbench.errors import InputError
from stabbench.report.plots.base import render
from stabbench.report.sections import sections
from stabbench.report.table import Column, table
from stabbench.sweeps.case import Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.store import Store
from stabbench.training import api, grids
from stabbench.training.gossip.cases import GOSSIP, Request
from stabbench.training.gossip.graphs import mixing
from stabbench.training.gossip.report import draw_curves
from stabbench.training.gossip.stability_map import stability_map, unstable

evaluate = partial(api.evaluate, "gossip")
plan = partial(api.plan, "gossip")
run_gossip = partial(api.train, "gossip")

SMALL = "logistic[dimension=20,samples=20]"


def test_names_are_written_in_full_and_identity_follows_them() -> None:
    case = Request("ecsd", problem=SMALL).case()
    assert case["method"] == "ecsd[variant=full,gradient=public]"
    assert case["compressor"] == "top-k[ratio=0.1]"
    assert case["accumulation"] == "rounding-aware"
    assert case["precision"] == "float32"
    same = Request("ecsd[gradient=public]", compressor="top-k[ratio=0.1]", problem=SMALL)
    assert same.case().id == case.id
    assert Request("ecsd", problem=SMALL, seed=1).case().id != case.id
    assert Request("d-psgd", compressor="top-k").case().id == Request("d-psgd").case().id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "ecds"}, "did you mean ecsd?"),
        ({"compressor": "top-k[ratio=0]"}, "allowed is above 0 up to 1"),
        ({"graph": "star"}, "allowed is metropolis"),
        ({"precision": "float8"}, "allowed: bfloat16"),
        ({"rate": -1.0}, "rate=-1; allowed are numbers from 0"),
        ({"consensus": math.inf}, "consensus=inf; allowed"),
        ({"decay": -1.0}, "decay=-1; allowed"),
        ({"steps": 0}, "steps=0; allowed is an integer >= 1"),
        ({"method": "dcd", "accumulation": "two-term"}, "allowed: kahan, naive"),
        ({"problem": "logistic[size=3]"}, "unknown parameter 'size'"),
        ({"mixing": "product"}, "mixing='product'; allowed: difference, sum, sum-complement"),
        ({"compressor": "top-k[k=201]"}, "k=201 of d=200 entries; allowed is 1 .. d"),
        ({"compressor": "top-k[k=41]", "problem": "logistic[dimension=40]"}, "k=41 of d=40"),
        ({"compressor": "rand-k[k=651]", "problem": "softmax"}, "k=651 of d=650"),
        ({"compressor": "rand-k[k=1201]", "problem": "perceptron"}, "k=1201 of d=1200"),
        ({"problem": "softmax[data=no.npz]"}, "'no.npz': no such file"),
        ({"problem": "softmax", "n": 1798}, "1797 samples; allowed is n=1798 or more"),
        ({"consensus": 1.5}, "consensus=1.5: outside the limit, so no learning rate follows"),
        (
            {"compressor": "qsgd[levels=2,scaled=false]"},
            "may miss 7.07 ||z||^2 of ||z||^2 at d=200",
        ),
    ],
)
def test_requests_that_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Request(**({"method": "ecsd"} | changes)).case()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_records_survive_json_and_repeat() -> None:
    case = Request("ecsd", problem=SMALL, steps=50, precision="bfloat16").case()
    record = compute(case)
    assert record.status == "ok"
    assert record.measures["replica_difference"] == 0.0
    assert len(set(map(len, record.measures["trace"].values()))) == 1
    text = json.dumps(record.to_json(), allow_nan=False)
    assert Record.from_json(json.loads(text)) == record
    assert compute(case).measures == record.measures


@pytest.mark.filterwarnings("ignore::stabbench.training.gossip.limits.StabilityWarning")
def test_divergence_is_a_result_with_its_step() -> None:
    for precision in ("float64", "float16"):
        record = evaluate(
            "ecsd", problem=SMALL, consensus=1.5, rate=0.05, steps=6000, precision=precision
        )
        step = record.measures["diverged"]
        assert record.status == "overflow"
        assert 1 < step < 6000
        assert record.reason.endswith(f"first at step {step}")
        assert record.measures["trace"]["step"][-1] == step
        assert record.measures["best_step"] < step
        assert record.measures["margin"] < 0
        assert "consensus step 1.5 is outside" in record.measures["warning"]
        again = Record.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
        assert again.reason == record.reason


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"methods": ["d-psgd", "ecsd"], "problem": SMALL, "steps": 20}
    axes["precision"] = ["float32", "bfloat16"]
    store = run_gossip(None, tmp_path / "runs", **axes)
    assert [record.status for record in store.records.values()] == ["ok"] * 4
    ran: list[Record] = []
    run_gossip(None, tmp_path / "runs", progress=ran.append, **axes)
    assert ran == []
    assert len(Store.existing(tmp_path / "runs").records) == 4
    with pytest.raises(InputError, match="another sweep"):
        run_gossip(None, tmp_path / "runs", **(axes | {"steps": 21}))


def test_cases_run_in_other_processes(tmp_path: Path) -> None:
    store = run_gossip(
        None,
        tmp_path,
        options=Options(jobs=2),
        methods=["dcd", "ecsd"],
        problem=SMALL,
        steps=5,
    )
    assert [record.status for record in store.records.values()] == ["ok", "ok"]


def test_combinations_that_do_not_exist_are_skipped() -> None:
    planned = plan(
        None,
        {"methods": ["dcd", "ecsd"], "accumulation": ["naive", "two-term"], "problem": SMALL},
    )
    assert len(planned.cases) == 4
    assert ["dcd" in record.case["method"] for record in planned.skipped.values()] == [True]
    lists = {"methods": "ecsd", "compressor": "top-k[ratio=[0.1,0.2]]", "problem": SMALL}
    assert (
        len(plan(None, lists | {"graph": "erdos-renyi[draws=2]"} | {"weights": "metropolis"}).cases)
        == 4
    )
    for axes, words in (
        ({"problem": SMALL}, "methods is missing"),
        ({"methods": "ecsd", "ratio": 0.1}, "unknown key 'ratio'"),
        ({"methods": []}, "methods is empty"),
    ):
        with pytest.raises(InputError, match=words):
            plan(None, axes)
    with pytest.raises(InputError, match="unknown preset"):
        plan("claim", {})


@pytest.mark.parametrize("name", ["smoke", "claims", "ratios", "precision", "stability"])
def test_presets_expand(name: str) -> None:
    tomllib.loads(grids.presets(GOSSIP)[name])
    planned = plan(name, {})
    assert len(planned.cases) >= 9
    assert not planned.skipped


def test_report_shows_runs_curves_and_the_map() -> None:
    records = _map_records()
    (section,) = sections(records)
    assert [t.name for t in section.tables] == ["gossip-runs"]
    table = section.tables[0]
    assert len(table.rows) == len(records)
    assert set(table.values("replicas")) == {0.0}
    plots = {plot.name: plot for plot in section.plots}
    assert set(plots) == {
        "gossip-objective-steps",
        "gossip-objective-bits",
        "gossip-drift-local",
        "gossip-drift-global",
        "gossip-stability-map",
    }
    rows = plots["gossip-stability-map"].data.records()
    for row in rows:
        if row["consensus"] < 0.9 * row["limit"]:
            assert not unstable(row)
        if row["consensus"] > 2.5 * row["limit"]:
            assert unstable(row)
    assert {unstable(row) for row in rows} == {False, True}
    curve = plots["gossip-drift-global"].data
    assert curve.values("value")[:3] == records[0].measures["trace"]["common"][:3]
    assert max(curve.values("bits")) == max(r.measures["bits_per_link"] for r in records)
    for plot in (plots["gossip-drift-global"], plots["gossip-stability-map"]):
        assert render(plot, ["png"])["png"].startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::stabbench.training.gossip.limits.StabilityWarning")
@pytest.mark.parametrize(
    ("name", "limit"),
    [("ecsd", lambda g, w: (2 / 3 - g) / w.away), ("dcd", lambda g, w: (2 - g) / w.largest)],
)
def test_map_draws_the_limit_of_the_method(name: str, limit: Any) -> None:
    records = [
        evaluate(
            name,
            problem="least-squares[dimension=4,samples=4]",
            compressor=f"rand-k[k={k}]",
            consensus=consensus,
            rate=1e-3,
            steps=2,
        )
        for k in (2, 3)
        for consensus in (0.1, 0.2)
    ]
    (plot,) = stability_map(records)
    row = plot.data.records()[0]
    load = 1e-3 * records[0].measures["curvature"]
    assert row["limit"] == pytest.approx(limit(load, mixing("ring", 8)), rel=1e-4)


def test_map_draws_no_limit_where_none_is_known() -> None:
    axes = {"compressor": ["top-k[k=1]", "top-k[k=2]"], "consensus": [0.1, 0.2], "steps": 2}
    cases = plan(None, {"methods": "naive", "problem": "logistic[dimension=9]", **axes}).cases
    (plot,) = stability_map([compute(case) for case in cases])
    assert plot.data.values("limit") == [None] * 4
    titles = [axes.get_title() for axes in plot.draw(plot.data).axes]
    assert titles == ["naive, top-k, logistic\ndimension=9, ring"]
    assert render(plot, ["png"])["png"].startswith(b"\x89PNG")


def _map_records() -> list[Record]:
    found = []
    for ratio in (0.1, 0.5):
        for consensus in (0.05, 0.3, 1.4):
            request = Request(
                "ecsd",
                problem="least-squares[dimension=20,samples=20]",
                compressor=f"rand-k[ratio={ratio},shared=true]",
                consensus=consensus,
                rate=0.001,
                steps=1500,
                points=20,
            )
            found.append(compute(request.case()))
    assert np.isin([record.status for record in found], ["ok", "overflow"]).all()
    return found


def test_titles_of_panels_begin_within_the_figure() -> None:
    """A setting may be longer than its panel is wide."""
    setting = "logistic dimension=50 samples=200, ring, batch 16, decay 0.02, steps 20000, seed 0"
    rows = [
        {"panel": "a", "setting": setting, "line": 0, "scheme": "ecsd", "step": step, "value": 1e-3,
         "diverged": False}
        for step in (1, 10, 100)
    ]  # fmt: skip
    data = table("curves", "Objective", tuple(Column(key, key) for key in rows[0]), rows)
    figure = draw_curves(data, label="gap", across="step")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_title("left") == setting
    drawn = next(text for text in axes.findobj(Text) if text.get_text() == setting)
    assert drawn.get_window_extent().x0 >= 0
    assert drawn.get_window_extent().x1 <= figure.bbox.x1
