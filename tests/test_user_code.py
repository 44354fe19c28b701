"""A user's own code and decoder in one file: used like ours, and checked by `stabbench check`."""

import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.budget import STAGES
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.operators import Dense
from stabbench.codes.registry import CODES
from stabbench.errors import InputError
from stabbench.grammar import parse
from stabbench.sweeps.runner import Options
from stabbench.sweeps.store import Store
from tests.support import refused, run

HEAD = """
import dataclasses
from typing import ClassVar
import numpy as np
import stabbench as sb
from stabbench.codes.base import System
from stabbench.codes.operators import Dense, Operator
"""
GOOD = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Plain blocks, then powers of small integers as parities."""

    name: ClassVar[str] = "mine"
    groups: ClassVar[frozenset[str]] = frozenset({"mds"})
    base: int = dataclasses.field(default=1, metadata={"help": "first integer"})

    def coefficients(self, bits):
        rows = [[int(i == j) for j in range(self.blocks)] for i in range(self.blocks)]
        first = self.base
        return rows + [
            [(first + p) ** j for j in range(self.blocks)] for p in range(self.n - self.blocks)
        ]
'''
)
NOT_LINEAR = (
    HEAD
    + '''
class Squares(Operator):
    """Adds the squares of the first entries."""

    def __init__(self, inner):
        self.inner, self.rows, self.unknowns = inner, inner.rows, inner.unknowns

    def apply(self, blocks, precision):
        return self.inner.apply(blocks + blocks**2, precision)

    def overhead(self, length):
        return self.inner.overhead(length)


@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Encodes squares."""

    def coefficients(self, bits):
        return [[(i + 1) ** j for j in range(self.blocks)] for i in range(self.n)]

    def system(self, problem="matvec"):
        plain = super().system(problem)
        return System((Squares(plain.encoders[0]),), plain.reply, plain.owner)
'''
)
NOT_MDS = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Workers 0 and 3 hold the same."""

    def coefficients(self, bits):
        rows = [[(i + 1) ** j for j in range(self.blocks)] for i in range(self.n)]
        rows[3] = rows[0]
        return rows
'''
)
WRONG_DTYPE = (
    HEAD
    + '''
class Wide(Dense):
    """Computes in float64 whatever is asked for."""

    def apply(self, blocks, precision):
        flat = blocks.reshape(len(blocks), -1)
        product = self.coefficients.rounded("float64") @ flat.astype(np.float64)
        return product.reshape(-1, *blocks.shape[1:])


@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Sends float64 always."""

    def coefficients(self, bits):
        return [[(i + 1) ** j for j in range(self.blocks)] for i in range(self.n)]

    def system(self, problem="matvec"):
        plain = super().system(problem)
        return System((Wide(self.generator),), plain.reply, plain.owner)
'''
)
NOT_ROUNDED = WRONG_DTYPE.replace(
    "return product.reshape(-1, *blocks.shape[1:])",
    "return product.reshape(-1, *blocks.shape[1:]).astype(blocks.dtype)",
)
NOT_REPEATABLE = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Draws new numbers for every instance."""

    def coefficients(self, bits):
        return np.random.default_rng().standard_normal(self.shape)
'''
)
NOT_THE_GENERATOR = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Encodes with the rows in reverse."""

    def coefficients(self, bits):
        return [[(i + 1) ** j for j in range(self.blocks)] for i in range(self.n)]

    def system(self, problem="matvec"):
        plain = super().system(problem)
        turned = Dense(self.generator.rows(list(range(self.n))[::-1]))
        return System((turned,), plain.reply, plain.owner)
