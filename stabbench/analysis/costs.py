"""What a case costs: numbers stored, sent and received, and operations, from the arrays themselves.

Every measure has one meaning for all codes. Times are elsewhere, see `stabbench.sweeps.timing`.
"""

import dataclasses
from typing import Any

import numpy as np

from stabbench.analysis.structure import Choice, Trial
from stabbench.arithmetic import operations
from stabbench.codes.base import System
from stabbench.codes.gradient.base import GradientCode, Held

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Traffic:
    """Real numbers at every worker; a complex number is two.

    Attributes
    ----------
    stored : int array, shape (n,)
        Of the coded operands that a worker holds: its shares, or the partitions of a gradient code.
    operand : int
        Of the coded operands themselves, cut into blocks.
    sent : int array, shape (rows,)
        Of every reply.
    answer : int
        Of the answer that is wanted.
    owner : int array, shape (rows,)
        The worker of every reply.
    itemsize : int
        Bytes of a real number.
    """

    stored: Array
    operand: int
    sent: Array
    answer: int
    owner: Array
    itemsize: int

    @property
    def by_worker(self) -> Array:
        """Real numbers that a worker sends in all its messages, shape (n,)."""
        return np.bincount(self.owner, weights=self.sent, minlength=len(self.stored)).astype(int)

    def measures(self) -> dict[str, Any]:
        """Storage and what is sent, relative and in bytes."""
        return {
            "storage": float(self.stored.max() / self.operand),
            "bytes_stored": [int(x) * self.itemsize for x in self.stored],
            "sent": float(self.by_worker.max() / self.answer),
            "bytes_sent": [int(x) * self.itemsize for x in self.by_worker],
        }

    def received(self, arrived: Array) -> dict[str, float]:
        """Bytes that reach the master, mean and most over patterns of replies, bool (P, rows)."""
        totals = (arrived @ self.sent) * self.itemsize
        return {"mean": float(totals.mean()), "most": float(totals.max())}


def costs(
    choice: Choice, operands: tuple[Array, ...], trial: Trial, patterns: Array, counts: Array
) -> dict[str, Any]:
    """All measures of cost but times.

    Parameters
    ----------
    choice : Choice
    operands : tuple of array
        As the problem gives them, uncut.
    trial : Trial
        Made of these operands.
    patterns : int array, shape (P, n)
    counts : array, shape (P,)
        Operations of decoding each pattern; NaN where the decoder does not count them.
    """
    found = traffic(choice, operands, trial)
    decode = {}
    if not np.isnan(counts).any():
        decode = {"decode_mean": float(counts.mean()), "decode_most": float(counts.max())}
    measures = found.measures() | {
        "bytes_received": found.received(arrivals(choice, patterns)),
        "operations": work(choice, operands, trial) | decode,
    }
    if isinstance(choice.code, GradientCode):
        measures["communication"] = communication(choice.system, operands[0].shape[1])
    return measures


def lengths(system: System, operands: tuple[Array, ...], replies: Array) -> Array:
    """Numbers of every reply that are no padding, shape (rows,); a complex number is one."""
    if isinstance(system.reply, Held):
        return system.reply.sent(operands[0].shape[1])
    return system.reply.kept(replies.shape)


def traffic(choice: Choice, operands: tuple[Array, ...], trial: Trial) -> Traffic:
    """Numbers stored and sent; parameters as of `costs`."""
    code, system = choice.code, choice.system
    itemsize = choice.precision.storage.itemsize
    sent = lengths(system, operands, trial.replies) * real_parts(trial.replies)
    if isinstance(code, GradientCode):
        count, entries = operands[0].shape
        stored = code.holdings.sum(axis=1) * entries
        return Traffic(stored, count * entries, sent, entries, system.owner, itemsize)
    stored, operand = np.zeros(code.n, dtype=int), 0
    for number, encoder in enumerate(system.encoders):
        share, blocks = trial.shares[number], trial.blocks[number]
        kept = encoder.kept(share.shape) * real_parts(share)
        stored += np.bincount(system.holder(number), kept, code.n).astype(int)
        operand += blocks.size * real_parts(blocks)
    answer = trial.exact.hi.size * real_parts(trial.exact.hi)
    return Traffic(stored, operand, sent, answer, system.owner, itemsize)


def arrivals(choice: Choice, patterns: Array) -> Array:
    """Which replies arrive, bool, shape (P, rows), for messages that arrived, (P, n)."""
    if isinstance(choice.code, GradientCode):
        return choice.code.arrived(patterns)
    return np.asarray(patterns[:, choice.system.owner] > 0)


def communication(system: System, entries: int) -> float:
    """The most that one worker of a gradient code sends in all its messages, in gradients.

    Length over length, both cut into the pieces of the code; complex numbers count once, as in the
    papers' 1/m.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> communication(code("nested", n=6, stragglers=2).system("gradient"), 100)
    3.0
    """
    reply = system.reply
    if not isinstance(reply, Held):
        raise TypeError("communication in gradients is that of a gradient code")
    most = np.bincount(system.owner, weights=reply.sent(entries)).max()
    return float(most / reply.lengths(entries).sum())


def work(choice: Choice, operands: tuple[Array, ...], trial: Trial) -> dict[str, float]:
    """Real operations: ``encode`` of all shares together, ``worker`` the most of one worker.

    Workers of gradient codes encode; what they do is their part of it.
    """
    system, workers = choice.system, choice.code.n
    reply = system.reply
    if isinstance(reply, Held):
        terms = reply.combined @ reply.lengths(operands[0].shape[1])
        own = operations.product(1, terms, 1, np.iscomplexobj(trial.replies))
        return {"encode": float(own.sum()), "worker": _most(own, system.owner, workers)}
    encode = sum(
        encoder.operations(blocks, choice.precision).sum()
        for encoder, blocks in zip(system.encoders, trial.blocks, strict=False)
    )
    assert choice.problem is not None
    own = choice.problem.operations(system, trial.shares)
    return {"encode": float(encode), "worker": _most(own, system.owner, workers)}


def real_parts(array: Array) -> int:
    """Real numbers of an entry.

    Examples
    --------
    >>> real_parts(np.ones(1)), real_parts(np.ones(1, complex))
    (1, 2)
    """
    return 2 if np.iscomplexobj(array) else 1


def _most(counts: Array, owner: Array, workers: int) -> float:
    return float(np.bincount(owner, weights=counts, minlength=workers).max())
