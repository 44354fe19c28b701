"""Cases of kind ``stability``: one code, decoder and precision on one problem, over patterns."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis import costs, metrics
from stabbench.analysis.conditions import Conditions
from stabbench.analysis.metrics import Statistic, Worst
from stabbench.analysis.noise import Noise, noise, statistics
from stabbench.analysis.patterns import case_patterns
from stabbench.analysis.plausible import implausible
from stabbench.analysis.prediction import Prediction, predict
from stabbench.analysis.structure import Choice, Structure, Trial, block_lengths
from stabbench.analysis.structures import structure_of
from stabbench.analysis.survivors import Policy, policy
from stabbench.analysis.ties import TIE
from stabbench.arithmetic.precision import Precision, precision
from stabbench.codes.base import Code, System
from stabbench.codes.registry import code as build_code
from stabbench.decoders.base import Decoder, Plan, Spare
from stabbench.decoders.registry import decoder as build_decoder
from stabbench.decoders.registry import usual_decoder
from stabbench.errors import InputError, require_least
from stabbench.grammar import near
from stabbench.problems.base import Exact, Problem
from stabbench.problems.data import File
from stabbench.problems.registry import data, data_spec, problem
from stabbench.sweeps import timing
from stabbench.sweeps.case import Case, Record, case_of

Array = np.ndarray[Any, np.dtype[Any]]
KIND = "stability"
AUTO = "auto"
BATCH_BYTES = 1 << 26


@dataclasses.dataclass(frozen=True)
class Request:
    """The parameters of a stability case, as a user writes them.

    Parameters
    ----------
    code, decoder, data, patterns : str
        Names of the grammar; decoder ``auto`` is the usual one of the code.
    n, stragglers : int
    precision : str
    problem : str
        ``auto`` is what the code is for first of all.
    vectors : int
        Columns of the right-hand side.
    spare : str
        ``use`` or ``drop`` the replies beyond the number of unknowns.
    trials, seed : int
        Trial t uses the data of seed + t.
    reference : str
        ``flint`` or ``mpmath``.
    noise : str
        ``MODEL:SNR``, noise that is added to shares or replies, see `stabbench.analysis.noise`;
        none unless given.
    """

    code: str
    n: int
    stragglers: int
    precision: str = "float32"
    decoder: str = "auto"
    problem: str = "auto"
    data: str = "gaussian"
    vectors: int = 1
    patterns: str = "auto"
    spare: str = "use"
    trials: int = 1
    seed: int = 0
    reference: str = "flint"
    noise: str = ""

    def written(self) -> dict[str, Any]:
        """The parameters as they are stored; noise only where there is any."""
        parameters = dataclasses.asdict(self)
        if not self.noise:
            del parameters["noise"]
        return parameters

    def case(self) -> Case:
        """The case, with every name written in full.

        Raises
        ------
        InputError
            Any parameter that is not allowed.
        """
        setup = Setup.of(self.written())
        if isinstance(setup.source, File):
            setup.source.matrix(0)  # a fault of the file must come before any result is written
        parameters = self.written() | {
            "code": setup.code.full_spec,
            "decoder": setup.decoder.full_spec,
            "precision": setup.precision.name,
            "data": data_spec(setup.source),
            "patterns": str(setup.policy),
            "problem": setup.problem.spec,
        }
        if setup.noise:
            parameters["noise"] = str(setup.noise)
        return case_of(KIND, parameters, setup.code, setup.decoder, setup.source)


@dataclasses.dataclass(frozen=True)
class Setup:
    """The objects that the parameters of a case name."""

    code: Code
    decoder: Decoder
    precision: Precision
    problem: Problem
    source: Any
    policy: Policy
    spare: Spare
    trials: int
    seed: int
    reference: str
    noise: Noise | None = None

    @classmethod
    def of(cls, parameters: Any) -> "Setup":
        """Build and check everything that a case names."""
        require_least(parameters, trials=1, seed=0)
        for key, allowed in (("spare", ("use", "drop")), ("reference", ("flint", "mpmath"))):
            if parameters[key] not in allowed:
                raise InputError(f"{key}={parameters[key]!r}; {near(parameters[key], allowed)}")
        source = data(parameters["data"])
        code = build_code(parameters["code"], parameters["n"], parameters["stragglers"])
        partitions = getattr(code, "partitions", code.n)
        task = parameters["problem"] if parameters["problem"] != AUTO else code.problems[0]
        how = parameters["decoder"]
        return cls(
            code=code,
            decoder=usual_decoder(code) if how == AUTO else build_decoder(how),
            precision=precision(parameters["precision"]),
            problem=problem(task, source, parameters["vectors"], partitions),
            source=source,
            policy=policy(parameters["patterns"]),
            spare=parameters["spare"],
            trials=parameters["trials"],
            seed=parameters["seed"],
            reference=parameters["reference"],
            noise=noise(parameters["noise"]) if parameters.get("noise") else None,
        )

    def skip_reason(self) -> str:
        """Why the combination does not exist, an empty string if it does."""
        refused = self.problem.refuses(self.code) or self.decoder.accepts(self.code)
        return refused or self.decoder.accepts_precision(self.precision)


def run(case: Case) -> Record:
    """Compute the record of a stability case.

    Parameters
    ----------
    case : Case
        As `Request.case` makes it.
    """
    setup = Setup.of(case.parameters)
    reason = setup.skip_reason()
    if reason:
        return Record(case, "skipped", reason)
    system = setup.code.system(setup.problem.name)
    structure = structure_of(setup.code, system)
    choice = Choice(setup.code, system, setup.decoder, setup.precision, setup.spare, setup.problem)
    lengths = block_lengths(choice)
    reason = setup.decoder.accepts_size(setup.code, system, lengths)
    if reason:
        return Record(case, "skipped", reason)
    patterns, label, kappa_label = case_patterns(setup.policy, structure, choice, setup.seed)
    measures: dict[str, Any] = {
        "patterns": len(patterns),
        "condition_label": kappa_label,
    }
    try:
        found = structure.conditions(choice, patterns)
    except OverflowError as error:
        return Record(case, "overflow", str(error), measures | metrics.infinite(patterns), label)
    measures["undecodable"] = float((~found.decodable).mean())
    if not found.decodable.any():
        measures |= metrics.of_all({}, np.empty((1, 0)), patterns, found.decodable)
        return Record(case, "undecodable", "no survivor set decodes", measures, label)
    measures |= condition_statistics(found, patterns)
    trials = [prepare(setup, system, trial) for trial in range(setup.trials)]
    decodable = patterns[found.decodable]
    relative, worst = decode_all(setup, choice, structure, found, decodable, trials, measures)
    measures |= metrics.of_all(measures, relative, patterns, found.decodable)
    overflowed = np.isinf(relative).any(axis=0)
    if overflowed.any():
        first = np.flatnonzero(decodable[np.argmax(overflowed)]).tolist()
        share = f"{overflowed.sum()} of {len(decodable)} patterns, first survivors {first}"
        cause = metrics.cause(trials[int(np.isinf(relative).any(axis=1).argmax())], setup.precision)
        return Record(case, "overflow", f"error inf on {share}: {cause}", measures, label)
    if fault := implausible(found, measures, "approximate" in setup.code.groups):
        return Record(case, "failed", f"internal error: {fault}", label=label)
    chosen = decodable[worst.pattern], trials[worst.trial], worst.estimate
    split = structure.budget_or_note(choice, *chosen)
    if isinstance(split, str):
        measures["notes"] = [*measures.get("notes", []), f"no error budget: {split}"]
    else:
        measures["budget"] = dataclasses.asdict(split)
        measures |= stage_ratios(measures)
    reason = "" if found.decodable.all() else first_undecodable(found, patterns)
    return Record(case, "ok", reason, measures, label)


def decode_all(
    setup: Setup,
    choice: Choice,
    structure: Structure,
    found: Conditions,
    decodable: Array,
    trials: list[Trial],
    measures: dict[str, Any],
) -> tuple[Array, Worst]:
    """Decode every trial, add what was measured to `measures`; errors (trials, P) and the worst."""
    relative, componentwise, counts, worst = measure(setup, choice.system, decodable, trials)
    operands, _ = reference_of(setup, 0)
    measures |= costs.costs(choice, operands, trials[0], decodable, counts)
    prediction = predict(choice, structure, found.only(found.decodable), trials[0].blocks)
    if "approximate" in setup.code.groups or setup.noise:
        prediction = prediction.distrusted()
    measures |= error_statistics(prediction, decodable, relative, componentwise)
    if prediction.trusted[worst.pattern]:
        measures["predicted_stages"] = prediction.at(worst.pattern)
    measures |= structure.measures(choice, decodable, trials, relative)
    if setup.noise:
        measures |= statistics(setup.noise, choice, decodable, relative, trials)
    measures["seconds"] = trials[0].seconds | timing.decoding(
        functools.partial(plan, setup, choice.system),
        decodable,
        int(np.argmax(relative.max(axis=0))),
        trials[0].replies,
        batch_of(trials[0]),
    )
    notes = list(setup.source.notes)
    if metrics.is_zero(trials[0].exact):
        notes.append("the exact result is zero: errors are absolute")
    if notes:
        measures["notes"] = notes
    return relative, worst


def prepare(setup: Setup, system: System, trial: int) -> Trial:
    """Operands, shares, replies and exact result of one trial."""
    seed = setup.seed + trial
    operands, exact = reference_of(setup, trial)
    blocks = setup.problem.blocks(system, operands)
    clock = timing.Stages(enabled=trial == 0)  # the times of a case are those of its first trial
    shares = clock.run("encode", lambda: setup.problem.encode(system, blocks, setup.precision))
    if setup.noise:
        shares = setup.noise.on_shares(shares, seed, setup.precision)
    replies = clock.run("compute", lambda: setup.problem.work(system, shares, setup.precision))
    if setup.noise:
        replies = setup.noise.on_replies(replies, seed, setup.precision)
    return Trial(blocks, shares, replies, setup.problem.wanted(system, exact), clock.seconds)


def reference_of(setup: Setup, trial: int) -> tuple[tuple[Array, ...], Exact]:
    """Operands and exact result of one trial."""
    storage, seed = setup.precision.storage.name, setup.seed + trial
    return _reference(setup.problem, storage, seed, setup.reference)


@functools.lru_cache(maxsize=8)
def _reference(
    task: Problem, storage: str, seed: int, reference: str
) -> tuple[tuple[Array, ...], Exact]:
    operands = task.operands(precision(storage), seed)
    if all(np.isfinite(part).all() for part in operands):
        return operands, task.exact(operands, reference)
    # what is beyond the format has no exact result: its error is infinite, not unknown
    zero = task.exact(tuple(map(np.zeros_like, operands)), reference)
    return operands, Exact(np.full_like(zero.hi, np.inf), zero.lo)


def plan(setup: Setup, system: System, patterns: Array) -> Plan:
    """The decoder's plan of some patterns."""
    return setup.decoder.plan(setup.code, system, patterns, setup.precision, setup.spare)


