"""Files are inputs by content: another content is another case with its own numbers.

Files are overwritten in place with as many bytes and the old time stamps, which no look at size and
times can tell.
"""

import dataclasses
import hashlib
import importlib.util
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.codes.registry import CODES
from stabbench.codes.registry import code as build_code
from stabbench.decoders.registry import DECODERS, decoder
from stabbench.errors import InputError
from stabbench.files import arrays
from stabbench.grammar import parameters_of
from stabbench.problems.data import File
from stabbench.report.plots.shift_add import shift_add
from stabbench.sweeps import api, runner
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.runner import Options, compute
from stabbench.sweeps.stability import Request
from stabbench.sweeps.store import Store
from stabbench.training.api import kind_of
from tests.support import run

Array = np.ndarray[Any, np.dtype[Any]]
SMALL = "gaussian[rows=12,columns=3]"
RANDOM = np.random.default_rng(0)
DESIGN = np.array([[(j - i) % 7 in (1, 2, 4) for j in range(7)] for i in range(7)], dtype=float)
OWN = """
import numpy as np
import stabbench as sb
from helper import scaled

class Mine(sb.LinearCode):
    table: str = ""

    def coefficients(self, bits):
        return [[scaled(i, j) for j in range(self.blocks)] for i in range(self.n)]
"""
FROM_FILE = """
import dataclasses
import numpy as np
import stabbench as sb

@dataclasses.dataclass(frozen=True)
class Mine(sb.LinearCode):
    table: str = ""

    def coefficients(self, bits):
        return np.load(self.table)
"""
DECODER = """
from helper import scaled
from stabbench.decoders.dense import Solve

class Mine(Solve):
    def square(self, matrices, right):
        return super().square(matrices, right) * scaled(0, 0)
"""
HELPER = "def scaled(i, j):\n    return 1.0 + {} * (i + 1.0) ** j\n"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A way in which a case reads a file.

    Attributes
    ----------
    file : str
        The file that changes.
    contents : pair
        What it holds, first and then.
    case : str
        The kind of case.
    parameters : dict
        Of the request; ``{}`` stands for the file, ``{folder}`` for its folder.
    beside : dict
        Other files of the folder.
    read : tuple of str
        Code and parameter that is a path, where it is one.
    """

    file: str
    contents: tuple[Any, Any]
    parameters: dict[str, Any]
    case: str = "stability"
    beside: dict[str, str] = dataclasses.field(default_factory=dict)
    read: tuple[str, str] = ("", "")


def of_code(
    name: str,
    parameter: str,
    contents: tuple[Any, Any],
    *,
    n: int = 6,
    more: str = "",
    **others: Any,
) -> Kind:
    code = f"{name}[{more}{parameter}='{{}}']"
    chosen = {"code": code, "n": n, "stragglers": 2, "data": SMALL} | others
    return Kind(f"{parameter}.npy", contents, chosen, read=(name, parameter))


def matrices(rows: int, columns: int) -> tuple[Array, Array]:
    return RANDOM.standard_normal((rows, columns)), RANDOM.standard_normal((rows, columns)) ** 3


def nodes(n: int = 6) -> tuple[Array, Array]:
    return np.linspace(0.5, 1.5, n), np.linspace(-1.0, 1.25, n)


def labelled() -> tuple[dict[str, Array], dict[str, Array]]:
    X, y = RANDOM.standard_normal((60, 4)), np.arange(60) % 3
    return {"X": X, "y": y}, {"X": X, "y": y[::-1].copy()}


TABLE = np.array([[0, 0], [0, 1], [1, 0], [0, 2], [2, 0]])
KINDS = {
    "generator": of_code("matrix", "file", matrices(6, 4)),
    **{
        name: of_code(name, "file", nodes(), more="nodes=custom,", problem=problem)
        for name, problem in {
            "polynomial": "matvec",
            "chebyshev-basis": "matvec",
            "orthopoly": "matmul",
            "orthopoly-shifted": "matmul",
            "matdot": "matmul",
            "polydot": "matmul",
            "entangled": "matmul",
            "orthomatdot": "matmul",
            "lagrange": "evaluate",
            "heterogeneous": "gradient",
        }.items()
    },
    "shifts": of_code("shift-add", "table", (TABLE, TABLE[::-1] * 2), n=5, more="design=custom,"),
    "shifts of B": of_code(
        "shift-add",
        "tableB",
        (TABLE[:, :1] * 0, TABLE[:, :1]),
        n=5,
        more="design=custom,table='{folder}/other.csv',",
        problem="matmul",
    ),
    "kadhe": of_code("kadhe", "generator", matrices(2, 6), more="d=6,m=2,"),
    "encoding matrix": of_code(
        "gradient-matrix",
        "file",
        (np.kron(np.eye(2), np.ones((3, 3))), np.outer(np.arange(1.0, 7), np.ones(6))),
    ),
    "holdings": of_code(
        "heterogeneous",
        "holdings_file",
        (np.ones((6, 6)), np.kron(np.ones((3, 3)), np.eye(2)) + np.eye(6)[::-1]),
        stragglers=1,
    ),
    "design": of_code("bibd", "file", (DESIGN, DESIGN[::-1].copy()), n=7),
    "inner": of_code("clustered", "inner", matrices(1, 3), more="c=3,"),
    "decoder": Kind(
        "mine.py",
        (DECODER, DECODER.replace("* scaled", "/ scaled")),
        {"code": "dct", "n": 6, "stragglers": 2, "data": SMALL, "decoder": "{}:Mine"},
        beside={"helper.py": HELPER.format(1)},
    ),
    "helper of a decoder": Kind(
        "helper.py",
        (HELPER.format(1), HELPER.format(2)),
        {"code": "dct", "n": 6, "stragglers": 2, "data": SMALL, "decoder": "{folder}/mine.py:Mine"},
        beside={"mine.py": DECODER},
    ),
    "code": Kind(
        "mine.py",
        (OWN, OWN.replace("scaled(i, j)", "scaled(j, i)")),
        {"code": "{}:Mine", "n": 6, "stragglers": 2, "data": SMALL},
        beside={"helper.py": HELPER.format(1)},
    ),
    "helper": Kind(
        "helper.py",
        (HELPER.format(1), HELPER.format(2)),
        {"code": "{folder}/mine.py:Mine", "n": 6, "stragglers": 2, "data": SMALL},
        beside={"mine.py": OWN},
    ),
    "helper in a package": Kind(
        "deep/low.py",
        (HELPER.format(1), HELPER.format(2)),
        {"code": "{folder}/mine.py:Mine", "n": 6, "stragglers": 2, "data": SMALL},
        beside={
            "mine.py": OWN,
            "helper/__init__.py": "from helper.middle import scaled",
            "helper/middle.py": "from deep import low\nscaled = low.scaled",
        },
    ),
    "file of a user's code": Kind(
        "table.npy",
        matrices(6, 4),
        {"code": "{folder}/own.py:Mine[table='{}']", "n": 6, "stragglers": 2, "data": SMALL},
        beside={"own.py": FROM_FILE},
    ),
    **{
        f"data {name}": Kind(
            name, contents, {"code": "dct", "n": 6, "stragglers": 2, "data": "{}" + selected}
        )
        for name, contents, selected in (
            ("data.npy", matrices(12, 3), ""),
            ("data.csv", (np.eye(4), np.ones((4, 4))), ""),
            ("data.npz", ({"a": np.eye(4)}, {"a": np.ones((4, 4))}), ":a"),
            ("data.mtx", (np.eye(4), np.ones((4, 4))), ""),
        )
    },
    **{
        f"labels of {case}": Kind(
            "labels.npz",
            labelled(),
            {"code": name, "n": 6, "stragglers": 2, "data": "{}", "trials": 1} | others,
            case,
        )
        for case, name, others in (
            ("layers", "dct", {"width": 8, "depth": 1, "steps": 2, "batch": 8}),
            ("descent", "cyclic-repetition", {"iterations": 2}),
        )
    },
    "labels of gossip": Kind(
        "labels.npz",
        labelled(),
        {"method": "d-psgd", "problem": "softmax[data='{}',regularisation=0]", "n": 4, "steps": 2},
        "gossip",
    ),
}
ALL = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def write(path: Path, content: Any) -> None:
    """Write a file; one that exists keeps its place on disk, its times and its size."""
    old = path.stat() if path.exists() else None
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    elif path.suffix == ".npy":
        np.save(path, content)
    elif path.suffix == ".mtx":
        entries = "\n".join(f"{x:.1f}" for x in content.ravel(order="F"))
        shape = " ".join(map(str, content.shape))
        path.write_text(f"%%MatrixMarket matrix array real general\n{shape}\n{entries}\n")
    else:
        np.savetxt(path, content, fmt="%.1f", delimiter=",")
    if old is not None:
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
        new = path.stat()
        assert (new.st_ino, new.st_size) == (old.st_ino, old.st_size)


def laid(kind: Kind, folder: Path, content: Any) -> Path:
    """Write the files of a kind into a folder, and return the one that changes."""
    for name, text in kind.beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / kind.file
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind.read == ("shift-add", "tableB"):
        np.savetxt(folder / "other.csv", TABLE[:, :1] * 0, fmt="%d")
    write(path, content)
    return path


def planned(kind: Kind, path: Path) -> Case:
    folder = str(path.parents[kind.file.count("/")])

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.replace("{folder}", folder).replace("{}", str(path))

    parameters = {name: filled(value) for name, value in kind.parameters.items()}
    if kind.read == ("clustered", "inner"):
        parameters["code"] = f"""clustered[c=3,inner="kadhe[d=3,m=1,generator='{path}']"]"""
    request: Any = Request if kind.case == "stability" else kind_of(kind.case).request
    return request(**parameters).case()  # type: ignore[no-any-return]


def numbers(record: Record) -> Any:
    """All measures but those of time, to ten digits, without the choice of one of equal sets."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            left_out = ("seconds", "worst_survivors", "worst_trial")
            return {k: kept(v) for k, v in value.items() if not any(x in k for x in left_out)}
        if isinstance(value, list):
            return [kept(item) for item in value]
        return f"{value:.9e}" if isinstance(value, float) else value

    assert record.status in ("ok", "overflow"), record.reason
    return kept(record.to_json()["measures"])