'''
)
NOT_FINITE = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """An entry is beyond float64."""

    def coefficients(self, bits):
        return [[10 ** (400 * (i == j == 0)) + i**j for j in range(self.blocks)]
                for i in range(self.n)]
'''
)
RAISES = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Cannot compute its coefficients."""

    def coefficients(self, bits):
        raise KeyError("planted")
'''
)
WRONG_SHAPE = (
    HEAD
    + '''
@dataclasses.dataclass(frozen=True)
class MyCode(sb.LinearCode):
    """Forgets the last worker."""

    def coefficients(self, bits):
        return [[(i + 1) ** j for j in range(self.blocks)] for i in range(self.n - 1)]
'''
)


GRADIENT = """
import dataclasses, functools
import numpy as np
import stabbench as sb
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import System
from stabbench.codes.gradient.base import GradientCode, Part, constant
from stabbench.codes.operators import Dense, Operator


@dataclasses.dataclass(frozen=True)
class MyCode(GradientCode):
    'What each worker sends of the partial gradients.'

    @property
    def placement(self):
        return np.array(self.coefficients(53)) != 0

    def coefficients(self, bits):
        ROWS
"""
PLAIN_SUMS = GRADIENT.replace("ROWS", "return [[1] * self.n for _ in range(self.n)]")
GROUPS = GRADIENT.replace("ROWS", "return np.kron(np.eye(2), np.ones((3, 3))).tolist()")
OWN_GRADIENTS = GRADIENT.replace("ROWS", "return np.eye(self.n, dtype=int).tolist()")
SHORT_CUT = GRADIENT.replace(
    "ROWS",
    "return [[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 0, 0], [0, 0, 3, 3]]",
)
COMPLEX_SUMS = (
    GRADIENT.replace("ROWS", "return [[1j**i] * self.n for i in range(self.n)]")
    + """
    is_complex = True
"""
)
IRRATIONAL = GRADIENT.replace(
    "ROWS", "import flint; return [[flint.arb.pi()] * self.n for _ in range(self.n)]"
).replace("np.array(self.coefficients(53)) != 0", "np.ones((self.n, self.n), bool)")
FALSE_CLAIM = (
    OWN_GRADIENTS
    + """
    @functools.cached_property
    def parts(self):
        return (Part(np.arange(self.n), constant([[1]] * self.n), constant([[1]])),)
"""
)
NOT_HELD = PLAIN_SUMS.replace("np.array(self.coefficients(53)) != 0", "np.eye(self.n) > 0")
BARE = (
    GRADIENT[: GRADIENT.index("@dataclasses")]
    + """
@dataclasses.dataclass(frozen=True)
class MyCode(sb.Code):
    'Powers of 1 .. n, of which nothing but the operators is told.'

    dense = True

    @property
    def threshold(self):
        return self.n - self.stragglers

    def matrix(self):
        return np.vander(np.arange(1.0, self.n + 1), self.threshold, increasing=True)

    def system(self, problem="matvec"):
        reply = Dense(Coefficients.from_array(self.matrix()))
        return System((reply,), reply, np.arange(self.n))


@dataclasses.dataclass(frozen=True)
class Equal(sb.LinearCode):
    'The same as a generator.'

    def coefficients(self, bits):
        return np.vander(np.arange(1.0, self.n + 1), self.blocks, increasing=True)
"""
)
OTHER_BASIS = BARE.replace(
    "return System((reply,), reply, np.arange(self.n))",
    """turn = np.tril(np.ones((self.threshold, self.threshold)))
        unknown = Dense(Coefficients.from_array(self.matrix() @ np.linalg.inv(turn).round()))
        target = Coefficients.from_array(np.linalg.inv(turn).round())
        return System((reply,), unknown, np.arange(self.n), target)""",
)
OWN_OPERATOR = (
    BARE.replace("dense = True", "pass")
    .replace(
        "reply = Dense(Coefficients.from_array(self.matrix()))",
        "reply = Mine(self.n, self.threshold)",
    )
    .replace(
        "@dataclasses.dataclass(frozen=True)\nclass MyCode",
        """class Mine(Operator):
    def __init__(self, rows, unknowns):
        self.rows, self.unknowns = rows, unknowns

    def apply(self, blocks, precision):
        return precision.store(np.stack([blocks.sum(axis=0)] * self.rows))

    def overhead(self, length):
        return np.ones(self.rows)


