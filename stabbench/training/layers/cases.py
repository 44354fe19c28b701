"""Cases of kind ``layers``: one scheme against the uncoded network over several seeds."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import precision
from stabbench.codes.registry import code as build_code
from stabbench.errors import InputError, require_least
from stabbench.grammar import near
from stabbench.problems.families import Data
from stabbench.problems.registry import data as build_data
from stabbench.problems.registry import data_spec
from stabbench.sweeps.case import Case, Record
from stabbench.sweeps.kinds import RUNNERS
from stabbench.training import coded
from stabbench.training.coded import UNCODED
from stabbench.training.grids import Kind
from stabbench.training.layers.arrivals import Punctual, arrivals
from stabbench.training.layers.intervals import mean_interval
from stabbench.training.layers.network import examples
from stabbench.training.layers.train import Plan, Run, Scheme, train

Array = np.ndarray[Any, np.dtype[Any]]
KIND = "layers"
MODES = ("naive", "deu")
LOCAL = "local"
"""The mode without a code."""
DECODER_ORDER = ("solve", "zigzag")
chosen_decoder = functools.partial(coded.chosen_decoder, order=DECODER_ORDER)
SETUP = ("bytes_setup", "setup_flops", "setup_seconds")


@dataclasses.dataclass(frozen=True)
class Request:
    """The parameters of a case of kind ``layers``, as a user writes them.

    Parameters
    ----------
    code : str
        Code for matrix-vector products, such as ``gaussian`` or ``polynomial[nodes=leja]``;
        ``uncoded`` for none.
    n : int
        Number of workers.
    stragglers : int
        Number of stragglers that are tolerated, from 0 to n - 1.
    precision : str
        Format of storage, products and decoding, such as ``float32``, or ``storage/decoding``.
    decoder : str
        Name of a decoder; ``auto`` takes ``solve`` for codes with a generator, ``zigzag`` for
        shift-and-add.
    mode : str
        Who encodes the weights. ``naive``: the master, for every product. ``deu``: workers keep
        coded weights, encode the vectors they are sent and update.
    data : str
        Labelled data: ``digits``, ``breast-cancer`` or a .npz file with X and y.
    width : int
        Units of every hidden layer; a block has ceil(width / k) rows.
    depth : int
        Number of hidden layers.
    steps : int
        Number of steps of stochastic gradient descent.
    batch : int
        Samples in a step, at most all of them.
    rate : float
        Learning rate, constant over the steps.
    arrivals : str
        Whose replies arrive: ``random`` (s of n straggle), ``latency[...]`` or ``none`` (all
        reply).
    trials : int
        Number of runs; trial t uses seed + t for weights, batches, data split and stragglers.
    seed : int
        Seed of the first trial.
    """

    code: str
    n: int = 10
    stragglers: int = 2
    precision: str = "float32"
    decoder: str = "auto"
    mode: str = "naive"
    data: str = "digits"
    width: int = 256
    depth: int = 2
    steps: int = 300
    batch: int = 64
    rate: float = 0.1
    arrivals: str = "random"
    trials: int = 5
    seed: int = 0

    def case(self) -> Case:
        """The case, with every name written in full; uncoded runs do not depend on workers.

        Raises
        ------
        InputError
            Any parameter that is not allowed.
        """
        setup = Setup.of(dataclasses.asdict(self))
        examples(setup.data, self.seed)  # a fault of the data must come before any result
        scheme = setup.scheme
        parameters = dataclasses.asdict(self) | {
            "precision": scheme.precision.name,
            "data": data_spec(setup.data),
            "rate": float(self.rate),
            "arrivals": str(scheme.arrivals),
            "mode": scheme.mode,
        }
        if scheme.code is None:
            parameters["n"] = 1
        return coded.named_case(KIND, parameters, scheme.code, scheme.decoder, setup.data)


LAYERS = Kind(KIND, Request, "stabbench.training.layers")


@dataclasses.dataclass(frozen=True)
class Setup:
    """The objects that the parameters of a case name."""

    scheme: Scheme
    plan: Plan
    data: Data
    trials: int
    seed: int

    @classmethod
    def of(cls, parameters: Any) -> "Setup":
        """Build and check everything that a case names."""
        require_least(parameters, width=1, depth=1, steps=1, batch=1, trials=1, seed=0)
        if not 0 < parameters["rate"] < np.inf:
            raise InputError(f"rate={parameters['rate']}; allowed is a number > 0")
        plan = Plan(*(parameters[key] for key in ("width", "depth", "steps", "batch", "rate")))
        rest = build_data(parameters["data"]), parameters["trials"], parameters["seed"]
        form, model = precision(parameters["precision"]), arrivals(parameters["arrivals"])
        mode, uncoded = parameters["mode"], parameters["code"] == UNCODED
        if mode not in MODES and not (uncoded and mode == LOCAL):
            raise InputError(f"mode={mode!r}; {near(mode, MODES)}")
        if uncoded:
            coded.check_uncoded(parameters)
            return cls(Scheme(None, None, LOCAL, form, Punctual()), plan, *rest)
        code = build_code(parameters["code"], parameters["n"], parameters["stragglers"])
        chosen = chosen_decoder(code, parameters["decoder"])
        return cls(Scheme(code, chosen, mode, form, model), plan, *rest)

    def skip_reason(self) -> str:
        """Why the combination does not exist, an empty string if it does."""
        scheme = self.scheme
        unfit = scheme.code.refuses("matvec") if scheme.code else ""
        return unfit or coded.refusal(scheme.code, scheme.decoder, scheme.precision)


def run(case: Case) -> Record:
    """Compute the record of a case of kind ``layers``.

    Parameters
    ----------
    case : Case
        As `Request.case` makes it.
    """
    setup = Setup.of(case.parameters)
    if reason := setup.skip_reason():
        return Record(case, "skipped", reason)
    if setup.scheme.code is not None:
        # compiled kernels are loaded at their first call, which is no time of encoding or decoding
        _train(
            dataclasses.replace(setup, plan=dataclasses.replace(setup.plan, steps=1)), setup.seed
        )
    runs = [_train(setup, setup.seed + trial) for trial in range(setup.trials)]
    uncoded = [
        reference(setup.plan, setup.scheme.precision.name, setup.data, setup.seed + trial)
        for trial in range(setup.trials)
    ]
    measures = summary(runs, uncoded)
    if setup.scheme.code is not None:
        k = setup.scheme.code.system("matvec").encoders[0].unknowns
        measures["block_length"] = -(-setup.plan.width // k)
    notes = setup.data.notes
    if notes:
        measures["notes"] = list(notes)
    return coded.record(case, runs, measures)


def _train(setup: Setup, seed: int) -> Run:
    scheme = setup.scheme
    if scheme.code is None:
        return reference(setup.plan, scheme.precision.name, setup.data, seed)
    return train(scheme, setup.plan, examples(setup.data, seed), seed)


@functools.lru_cache(maxsize=64)
def reference(plan: Plan, precision_name: str, data: Data, seed: int) -> Run:
    """The uncoded run of the same network, seed and precision."""
    scheme = Scheme(None, None, LOCAL, precision(precision_name), Punctual())
    return train(scheme, plan, examples(data, seed), seed)


def summary(runs: list[Run], uncoded: list[Run]) -> dict[str, Any]:
    """The measures of all trials of a scheme and their differences to the uncoded runs.

    Parameters
    ----------
    runs, uncoded : list of Run
        One per trial, of the same seeds.
    """
    errors = np.concatenate([np.asarray(v) for run in runs for v in run.errors.values()])
    steps = sum(run.whole_steps for run in runs)
    products = dict.fromkeys(name for run in runs for name in run.errors)
    measures: dict[str, Any] = {
        "test_accuracy": [run.test_accuracy for run in runs],
        "train_accuracy": [run.epochs[-1]["train_accuracy"] for run in runs],
        "uncoded_test_accuracy": [run.test_accuracy for run in uncoded],
        "accuracy_difference": _difference(runs, uncoded, "test_accuracy"),
        "train_accuracy_difference": _difference(runs, uncoded, "train_accuracy"),
        "layer_error": coded.levels(errors),
        "layer_errors": {
            name: [[coded.short(x) for x in run.errors.get(name, [])] for run in runs]
            for name in products
        },
        "diverged": [run.diverged for run in runs],
        "epochs": [_columns(run.epochs) for run in runs],
        "setup": {key: runs[0].totals[key] for key in SETUP},
        "totals": {key: [run.totals[key] for run in runs] for key in ("bytes_down", "bytes_up")},
        "whole_steps": [run.whole_steps for run in runs],
    }
    if steps:
        whole = [run.whole for run in runs if run.whole_steps]
        measures["per_step"] = {
            key: sum(spent[key] for spent in whole) / steps for key in whole[0] if key not in SETUP
        }
        measures["seconds"] = {
            stage: measures["per_step"][f"{stage}_seconds"]
            for stage in ("encode", "compute", "decode")
        }
    checked = [e["invariant"] for run in runs for e in run.epochs if e["invariant"] is not None]
    if checked:
        measures["invariant"] = {"worst": max(checked)}
        measures["distance"] = {"worst": max(run.distance or 0.0 for run in runs)}
        for name in ("shadow_distance", "copy_distance"):
            apart = [getattr(run, name) for run in runs]
            measures[name] = {"worst": max(map(max, apart)), "by_layer": apart}
    return measures


def _difference(runs: list[Run], uncoded: list[Run], key: str) -> dict[str, Any]:
    pairs = zip(runs, uncoded, strict=True)
    return mean_interval([a.epochs[-1][key] - b.epochs[-1][key] for a, b in pairs])


def _columns(epochs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    def kept(value: Any) -> Any:
        return coded.short(value) if isinstance(value, float) else value

    return {key: [kept(epoch[key]) for epoch in epochs] for key in epochs[0]}


RUNNERS[KIND] = run
