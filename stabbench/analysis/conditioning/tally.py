"""What a scan has found so far: statistics that merge, are stored, and can be gone on with."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.counts import (
    OCTAVES,
    PER_OCTAVE,
    SAMPLES,
    Counts,
    count_each,
    new_counts,
)

Array = np.ndarray[Any, np.dtype[Any]]
NAMED = 32


@dataclasses.dataclass
class Tally:
    """Statistics over the patterns of the ranks below `next_rank`.

    Attributes
    ----------
    counts : Counts
        Statistics of the patterns that decode.
    next_rank : int
        Where to go on.
    undecodable : float
        Patterns that do not decode.
    named : list of int
        Ranks of the last of them, of each orbit the last, at most 32: the first in the order of
        the survivors.
    escalated : int
        Patterns that needed ball arithmetic.
    seconds : float
        Time spent.
    identity : str
        Name of the task.
    """

    counts: Counts
    next_rank: int = 0
    undecodable: float = 0.0
    named: list[int] = dataclasses.field(default_factory=list)
    escalated: int = 0
    seconds: float = 0.0
    identity: str = ""

    @classmethod
    def empty(
        cls,
        scale: tuple[int, int],
        keep: int,
        tolerance: float,
        identity: str,
        floor: float = 0.0,
    ) -> "Tally":
        """Before the first pattern; bounds on kappa_2 up to the floor will not be kept."""
        tally = cls(new_counts(scale, keep, tolerance), identity=identity)
        if floor > 0:
            tally.counts.extreme[0] = (floor / tally.scale) ** 2
        return tally

    def merge(self, other: Counts) -> None:
        """Add the statistics of other patterns."""
        mine = self.counts
        used = np.flatnonzero(other.bins[:, 0])
        mine.bins[used, :2] += other.bins[used, :2]
        hashes = np.concatenate([mine.bins[used, 2:], other.bins[used, 2:]], axis=1)
        ranks = np.concatenate([mine.samples[used], other.samples[used]], axis=1)
        lowest = np.argsort(hashes, axis=1, kind="stable")[:, :SAMPLES]
        mine.bins[used, 2:] = np.take_along_axis(hashes, lowest, axis=1)
        mine.samples[used] = np.take_along_axis(ranks, lowest, axis=1)
        keep = mine.extreme.shape[1]
        # places that are still free stay lowest, with the floor of this tally
        other.extreme[other.extreme_rank < 0] = -np.inf
        values = np.concatenate([mine.extreme, other.extreme], axis=1)
        ranks = np.concatenate([mine.extreme_rank, other.extreme_rank], axis=1)
        # ascending order is a heap; equal values go by rank, whatever the order of merging
        order = np.lexsort((-ranks, values), axis=1)[:, -keep:]
        mine.extreme[:] = np.take_along_axis(values, order, axis=1)
        mine.extreme_rank[:] = np.take_along_axis(ranks, order, axis=1)

    def add(
        self, ranks: Array, weights: Array, sums: tuple[Array, Array], limits: tuple[float, float]
    ) -> None:
        """Add patterns by ||G_S^+||_F^2 - 1 and ||G_S||_F^2, on the scale of the scan."""
        count_each(self.counts, ranks, weights, sums, limits)
        self.escalated += len(ranks)

    def fail(self, ranks: list[int], weight: float) -> None:
        """Add patterns that do not decode, by the ranks of their last images."""
        self.undecodable += weight
        self.named = sorted([*self.named, *ranks])[-NAMED:]

    @property
    def scale(self) -> float:
        """What roots of values of `counts` are multiplied with."""
        return float(2.0 ** (0.5 * self.counts.exponent))

    @property
    def decodable(self) -> float:
        """Patterns counted."""
        return float(self.counts.bins[:, 0].sum())

    @property
    def sums_of_bins(self) -> Array:
        """Sum of kappa_F over the patterns of each bin."""
        return np.asarray(self.counts.bins[:, 1] * self.scale)

    def extremes(self, which: int) -> tuple[Array, Array]:
        """Ranks and values of the highest bounds on kappa_2 (0) or of the lowest kappa_F (1)."""
        values, ranks = self.counts.extreme[which], self.counts.extreme_rank[which]
        order = np.argsort(-values, kind="stable")
        order = order[ranks[order] >= 0]
        with np.errstate(over="ignore"):
            roots = np.sqrt(np.abs(values[order])) * self.scale
        return ranks[order], roots

    def histogram(self) -> tuple[Array, Array]:
        """Edges of the bins in log10 kappa_F and the patterns of each, from first to last used."""
        used = np.flatnonzero(self.counts.bins[:, 0])
        if not used.size:
            return np.zeros(1), np.zeros(0)
        first, end = used[0], used[-1] + 1
        begin = 0.5 * self.counts.first * np.log10(2)
        return edges()[first : end + 1] + begin, self.counts.bins[first:end, 0].copy()

    def quantile(self, p: float) -> float:
        """Quantile of kappa_F, within the width of its bin, about 1%."""
        edge, count = self.histogram()
        if not count.size:
            return np.inf
        below = np.concatenate([[0], np.cumsum(count)])
        return float(10 ** np.interp(p * below[-1], below, edge))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and dictionaries, for JSON."""
        used = np.flatnonzero(self.counts.bins[:, 0])
        return {
            "identity": self.identity,
            "next_rank": self.next_rank,
            "undecodable": self.undecodable,
            "named": self.named,
            "escalated": self.escalated,
            "seconds": self.seconds,
            "scale": [self.counts.exponent, self.counts.first],
            "tolerance": self.counts.tolerance,
            "used": used.tolist(),
            "bins": self.counts.bins[used].tolist(),
            "samples": self.counts.samples[used].tolist(),
            "extreme": self.counts.extreme.tolist(),
            "extreme_rank": self.counts.extreme_rank.tolist(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Tally":
        """The statistics that `to_dict` has written."""
        keep = len(stored["extreme"][0])
        exponent, first = (int(x) for x in stored["scale"])
        tally = cls.empty((exponent, first), keep, stored["tolerance"], stored["identity"])
        tally.counts.bins[stored["used"]] = stored["bins"]
        tally.counts.samples[stored["used"]] = stored["samples"]
        tally.counts.extreme[:] = stored["extreme"]
        tally.counts.extreme_rank[:] = stored["extreme_rank"]
        for name in ("next_rank", "undecodable", "named", "escalated", "seconds"):
            setattr(tally, name, stored[name])
        return tally


@functools.cache
def edges() -> Array:
    """Edges of bins from kappa_F = 1 on, in log10: 32 equal parts of each octave of kappa_F^2."""
    octave, part = np.divmod(np.arange(OCTAVES * PER_OCTAVE + 1), PER_OCTAVE)
    return np.asarray(0.5 * (octave * np.log10(2) + np.log10(1 + part / PER_OCTAVE)))
