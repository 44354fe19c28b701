"""A plain multilayer perceptron: data split, first weights, activations, loss. No coding here."""

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.problems.families import Data
from stabbench.problems.registry import data as build_data
from stabbench.problems.registry import data_spec

Array = np.ndarray[Any, np.dtype[Any]]
TEST_SHARE = 0.2


@dataclasses.dataclass(frozen=True)
class Examples:
    """Labelled data, a column per sample.

    Attributes
    ----------
    train, test : float64 arrays, shape (features, samples)
        Standardised by the training samples; constant features are 0.
    train_classes, test_classes : int64 arrays, shape (samples,)
        Numbered from 0.
    classes : int
    """

    train: Array
    test: Array
    train_classes: Array
    test_classes: Array
    classes: int


def examples(data: Data | str, seed: int) -> Examples:
    """Data split at random into four fifths for training and one fifth for testing.

    Parameters
    ----------
    data : Data or str
        ``digits``, ``breast-cancer`` or a .npz file with X and y.
    seed : int

    Raises
    ------
    InputError
        Data without labels, complex features, labels that are not whole numbers, one class only,
        fewer than 10 samples.

    Examples
    --------
    >>> examples("digits", 0).train.shape
    (64, 1438)
    """
    return _split(build_data(data) if isinstance(data, str) else data, seed)


@functools.lru_cache(maxsize=16)
def _split(source: Data, seed: int) -> Examples:
    features, labels = source.matrix(0), source.labels(0)
    where = f"data {data_spec(source)!r}"
    if features.dtype.kind == "c":
        raise InputError(f"{where}: complex features; allowed for training are real ones")
    if labels.dtype.kind != "i":
        raise InputError(f"{where}: labels that are no whole numbers; allowed are classes")
    if len(labels) < 10:
        raise InputError(f"{where}: {len(labels)} samples; allowed are at least 10")
    found, numbers = np.unique(labels, return_inverse=True)
    if len(found) < 2:
        raise InputError(f"{where}: one class only; allowed are two or more")
    order = stream("split of samples", seed).permutation(len(numbers))
    cut = round(TEST_SHARE * len(numbers))
    train, test = order[cut:], order[:cut]
    constant = features[train].min(axis=0) == features[train].max(axis=0)
    # powers of two change no digit, and squares stay within float64
    features = np.ldexp(features, -np.frexp(np.abs(features).max(axis=0))[1])
    centre, scale = features[train].mean(axis=0), features[train].std(axis=0)
    scaled = (features - centre) / np.where(constant, 1.0, scale)
    scaled[:, constant] = 0.0
    columns = np.ascontiguousarray(scaled.T)
    return Examples(columns[:, train], columns[:, test], numbers[train], numbers[test], len(found))


def initial_weights(widths: tuple[int, ...], seed: int) -> list[Array]:
    """He's initialisation: W of layer l is Gaussian with variance 2 / inputs, float64.

    Examples
    --------
    >>> [W.shape for W in initial_weights((64, 8, 10), seed=0)]
    [(8, 64), (10, 8)]
    """
    random = stream("initial weights", seed)
    return [
        random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs)
        for inputs, outputs in itertools.pairwise(widths)
    ]


def batches(samples: int, size: int, steps: int, seed: int) -> list[Array]:
    """Sample numbers of every step: whole batches of random orders of all samples, one by epoch.

    Examples
    --------
    >>> [len(batch) for batch in batches(10, 4, 3, seed=0)]
    [4, 4, 4]
    """
    random = stream("order of samples", seed)
    found: list[Array] = []
    while len(found) < steps:
        order = random.permutation(samples)
        found += [order[i : i + size] for i in range(0, samples - size + 1, size)]
    return found[:steps]


def relu(z: Array) -> Array:
    """max(z, 0); NaN stays NaN."""
    return np.maximum(z, 0)


def loss_and_error(scores: Array, classes: Array) -> tuple[float, Array]:
    """Mean cross-entropy of softmax, and its derivative by the scores.

    Parameters
    ----------
    scores : array, shape (classes, samples)
    classes : int array, shape (samples,)

    Returns
    -------
    loss : float
    error : array, shape (classes, samples), of the dtype of the scores

    Examples
    --------
    >>> loss, error = loss_and_error(np.zeros((2, 1)), np.array([1]))
    >>> round(loss, 4), error.ravel().tolist()
    (0.6931, [0.5, -0.5])
    """
    columns = np.arange(len(classes))
    with np.errstate(all="ignore"):
        shifted = scores - scores.max(axis=0)
        odds = np.exp(shifted)
        total = odds.sum(axis=0)
        loss = float(np.mean(np.log(total) - shifted[classes, columns], dtype=np.float64))
        error = odds / total
        error[classes, columns] -= 1
        error /= len(classes)
    return loss, error


def accuracy(weights: list[Array], biases: list[Array], features: Array, classes: Array) -> float:
    """Share of samples whose greatest score is that of their class; scores of NaN are wrong."""
    h = features
    last = len(weights) - 1
    with np.errstate(all="ignore"):
        for layer, (W, b) in enumerate(zip(weights, biases, strict=True)):
            z = W @ h + b[:, None]
            h = relu(z) if layer < last else z
    right = (np.argmax(h, axis=0) == classes) & np.isfinite(h).all(axis=0)
    return float(np.mean(right))
