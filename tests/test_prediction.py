"""The error model: what is predicted of every stage, and what a large ratio accuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.analysis.conditions import Conditions, operators_of, stored_reply
from stabbench.analysis.prediction import predict
from stabbench.analysis.structure import Choice
from stabbench.analysis.structures import structure_of
from stabbench.arithmetic.precision import precision
from stabbench.arithmetic.zigzag import plan
from stabbench.arithmetic.zigzag_operator import ZigzagOperator
from stabbench.codes.base import Code
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.operators import Dense
from stabbench.codes.registry import CODES, code
from stabbench.decoders.registry import usual_decoder
from stabbench.decoders.weights import exact_weights
from stabbench.errors import InputError
from stabbench.problems.registry import data, problem
from stabbench.sweeps.case import Record
from tests.support import NEEDS_FILE, PARAMETERS, linear_classes

Array = np.ndarray[Any, np.dtype[Any]]
DATA = "gaussian[rows=240,columns=24]"
SIZES = ((7, 2), (6, 2), (9, 2), (8, 3), (10, 2))
SCALED = np.array([[1, 1e6, 2e6], [1, 1, -1], [1, -2, 0.5], [1, 0.3, 1.7]])


def dense_specs() -> list[str]:
    """Every registered code for matrix-vector products, with all families of nodes."""
    return [
        f"{name}[{parameters}]" if parameters else name
        for name in linear_classes()
        for parameters in PARAMETERS.get(name, [""])
    ]


def sizes(spec: str) -> tuple[int, ...]:
    """Workers: 8, 10 and 12, where the code exists."""
    return {"uncoded-cyclic": (12,)}.get(spec, (8, 10, 12))


def measured(spec: str, n: int, precision: str, decoder: str) -> Record:
    """All patterns; four where there are hundreds of unknown blocks, none of which is empty."""
    built, data, patterns = code(spec, n, 2), DATA, "all"
    unknowns = built.system().encoders[0].unknowns
    if unknowns > 240:
        data, patterns = f"gaussian[rows={2 * unknowns},columns=24]", "random:4"
    return sb.evaluate(built, precision=precision, decoder=decoder, patterns=patterns, data=data)


@pytest.mark.parametrize(("spec", "n"), [(spec, n) for spec in dense_specs() for n in sizes(spec)])
def test_mixed_precision_is_predicted_within_a_factor_of_a_hundred(spec: str, n: int) -> None:
    """Measured: predicted over measured worst errors from 2 to 80, expected ones 0.7 to 4.2."""
    decoders = ("solve", "lstsq", "refined")
    for form in ("float32/float64", "bfloat16/float64"):
        for decoder in decoders if (spec, n) != ("convolutional", 12) else decoders[:1]:
            record = measured(spec, n, form, decoder)
            assert record.status == "ok"
            assert record.trusted == 1.0
            assert 1 < record.predicted_error.worst / record.relative_error.worst < 100
            assert 0.5 < record.expected_error.worst / record.relative_error.worst < 10
            assert record.measures.get("stage_ratios", {"decode": 0.0})["decode"] < 10


@pytest.mark.parametrize(
    ("form", "amplified"), [("float32/float64", 4.9e-7), ("bfloat16/float64", 0.032)]
)
def test_elimination_grows_the_unit_of_the_decoder_not_that_of_storage(
    tmp_path: Path, form: str, amplified: float
) -> None:
    """A badly scaled first row makes the factors of float64 elimination grow to 1e6."""
    np.savetxt(tmp_path / "G.csv", SCALED, delimiter=",")
    record = sb.evaluate(f"matrix[file={tmp_path}/G.csv]", n=4, stragglers=1, precision=form)
    assert precision(form).unit * record.amplification.worst == pytest.approx(amplified, rel=0.02)
    assert 0.5 < record.predicted_error.worst / amplified < 5
    assert 1 < record.predicted_error.worst / record.relative_error.worst < 20
    stages = record.predicted_stages
    assert stages["decode"] < 1e-2 * stages["encode"]
    assert stages["total"] == pytest.approx(
        sum(value for stage, value in stages.items() if stage != "total")
    )


LOSSY = """
import dataclasses
import numpy as np
from stabbench.decoders.base import Plan
from stabbench.decoders.dense import Solve

@dataclasses.dataclass(frozen=True)
class LossyPlan(Plan):
    plan: Plan
    loss: float

    @property
    def rows(self):
        return self.plan.rows

    def decode(self, replies):
        found = self.plan.decode(replies)
        signs = np.where(np.arange(found.size).reshape(found.shape) % 2, 1.0, -1.0)
        return found + (self.loss * signs).astype(found.dtype)

