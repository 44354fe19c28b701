"""Gradient descent, plain or Nesterov's, in which every gradient is decoded from coded replies."""

import dataclasses
from typing import Any

import numpy as np

from stabbench.analysis.gradient import ideal_products
from stabbench.analysis.structure import Choice
from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.precision import Precision
from stabbench.codes.gradient.base import GradientCode
from stabbench.decoders.base import Decoder, Plan, Spare
from stabbench.problems.gradient import held
from stabbench.training.descent.softmax import Regression, accuracy
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.network import Examples
from stabbench.training.layers.reference import product, relative_error

Array = np.ndarray[Any, np.dtype[Any]]
ERRORS = ("gradient_error", "decoding_error", "arithmetic_error")


@dataclasses.dataclass(frozen=True)
class Scheme:
    """How the sum of the partial gradients reaches the master.

    Attributes
    ----------
    code : GradientCode or None
        None: every worker sends the gradient of its own partition and all are waited for.
    decoder : Decoder or None
    precision : Precision
    spare : {"use", "drop"}
    """

    code: GradientCode | None
    decoder: Decoder | None
    precision: Precision
    spare: Spare = "use"


@dataclasses.dataclass(frozen=True)
class Method:
    """The iteration, which depends on no scheme.

    Attributes
    ----------
    name : str
        ``plain``: w <- w - rate g(w). ``nesterov``: v = w + momentum (w - w_before), w <- v - rate
        g(v).
    iterations : int
    rate, momentum : float
    """

    name: str = "plain"
    iterations: int = 200
    rate: float = 0.5
    momentum: float = 0.9


@dataclasses.dataclass
class Descent:
    """What was measured in one run.

    Attributes
    ----------
    losses : list of float
        The loss at the point of every gradient.
    errors : dict of str to list of float
        Per iteration, relative to the exact sum of the partial gradients as stored:
        ``gradient_error`` of the decoded sum; ``decoding_error`` of the decoder's weights in exact
        arithmetic, zero for exact codes; ``arithmetic_error`` between the two.
    test_accuracy, train_accuracy : float
        Of the weights at the end.
    loss : float
        The training loss of the weights at the end, infinite if it is not finite.
    diverged : int or None
        The iteration, counted from 1, at which infinity or NaN appeared.
    reason : str
    ledger : dict
        Costs, see `Ledger.totals`.
    weights : array
    """

    losses: list[float] = dataclasses.field(default_factory=list)
    errors: dict[str, list[float]] = dataclasses.field(
        default_factory=lambda: {name: [] for name in ERRORS}
    )
    test_accuracy: float = 0.0
    train_accuracy: float = 0.0
    loss: float = np.inf
    diverged: int | None = None
    reason: str = ""
    ledger: dict[str, Any] = dataclasses.field(default_factory=dict)
    weights: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))


class Sums:
    """The master's side of one scheme: sums of partial gradients from what arrives.

    Parameters
    ----------
    scheme : Scheme
    ledger : Ledger
    counted : bool
        Whether patterns count messages; else 1 stands for all messages of a worker.
    """

    def __init__(self, scheme: Scheme, ledger: Ledger, counted: bool = False) -> None:
        self.scheme, self.ledger, self.counted = scheme, ledger, counted
        self.system = scheme.code.system("gradient") if scheme.code else None
        self.plans: dict[bytes, Plan] = {}
        self.ideal: dict[bytes, Pair] = {}
        self.places: Array | None = None

    def of(self, gradients: Array, pattern: Array) -> Array:
        """The decoded sum, shape (entries,), in decoding precision; complex for such codes."""
        code, ledger = self.scheme.code, self.ledger
        if code is None or self.system is None:
            ledger.receive(*gradients)
            with ledger.timed("decode"):
                total: Array = gradients.sum(axis=0, dtype=self.scheme.precision.decode)
            return total
        blocks = held(self.system).cut(gradients)
        with ledger.timed("worker_encode"):
            replies = held(self.system).combine(blocks, self.scheme.precision)
        arrived = code.arrived(pattern[None], self.counted)
        sent = held(self.system).sent(gradients.shape[1])
        ledger.receive(*(replies[row, : sent[row]] for row in np.flatnonzero(arrived)))
        with ledger.timed("decode"):
            estimate = self._plan(code, arrived).decode(replies[..., None])[0, :, :, 0]
        return self._joined(estimate, gradients.shape[1])

    def without_rounding(self, gradients: Array, pattern: Array) -> Pair | None:
        """What the decoder's weights give in exact arithmetic; None where that is the sum."""
        code = self.scheme.code
        if code is None or not (code.approximate or code.rounded):
            return None
        hi, lo = self._ideal(code, code.arrived(pattern[None], self.counted))
        first, rest = product(hi, gradients)
        with np.errstate(all="ignore"):
            return first, rest + lo @ gradients.astype(np.float64)

    def _joined(self, estimate: Array, entries: int) -> Array:
        """The sum from its entries by place in a piece, (m, L), in the order of a gradient."""
        assert self.system is not None
        if self.places is None:
            numbers = np.arange(1.0, entries + 1)[None]
            self.places = held(self.system).cut(numbers)[0].T.astype(np.int64)
        total = np.empty(entries, dtype=estimate.dtype)
        filled = self.places > 0
        total[self.places[filled] - 1] = estimate[filled]
        return total

    def _plan(self, code: GradientCode, arrived: Array) -> Plan:
        key = arrived.tobytes()
        if key not in self.plans:
            scheme = self.scheme
            assert scheme.decoder is not None
            assert self.system is not None
            self.plans[key] = scheme.decoder.plan(
                code, self.system, arrived, scheme.precision, scheme.spare
            )
        return self.plans[key]

    def _ideal(self, code: GradientCode, arrived: Array) -> Pair:
        key = arrived.tobytes()
        if key not in self.ideal:
            scheme = self.scheme
            assert scheme.decoder is not None
            assert self.system is not None
            choice = Choice(code, self.system, scheme.decoder, scheme.precision, scheme.spare)
            self.ideal[key] = ideal_products(choice, code, arrived)
        return self.ideal[key]


