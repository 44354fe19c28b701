"""The worst of all patterns: declared symmetries, amplification bounds, the verb and its state."""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.conditioning import Budget, survey
from stabbench.analysis.numbers import LISTED, stored_system
from stabbench.analysis.survivors import All
from stabbench.analysis.worst import ENUMERATED, worst_amplification
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.errors import InputError
from tests.support import label, linear_codes, run

MOVES: dict[str, list[Callable[[int], Any]]] = {
    "cyclic": [lambda n: (np.arange(n) + 1) % n],
    "reflection": [lambda n: np.arange(n)[::-1]],
}
MOVES["dihedral"] = MOVES["cyclic"] + MOVES["reflection"]
SYMMETRIC = [code for code in linear_codes() if code.symmetry is not None]


@pytest.mark.parametrize("code", SYMMETRIC, ids=label)
def test_declared_symmetry_leaves_condition_numbers_as_they_are(code: sb.LinearCode) -> None:
    patterns = All().patterns(code.n, code.stragglers)
    values = sb.condition_numbers(code, patterns, precision="exact").values
    assert code.symmetry is not None
    for move in MOVES[code.symmetry]:
        moved = sb.condition_numbers(code, patterns[:, move(code.n)], precision="exact").values
        np.testing.assert_allclose(moved, values, rtol=1e-9)


def test_symmetries_are_declared_where_theory_knows_them() -> None:
    declared = {(code.spec, code.symmetry) for code in SYMMETRIC}
    assert ("polynomial[nodes=roots-of-unity]", "dihedral") in declared
    assert ("rotation", "dihedral") in declared
    assert ("dct", "reflection") in declared


@pytest.mark.parametrize(
    "name",
    ["gaussian", "polynomial[nodes=equispaced]", "rotation", "dct", "matdot", "orthomatdot"],
)
def test_amplification_of_no_pattern_exceeds_the_bound(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = sb.code(name, 10, 3)
    system, generator = stored_system(code, "float64")
    found = survey(generator, 3, owner=system.owner)
    exact = worst_amplification(code, system, generator, found)
    assert exact.label == "exhaustive"
    monkeypatch.setattr("stabbench.analysis.worst.ENUMERATED", 1)
    searched = worst_amplification(code, system, generator, found)
    assert searched.label == "search (lower bound)"
    assert searched.worst <= exact.worst * (1 + 1e-12) <= searched.bound


@pytest.mark.parametrize("name", ["matdot", "polydot", "entangled", "lagrange[degree=2]"])
def test_amplification_is_that_of_what_is_wanted(name: str) -> None:
    code = sb.code(name, 9, 2)
    system, generator = stored_system(code, "float64")
    found = worst_amplification(code, system, generator, survey(generator, 2, owner=system.owner))
    data = "gaussian[rows=24,columns=24]"
    record = sb.evaluate(code, precision="float64", patterns="all", data=data)
    assert found.worst == pytest.approx(record.amplification.worst, rel=1e-9)
    lost = set(range(9)) - set(record.amplification.worst_survivors)
    assert found.stragglers == tuple(sorted(lost))


def test_surveyed_condition_numbers_are_those_of_a_list() -> None:
    code = sb.code("gaussian", 16, 5)
    assert math.comb(16, 5) < min(LISTED, ENUMERATED)
    listed = sb.condition_numbers(code, "all")
    _, generator = stored_system(code, "float64")
    found = survey(generator, 5, budget=Budget(exact=math.comb(16, 5) + 1))
    assert found.worst == pytest.approx(listed.worst, rel=1e-9)
    assert found.worst_stragglers == listed.worst_stragglers
    assert found.mean.value == pytest.approx(listed.mean, rel=1e-9)


def test_the_worst_of_a_survey_is_a_set_that_does_not_decode() -> None:
    code = sb.code("orthopoly-shifted[kA=3,kB=3]", 15, 6)
    assert math.comb(15, 6) > LISTED
    found = sb.condition_numbers(code)
    assert found.worst == math.inf
    survivors = np.isin(np.arange(15), found.worst_survivors).astype(int)
    assert survivors.sum() == 9
    assert sb.condition_numbers(code, survivors).worst == math.inf


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        ([1, 1, 1, 0], r"shape \(1, 4\); allowed are rows of n=5"),
        (np.zeros((0, 5)), r"shape \(0, 5\)"),
        (np.ones((1, 1, 5)), r"shape \(1, 1, 5\)"),
        ([2, 1, 1, 0, 0], "allowed are 0 for a straggler and 1 for a survivor"),
        ([-1, 1, 1, 1, 0], "allowed are 0 for a straggler"),
        ([0.5, 1, 1, 1, 0], "allowed are 0 for a straggler"),
        (["a"] * 5, "allowed are 0 for a straggler"),
    ],
)
def test_patterns_that_are_none_are_refused(patterns: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"patterns.* {words}"):
        sb.condition_numbers(sb.code("gaussian", 5, 2), np.array(patterns))
    with pytest.raises(InputError, match="seed=-1"):
        sb.condition_numbers(sb.code("gaussian", 5, 2), "random:3", seed=-1)