@dataclasses.dataclass(frozen=True)
class Lossy(Solve):
    \"\"\"Elimination that loses digits of its result.\"\"\"

    loss: float = dataclasses.field(default=0.0, metadata={"help": "size of what is added"})

    def plan(self, code, system, patterns, precision, spare):
        return LossyPlan(super().plan(code, system, patterns, precision, spare), self.loss)
"""


def test_a_decoder_that_loses_six_digits_is_accused_by_its_own_stage(tmp_path: Path) -> None:
    """Mixed precision hides them: the total error is that of float32 shares."""
    file = tmp_path / "lossy.py"
    file.write_text(LOSSY)
    decoders = (f"{file}:Lossy[loss={loss}]" for loss in ("0", "1e-9"))
    sound, lossy = (measured("dct", 10, "float32/float64", decoder) for decoder in decoders)
    assert lossy.relative_error.worst == pytest.approx(sound.relative_error.worst, rel=1e-3)
    assert lossy.test_ratio.worst == pytest.approx(sound.test_ratio.worst, rel=1e-3)
    assert sound.stage_ratios["decode"] < 1
    assert lossy.stage_ratios["decode"] > 300  # of a limit of 10
    for stage in ("encode", "compute"):
        assert lossy.stage_ratios[stage] == sound.stage_ratios[stage]


def small(name: str) -> Code:
    for n, s in SIZES:
        try:
            return code(name, n, s)
        except InputError:
            continue
    raise AssertionError(f"no size of {SIZES} suits {name}")


def spread(choice: Choice, pattern: Array) -> float:
    """|| D diag(||Phi_r||_2) ||_F / ||T||_F of one pattern by its definition."""
    system, storage = choice.system, choice.precision.storage.name
    if isinstance(choice.code, GradientCode):
        weights = exact_weights(choice.code, choice.code.arrived(pattern[None]), "use")[0][0]
        sizes = np.linalg.norm(choice.code.encoding.rounded("float64"), axis=1)
        wanted = (choice.code.partitions * choice.code.reduction) ** 0.5
        return float(np.linalg.norm(weights * sizes) / wanted)
    assert isinstance(system.reply, Dense)
    reply = stored_reply(system.reply, storage)
    ((_, rows),) = system.batches(pattern[None])
    if choice.decoder.uses_spare is False:
        plan = choice.decoder.plan(choice.code, system, pattern[None], choice.precision, "use")
        rows = np.sort(plan.rows, axis=1)
    decoding, received = operators_of(reply, rows).D[0], reply.rounded("float64")[rows[0]]
    target = np.eye(reply.shape[1])
    if system.target is not None:
        target = system.target.rounded("float64")
    return float(
        np.linalg.norm(target @ decoding * np.linalg.norm(received, axis=1))
        / np.linalg.norm(target)
    )


# shift-add: by its operator, below; codes without a reply map or without fixed weights have
# weights of their own
OTHERS = ("shift-add", "berrut", "lt")


@pytest.mark.parametrize(
    "name", sorted(name for name in CODES.members if name not in (*NEEDS_FILE, *OTHERS))
)
def test_root_mean_square_amplification_is_its_definition(name: str) -> None:
    built = small(name)
    system = built.system(built.problems[0])
    decoder = usual_decoder(built)
    choice = Choice(built, system, decoder, precision("float64"), "use")
    patterns = np.ones((2, built.n), dtype=np.int8)
    patterns[0, : built.stragglers] = 0
    patterns[1, built.n - built.stragglers :] = 0
    found = structure_of(built, system).conditions(choice, patterns)
    for p in np.flatnonzero(found.decodable):
        if not getattr(built, "approximate", False):
            expected = spread(choice, patterns[p])
            assert found.rms_amplification[p] == pytest.approx(expected, rel=1e-6)
        assert found.rms_amplification[p] <= found.amplification[p] * len(patterns[p]) ** 0.5


def test_the_bound_in_the_norm_of_errors_is_its_definition() -> None:
    for spec, task in (("gaussian", "matvec"), ("matdot[p=2]", "matmul")):
        built = code(spec, 6, 2)
        system = built.system(task)
        choice = Choice(built, system, usual_decoder(built), precision("float64"), "drop")
        pattern = np.array([[1, 0, 1, 1, 0, 1]], dtype=np.int8)
        found = structure_of(built, system).conditions(choice, pattern)
        plan = choice.decoder.plan(built, system, pattern, choice.precision, "drop")
        rows = np.sort(plan.rows, axis=1)
        reply = stored_reply(system.reply, "float64")
        received = reply.rounded("float64")[rows[0]]
        decoding = np.linalg.inv(received)
        target = np.eye(len(received))
        if system.target is not None:
            target = system.target.rounded("float64")
        sums = np.abs(target @ decoding) @ np.abs(received).sum(axis=1)
        wanted = float(np.linalg.norm(target))
        assert found.norm_amplification[0] == pytest.approx(np.linalg.norm(sums) / wanted)
        assert found.amplification[0] == pytest.approx(
            sums.max() / np.abs(target).sum(axis=1).max()
        )


def test_root_mean_square_amplification_of_a_zigzag_is_that_of_its_operator() -> None:
    record = sb.evaluate(
        "shift-add[design=vandermonde]", n=3, stragglers=1, data="gaussian[rows=24,columns=4]"
    )
    built = code("shift-add[design=vandermonde]", 3, 1)
    line = built.system().reply.line((12,))  # type: ignore[attr-defined]
    found = []
    for alive in ((0, 1), (0, 2), (1, 2)):
        operator = ZigzagOperator(plan(line.table, [alive], line.length, "both-ends"), 0)
        matrix = operator.matrix() * np.sqrt(operator.terms)
        found.append(np.linalg.norm(matrix) / operator.unknowns**0.5)
    assert record.rms_amplification.worst == pytest.approx(max(found))


def test_independent_errors_of_the_replies_grow_by_the_root_mean_square_amplification() -> None:
    """20,000 draws; the mean square has a standard error below 3 % here."""
    built = code("gaussian", 8, 3)
    system = built.system()
    choice = Choice(built, system, usual_decoder(built), precision("float64"), "use")
    pattern = np.array([[1, 0, 1, 1, 0, 1, 1, 0]], dtype=np.int8)
    found = structure_of(built).conditions(choice, pattern).rms_amplification[0]
    generator = built.generator.rounded("float64")[pattern[0] > 0]  # type: ignore[attr-defined]
    draws = np.random.default_rng(5).standard_normal((5, 20_000))
    errors = np.linalg.solve(generator, draws * np.linalg.norm(generator, axis=1)[:, None])
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(found, rel=0.05)


@pytest.mark.parametrize(
    ("spec", "decoder"),
    [
        ("polynomial[nodes=equispaced]", "solve"),
        ("gaussian", "lstsq"),
        ("orthopoly[kA=3,kB=2]", "solve"),
        ("matdot[p=2]", "solve"),
        ("cyclic-mds", "weights"),
        ("shift-add", "zigzag"),
        ("lagrange[k=2]", "barycentric"),
    ],
)
@pytest.mark.parametrize("form", ["bfloat16", "float32", "float64"])
def test_errors_are_about_what_is_expected(spec: str, decoder: str, form: str) -> None:
    """Measured: expected over measured worst errors from 0.4 to 6."""
    record = sb.evaluate(spec, n=9, stragglers=3, precision=form, decoder=decoder, data=DATA)
    assert record.status == "ok"
    assert 0.2 < record.expected_error.worst / record.relative_error.worst < 12
    assert set(record.stage_ratios) <= {*record.budget}


def test_the_prediction_of_noise_and_of_approximation_is_not_trusted() -> None:
    noisy = sb.evaluate("dct", n=5, stragglers=1, noise="outputs:40", data=DATA)
    rough = sb.evaluate("berrut", n=5, stragglers=1, data=DATA)
    for record in (noisy, rough):
        assert record.trusted == 0
        assert not {"test_ratio", "stage_ratios", "predicted_stages"} & set(record.measures)


def test_a_stage_without_rounding_predicts_nothing_however_large_the_amplification() -> None:
    """Workers of gradient codes send their shares: zero times an infinite growth is zero."""
    built = code("cyclic-mds", 5, 1)
    system, kind = built.system("gradient"), precision("float32")
    task = problem("gradient", data("gaussian[columns=6]"), 1, 5)
    choice = Choice(built, system, usual_decoder(built), kind, "use", task)
    blocks = task.blocks(system, task.operands(kind, 0))
    no = np.full(1, np.inf)
    found = Conditions(np.ones(1, bool), no, no, no, no, no, no)
    stages = predict(choice, structure_of(built, system), found, blocks).at(0)
    assert stages["compute"] == 0
    assert stages["encode"] == stages["total"] == np.inf
