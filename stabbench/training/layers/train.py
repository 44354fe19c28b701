"""The training loop: one network, one seed, every product through a code, everything measured."""

import dataclasses
from typing import Any

import numpy as np

from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code
from stabbench.decoders.base import Decoder
from stabbench.training.layers import structure
from stabbench.training.layers.arrivals import Arrivals
from stabbench.training.layers.coding import Coding
from stabbench.training.layers.layers import Deu, Layer, Naive, Plain
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.network import (
    Examples,
    accuracy,
    batches,
    initial_weights,
    loss_and_error,
    relu,
)
from stabbench.training.layers.reference import relative_error

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Scheme:
    """How the products of a network are computed.

    Attributes
    ----------
    code : Code or None
        None for the uncoded network.
    decoder : Decoder or None
    mode : str
        ``naive``, ``deu``, or ``local`` without a code.
    precision : Precision
    arrivals : Arrivals
    """

    code: Code | None
    decoder: Decoder | None
    mode: str
    precision: Precision
    arrivals: Arrivals


@dataclasses.dataclass(frozen=True)
class Plan:
    """The network and its training, which depend on no scheme.

    Attributes
    ----------
    width, depth : int
        Units of a hidden layer, and hidden layers.
    steps, batch : int
    rate : float
    """

    width: int = 256
    depth: int = 2
    steps: int = 300
    batch: int = 64
    rate: float = 0.1

    def widths(self, data: Examples) -> tuple[int, ...]:
        """Units of every layer, inputs and classes included."""
        return (len(data.train), *[self.width] * self.depth, data.classes)


@dataclasses.dataclass
class Run:
    """What was measured in one training run.

    Attributes
    ----------
    errors : dict of str to list of float
        Relative error of every decoded product, by product (``forward 1``, ``backward 2``, ...) and
        step, against the exact product of the weights that the master or the workers hold; infinite
        from the step on at which it was not finite.
    epochs : list of dict
        Per epoch: step, loss, accuracies of the weights that the master holds, or decodes from the
        shares of all workers, invariant, and the costs of that epoch.
    diverged : int or None
        The step, counted from 1, at which infinity or NaN appeared.
    reason : str
        Where it appeared.
    distance : float or None
        At the end, the distance of the coded weights from the code (`structure.distance`).
    totals : dict
        Costs of the whole run, see `Ledger.totals`.
    whole : dict
        Costs of the steps that were not broken off.
    whole_steps : int
    weights, biases : list of array
        Of the trained model, which in mode ``deu`` is decoded.
    shadow : list of array
        What the same updates make of uncoded weights; the weights themselves without ``deu``.
    shadow_distance : list of float
        By layer, ||W - shadow|| / ||shadow|| at the end.
    copy_distance : list of float
        In mode ``deu``, by layer from the second on: how far the weights that the shares of W^T
        stand for are from those of the shares of W at the end, relative to these.
    """

    errors: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    epochs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    diverged: int | None = None
    reason: str = ""
    distance: float | None = None
    totals: dict[str, Any] = dataclasses.field(default_factory=dict)
    whole: dict[str, Any] = dataclasses.field(default_factory=dict)
    whole_steps: int = 0
    shadow: list[Array] = dataclasses.field(default_factory=list)
    shadow_distance: list[float] = dataclasses.field(default_factory=list)
    copy_distance: list[float] = dataclasses.field(default_factory=list)
    weights: list[Array] = dataclasses.field(default_factory=list)
    biases: list[Array] = dataclasses.field(default_factory=list)

    @property
    def test_accuracy(self) -> float:
        """Test accuracy at the end."""
        return float(self.epochs[-1]["test_accuracy"])


class DivergenceError(Exception):
    """Infinity or NaN where a number should be."""


def train(scheme: Scheme, plan: Plan, data: Examples, seed: int) -> Run:
    """Train a network of ReLU layers by stochastic gradient descent on softmax cross-entropy.

    Weights, batches and stragglers depend on the seed alone, so that schemes are compared on the
    same numbers. A divergence ends the run and is part of its result.

    Parameters
    ----------
    scheme : Scheme
    plan : Plan
    data : Examples
    seed : int

    Returns
    -------
    Run

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.training.layers.arrivals import Punctual
    >>> from stabbench.training.layers.network import examples
    >>> scheme = Scheme(None, None, "local", precision("float32"), Punctual())
    >>> train(scheme, Plan(width=16, steps=44), examples("digits", 0), 0).test_accuracy > 0.5
    True
    """
    return _Trainer(scheme, plan, data, seed).run()


