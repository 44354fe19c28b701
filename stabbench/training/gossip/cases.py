"""Cases of kind ``gossip``: one method on one problem, graph and precision, run to the end.

The method ``ecsd`` is a reconstruction from its paper's abstract, see the package.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from stabbench.errors import InputError
from stabbench.sweeps.case import Case, Record, case_of
from stabbench.sweeps.kinds import RUNNERS
from stabbench.training.gossip import limits
from stabbench.training.gossip.channel import Setting
from stabbench.training.gossip.classifiers import built, problem, problem_spec
from stabbench.training.gossip.compressors import Compressor, compressor, compressor_spec
from stabbench.training.gossip.formats import Formats
from stabbench.training.gossip.graphs import Mixing, graph_spec, mixing
from stabbench.training.gossip.methods import DPsgd, Method, method, method_spec
from stabbench.training.gossip.simulate import Point, Result, Run, load_of, simulate
from stabbench.training.grids import Kind

KIND = "gossip"
AUTO = "auto"
SHORT = 5
"""Significant digits of the measures by step in a record."""
TRACED = ("step", "gap", "consensus", "local", "common", "memory", "bits", "largest")


@dataclasses.dataclass(frozen=True)
class Request:
    """The parameters of a case of kind ``gossip``, as a user writes them.

    Parameters
    ----------
    method : str
        Method of training: ``d-psgd``, ``naive``, ``dcd``, ``choco[order=...]``, ``deepsqueeze`` or
        ``ecsd[variant=...,gradient=...]``.
    compressor : str
        What is sent of a vector: ``none`` (all of it), ``top-k``, ``rand-k[shared=...]`` (both with
        ``ratio``, the fraction kept, or ``k``), ``threshold[value=...]``, ``sign`` or
        ``qsgd[levels=...]``; d-psgd always sends everything.
    graph : str
        Who talks to whom: ``ring``, ``torus``, ``hypercube``, ``complete``, ``exponential``,
        ``path``, ``star`` or ``erdos-renyi[p=...,seed=...]``.
    n : int
        Number of workers.
    weights : str
        Mixing weights: ``uniform`` (regular graphs only) or ``metropolis``.
    problem : str
        What is minimised: ``logistic``, ``least-squares``, ``softmax`` or ``perceptron``, each with
        parameters.
    precision : str
        One format for all, such as ``float32``, or ``model/memory/wire``.
    mixing : str
        Form of the mixing sum: ``difference``, ``sum`` or ``sum-complement``.
    accumulation : str
        How models and memories are summed up: ``auto`` (the method's own), ``naive``,
        ``rounding-aware``, ``two-term`` or ``kahan``.
    sender : str
        What a sender adds to its own model: the message ``rounded`` to the wire, as its neighbours
        do, or ``unrounded``.
    rate : float
        Learning rate gamma; 0 takes it from the stability limits.
    consensus : float
        Consensus step eta; 0 takes it from the stability limits, 1 for d-psgd, naive and dcd.
    decay : float
        Decay of the learning rate: step t = 0, 1, ... has gamma / (1 + decay t).
    steps : int
        Number of steps.
    batch : int
        Samples per worker and step; 0 takes all.
    seed : int
        Seed of data, masks and batches.
    points : int
        Number of steps that are recorded, about.
    """

    method: str
    compressor: str = "top-k"
    graph: str = "ring"
    n: int = 8
    weights: str = "uniform"
    problem: str = "logistic"
    precision: str = "float32"
    mixing: str = "difference"
    accumulation: str = AUTO
    sender: str = "rounded"
    rate: float = 0.0
    consensus: float = 0.0
    decay: float = 0.0
    steps: int = 3000
    batch: int = 0
    seed: int = 0
    points: int = 40

    def case(self) -> Case:
        """The case, with every name written in full.

        Raises
        ------
        InputError
            Any parameter that is not allowed.
        """
        setup = Setup.of(dataclasses.asdict(self))
        parameters = dataclasses.asdict(self) | {
            "method": method_spec(self.method),
            "compressor": compressor_spec(setup.sends),
            "graph": graph_spec(self.graph),
            "problem": problem_spec(self.problem),
            "precision": str(setup.formats),
            "accumulation": setup.accumulation,
            "rate": float(self.rate),
            "consensus": float(self.consensus),
            "decay": float(self.decay),
        }
        return case_of(KIND, parameters, problem(self.problem))


GOSSIP = Kind(
    KIND,
    Request,
    "stabbench.training.gossip",
    key="method",
    names=("method", "compressor", "graph", "problem"),
)


@dataclasses.dataclass(frozen=True)
class Setup:
    """The objects that the parameters of a case name.

    Attributes
    ----------
    sends : str
        The compressor in the grammar.
    accumulation : str
        Settled.
    """

    method: Method
    sends: str
    mixing: Mixing
    formats: Formats
    accumulation: str
    run: Run
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> "Setup":
        """Build and check everything that a case names."""
        chosen = method(parameters["method"])
        accumulation = parameters["accumulation"]
        found = cls(
            method=chosen,
            sends="none" if isinstance(chosen, DPsgd) else parameters["compressor"],
            mixing=mixing(parameters["graph"], parameters["n"], parameters["weights"]),
            formats=Formats.of(parameters["precision"]),
            accumulation=chosen.accumulations[0] if accumulation == AUTO else accumulation,
            run=Run(*(parameters[key] for key in ("steps", "batch", "seed", "points", "decay"))),
            parameters=parameters,
        )
        for key in ("rate", "consensus"):
            if parameters[key] < 0 or not math.isfinite(parameters[key]):
                raise InputError(f"{key}={parameters[key]:g}; allowed are numbers from 0, 0: auto")
        chosen.check(found.setting(1.0, 1.0))
        # what only the size of the model shows must come before any result
        found.steps(problem(parameters["problem"]).parameters(parameters["n"]), curvature=1.0)
        return found

    @property
    def compressor(self) -> Compressor:
        """What is sent."""
        return compressor(self.sends)

    def setting(self, rate: float, consensus: float) -> Setting:
        """The setting with these steps."""
        return Setting(
            self.mixing,
            self.compressor,
            self.formats,
            rate,
            consensus,
            form=self.parameters["mixing"],
            accumulation=self.accumulation,
            sender=self.parameters["sender"],
        )

    def kept(self, dimension: int) -> float:
        """The fraction that decides the stability limits of a model of this many parameters."""
        sends = self.compressor
        sends.check(dimension)
        if self.method.full_step:
            return 1.0
        delta = sends.delta(dimension)
        if delta <= 0:
            raise InputError(
                f"method {self.method.name}: compressor {self.sends} may miss "
                f"{1 - delta:.3g} ||z||^2 of ||z||^2 at d={dimension}; allowed is less than all"
            )
        return delta

    def steps(self, dimension: int, curvature: float) -> tuple[float, float]:
        """Gamma and eta: those given, the others from the stability limits.

        Raises
        ------
        InputError
            A compressor that does not suit the dimension or the method; a consensus step that
            leaves no learning rate.
        """
        rate, consensus = self.parameters["rate"], self.parameters["consensus"]
        delta, common = self.kept(dimension), self.compressor.common
        if not consensus:
            consensus = 1.0
            if not self.method.full_step:
                consensus = limits.default_consensus(self.mixing, delta, common=common)
        if not rate:
            rate = limits.default_rate(self.mixing, delta, curvature, consensus, common=common)
        return rate, consensus


def run(case: Case) -> Record:
    """Compute a case; a run that diverges is a result, with status ``overflow`` and its step."""
    setup = Setup.of(case.parameters)
    try:
        local, optimum = built(case["problem"], case["n"], case["seed"])
    except OverflowError as error:
        return Record(case, "overflow", str(error))
    setting = setup.setting(*setup.steps(local.dimension, local.curvature))
    result = simulate(setup.method, setting, local, setup.run, optimum=optimum)
    measures = _measures(result, setup.formats.unit)
    measures |= {"rate": setting.rate, "consensus_step": setting.consensus}
    measures |= {"curvature": local.curvature, "optimum": optimum, "dimension": local.dimension}
    load = load_of(setup.method, setting, local)
    if load is not None:
        measures["margin"] = limits.margin(load)
        measures["warning"] = limits.breach(load)
    if result.diverged is None:
        return Record(case, measures=measures)
    kind = "inf or NaN" if not math.isfinite(result.last.largest) else "a number beyond 1e12"
    reason = f"diverged: {kind} first at step {result.diverged}"
    return Record(case, "overflow", reason, measures)


def _measures(result: Result, unit: float) -> dict[str, Any]:
    last = result.last
    best = min(result.points, key=lambda point: point.gap)
    largest = max(point.largest for point in result.points)
    scale = unit * largest if largest else 1.0
    return {
        "gap": last.gap,
        "best_gap": best.gap,
        "best_step": best.step,
        "consensus_distance": last.consensus,
        "local_drift": last.local,
        "global_drift": last.common,
        "local_drift_units": last.local / scale,
        "global_drift_units": last.common / scale,
        "replica_difference": max(point.replicas for point in result.points),
        "memory_norm": last.memory,
        "bits_per_link": last.bits,
        "largest": largest,
        "diverged": result.diverged or 0,
        "trace": {key: [_short(point, key) for point in result.points] for key in TRACED},
    }


def _short(point: Point, key: str) -> float:
    value = getattr(point, key)
    return value if isinstance(value, int) else float(f"{value:.{SHORT}g}")


RUNNERS[KIND] = run
