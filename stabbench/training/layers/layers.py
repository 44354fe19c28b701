"""Layers of a network whose products are computed by workers: plain, `naive` and `deu`.

A layer holds one weight matrix; activations and biases are the master's and not here.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from stabbench.arithmetic.kernels import multiply
from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.precision import Precision
from stabbench.training.layers import structure
from stabbench.training.layers.coding import Coding
from stabbench.training.layers.ledger import Ledger
from stabbench.training.layers.reference import product

Array = np.ndarray[Any, np.dtype[Any]]


def descended(matrix: Array, error: Array, inputs: Array, rate: Any) -> Array:
    """A step matrix - rate * error inputs^T of gradient descent on plain or coded weights.

    Linear in (matrix, error): the coded step of a coded matrix is the coded step of the matrix,
    in any dtype whose arithmetic is exact, such as integers.

    Parameters
    ----------
    matrix : array, shape (..., outputs, inputs)
    error : array, shape (..., outputs, samples)
    inputs : array, shape (inputs, samples)
    rate : number

    Examples
    --------
    >>> descended(np.eye(2, dtype=int), np.array([[1], [2]]), np.array([[1], [0]]), 1).tolist()
    [[0, 0], [-2, 1]]
    """
    *outer, rows, samples = error.shape
    step = error.reshape(-1, samples) @ inputs.T
    return np.asarray(matrix - rate * step.reshape(*outer, rows, -1))


class Layer(ABC):
    """A weight matrix W (outputs x inputs) and how W h, W^T delta and the update are computed.

    Parameters
    ----------
    weights : array, shape (outputs, inputs), in storage precision
    precision : Precision
    ledger : Ledger
        Where the costs are counted.

    Attributes
    ----------
    weights : array
        The weights of the model. In mode `deu` nobody holds them: these are what the same updates
        make of uncoded weights, a shadow outside the measured costs.
    """

    def __init__(self, weights: Array, precision: Precision, ledger: Ledger) -> None:
        self.weights = weights
        self.precision = precision
        self.ledger = ledger

    @abstractmethod
    def forward(self, h: Array, pattern: Array) -> Array:
        """W h from the replies of the survivors, in decoding precision; complex for such codes."""

    @abstractmethod
    def backward(self, delta: Array, pattern: Array) -> Array:
        """W^T delta likewise."""

    @abstractmethod
    def update(self, delta: Array, h: Array, rate: float) -> None:
        """W <- W - rate * delta h^T."""

    @property
    def model(self) -> Array:
        """The weights that the master has, or would decode from the shares of all workers."""
        return self.weights

    @property
    def shadow_distance(self) -> float:
        """||W - shadow|| / ||shadow||, see `structure.departure`; 0 where the master has W."""
        return 0.0

    def exact_forward(self, h: Array) -> Pair:
        """W h without rounding, W the weights that take part in the products."""
        return product(self.weights, h)

    def exact_backward(self, delta: Array) -> Pair:
        """W^T delta likewise."""
        return product(self.weights.T, delta)

    @property
    def is_finite(self) -> bool:
        """Whether the weights that take part in the products are finite."""
        return bool(np.isfinite(self.weights).all())

    def _descend(self, coded: Array, error: Array, inputs: Array, rate: float) -> Array:
        dtype = self.precision.work_dtype(coded.dtype.kind == "c" or error.dtype.kind == "c")
        matrix, left, right = (a.astype(dtype, copy=False) for a in (coded, error, inputs))
        return self.precision.store(descended(matrix, left, right, rate))

    @property
    def _update_flops(self) -> int:
        return 2 * self.weights.size


class Plain(Layer):
    """The uncoded layer: the master multiplies."""

    def forward(self, h: Array, pattern: Array) -> Array:
        """W h in worker arithmetic, rounded to storage."""
        return self._product(self.weights, h)

    def backward(self, delta: Array, pattern: Array) -> Array:
        """W^T delta likewise."""
        return self._product(self.weights.T, delta)

    def update(self, delta: Array, h: Array, rate: float) -> None:
        """A step of the master."""
        with self.ledger.timed("master_update"):
            self.weights = self._descend(self.weights, delta, h, rate)
        self.ledger.master_flops += self._update_flops * h.shape[1]

    def _product(self, matrix: Array, operand: Array) -> Array:
        with self.ledger.timed("compute"):
            result = multiply(matrix[None], operand, self.precision)[0]
        self.ledger.master_flops += 2 * matrix.size * operand.shape[1]
        return np.asarray(result, dtype=self.precision.decode)


class Coded(Layer):
    """What both coded modes share: products of coded blocks, and decoding at the master."""

    def __init__(self, weights: Array, coding: Coding, ledger: Ledger) -> None:
        super().__init__(weights, coding.precision, ledger)
        self.coding = coding

    def _product(self, shares: Array, operand: Array, pattern: Array, rows: int) -> Array:
        coding, ledger = self.coding, self.ledger
        with ledger.timed("compute"):
            replies = multiply(shares, operand, self.precision)
        parts = coding.parts(replies, rows)
        ledger.receive(*(parts[i] for i in coding.arrived(pattern)))
        with ledger.timed("decode"):
            estimate = coding.decode(replies, pattern, rows)
        columns = operand.shape[1]
        ledger.worker_flops += sum(2 * len(part) * shares.shape[2] * columns for part in parts)
        ledger.master_flops += coding.decode_flops(pattern, rows, columns)
        return estimate


class Naive(Coded):
    """The master encodes the matrix anew for every product and updates it alone."""

    def forward(self, h: Array, pattern: Array) -> Array:
        """Encode W, send coded blocks and h, decode the replies."""
        return self._encode_and_multiply(self.weights, h, pattern)

    def backward(self, delta: Array, pattern: Array) -> Array:
        """Encode W^T, send coded blocks and delta, decode the replies."""
        return self._encode_and_multiply(self.weights.T, delta, pattern)

    def update(self, delta: Array, h: Array, rate: float) -> None:
        """A step of the master."""
        with self.ledger.timed("master_update"):
            self.weights = self._descend(self.weights, delta, h, rate)
        self.ledger.master_flops += self._update_flops * h.shape[1]

    def _encode_and_multiply(self, matrix: Array, operand: Array, pattern: Array) -> Array:
        coding = self.coding
        with self.ledger.timed("encode"):
            shares = coding.encode(matrix)
        self.ledger.master_flops += coding.encode_flops(*matrix.shape)
        self.ledger.send(*coding.parts(shares, len(matrix)), *[operand] * coding.workers)
        return self._product(shares, operand, pattern, len(matrix))


class Deu(Coded):
    """Workers keep coded W and coded W^T, encode vectors and update; no matrix is encoded again.

    Worker i has h from the forward and delta from the backward product, and encodes its parts of
    both: W~_i -= rate C_i(delta) h^T and V~_i -= rate C_i(h) delta^T need nothing more. The first
    layer has no backward product, so there the master sends C_i(delta) alone, which is short.

    Parameters
    ----------
    weights, coding, ledger
        As for `Coded`.
    first : bool
        Whether this is the first layer, which keeps no coded W^T.

    Attributes
    ----------
    shares, transposed : arrays
        The coded blocks of W and of W^T that the workers hold.
    """

    def __init__(self, weights: Array, coding: Coding, ledger: Ledger, *, first: bool) -> None:
        super().__init__(weights, coding, ledger)
        self.shares = self._prepared(weights)
        self.transposed = None if first else self._prepared(weights.T)
        self._nearest = [structure.Nearest(coding, rows) for rows in weights.shape]

    @property
    def model(self) -> Array:
        """W decoded from the shares of all workers by least squares, rounded once for decoding."""
        weights = self._nearest[0].weights(self.shares)
        return structure.joined(weights).astype(self.precision.decode)

    @property
    def shadow_distance(self) -> float:
        """How far W decoded likewise, but not rounded, is from the shadow."""
        return structure.departure(self._nearest[0].weights(self.shares), self.weights)

    @property
    def copy_distance(self) -> float | None:
        """||V^T - W|| / ||W|| of W and V, decoded from the shares of W and of W^T.

        Exact arithmetic keeps them equal; each is rounded by itself. None without shares of W^T.
        """
        if self.transposed is None:
            return None
        W, V = (
            near.weights(shares)
            for near, shares in zip(self._nearest, (self.shares, self.transposed), strict=True)
        )
        return structure.departure((V[0].T, V[1].T), structure.joined(W))

    def exact_forward(self, h: Array) -> Pair:
        """W h for the weights whose encoding is nearest to what all workers hold."""
        return self._nearest[0].product(self.shares, h)

    def exact_backward(self, delta: Array) -> Pair:
        """W^T delta likewise, for what they hold of W^T."""
        assert self.transposed is not None
        return self._nearest[1].product(self.transposed, delta)

    @property
    def is_finite(self) -> bool:
        """Whether the coded weights of all workers are finite."""
        coded = [self.shares, *([] if self.transposed is None else [self.transposed])]
        return all(bool(np.isfinite(part).all()) for part in coded)

    def _prepared(self, matrix: Array) -> Array:
        with self.ledger.timed("setup"):
            shares = self.coding.encode(matrix)
        self.ledger.prepare(*self.coding.parts(shares, len(matrix)))
        self.ledger.setup_flops += self.coding.encode_flops(*matrix.shape)
        return shares

    def forward(self, h: Array, pattern: Array) -> Array:
        """Send h alone, decode the replies."""
        self.ledger.send(*[h] * self.coding.workers)
        return self._product(self.shares, h, pattern, len(self.weights))

    def backward(self, delta: Array, pattern: Array) -> Array:
        """Send delta alone, decode the replies."""
        assert self.transposed is not None
        self.ledger.send(*[delta] * self.coding.workers)
        return self._product(self.transposed, delta, pattern, self.weights.shape[1])

    def update(self, delta: Array, h: Array, rate: float) -> None:
        """Every worker updates its coded blocks of W and of W^T."""
        coding, ledger = self.coding, self.ledger
        outputs, inputs = (sum(coding.lengths(rows)) for rows in self.weights.shape)
        ledger.worker_flops += 2 * outputs * h.size
        if self.transposed is None:
            with ledger.timed("encode"):
                coded = coding.encode(delta)
            ledger.send(*coding.parts(coded, len(delta)))
            ledger.master_flops += coding.encode_flops(*delta.shape)
        else:
            coded = self._encoded(delta)
            ledger.worker_flops += 2 * inputs * delta.size
            self.transposed = self._stepped(self.transposed, self._encoded(h), delta, rate)
        self.shares = self._stepped(self.shares, coded, h, rate)
        self.weights = self._descend(self.weights, delta, h, rate)

    def _encoded(self, vectors: Array) -> Array:
        with self.ledger.timed("worker_encode"):
            coded = self.coding.encode(vectors)
        self.ledger.worker_flops += self.coding.encode_flops(*vectors.shape)
        return coded

    def _stepped(self, shares: Array, coded: Array, inputs: Array, rate: float) -> Array:
        with self.ledger.timed("worker_update"):
            return self._descend(shares, coded, inputs, rate)
