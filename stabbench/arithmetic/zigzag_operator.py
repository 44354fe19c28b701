"""The linear operator that a zigzag really applies: its matrix, norms and amplification.

It is not the pseudo-inverse: only the samples that are read count. Theory of its growth: `symbol`.
"""

import numpy as np

from stabbench.arithmetic import zigzag_kernels
from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.sample_operator import BATCH, Floats, SampleOperator
from stabbench.arithmetic.shift_tables import ABSENT
from stabbench.arithmetic.zigzag import Peeling
from stabbench.errors import InputError


class ZigzagOperator(SampleOperator):
    """Decoding of one survivor pattern as a linear map D, and its transpose.

    Unknowns are numbered block * positions + position, the samples that are read likewise: sample
    u is the one from which unknown u is read. All other samples of the replies count zero.

    Parameters
    ----------
    peeling : Peeling
    i : int
        Number of the pattern.

    Attributes
    ----------
    worker, sample : ndarray of int, shape (unknowns,)
        Where the sample u stands in the replies.
    terms : ndarray of int, shape (unknowns,)
        How many unknowns the sample adds up.
    missing : ndarray of int
        Unknowns of the blocks that did not arrive plain.

    Raises
    ------
    InputError
        If the pattern is undecodable.

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> from stabbench.arithmetic.zigzag import plan
    >>> table = shift_table("vandermonde", 2, 2)
    >>> ZigzagOperator(plan(table, [(0, 1)], 2, "forward"), 0).matrix()
    array([[ 1.,  0.,  0.,  0.],
           [ 1.,  1., -1.,  0.],
           [-1.,  0.,  1.,  0.],
           [-1., -1.,  1.,  1.]])
    """

    def __init__(self, peeling: Peeling, i: int) -> None:
        use = peeling.uses[i]
        if not isinstance(use, Resolution):
            raise InputError(str(use))
        self._peeling = peeling.select(i)
        self._use = use
        table, length = peeling.table, peeling.length
        period, width = peeling.grid
        self._position = np.flatnonzero(np.arange(length) % period < width)
        k, longest = table.shape[1], length + int(table.max())
        self._replies = (len(table), longest)
        reader = np.repeat(use.known[:, None], length, axis=1)
        unknown, row = peeling.schedule(i) if len(use.missing) else np.empty((2, 0), np.int32)
        reader[use.missing[unknown // length], unknown % length] = use.rows[row]
        self.worker = reader[:, self._position].ravel()
        block = np.repeat(np.arange(k), len(self._position))
        self.sample = np.tile(self._position, k) + table[self.worker, block]
        place = self.sample[:, None] - table[self.worker]
        inside = (place >= 0) & (place < length) & (place % period < width)
        self.terms = np.sum(inside & (table[self.worker] != ABSENT), axis=1)
        self.unknowns = len(self.sample)
        self.missing = np.flatnonzero(np.repeat(use.known < 0, len(self._position)))
        self._order = (np.asarray(unknown), np.asarray(row))

    def apply(self, samples: Floats) -> Floats:
        """D times columns: shape (unknowns, columns) to (unknowns, columns)."""
        replies = np.zeros((*self._replies, samples.shape[1]))
        replies[self.worker, self.sample] = samples
        blocks = self._peeling.decode(replies)[0]
        return np.asarray(blocks[:, self._position].reshape(self.unknowns, -1))

    def apply_transpose(self, weights: Floats) -> Floats:
        """D^T times columns, by the recursion run backwards."""
        k, length = self._peeling.table.shape[1], self._peeling.length
        blocks = np.zeros((k, length, weights.shape[1]))
        blocks[:, self._position] = weights.reshape(k, -1, weights.shape[1])
        replies = np.zeros((*self._replies, weights.shape[1]))
        use = self._use
        zigzag_kernels.transposed(
            blocks, self._peeling.table, use.known, use.rows, *self._order, replies
        )
        read = replies[self.worker, self.sample].reshape(k, -1, weights.shape[1])
        plain = use.known >= 0
        read[plain] = blocks[plain][:, self._position]
        return np.asarray(read.reshape(self.unknowns, -1))

    def matrix(self) -> Floats:
        """D, shape (unknowns, unknowns); its entries are integers, rounded beyond 2^53."""
        result = np.empty((self.unknowns, self.unknowns))
        for first in range(0, self.unknowns, BATCH):
            count = min(BATCH, self.unknowns - first)
            unit = np.zeros((self.unknowns, count))
            unit[np.arange(first, first + count), np.arange(count)] = 1
            result[:, first : first + count] = self.apply(unit)
        return result