@dataclasses.dataclass(frozen=True)
class MyCode""",
    )
)


def written(folder: Path, text: str) -> Path:
    path = folder / "my code.py"
    path.write_text(text)
    return path


def verdict(folder: Path, text: str) -> tuple[int, dict[str, str]]:
    """Exit status of `stabbench check`, and the failed checks with what they say."""
    path = written(folder, text)
    done = run("check", f"{path}:MyCode", "-n", 7, "-S", 2)
    assert done.err == ""
    failed = [line[6:].split(": ", 1) for line in done.out.splitlines() if line[:4] == "FAIL"]
    return done.status, dict(failed)


def test_a_sound_code_passes_every_check(tmp_path: Path) -> None:
    assert verdict(tmp_path, GOOD) == (0, {})


@pytest.mark.parametrize(
    ("text", "check", "words"),
    [
        (NOT_LINEAR, "linear", "E(x + 2 y) differs from E x + 2 E y by"),
        (NOT_MDS, "every threshold decodes (MDS)", "survivor sets (all) fail: [0, 1, 2, 3, 4]"),
        (WRONG_DTYPE, "dtype in float32", "shares are float64; allowed: float32"),
        (NOT_ROUNDED, "dtype in bfloat16", "shares hold numbers that bfloat16 cannot store"),
        (NOT_REPEATABLE, "repeatable", "two instances encode differently"),
        (NOT_THE_GENERATOR, "encoder and replies agree", "differ from generator times blocks"),
        (NOT_FINITE, "exact coefficients", "not finite in float64"),
        (RAISES, "linear", "KeyError: 'planted'"),
        (WRONG_SHAPE, "exact coefficients", "shape (6, 5): allowed is (7, 5)"),
    ],
    ids=lambda value: value.split("(")[0] if len(value) < 40 else "",
)
def test_faults_of_wrong_codes_are_found(tmp_path: Path, text: str, check: str, words: str) -> None:
    status, failed = verdict(tmp_path, text)
    assert status == 1
    assert words in failed[check], failed


def test_all_sets_that_fail_are_counted(tmp_path: Path) -> None:
    _, failed = verdict(tmp_path, NOT_MDS)
    with_both = 10  # survivor sets of 5 of 7 that hold workers 0 and 3
    assert failed["every threshold decodes (MDS)"].startswith(f"{with_both} of 21 survivor sets")


def test_a_users_code_is_swept_like_ours(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    code = f"{path}:MyCode"
    done = run(
        "sweep", "-s", code, "-s", "dct", "-n", "6", "-S", "2", "-p", "float32",
        "--data", "gaussian[rows=20,columns=4]", "-j", "1", "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.status == 0, done.err
    records = Store.existing(tmp_path / "out").records.values()
    mine = next(r for r in records if "MyCode" in str(r.case["code"]))
    assert mine.status == "ok"
    assert mine.case["code"] == f"{code}[base=1]"
    assert mine.case["files"].startswith("my code.py:")
    assert mine.relative_error.worst < 1e-3
    report = run("report", tmp_path / "out", "--format", "svg")
    assert report.status == 0, report.err
    folder = tmp_path / "out" / "report"
    for kind in ("*.md", "*.csv", "*.tex", "*.html"):
        texts = [file.read_text(encoding="utf-8") for file in folder.rglob(kind)]
        assert any("MyCode" in text for text in texts), kind


def test_parameters_of_a_users_code_are_those_of_the_grammar(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    built = sb.code(f"{path}:MyCode[base=3]", n=5, stragglers=2)
    assert isinstance(built, sb.LinearCode)
    assert built.generator.rounded("float64")[3].tolist() == [1, 3, 9]
    assert sb.code(built.spec, 5, 2) == built
    assert sb.condition_numbers(built).label == "exhaustive"
    words = refused("sweep", "-s", f"{path}:MyCode[bsae=3]", "-n", 5, "-S", 2, "--dry-run")
    assert "unknown parameter 'bsae'; did you mean base" in words
    assert "first integer" in run("info", f"{path}:MyCode").out


def test_a_changed_file_is_another_case(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    code = f"{path}:MyCode"
    axes: dict[str, Any] = {"n": 6, "stragglers": 2, "data": "gaussian[rows=12,columns=3]"}
    first = sb.sweep(None, tmp_path / "a", codes=code, options=Options(jobs=1), **axes)
    path.write_text(GOOD.replace("first = self.base", "first = self.base + 1"))
    second = sb.sweep(None, tmp_path / "b", codes=code, options=Options(jobs=1), **axes)
    assert set(first.records).isdisjoint(second.records)
    with pytest.raises(InputError, match="another version or other files"):
        sb.sweep(None, tmp_path / "a", codes=code, options=Options(jobs=1), **axes)


def test_two_files_of_one_class_name_stay_apart(tmp_path: Path) -> None:
    for folder, first in (("one", 1), ("two", 5)):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, GOOD.replace("default=1", f"default={first}"))
    built = [sb.code(f"{tmp_path / x / 'my code.py'}:MyCode", 5, 2) for x in ("one", "two")]
    assert [c.base for c in built] == [1, 5]  # type: ignore[attr-defined]
    assert built[0] != built[1]
    assert built[0].spec != built[1].spec


def test_processes_of_a_sweep_read_the_users_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    store = sb.sweep(
        None,
        tmp_path / "out",
        codes=f"{path}:MyCode",
        n=[5, 6],
        stragglers=2,
        data="gaussian[rows=12,columns=3]",
        options=Options(jobs=2),
    )
    assert [r.status for r in store.records.values()] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "MyCode", "no class 'MyCode'"),
        (GOOD, "MyCod", "no class 'MyCod'; did you mean MyCode"),
        ("MyCode = 3", "MyCode", "not a code; allowed are classes that extend stabbench.Code"),
        ("class MyCode: pass", "MyCode", "not a code; allowed are classes that extend"),
        ("def f(:\n", "MyCode", "my code.py, line 1: SyntaxError"),
        ("\n\n1 / 0\n", "MyCode", "my code.py, line 3: ZeroDivisionError"),
        ("import nothing_of_this_name", "MyCode", "line 1: ModuleNotFoundError"),
        ("import sys\nsys.exit(3)", "MyCode", "my code.py, line 2: SystemExit"),
        (
            "import stabbench as sb\nclass MyCode(sb.LinearCode):\n    pass",
            "MyCode",
            "the code does not define coefficients",
        ),
        ("\x00", "MyCode", "my code.py"),
    ],
    ids=[
        "empty",
        "typo",
        "number",
        "class",
        "syntax",
        "error",
        "import",
        "exit",
        "abstract",
        "nul",
    ],
)
def test_files_that_hold_no_code_are_refused(
    tmp_path: Path, text: str, name: str, words: str
) -> None:
    path = written(tmp_path, text)
    assert words in refused("check", f"{path}:{name}", "-n", 5, "-S", 2)
    assert words in refused("sweep", "-s", f"{path}:{name}", "-n", 5, "-S", 2, "-o", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_users_decoder_runs_too(tmp_path: Path) -> None:
    path = tmp_path / "decoder.py"
    path.write_text(
        "import dataclasses\nfrom stabbench.decoders.dense import Solve\n\n"
        "@dataclasses.dataclass(frozen=True)\nclass Mine(Solve):\n"
        '    """LU, then doubled and halved."""\n\n'
        "    def square(self, matrices, right):\n"
        "        return 2 * super().square(matrices, right) / 2\n"
    )
    record = sb.evaluate("dct", n=6, stragglers=2, decoder=f"{path}:Mine")
    plain = sb.evaluate("dct", n=6, stragglers=2)
    assert record.status == "ok"
    assert record.relative_error == plain.relative_error
    assert json.dumps(record.to_json())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("not_there:Code", "ModuleNotFoundError: No module named 'not_there'"),
        ("json:nothing", "AttributeError: "),
        ("json:JSONDecoder", "not a code; allowed are classes that extend stabbench.Code"),
    ],
)
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, words: str
) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[stabbench.codes]\nmine = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = dataclasses.replace(CODES)
    with pytest.raises(InputError, match=re.escape(f"entry point mine = {value}: {words}")):
        registry.find(parse("mine"))


def gradient_record(path: Path, n: int, s: int, decoder: str = "weights", **more: Any) -> Any:
    return sb.evaluate(
        f"{path}:MyCode", n=n, stragglers=s, problem="gradient", decoder=decoder, **more
    )


@pytest.mark.parametrize("decoder", ["weights", "lstsq", "exact-weights"])
@pytest.mark.parametrize("text", [PLAIN_SUMS, COMPLEX_SUMS], ids=["real", "complex"])
def test_any_reply_may_be_the_sum(tmp_path: Path, text: str, decoder: str) -> None:
    path = written(tmp_path, text)
    record = gradient_record(path, 7, 2, decoder, precision="float64")
    assert record.status == "ok", record.reason
    assert record.condition_number.worst == pytest.approx(1)
    assert record.amplification.worst == pytest.approx(1)
    assert record.digits["worst"] > 15
    assert record.test_ratio.worst < 10
    assert verdict(tmp_path, text) == (0, {})


def test_parts_that_are_not_given_are_those_of_the_scheme(tmp_path: Path) -> None:
    path = written(tmp_path, GROUPS)
    mine = gradient_record(path, 6, 2, patterns="all")
    ours = sb.evaluate(
        "fractional-repetition", n=6, stragglers=2, problem="gradient", decoder="weights"
    )
    assert mine.amplification.worst == pytest.approx(ours.amplification.worst)
    assert mine.test_ratio.worst < 10
    cyclic = (
        "from stabbench.codes.gradient.cyclic_repetition import CyclicRepetition; "
        "return CyclicRepetition(self.n, self.stragglers).coefficients(bits)"
    )
    written(tmp_path, GRADIENT.replace("ROWS", cyclic))
    mine = gradient_record(path, 9, 3, patterns="all", precision="float64")
    ours = sb.evaluate(
        "cyclic-repetition", n=9, stragglers=3, problem="gradient", decoder="weights",
        patterns="all", precision="float64",
    )  # fmt: skip
    for name in ("condition_number", "condition_number_F", "amplification"):
        for value in ("median", "worst", "mean"):
            found, expected = (getattr(getattr(r, name), value) for r in (mine, ours))
            assert found == pytest.approx(expected, rel=1e-7), (name, value)
    assert mine.relative_error.worst < 10 * ours.relative_error.worst


def test_replies_of_lower_rank_may_hold_the_sum(tmp_path: Path) -> None:
    """Any one of the first two replies, or the last two together: never the rank of all."""
    path = written(tmp_path, SHORT_CUT)
    code: Any = sb.code(f"{path}:MyCode", 4, 2)
    from stabbench.analysis.gradient_conditions import exact_conditions

    arrived = np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]
    )
    found = exact_conditions(code, arrived > 0)
    assert found.decodable.tolist() == [True, True, True, True, False, True]
    assert found.amplification[:4] == pytest.approx([1, 1, 1, 1])
    assert found.kappa_2[:4] == pytest.approx([1, 1, 1, 3])
    assert gradient_record(path, 4, 2).status == "ok"
    assert run("check", f"{path}:MyCode", "-n", 4, "-S", 2).status == 0


def test_claims_about_the_sum_are_held_to_the_coefficients(tmp_path: Path) -> None:
    status, failed = verdict(tmp_path, FALSE_CLAIM)
    assert status == 1
    assert failed == {
        "gives the sum": "the replies differ from what their decoding matrix holds by 0.857"
    }
    record = gradient_record(tmp_path / "my code.py", 7, 2)
    assert record.status == "failed"
    assert "the weights of replies [0, 1, 2, 3, 4] miss the sum by 1: " in record.reason
    status, failed = verdict(tmp_path, OWN_GRADIENTS)
    assert status == 1
    assert failed["gives the sum"].startswith("21 of 21 survivor sets (all) fail: [0, 1, 2, 3, 4]")
    record = gradient_record(tmp_path / "my code.py", 7, 2)
    assert (record.status, record.reason) == ("undecodable", "no survivor set decodes")
    assert "differ from generator" in verdict(tmp_path, NOT_HELD)[1]["encoder and replies agree"]


def test_irrational_coefficients_need_parts(tmp_path: Path) -> None:
    words = "irrational coefficients without parts; allowed are rational ones, or parts that say"
    assert words in verdict(tmp_path, IRRATIONAL)[1]["gives the sum"]
    record = gradient_record(tmp_path / "my code.py", 7, 2)
    assert record.status == "failed"
    assert words in record.reason


@pytest.mark.parametrize("decoder", ["solve", "lstsq", "exact-weights"])
@pytest.mark.parametrize("precision", ["float64", "bfloat16"])
def test_a_dense_reply_map_is_measured_as_the_equal_generator(
    tmp_path: Path, decoder: str, precision: str
) -> None:
    path = written(tmp_path, BARE)
    records = [
        sb.evaluate(f"{path}:{name}", n=6, stragglers=2, decoder=decoder, precision=precision)
        for name in ("MyCode", "Equal")
    ]
    assert [record.status for record in records] == ["ok", "ok"]
    bare, linear = ({k: v for k, v in r.measures.items() if k != "seconds"} for r in records)
    assert bare == linear
    assert "budget" in bare
    assert verdict(tmp_path, BARE) == (0, {})


def test_unknowns_of_another_basis_are_decoded_to_the_blocks(tmp_path: Path) -> None:
    path = written(tmp_path, OTHER_BASIS)
    assert verdict(tmp_path, OTHER_BASIS) == (0, {})
    record = sb.evaluate(f"{path}:MyCode", n=6, stragglers=2, precision="float64")
    assert record.status == "ok", record.reason
    assert record.test_ratio.worst < 10
    assert "notes" not in record.measures
    assert record.budget["total"] == pytest.approx(record.relative_error.worst, rel=1e-9)
    assert max(record.budget[stage] for stage in STAGES) < 100 * record.relative_error.worst
    system = sb.code(f"{path}:MyCode", 6, 2).system()
    assert isinstance(system.target, Coefficients)
    assert isinstance(system.reply, Dense)
    phi, target = (x.rounded("float64") for x in (system.reply.coefficients, system.target))
    sizes = []
    for lost in itertools.combinations(range(6), 2):
        received = np.delete(phi, lost, axis=0)
        sizes.append(
            (np.abs(target @ np.linalg.inv(received)) @ np.abs(received)).sum(axis=1).max()
        )
    bound = max(sizes) / np.abs(target).sum(axis=1).max()
    assert record.amplification.worst == pytest.approx(bound, rel=1e-8)
    wrong = OTHER_BASIS.replace("target = Coefficients", "target = 2 and Coefficients").replace(
        "from_array(np.linalg.inv(turn).round())\n        return",
        "from_array(turn)\n        return",
    )
    status, failed = verdict(tmp_path, wrong)
    assert status == 1
    assert "what is decoded differs from what is wanted by" in failed["gives what is wanted"]


def test_operators_that_nothing_analyses_are_refused(tmp_path: Path) -> None:
    status, failed = verdict(tmp_path, OWN_OPERATOR)
    assert status == 1
    words = "no analysis for codes of type MyCode; allowed are LinearCode, GradientCode, or a Code"
    assert words in failed["measured"]
    assert "Mine is no matrix of coefficients; allowed is Dense" in failed["gives what is wanted"]
