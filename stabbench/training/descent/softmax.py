"""Softmax regression in parts: partial gradients as workers compute them, loss, accuracy."""

import dataclasses
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.errors import InputError
from stabbench.training.layers.network import Examples

Array = np.ndarray[Any, np.dtype[Any]]


def require_samples(data: Examples, parts: int) -> None:
    """Check that every part of the training data has a sample.

    Raises
    ------
    InputError
        Fewer samples than parts.
    """
    count = data.train.shape[1]
    if count < parts:
        raise InputError(f"{parts} partitions of {count} training samples; allowed is 1 .. {count}")


@dataclasses.dataclass(frozen=True)
class Regression:
    """Training samples cut into K parts of nearly equal size, padded with empty samples.

    Attributes
    ----------
    features : array, shape (K, samples of the largest part, features + 1), as stored
        The last column is one.
    targets : float array, shape (K, samples, classes)
        One-hot; zero for padding.
    present : float array, shape (K, samples, 1)
        One for samples, zero for padding.
    samples : int
    precision : Precision
    """

    features: Array
    targets: Array
    present: Array
    samples: int
    precision: Precision

    @classmethod
    def of(cls, data: Examples, parts: int, precision: Precision) -> "Regression":
        """Cut training data into consecutive parts.

        Raises
        ------
        InputError
            Fewer samples than parts.
        """
        require_samples(data, parts)
        count = data.train.shape[1]
        chunks = np.array_split(np.arange(count), parts)
        size = len(chunks[0])
        features = np.zeros((parts, size, len(data.train) + 1))
        targets = np.zeros((parts, size, data.classes), precision.work)
        present = np.zeros((parts, size, 1), precision.work)
        one_hot = np.eye(data.classes)
        for part, rows in enumerate(chunks):
            features[part, : len(rows), :-1] = data.train[:, rows].T
            features[part, : len(rows), -1] = 1
            targets[part, : len(rows)] = one_hot[data.train_classes[rows]]
            present[part, : len(rows)] = 1
        return cls(precision.store(features), targets, present, count, precision)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights: features + 1, classes."""
        return self.features.shape[2], self.targets.shape[2]

    def gradients(self, weights: Array) -> tuple[Array, float]:
        """Partial gradients of the mean cross-entropy, and its value.

        Parameters
        ----------
        weights : array, shape (features + 1, classes), as stored

        Returns
        -------
        array, shape (K, entries)
            Computed in worker arithmetic, rounded to storage; their sum is the gradient.
        float
            The loss at these weights.
        """
        dtype = self.precision.work
        X = self.features.astype(dtype, copy=False)
        with np.errstate(all="ignore"):
            scores = X @ weights.astype(dtype, copy=False)
            shifted = scores - scores.max(axis=2, keepdims=True)
            odds = np.exp(shifted)
            total = odds.sum(axis=2, keepdims=True)
            losses = np.log(total) - (shifted * self.targets).sum(axis=2, keepdims=True)
            loss = float((losses * self.present).sum(dtype=np.float64) / self.samples)
            residual = (odds / total * self.present - self.targets) / dtype.type(self.samples)
            parts = np.swapaxes(X, 1, 2) @ residual
        return self.precision.store(parts.reshape(len(parts), -1)), loss


def accuracy(weights: Array, features: Array, classes: Array) -> float:
    """Share of samples whose greatest score is that of their class; scores of NaN are wrong.

    Parameters
    ----------
    weights : array, shape (features + 1, classes)
    features : array, shape (features, samples)
    classes : int array, shape (samples,)
    """
    with np.errstate(all="ignore"):
        scores = weights[:-1].T @ features + weights[-1][:, None]
    right = (np.argmax(scores, axis=0) == classes) & np.isfinite(scores).all(axis=0)
    return float(np.mean(right))