def short(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


@ALL
def test_another_content_is_another_case_with_its_own_numbers(tmp_path: Path, kind: Kind) -> None:
    path = laid(kind, tmp_path / "here", kind.contents[0])
    first = compute(planned(kind, path))
    assert f"{path.name}:{short(path)}" in first.case["files"].split(" ")
    write(path, kind.contents[1])
    second = compute(planned(kind, path))
    unseen = compute(planned(kind, laid(kind, tmp_path / "there", kind.contents[1])))
    assert first.case.id != second.case.id
    assert numbers(second) == numbers(unseen)
    assert numbers(second) != numbers(first)
    write(path, kind.contents[0])
    again = compute(planned(kind, path))
    assert again.case.id == first.case.id
    assert numbers(again) == numbers(first)


@ALL
def test_a_file_that_changed_since_planning_fails_the_case(tmp_path: Path, kind: Kind) -> None:
    path = laid(kind, tmp_path, kind.contents[0])
    case, before = planned(kind, path), short(path)
    for spoil in (
        lambda: write(path, kind.contents[1]),
        lambda: path.write_text("def no array (\n"),
        path.unlink,
    ):
        spoil()
        record = compute(case)
        assert record.status == "failed"
        assert not record.measures
        now = short(path) if path.exists() else "no file"
        words = f"the file has changed: sha256 {before} planned, {now} found"
        if not path.exists() and path.name in ("helper.py", "low.py"):
            words = f"not found: {path.name} (sha256 {before})"
        assert words in record.reason
        assert str(tmp_path) in record.reason
    laid(kind, tmp_path, kind.contents[0])
    assert compute(case).status in ("ok", "overflow")


def test_every_path_of_every_code_and_decoder_is_tried() -> None:
    takes_text = {
        (name, parameter.name)
        for registry in (CODES, DECODERS)
        for name, cls in registry.members.items()
        for parameter in parameters_of(cls).values()
        if parameter.type in (str, str | None)
    }
    assert takes_text == {kind.read for kind in KINDS.values()} - {("", "")}


@pytest.mark.parametrize("name", ["generator", "polynomial", "helper", "file of a user's code"])
def test_condition_numbers_are_of_the_present_content(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    path = laid(kind, tmp_path, kind.contents[0])
    code = str(planned(kind, path)["code"])
    first = build_code(code, 6, 2)
    before = sb.condition_numbers(first).worst
    assert build_code(code, 6, 2) == first
    write(path, kind.contents[1])
    second = build_code(code, 6, 2)
    after = sb.condition_numbers(second).worst
    assert second != first
    assert second.spec == first.spec
    assert after != before
    stored = second.system().reply.coefficients.rounded("float64")  # type: ignore[attr-defined]
    worst = max(np.linalg.cond(stored[rows]) for rows in four_of_six())
    assert after == pytest.approx(worst, rel=1e-9)


def four_of_six() -> Iterator[list[int]]:
    return ([i for i in range(6) if i not in (a, b)] for a in range(6) for b in range(a))


def test_content_belongs_to_the_equality_of_data_and_decoders(tmp_path: Path) -> None:
    for name, build in (
        ("data data.npy", lambda path: File(str(path))),
        ("helper of a decoder", lambda path: decoder(f"{path.parent}/mine.py:Mine")),
    ):
        kind = KINDS[name]
        path = laid(kind, tmp_path, kind.contents[0])
        first, same = build(path), build(path)
        write(path, kind.contents[1])
        assert first == same != build(path)
        assert hash(first) == hash(same)


def test_a_sweep_of_two_processes_holds_the_planned_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, changed = (laid(KINDS[name], tmp_path, KINDS[name].contents[0])
                     for name in ("generator", "helper"))  # fmt: skip
    before = short(changed)

    def overwrite_and_run(*arguments: Any) -> None:
        write(changed, KINDS["helper"].contents[1])
        run_cases(*arguments)

    run_cases = runner.run
    monkeypatch.setattr(api, "run", overwrite_and_run)
    codes = [f"matrix[file='{kept}']", f"{tmp_path}/mine.py:Mine"]
    store = sb.sweep(
        None, tmp_path / "out", codes=codes, n=6, stragglers=[1, 2], data=SMALL,
        options=Options(jobs=2),
    )  # fmt: skip
    records = list(Store.existing(tmp_path / "out").records.values())
    assert len(records) == len(store.records) == 4
    for record in records:
        if "matrix" in record.case["code"]:
            assert numbers(record) == numbers(compute(record.case))
        else:
            assert record.status == "failed"
            assert f"sha256 {before} planned, {short(changed)} found" in record.reason


def test_a_case_reads_no_file_that_it_was_planned_without(tmp_path: Path) -> None:
    text = FROM_FILE.replace("np.load(self.table)", f"read_array('{tmp_path}/own.npy')[0]")
    (tmp_path / "own.py").write_text("from stabbench.files import read_array\n" + text)
    np.save(tmp_path / "own.npy", np.eye(6, 4) + 1)
    record = compute(Request(f"{tmp_path}/own.py:Mine", 6, 2, data=SMALL).case())
    assert record.status == "failed"
    assert f"{tmp_path}/own.npy: the case was planned without this file" in record.reason


def test_a_planned_file_that_is_no_longer_read_fails_the_case(tmp_path: Path) -> None:
    kind = KINDS["helper"]
    path = laid(kind, tmp_path, kind.contents[0])
    case = planned(kind, path)
    files = f"{case['files']} x.py:{12 * '0'}"
    more = Case(case.kind, {**case.parameters, "files": files})
    assert compute(more).reason == "x.py: the case was planned with this file but did not read it"


def test_a_file_read_by_foreign_means_is_looked_at_again(tmp_path: Path) -> None:
    other = "np.save(self.table, np.vander(np.arange(6.0), 4))"
    text = FROM_FILE.replace("return np.load", f"{other}\n        return np.load")
    (tmp_path / "own.py").write_text(text)
    np.save(tmp_path / "table.npy", np.eye(6, 4) + 1)
    before = short(tmp_path / "table.npy")
    code = f"{tmp_path}/own.py:Mine[table='{tmp_path}/table.npy']"
    record = compute(Request(code, 6, 2, data=SMALL).case())
    assert record.status == "failed"
    assert f"sha256 {before} planned, {short(tmp_path / 'table.npy')} found" in record.reason


def test_what_is_read_late_has_the_content_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    write(path, RANDOM.standard_normal((4, 3)))
    named = File(str(path))
    write(path, RANDOM.standard_normal((4, 3)))
    with pytest.raises(InputError, match=f"the file has changed: .* {short(path)} found"):
        named.matrix(0)
    missing = File(str(tmp_path / "later.npy"))
    write(tmp_path / "later.npy", np.eye(2))
    with pytest.raises(InputError, match="no file planned"):
        missing.matrix(0)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    one, two = (tmp_path / name / "G.csv" for name in ("one", "two"))
    for path, table in ((one, TABLE[:, :1] * 0), (two, TABLE[:, :1])):
        path.parent.mkdir()
        np.savetxt(path, table, fmt="%d")
    code = f"shift-add[design=custom,table='{one}',tableB='{two}']"
    case = Request(code, 5, 2, data=SMALL, problem="matmul").case()
    assert case["files"] == f"{one}:{short(one)} {two}:{short(two)}"
    contents = one.read_bytes(), two.read_bytes()
    assert compute(case).status == "ok"
    one.write_bytes(contents[1])
    two.write_bytes(contents[0])
    assert "the file has changed" in compute(case).reason


def test_a_large_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    parsed = arrays._parsed

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return parsed(*arguments)

    monkeypatch.setattr(arrays, "_parsed", counted)
    np.savetxt(tmp_path / "large.csv", RANDOM.standard_normal((40, 3)), delimiter=",")
    for precision in ("float32", "float64", "bfloat16"):
        record = sb.evaluate(
            "dct", n=6, stragglers=2, data=str(tmp_path / "large.csv"), precision=precision
        )
        assert record.status == "ok"
    assert len(calls) == 1


def test_kept_arrays_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "KEPT_BYTES", 3 * 80)
    for number in range(9):
        np.save(tmp_path / f"{number}.npy", np.full(10, float(number)))
        File(str(tmp_path / f"{number}.npy")).matrix(0)
    kept = sum(array.nbytes for array, _ in arrays._KEPT.values())
    assert 80 <= kept <= 3 * 80


def test_compiled_code_of_an_older_helper_is_not_taken(tmp_path: Path) -> None:
    kind = KINDS["helper"]
    path = laid(kind, tmp_path, kind.contents[0])
    py_compile.compile(str(path))
    write(path, kind.contents[1])
    built: Any = build_code(f"{tmp_path}/mine.py:Mine", 6, 2)
    assert built.coefficients(53)[1][1] == 1 + 2 * 2.0


def test_a_compiled_module_that_changed_asks_for_a_new_process(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("markupsafe._speedups")
    assert spec is not None
    assert spec.origin is not None
    library = tmp_path / Path(spec.origin).name
    library.write_bytes(content := Path(spec.origin).read_bytes())
    (tmp_path / "mine.py").write_text("import _speedups\n" + FROM_FILE)
    code = f"{tmp_path}/mine.py:Mine"
    assert Path(build_code(code, 6, 2).inputs[1].path) == library
    library.unlink()  # a library in use must not be overwritten in place
    library.write_bytes(content + b" ")
    with pytest.raises(InputError, match="a compiled module has changed; start a new process"):
        build_code(code, 6, 2)


def test_helpers_of_one_name_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "script"))
    for name, factor in (("one", 1), ("two", 2), ("script", 3)):
        laid(KINDS["helper"], tmp_path / name, HELPER.format(factor))
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    script = importlib.import_module("helper")
    for _ in range(2):
        for name, factor in (("one", 1), ("two", 2)):
            built: Any = build_code(f"{tmp_path}/{name}/mine.py:Mine", 6, 2)
            assert built.coefficients(53)[1][1] == 1 + factor * 2.0
            assert [Path(named.path) for named in built.inputs] == [
                tmp_path / name / "mine.py", tmp_path / name / "helper.py"
            ]  # fmt: skip
    assert sys.modules["helper"] is script
    del sys.modules["helper"]


