"""`check` proves that decoding gives what is wanted, for every code, and sees what is not so."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis import recovery
from stabbench.analysis.checks import Finding, check
from stabbench.analysis.conditions import Conditions
from stabbench.analysis.identity import claim, identity, matrix_of
from stabbench.analysis.plausible import implausible
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import Code
from stabbench.codes.gradient.base import GradientCode, entries
from stabbench.codes.gradient.parts import Part
from stabbench.codes.operators import Dense
from stabbench.codes.registry import CODES
from stabbench.codes.toeplitz import Toeplitz

SIZES = ((6, 2), (7, 2))
SETTLED = ("gives", "decodes what it encodes")
APPROXIMATE = ("bernoulli", "berrut", "bibd", "expander", "graph", "stochastic")
MORE = (
    "ye-abbe[m=2,variant=roots-of-unity]",
    "kadhe[generator=chebyshev,d=3,m=1]",
    "nested[inner=cyclic-repetition]",
    "heterogeneous[m=2]",
    "lagrange[degree=3]",
    "rotation",
    "polynomial[nodes=half-step]",
)


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Code]]:
    """Every registered code at the sizes that it admits, by name; some with other parameters."""
    folder = tmp_path_factory.mktemp("matrices")
    random = np.random.default_rng(0)
    np.save(folder / "generator.npy", random.standard_normal((6, 4)))
    np.save(folder / "sums.npy", np.kron(np.eye(2), np.ones((3, 3))))
    files = {
        "matrix": f"matrix[file={folder / 'generator.npy'}]",
        "gradient-matrix": f"gradient-matrix[file={folder / 'sums.npy'}]",
    }
    found: dict[str, list[Code]] = {}
    for name in (*CODES.members, *MORE):
        for n, s in SIZES:
            try:
                built = sb.code(files.get(name, name), n, s)
            except sb.InputError:
                continue
            found.setdefault(name, []).append(built)
    assert set(found) >= set(CODES.members)
    return found


def verdicts(code: Code) -> list[Finding]:
    return [finding for finding in check(code) if finding.name.startswith(SETTLED)]


def dense_systems(codes: dict[str, list[Code]]) -> Iterator[tuple[Code, str, Any]]:
    for code in (c for members in codes.values() for c in members):
        for problem in code.problems if code.dense else ():
            yield code, problem, code.system(problem)


def test_every_code_is_proved_for_every_problem(codes: dict[str, list[Code]]) -> None:
    for name, members in codes.items():
        for code in members:
            found = verdicts(code)
            assert len(found) >= len(code.problems), name
            assert all(finding.passed for finding in found), (name, found)
            words = " ".join(finding.detail for finding in found)
            proof = ("D Phi = T", "integers come back", "own error", "approximate")
            assert any(word in words for word in proof), (name, words)
            assert ("approximate" in words) == (name in APPROXIMATE), (name, words)


def changed(matrix: Coefficients) -> Coefficients:
    """The matrix with a millionth added to its first entry."""

    def rows(bits: int) -> Any:
        table = [list(row) for row in entries(matrix, bits)]
        table[0][0] = (
            table[0][0] + Coefficients.from_array(np.array([[2.0**-20]])).rational()[0][0, 0]
        )
        return table

    return Coefficients(rows, matrix.shape, complex=matrix.is_complex)


def test_a_changed_reply_map_or_target_is_seen(codes: dict[str, list[Code]]) -> None:
    targets = 0
    for code, problem, system in dense_systems(codes):
        assert claim(system).proof()[0], (code, problem)
        reply = Dense(changed(matrix_of(system.reply)))
        assert not claim(dataclasses.replace(system, reply=reply)).proof()[0], (code, problem)
        target = system.target or identity(system.reply.unknowns)
        targets += system.target is not None
        other = dataclasses.replace(system, target=changed(target))
        assert not claim(other).proof()[0], (code, problem)
    assert targets > 10


def test_a_changed_encoder_is_seen(codes: dict[str, list[Code]]) -> None:
    for code, problem, system in dense_systems(codes):
        for at, encoder in enumerate(system.encoders):
            encoders = list(system.encoders)
            encoders[at] = Dense(changed(matrix_of(encoder)))
            other = dataclasses.replace(system, encoders=tuple(encoders))
            assert not claim(other).proof()[0], (code, problem, at)


def with_parts(code: GradientCode, change: Any) -> GradientCode:
    """A fresh code whose parts are changed, those of every level of an adaptive one alike."""
    fresh: Any = dataclasses.replace(code)
    if hasattr(fresh, "by_level"):
        fresh.__dict__["by_level"] = tuple(map(change, fresh.by_level))
    else:
        fresh.__dict__["parts"] = change(fresh.parts)
    return fresh  # type: ignore[no-any-return]


def exact_gradient_codes(codes: dict[str, list[Code]]) -> list[GradientCode]:
    members = [c for group in codes.values() for c in group if isinstance(c, GradientCode)]
    found = [c for c in members if not c.approximate and not c.rounded]
    assert len(found) > 15
    return found


def test_wrong_targets_of_parts_are_seen(codes: dict[str, list[Code]]) -> None:
    def last_changed(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return *parts[:-1], dataclasses.replace(parts[-1], target=changed(parts[-1].target))

    for code in exact_gradient_codes(codes):
        (finding,) = verdicts(with_parts(code, last_changed))
        assert not finding.passed, (code, finding)
        assert "what is decoded differs from what is wanted by" in finding.detail


def test_a_wrong_level_of_an_adaptive_code_is_seen(codes: dict[str, list[Code]]) -> None:
    code: Any = codes["nested"][0]
    for level in range(code.messages):
        fresh = dataclasses.replace(code)
        parts = list(fresh.by_level)
        wrong = dataclasses.replace(parts[level][0], target=changed(parts[level][0].target))
        parts[level] = (wrong,)
        fresh.__dict__["by_level"] = tuple(parts)
        assert not recovery.sum_recovered(fresh, 100)[0], level


def test_a_missing_part_or_a_wrong_matrix_is_seen(codes: dict[str, list[Code]]) -> None:
    def wrong(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        rows = np.arange(parts[0].matrix.shape[0])
        rows[:2] = 1, 0
        return dataclasses.replace(parts[0], matrix=parts[0].matrix.rows(rows)), *parts[1:]

    for code in exact_gradient_codes(codes):
        first, second = code.stages(np.ones((1, len(code.owner)), bool))[0][1][0].matrix.rounded(
            "float64"
        )[:2]
        if (first != second).any():
            assert not recovery.sum_recovered(with_parts(code, wrong), 100)[0], code
        if len(code.parts) > 1:
            lacking = with_parts(code, lambda parts: parts[1:])
            assert not recovery.sum_recovered(lacking, 100)[0], code


def test_weights_that_miss_the_sum_fail_a_sweep_too(codes: dict[str, list[Code]]) -> None:
    from stabbench.analysis.gradient_conditions import exact_conditions

    def doubled(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        rows = Coefficients.from_array(2 * parts[0].target.rounded("float64"))
        return dataclasses.replace(parts[0], target=rows), *parts[1:]

    for code in exact_gradient_codes(codes):
        everyone = np.ones((1, code.n * code.messages), dtype=bool)
        assert exact_conditions(code, everyone).decodable.all()
        with pytest.raises(sb.InputError, match="the parts contradict the coefficients"):
            exact_conditions(with_parts(code, doubled), everyone)


@pytest.mark.parametrize("problem", ["matvec", "matmul"])
def test_shifts_that_workers_do_not_do_are_seen(problem: str) -> None:
    class Shifted(type(sb.code("shift-add", 6, 2))):  # type: ignore[misc]
        """Shifts the blocks of the last worker in reverse."""

        def system(self, problem: str = "matvec") -> Any:
            plain = super().system(problem)
            table = plain.encoders[0].table.copy()
            table[-1] = table[-1][::-1]
            return dataclasses.replace(plain, encoders=(Toeplitz(table), *plain.encoders[1:]))

    for code in (sb.code("shift-add", 6, 2), Shifted(6, 2)):
        found = recovery.integers_return(code, 50, problem)  # type: ignore[arg-type]
        assert found[0] == (type(code) is not Shifted), found
        assert "integers come back" in found[1]


def test_an_interpolant_that_loses_constants_is_seen() -> None:
    code: Any = sb.code("berrut", 6, 2)
    system = code.system()
    code.__dict__["_system"] = dataclasses.replace(
        system, encoders=(Dense(changed(matrix_of(system.encoders[0]))),)
    )
    assert recovery.claim_proved(code, "evaluate") == (
        False,
        "worker 0 changes constants: its coefficients do not add up to 1",
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("kappa_2", 0.0, "condition number kappa_2 = 0, below 1"),
        ("kappa_F", np.nan, "condition number kappa_F = nan, below 1"),
        ("amplification", 0.99, "amplification = 0.99, below 1"),
    ],
)
def test_impossible_conditions_are_told(name: str, value: float, words: str) -> None:
    one = np.ones(2)
    found = Conditions(np.array([True, False]), one, one, one, one, one, one)
    assert implausible(found, {}, approximate=False) == ""
    first = dataclasses.replace(found, **{name: np.array([value, 1.0])})  # type: ignore[arg-type]
    second = dataclasses.replace(found, **{name: np.array([1.0, value])})  # type: ignore[arg-type]
    assert implausible(first, {}, approximate=False) == words
    assert implausible(second, {}, approximate=False) == ""
    assert (implausible(first, {}, approximate=True) == "") == (name == "amplification")


def test_a_record_with_impossible_numbers_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from stabbench.analysis.linear import Linear

    plain = Linear.conditions

    def halved(self: Any, *arguments: Any) -> Conditions:
        found = plain(self, *arguments)
        return dataclasses.replace(found, kappa_2=found.kappa_2 * 0)

    monkeypatch.setattr(Linear, "conditions", halved)
    record = sb.evaluate("dct", n=6, stragglers=2)
    assert (record.status, record.measures) == ("failed", {})
    assert record.reason == "internal error: condition number kappa_2 = 0, below 1"


def test_placement_files_hold_zeros_and_ones(tmp_path: Path) -> None:
    held = np.ones((6, 6))
    path = tmp_path / "placement.npy"
    np.save(path, held)
    assert sb.code(f"heterogeneous[holdings_file={path}]", 6, 2).holdings.all()  # type: ignore[attr-defined]
    held[3, 4] = 0.25
    np.save(path, held)
    with pytest.raises(sb.InputError, match=r"row 3, column 4 of the placement is 0\.25; allowed"):
        sb.code(f"heterogeneous[holdings_file={path}]", 6, 2)
    np.save(path, np.ones((6, 6)))
    with pytest.raises(sb.InputError, match="extra=1, seed=0 with holdings_file="):
        sb.code(f"heterogeneous[holdings_file={path},extra=1]", 6, 2)


def test_files_of_another_shape_or_kind_are_refused(tmp_path: Path) -> None:
    nodes, table = tmp_path / "nodes.npy", tmp_path / "table.npy"
    np.save(nodes, np.arange(6.0).reshape(2, 3))
    with pytest.raises(sb.InputError, match="2 x 3 numbers; allowed is one row or one column"):
        sb.code(f"polynomial[nodes=custom,file={nodes}]", 6, 2)
    np.save(nodes, np.arange(6.0).reshape(1, 6))
    assert sb.code(f"polynomial[nodes=custom,file={nodes}]", 6, 2).n == 6
    np.save(table, np.array([[0, 0], [0, 1], [0, 1.5]]))
    with pytest.raises(sb.InputError, match=r"worker 2, block 1: 1\.5; allowed are integer shifts"):
        sb.code(f"shift-add[design=custom,table={table}]", 3, 1)
