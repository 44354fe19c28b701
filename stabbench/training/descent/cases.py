"""Cases of kind ``descent``: one gradient code against the uncoded descent over several seeds."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.timemodel import TimeModel
from stabbench.arithmetic.precision import precision
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.nested import Nested
from stabbench.codes.registry import code as build_code
from stabbench.decoders.base import Decoder
from stabbench.errors import InputError, require_least
from stabbench.grammar import near
from stabbench.problems.families import Data
from stabbench.problems.registry import data as build_data
from stabbench.problems.registry import data_spec
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.kinds import RUNNERS
from stabbench.training import coded
from stabbench.training.coded import UNCODED
from stabbench.training.descent.descend import ERRORS, Descent, Method, Scheme, descend
from stabbench.training.descent.softmax import require_samples
from stabbench.training.descent.times import drawn, expected, times, times_spec
from stabbench.training.grids import Kind
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.intervals import mean_interval
from stabbench.training.layers.network import examples

Array = np.ndarray[Any, np.dtype[Any]]
KIND = "descent"
METHODS = ("plain", "nesterov")
DECODER_ORDER = ("weights", "lstsq")
chosen_decoder = functools.partial(coded.chosen_decoder, order=DECODER_ORDER)
BY_TIMES = "times"


@dataclasses.dataclass(frozen=True)
class Request:
    """The parameters of a case of kind ``descent``, as a user writes them.

    Parameters
    ----------
    code : str
        Gradient code, such as ``cyclic-repetition`` or ``kadhe[d=5,m=3]``; ``uncoded`` for none.
    n : int
        Number of workers.
    stragglers : int
        Number of stragglers that are tolerated, from 0 to n - 1.
    precision : str
        Format of storage, gradients and decoding, such as ``float32``, or ``storage/decoding``.
    decoder : str
        Name of a decoder; ``auto`` takes ``weights`` for exact codes, ``lstsq`` for approximate
        ones.
    method : str
        Kind of descent: ``plain`` or ``nesterov``.
    data : str
        Labelled data: ``digits``, ``breast-cancer`` or a .npz file with X and y.
    iterations : int
        Number of iterations, a full gradient in each.
    rate : float
        Learning rate, constant over the iterations.
    momentum : float
        Momentum of ``nesterov``, from 0 to below 1; ``plain`` has none.
    arrivals : str
        Whose replies arrive: ``random`` (s of n straggle), ``latency[...]``, ``none`` (all reply)
        or ``times`` (what has come when the master can decode, by the time model).
    times : str
        Time model of the workers, ``shifted[x0=...,x_rate=...,y0=...,y_rate=...]``.
    spare : str
        What becomes of replies beyond those needed: ``use`` or ``drop``.
    trials : int
        Number of runs; trial t uses seed + t for data split and stragglers.
    seed : int
        Seed of the first trial.
    """

    code: str
    n: int = 10
    stragglers: int = 2
    precision: str = "float32"
    decoder: str = "auto"
    method: str = "plain"
    data: str = "digits"
    iterations: int = 200
    rate: float = 0.5
    momentum: float = 0.9
    arrivals: str = "random"
    times: str = "shifted"
    spare: str = "use"
    trials: int = 5
    seed: int = 0

    def case(self) -> Case:
        """The case, with every name written in full.

        Raises
        ------
        InputError
            Any parameter that is not allowed.
        """
        setup = Setup.of(dataclasses.asdict(self))
        scheme = setup.scheme
        # a fault of the data must come before any result
        require_samples(examples(setup.data, self.seed), setup.partitions)
        parameters = dataclasses.asdict(self) | {
            "precision": scheme.precision.name,
            "data": data_spec(setup.data),
            "rate": float(self.rate),
            "momentum": float(self.momentum) if self.method == "nesterov" else 0.0,
            "times": times_spec(setup.times),
        }
        if self.arrivals != BY_TIMES:
            parameters["arrivals"] = str(arrivals(self.arrivals))
        if scheme.code is None:
            parameters |= {"arrivals": "none", "spare": "use"}
        return coded.named_case(KIND, parameters, scheme.code, scheme.decoder, setup.data)


DESCENT = Kind(KIND, Request, "stabbench.training.descent")


@dataclasses.dataclass(frozen=True)
class Setup:
    """The objects that the parameters of a case name."""

    scheme: Scheme
    method: Method
    n: int
    stragglers: int
    data: Data
    arrivals: str
    times: TimeModel
    trials: int
    seed: int

    @classmethod
    def of(cls, parameters: Any) -> "Setup":
        """Build and check everything that a case names."""
        require_least(parameters, n=1, iterations=1, trials=1, seed=0)
        if not 0 < parameters["rate"] < np.inf or not 0 <= parameters["momentum"] < 1:
            raise InputError(
                f"rate={parameters['rate']}, momentum={parameters['momentum']}; allowed are "
                "rate > 0 and 0 <= momentum < 1"
            )
        for key, allowed in (("method", METHODS), ("spare", ("use", "drop"))):
            if parameters[key] not in allowed:
                raise InputError(f"{key}={parameters[key]!r}; {near(parameters[key], allowed)}")
        if parameters["arrivals"] != BY_TIMES:
            arrivals(parameters["arrivals"])
        code, chosen = _coded(parameters)
        form = precision(parameters["precision"])
        scheme = Scheme(code, chosen, form, parameters["spare"])
        keys = ("method", "iterations", "rate", "momentum")
        return cls(
            scheme,
            Method(*(parameters[key] for key in keys)),
            parameters["n"],
            code.stragglers if code else 0,
            build_data(parameters["data"]),
            parameters["arrivals"],
            times(parameters["times"]),
            parameters["trials"],
            parameters["seed"],
        )

    def skip_reason(self) -> str:
        """Why the combination does not exist, an empty string if it does."""
        scheme = self.scheme
        return coded.refusal(scheme.code, scheme.decoder, scheme.precision)

    @property
    def partitions(self) -> int:
        """Parts of the training samples: those of the code, one per worker without a code."""
        return self.scheme.code.partitions if self.scheme.code else self.n

    def patterns(self, seed: int) -> Array:
        """Which workers reply, or by the time model how many messages, shape (iterations, n)."""
        if self.by_times:
            return self.drawn(seed)[1]
        count = self.method.iterations
        return arrivals(self.arrivals).patterns(self.n, self.stragglers, count, seed)

    @property
    def by_times(self) -> bool:
        """Whether the time model says what arrives."""
        return self.arrivals == BY_TIMES

    def drawn(self, seed: int) -> tuple[Array, Array]:
        """Times of the iterations and the messages that have come by then."""
        return drawn(self.times, self.scheme.code, self.n, self.method.iterations, seed)


def _coded(parameters: Any) -> tuple[GradientCode | None, Decoder | None]:
    if parameters["code"] == UNCODED:
        coded.check_uncoded(parameters)
        return None, None
    code = build_code(parameters["code"], parameters["n"], parameters["stragglers"])
    if not isinstance(code, GradientCode):
        raise InputError(f"{code.spec}: no gradient code; see stabbench list codes")
    return code, chosen_decoder(code, parameters["decoder"])


def run(case: Case) -> Record:
    """Compute the record of a case of kind ``descent``.

    Parameters
    ----------
    case : Case
        As `Request.case` makes it.
    """
    setup = Setup.of(case.parameters)
    if reason := setup.skip_reason():
        return Record(case, "skipped", reason)
    seeds = range(setup.seed, setup.seed + setup.trials)
    uncoded = [
        reference(setup.method, setup.scheme.precision.name, setup.data, setup.n, seed)
        for seed in seeds
    ]
    code, runs = setup.scheme.code, uncoded
    if code is not None:
        # compiled kernels are loaded at their first call, which is no time of encoding or decoding
        _descend(setup, dataclasses.replace(setup.method, iterations=1), setup.seed)
        runs = [_descend(setup, setup.method, seed) for seed in seeds]
    measures = summary(runs, uncoded) | time_measures(setup, runs)
    if code is not None:
        measures |= {"load": code.load, "reduction": code.reduction}
    return coded.record(case, runs, measures)


def _descend(setup: Setup, method: Method, seed: int) -> Descent:
    data, patterns = examples(setup.data, seed), setup.patterns(seed)
    return descend(setup.scheme, method, data, setup.partitions, patterns, setup.by_times)


@functools.lru_cache(maxsize=64)
def reference(method: Method, precision_name: str, data: Data, n: int, seed: int) -> Descent:
    """The uncoded descent of the same method, seed and precision, its data in n parts."""
    scheme = Scheme(None, None, precision(precision_name))
    everybody = np.ones((method.iterations, n), dtype=np.int8)
    return descend(scheme, method, examples(data, seed), n, everybody)


def summary(runs: list[Descent], uncoded: list[Descent]) -> dict[str, Any]:
    """The measures of all trials and their differences to the uncoded runs of the same seeds."""
    steps = sum(len(run.losses) for run in runs)
    measures: dict[str, Any] = {
        "test_accuracy": [run.test_accuracy for run in runs],
        "train_accuracy": [run.train_accuracy for run in runs],
        "uncoded_test_accuracy": [run.test_accuracy for run in uncoded],
        "accuracy_difference": mean_interval(
            [a.test_accuracy - b.test_accuracy for a, b in zip(runs, uncoded, strict=True)]
        ),
        "loss": [run.loss for run in runs],
        "losses": [[coded.short(x) for x in run.losses] for run in runs],
        "uncoded_losses": [[coded.short(x) for x in run.losses] for run in uncoded],
        "diverged": [run.diverged for run in runs],
        "per_step": {
            key: sum(run.ledger[key] for run in runs) / steps
            for key in ("bytes_down", "bytes_up", "compute_seconds", "worker_encode_seconds")
        },
        "seconds": {
            "encode": sum(run.ledger["worker_encode_seconds"] for run in runs) / steps,
            "compute": sum(run.ledger["compute_seconds"] for run in runs) / steps,
            "decode": sum(run.ledger["decode_seconds"] for run in runs) / steps,
        },
    }
    for name in ERRORS:
        values = np.concatenate([run.errors[name] for run in runs])
        measures[name] = coded.levels(values)
        measures[f"{name}s"] = [[coded.short(x) for x in run.errors[name]] for run in runs]
    return measures


def time_measures(setup: Setup, runs: list[Descent]) -> dict[str, Any]:
    """Expected time of an iteration; the times and levels of those that were run, where drawn."""
    code = setup.scheme.code
    measures: dict[str, Any] = {
        "expected_time": expected(setup.times, code, setup.n),
        "uncoded_expected_time": expected(setup.times, None, setup.n),
    }
    if code is not None and not setup.by_times:
        return measures  # who replied was no matter of time
    each = [setup.drawn(setup.seed + trial) for trial in range(setup.trials)]
    moments, counts = (
        np.concatenate([part[: len(run.losses)] for part, run in zip(parts, runs, strict=True)])
        for parts in zip(*each, strict=True)
    )
    measures["drawn_time"] = float(moments.mean())
    if isinstance(code, Nested):
        levels = code.level(code.arrived(counts, counted=True))
        measures["levels"] = np.bincount(levels, minlength=code.messages + 1)[1:].tolist()
    return measures


RUNNERS[KIND] = run