def batch_of(trial: Trial) -> int:
    """Patterns that are decoded at once, as many as `BATCH_BYTES` allow."""
    return max(1, BATCH_BYTES // (4 * 16 * trial.exact.hi.size))


def measure(
    setup: Setup, system: System, chosen: Array, trials: list[Trial]
) -> tuple[Array, Array, Array, Worst]:
    """Errors of every pattern and trial, (trials, P) each, operations per pattern, and the worst.

    Operations are NaN where the decoder does not count them.
    """
    relative = np.empty((len(trials), len(chosen)))
    componentwise = np.empty_like(relative)
    counts = np.full(len(chosen), np.nan)
    worst: Worst | None = None
    sent = costs.lengths(system, reference_of(setup, 0)[0], trials[0].replies)
    step = batch_of(trials[0])
    for start in range(0, len(chosen), step):
        part = slice(start, start + step)
        made = plan(setup, system, chosen[part])
        counted = made.operations(trials[0].replies, sent)
        counts[part] = np.nan if counted is None else counted
        for number, trial in enumerate(trials):
            estimate = made.decode(trial.replies)
            found = metrics.errors(estimate, trial.exact)
            relative[number, part] = found.relative
            componentwise[number, part] = found.componentwise
            worst = Worst.of(worst, found.relative, estimate, (number, start))
    assert worst is not None
    return relative, componentwise, counts, worst


def condition_statistics(found: Conditions, patterns: Array) -> dict[str, Any]:
    """Statistics of the condition numbers and amplification; infinite where undecodable."""
    named = {
        "condition_number": found.kappa_2,
        "condition_number_F": found.kappa_F,
        "condition_number_1": found.kappa_1,
        "amplification": found.amplification,
        "rms_amplification": found.rms_amplification,
    }
    every = (named | found.others).items()
    return {name: Statistic.of(values, patterns, TIE) for name, values in every}


def error_statistics(
    prediction: Prediction, patterns: Array, relative: Array, componentwise: Array
) -> dict[str, Any]:
    """Statistics of errors, squared errors and test ratios over the decodable patterns."""
    predicted, trusted = prediction.total, prediction.trusted
    measures: dict[str, Any] = {
        "relative_error": Statistic.of(relative, patterns),
        "componentwise_error": Statistic.of(componentwise, patterns),
        "nmse": float(metrics.mean_squares(relative).mean()),
        "digits": {
            "median": float(metrics.digits(np.quantile(relative, 0.5, method="inverted_cdf"))),
            "worst": float(metrics.digits(relative.max())),
        },
        "predicted_error": Statistic.of(predicted, patterns, TIE),
        "expected_error": Statistic.of(prediction.expected, patterns, TIE),
        "distribution": metrics.distribution(relative),
        "trusted": float(trusted.mean()),
    }
    if trusted.any():
        ratios = relative[:, trusted] / predicted[trusted]
        measures["test_ratio"] = worst = Statistic.of(ratios, patterns[trusted])
        row = np.isin(np.arange(patterns.shape[1]), worst.worst_survivors)
        at = np.flatnonzero((patterns == row).all(axis=1))[0]
        measures["ratio_digits"] = {
            "measured": float(metrics.digits(relative[worst.worst_trial, at])),
            "predicted": float(metrics.digits(predicted[at])),
        }
    return measures


def stage_ratios(measures: dict[str, Any]) -> dict[str, Any]:
    """Every stage of the budget over what was predicted of it, where theory predicts anything."""
    predicted = measures.get("predicted_stages", {})
    ratios = {
        stage: error / predicted[stage]
        for stage, error in measures["budget"].items()
        if predicted.get(stage)
    }
    return {"stage_ratios": ratios} if ratios else {}


def first_undecodable(found: Conditions, patterns: Array) -> str:
    """How many patterns do not decode, and the first of them."""
    bad = np.flatnonzero(~found.decodable)
    survivors = np.flatnonzero(patterns[bad[0]]).tolist()
    return f"{len(bad)} of {len(patterns)} patterns undecodable, first survivors {survivors}"