class _Trainer:
    def __init__(self, scheme: Scheme, plan: Plan, data: Examples, seed: int) -> None:
        self.scheme, self.plan = scheme, plan
        precision = self.precision = scheme.precision
        self.ledger = Ledger(precision)
        self.features = precision.store(data.train), precision.store(data.test)
        self.classes = data.train_classes, data.test_classes
        matrices = [precision.store(W) for W in initial_weights(plan.widths(data), seed)]
        self.layers = self._layers(matrices)
        self.biases = [np.zeros(len(W), precision.decode) for W in matrices]
        batch = min(plan.batch, data.train.shape[1])
        self.batches = batches(data.train.shape[1], batch, plan.steps, seed)
        self.epoch = max(1, data.train.shape[1] // batch)
        n, s = (scheme.code.n, scheme.code.stragglers) if scheme.code else (1, 0)
        self.patterns = scheme.arrivals.patterns(n, s, plan.steps, seed)
        self.result = Run()
        self.losses: list[float] = []
        self.models: list[Array] = []
        self.counted = Ledger(precision).totals()

    def _layers(self, matrices: list[Array]) -> list[Layer]:
        scheme = self.scheme
        if scheme.code is None or scheme.decoder is None:
            return [Plain(W, scheme.precision, self.ledger) for W in matrices]
        coding = Coding(scheme.code, scheme.decoder, scheme.precision)
        if scheme.mode == "naive":
            return [Naive(W, coding, self.ledger) for W in matrices]
        return [Deu(W, coding, self.ledger, first=i == 0) for i, W in enumerate(matrices)]

    def run(self) -> Run:
        result = self.result
        with np.errstate(all="ignore"):
            for step in range(1, self.plan.steps + 1):
                try:
                    self._step(step)
                except DivergenceError as event:
                    result.diverged, result.reason = step, f"{event} at step {step}"
                    self._end_epoch(step)
                    break
                result.whole, result.whole_steps = self.ledger.totals(), step
                if step % self.epoch == 0 or step == self.plan.steps:
                    self._end_epoch(step)
        result.totals = self.ledger.totals()
        result.weights = self.models
        result.shadow = [layer.weights for layer in self.layers]
        result.shadow_distance = [layer.shadow_distance for layer in self.layers]
        apart = [layer.copy_distance for layer in self.layers if isinstance(layer, Deu)]
        result.copy_distance = [value for value in apart if value is not None]
        result.biases = self.biases
        result.distance = self._distance()
        return result

    def _step(self, step: int) -> None:
        columns, pattern = self.batches[step - 1], self.patterns[step - 1]
        store, last = self.precision.store, len(self.layers) - 1
        inputs, slopes = [self.features[0][:, columns]], []
        for number, layer in enumerate(self.layers):
            estimate = layer.forward(inputs[-1], pattern)
            z = self._checked(f"forward {number + 1}", estimate, layer.exact_forward(inputs[-1]))
            z = z + self.biases[number][:, None]
            slopes.append(z > 0)
            if number < last:
                inputs.append(store(relu(z)))
        loss, error = loss_and_error(z, self.classes[0][columns])
        self._require(np.isfinite(loss), "loss")
        self.losses.append(loss)
        for number in range(last, -1, -1):
            layer, delta = self.layers[number], store(error)
            if number:
                estimate = layer.backward(delta, pattern)
                exact = layer.exact_backward(delta)
                error = self._checked(f"backward {number + 1}", estimate, exact)
                error = error * slopes[number - 1]
            layer.update(delta, inputs[number], self.plan.rate)
            self._require(layer.is_finite, f"weights of layer {number + 1}")
            gradient = delta.astype(self.precision.decode, copy=False).sum(axis=1)
            self.biases[number] = self.biases[number] - self.plan.rate * gradient

    def _checked(self, name: str, estimate: Array, exact: Pair) -> Array:
        errors = self.result.errors.setdefault(name, [])
        errors.append(relative_error(estimate, exact))
        self._require(np.isfinite(estimate).all(), f"{name} not finite")
        return estimate.real

    @staticmethod
    def _require(finite: Any, what: str) -> None:
        if not finite:
            raise DivergenceError(what if "finite" in what else f"{what} not finite")

    def _end_epoch(self, step: int) -> None:
        totals = self.ledger.totals()
        spent = {key: value - self.counted[key] for key, value in totals.items()}
        self.counted = totals
        self.models = [layer.model for layer in self.layers]
        train, test = (
            accuracy(self.models, self.biases, X, y)
            for X, y in zip(self.features, self.classes, strict=True)
        )
        found = {
            "step": step,
            "loss": float(np.mean(self.losses)) if self.losses else np.inf,
            "train_accuracy": train,
            "test_accuracy": test,
            "invariant": self._invariant(),
        }
        self.losses = []
        self.result.epochs.append(found | spent)

    def _invariant(self) -> float | None:
        values = [
            structure.invariant(layer.coding, shares, weights)
            for layer in self.layers
            if isinstance(layer, Deu)
            for shares, weights in _coded_weights(layer)
        ]
        return max(values, default=None)

    def _distance(self) -> float | None:
        values = [
            structure.distance(layer.coding, shares, len(weights))
            for layer in self.layers
            if isinstance(layer, Deu)
            for shares, weights in _coded_weights(layer)
        ]
        return max(values, default=None)


def _coded_weights(layer: Deu) -> list[tuple[Array, Array]]:
    pairs = [(layer.shares, layer.weights)]
    if layer.transposed is not None:
        pairs.append((layer.transposed, layer.weights.T))
    return pairs