def test_the_verb_prints_worst_best_distribution_and_time(tmp_path: Path) -> None:
    done = run("worst", "gaussian", "-n", "12", "-S", "3", "-o", str(tmp_path / "out"))
    assert done.status == 0
    for word in ("worst kappa_2", "best kappa_2", "quantile 0.95", "worst a(F)", "ns each"):
        assert word in done.out
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == [
        "condition-numbers.csv",
        "condition-numbers.png",
        "condition-numbers.svg",
        "worst.txt",
    ]
    rows = (tmp_path / "out" / "condition-numbers.csv").read_text().splitlines()[1:]
    assert sum(float(row.split(",")[2]) for row in rows) == math.comb(12, 3)


def test_the_verb_goes_on_from_a_state_and_refuses_a_foreign_one(tmp_path: Path) -> None:
    code = sb.code("gaussian", 14, 3)
    _, generator = stored_system(code, "float64")
    states: list[str] = []
    whole = survey(
        generator, 3, progress=lambda tally, end: states.append(json.dumps(tally.to_dict()))
    )
    state = tmp_path / "state.json"
    state.write_text(states[0])
    done = run("worst", "gaussian", "-n", "14", "-S", "3", "-o", str(tmp_path))
    assert done.status == 0
    assert "going on from" in done.err
    worst = re.search(r"worst kappa_2 +(\S+)", done.out)
    assert worst is not None
    assert float(worst.group(1)) == pytest.approx(whole.worst, rel=1e-5)
    assert not state.exists()
    state.write_text(states[0])
    other = run("worst", "gaussian[seed=1]", "-n", "14", "-S", "3", "-o", str(tmp_path))
    assert other.status == 2
    assert len(other.err.splitlines()) == 2
    state.write_text("{")
    damaged = run("worst", "gaussian", "-n", "14", "-S", "3", "-o", str(tmp_path))
    assert damaged.status == 2


def test_states_are_json() -> None:
    _, generator = stored_system(sb.code("gaussian", 10, 2), "float64")
    states: list[object] = []
    survey(generator, 2, progress=lambda tally, end: states.append(tally.to_dict()))
    assert json.loads(json.dumps(states[-1])) == states[-1]


def test_adversarial_patterns_hold_the_worst_condition_number_of_all() -> None:
    code = sb.code("gaussian", 20, 4)
    data = "gaussian[rows=64,columns=8]"
    record = sb.evaluate(code, precision="float64", data=data, patterns="adversarial:50")
    sampled = sb.evaluate(code, precision="float64", data=data, patterns="auto:50")
    worst = sb.condition_numbers(code, "all").worst
    assert record.condition_label == "exhaustive"
    assert record.condition_number.worst == pytest.approx(worst, rel=1e-6)
    assert sampled.condition_label == "search (lower bound)"
    assert sampled.condition_number.worst < 0.5 * worst
    assert record.relative_error.worst > sampled.relative_error.worst


@pytest.mark.parametrize("name", ["gaussian", "rotation", "matdot", "lagrange[degree=2]"])
def test_the_bound_is_that_of_cauchys_inequality(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = sb.code(name, 9, 2)
    system, generator = stored_system(code, "float64")
    found = survey(generator, 2, owner=system.owner)
    monkeypatch.setattr("stabbench.analysis.worst.ENUMERATED", 1)
    bound = worst_amplification(code, system, generator, found).bound
    G = generator.rounded("float64")
    rows = [~np.isin(system.owner, lost) for lost in itertools.combinations(range(9), 2)]
    least = min(np.linalg.norm(G[kept]) for kept in rows)
    target = np.eye(G.shape[1]) if system.target is None else system.target.rounded("float64")
    share = np.linalg.norm(target, axis=1).max() / np.abs(target).sum(axis=1).max()
    kappa = [np.linalg.norm(G[kept]) * np.linalg.norm(np.linalg.pinv(G[kept])) for kept in rows]
    truth = max(kappa) / least * np.linalg.norm(np.abs(G).sum(axis=1)) * share
    # the largest kappa_F is known up to the end of its bin
    assert truth * (1 - 1e-9) <= bound <= 1.02 * truth


def test_nothing_that_decodes_has_no_worst_and_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    code: Any = sb.code("gaussian", 6, 2)
    system, _ = stored_system(code, "float64")
    G = np.vstack([np.eye(4), np.zeros((2, 4))])
    generator = Coefficients.from_array(G)
    found = survey(generator, 5)
    assert found.worst == math.inf
    wider = dataclasses.replace(code, stragglers=5, k=1)
    for few in (20_000, 1):
        monkeypatch.setattr("stabbench.analysis.worst.ENUMERATED", few)
        worst = worst_amplification(wider, system, generator, found)
        assert worst.worst == worst.bound == math.inf