def test_our_classes_keep_their_names_where_a_users_file_imports_them(tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text("from stabbench.codes.random import Gaussian\n")
    theirs = build_code(f"{tmp_path}/again.py:Gaussian", 6, 2)
    ours = build_code("gaussian", 6, 2)
    assert theirs.spec == f"{tmp_path}/again.py:Gaussian"
    assert (ours.spec, ours.inputs) == ("gaussian", ())


def test_a_fault_of_a_helper_is_told_by_its_line(tmp_path: Path) -> None:
    path = laid(KINDS["helper"], tmp_path, "x = 1\ndef scaled(:\n")
    with pytest.raises(InputError, match=rf"{path}, line 2: SyntaxError"):
        build_code(f"{tmp_path}/mine.py:Mine", 6, 2)
    path.unlink()
    with pytest.raises(InputError, match=r"mine.py, line 4: ModuleNotFoundError: .*'helper'"):
        build_code(f"{tmp_path}/mine.py:Mine", 6, 2)


def test_identities_hold_names_and_digests_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    laid(KINDS["helper"], Path("sub"), HELPER.format(1))
    case = Request("sub/mine.py:Mine", 6, 2, data=SMALL).case()
    names = [f"{name}:{short(Path('sub', name))}" for name in ("mine.py", "helper.py")]
    assert case["files"] == " ".join(names)
    assert "files" not in Request("dct", 6, 2, data=SMALL).case().parameters
    assert Request("dct", 6, 2).case().id == "ec7b984ca9ab5023"


def test_a_helper_works_from_the_command_line(tmp_path: Path) -> None:
    laid(KINDS["helper"], tmp_path, HELPER.format(1))
    done = run("info", f"{tmp_path}/mine.py:Mine")
    assert done.status == 0, done.err


def test_reports_take_nothing_from_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write(path, TABLE)
    codes = f"shift-add[design=custom,table='{path}']"
    data = [f"gaussian[rows={rows},columns=2]" for rows in (8, 16)]
    store = sb.sweep(None, tmp_path / "out", codes=codes, n=5, stragglers=2, data=data)
    write(path, TABLE[::-1])
    plots = {plot.name: plot.data for plot in shift_add(list(store.records.values()))}
    assert len(plots["shift-add-length-float32"].records()) == 2
    assert plots["shift-add-storage-float32"].records() == []
    assert "not those of the sweep" in " ".join(plots["shift-add-storage-float32"].notes)