def descend(
    scheme: Scheme,
    method: Method,
    data: Examples,
    parts: int,
    patterns: Array,
    counted: bool = False,
) -> Descent:
    """Train softmax regression from zero weights by full gradients.

    Parameters
    ----------
    scheme : Scheme
    method : Method
    data : Examples
    parts : int
        K, the partitions of the training samples.
    patterns : int array, shape (iterations, n)
        Which workers reply, or how many of their messages arrive.
    counted : bool
        Whether patterns count messages.

    Returns
    -------
    Descent
        A divergence ends the run and is part of its result.

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.training.layers.network import examples
    >>> uncoded = Scheme(None, None, precision("float32"))
    >>> everybody = np.ones((50, 10), dtype=np.int8)
    >>> run = descend(uncoded, Method(iterations=50), examples("digits", 0), 10, everybody)
    >>> run.test_accuracy > 0.9, max(run.errors["gradient_error"]) < 1e-5
    (True, True)
    """
    precision, result = scheme.precision, Descent()
    regression = Regression.of(data, parts, precision)
    ledger = Ledger(precision)
    sums = Sums(scheme, ledger, counted)
    weights = before = point = np.zeros(regression.shape, precision.storage.carrier)
    for iteration in range(1, method.iterations + 1):
        if method.name == "nesterov":
            point = precision.store(weights + method.momentum * (weights - before))
        else:
            point = weights
        ledger.send(*[point] * patterns.shape[1])
        with ledger.timed("compute"):
            gradients, loss = regression.gradients(point)
        pattern = patterns[iteration - 1]
        estimate = sums.of(gradients, pattern)
        _measure(result, sums, gradients, pattern, estimate)
        result.losses.append(loss)
        step = estimate.real.reshape(regression.shape)
        before = weights
        with np.errstate(all="ignore"):
            weights = precision.store(point.astype(precision.decode) - method.rate * step)
        reason = _not_finite(loss=loss, gradient=estimate, weights=weights)
        if reason:
            result.diverged, result.reason = iteration, f"{reason} at iteration {iteration}"
            break
    result.weights, result.ledger = weights, ledger.totals()
    _, loss = regression.gradients(weights)
    result.loss = loss if np.isfinite(loss) else np.inf
    features = precision.store(data.train), precision.store(data.test)
    result.train_accuracy = accuracy(weights, features[0], data.train_classes)
    result.test_accuracy = accuracy(weights, features[1], data.test_classes)
    return result


def _measure(
    result: Descent, sums: Sums, gradients: Array, pattern: Array, estimate: Array
) -> None:
    exact = product(np.ones((1, len(gradients)), gradients.dtype), gradients)
    found = {"gradient_error": relative_error(estimate[None], exact)}
    ideal = sums.without_rounding(gradients, pattern)
    if ideal is None:
        found |= {"decoding_error": 0.0, "arithmetic_error": found["gradient_error"]}
    else:
        with np.errstate(all="ignore"):
            size = float(np.linalg.norm(exact[0])) or 1.0
            missed = float(np.linalg.norm((ideal[0] - exact[0]) + (ideal[1] - exact[1]))) / size
            own = relative_error(estimate[None], ideal) * (float(np.linalg.norm(ideal[0])) or 1.0)
        found |= {"decoding_error": missed, "arithmetic_error": own / size}
    for name, value in found.items():
        result.errors[name].append(value if np.isfinite(value) else np.inf)


def _not_finite(**values: Any) -> str:
    for name, value in values.items():
        if not np.isfinite(value).all():
            return f"{name} not finite"
    return ""
