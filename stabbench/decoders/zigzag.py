"""Decoding of shift-and-add codes: the zigzag, and least squares over all received samples."""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse

from stabbench.arithmetic import banded, zigzag
from stabbench.arithmetic.peeling import Resolution, Undecodable, resolution
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.shift_tables import ABSENT
from stabbench.codes.base import Code, System
from stabbench.codes.shift_add import ShiftAdd
from stabbench.codes.toeplitz import Line, ShiftMap
from stabbench.decoders.base import Decoder, Plan, Spare, joined, split

Array = np.ndarray[Any, np.dtype[Any]]
MOST_WORK = 2e10
"""Operations of one least-squares decoding, unknowns times the square of the band, at most."""


@dataclasses.dataclass(frozen=True)
class ShiftPlan(Plan):
    """Survivor sets of a shift-and-add code; what depends on the block length comes with replies.

    Attributes
    ----------
    reply : ShiftMap
    sets : tuple of tuple of int
        The workers that reply, per pattern.
    dtype : numpy.dtype
        Of decoding.
    """

    reply: ShiftMap
    sets: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    _kept: dict[tuple[int, ...], Any] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def rows(self) -> Array:  # type: ignore[override]
        """The replies that arrived, padded with -1."""
        rows = np.full((len(self.sets), max(map(len, self.sets))), -1)
        for row, alive in zip(rows, self.sets, strict=True):
            row[: len(alive)] = alive
        return rows

    def decode(self, replies: Array) -> Array:
        """Estimates of the blocks, shape (P, k, L, m)."""
        line, prepared = self._at(replies)
        found = self.resolve(line, prepared, split(line.samples(replies), self.dtype))
        return np.asarray(line.blocks(joined(found, replies)))

    def ready(self, replies: Array) -> "ShiftPlan":
        """The same plan with `prepare` done for the length of these replies."""
        self._at(replies)
        return self

    def operations(self, replies: Array, sent: Array) -> Array:
        """Those of every column along the line, see `counted`."""
        line, prepared = self._at(replies)
        columns = line.chunk if not line.pitch else line.chunk**2
        columns *= 1 if line.pitch else replies.shape[2]
        parts = 2 if np.iscomplexobj(replies) else 1
        return self.counted(line, prepared, columns * parts)

    def _at(self, replies: Array) -> tuple[Line, Any]:
        lengths = self.reply.lengths(replies.shape)
        if lengths not in self._kept:
            line = self.reply.line(lengths)
            self._kept[lengths] = line, self.prepare(line)
        kept: tuple[Line, Any] = self._kept[lengths]
        return kept

    @abstractmethod
    def counted(self, line: Line, prepared: Any, columns: int) -> Array:
        """Operations per pattern for a number of real columns, shape (P,)."""

    @abstractmethod
    def prepare(self, line: Line) -> Any:
        """What depends on the block length, for `resolve`."""

    @abstractmethod
    def resolve(self, line: Line, prepared: Any, samples: Array) -> Array:
        """Estimates along the line, shape (P, k, length, columns); NaN where undecodable."""


@dataclasses.dataclass(frozen=True)
class ZigzagPlan(ShiftPlan):
    """The zigzag of every survivor set.

    Attributes
    ----------
    order : str
    store : int
        Bits of the significand to which resolved samples are rounded, 0 for all there are.
    """

    order: str = "both-ends"
    store: int = 0

    def prepare(self, line: Line) -> zigzag.Peeling:
        """The order in which samples are resolved."""
        return zigzag.plan(line.table, self.sets, line.length, self.order, line.grid)

    def resolve(self, line: Line, prepared: Any, samples: Array) -> Array:
        """Subtractions alone."""
        return np.asarray(prepared.decode(samples, store=self.store))

    def counted(self, line: Line, prepared: Any, columns: int) -> Array:
        """A subtraction per term of every sample that is resolved."""
        terms = [prepared.terms(p) for p in range(len(self.sets))]
        return np.array(terms, dtype=float) * columns


@dataclasses.dataclass(frozen=True)
class Zigzag(Decoder):
    """Zigzag: a sample with one unknown left resolves it, which is subtracted from all others.

    Blocks that arrived plain are subtracted first; of the other survivors those of lowest number
    resolve the e blocks that are missing.

    Parameters
    ----------
    order : str
        ``both-ends``: first in, first out, from heads and tails; ``forward``: from heads alone.
    buffer : str
        What keeps the samples between two steps: ``working``, decoding precision; ``stored``, the
        format of the replies, as if a reply of 16 bits were decoded in place.
    """

    order: Literal["both-ends", "forward"] = dataclasses.field(
        default="both-ends", metadata={"help": "where peeling starts"}
    )
    buffer: Literal["working", "stored"] = dataclasses.field(
        default="working", metadata={"help": "format of samples between two steps"}
    )

    name: ClassVar[str] = "zigzag"
    source: ClassVar[str] = "Sung, Gong, ISIT 2013; Gollakota, Katabi, SIGCOMM 2008"
    uses_spare: ClassVar[bool] = False

    def unit(self, precision: Precision) -> float:
        """Unit round-off of what the samples are kept in between two steps."""
        return precision.unit if self._store(precision) else super().unit(precision)

    def accepts(self, code: Code) -> str:
        """Shift-and-add codes."""
        return "" if isinstance(code, ShiftAdd) else "it needs a shift-and-add code"

    def accepts_precision(self, precision: Precision) -> str:
        """Subtractions run in every precision; buffers of 16 bits beside float32 alone."""
        if self._store(precision) and precision.decode != np.float32:
            return f"a buffer that stores {precision.storage.name} needs decoding in float32"
        return ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> ZigzagPlan:
        """The survivor sets; symbolic peeling follows once the block length is known."""
        assert isinstance(system.reply, ShiftMap)
        sets, store = sets_of(patterns), self._store(precision)
        return ZigzagPlan(system.reply, sets, precision.decode, order=self.order, store=store)

    def _store(self, precision: Precision) -> int:
        narrow = self.buffer == "stored" and not precision.storage.holds(precision.decode)
        return precision.storage.p if narrow else 0


@dataclasses.dataclass(frozen=True)
class SamplesPlan(ShiftPlan):
    """Least squares over all samples of the replies that a zigzag would use."""

    def prepare(self, line: Line) -> list["Samples | None"]:
        """The sparse matrix of every pattern."""
        found = [resolution(line.table, alive) for alive in self.sets]
        return [None if isinstance(use, Undecodable) else Samples(line, use) for use in found]

    def resolve(self, line: Line, prepared: Any, samples: Array) -> Array:
        """QR of every pattern, with the replies as right-hand sides."""
        shape = (len(self.sets), line.table.shape[1], line.length, samples.shape[2])
        out = np.zeros(shape, samples.dtype)
        for found, system in zip(out, prepared, strict=True):
            if system is None:
                found[:] = np.nan
            else:
                system.solve(samples, found)
        return out

    def counted(self, line: Line, prepared: Any, columns: int) -> Array:
        """Subtraction of the blocks that arrived, then QR by windows; none where undecodable."""
        return np.array([0.0 if s is None else s.operations(columns) for s in prepared])


@dataclasses.dataclass(frozen=True)
class Samples:
    """The samples that the workers of a resolution send, and the missing blocks in them.

    Parameters
    ----------
    line : Line
    use : Resolution
    """

    line: Line
    use: Resolution

    @property
    def columns(self) -> tuple[Array, Array]:
        """Missing block (by number among them) and position of every unknown, in order of time.

        The order keeps the matrix banded: a block is moved by its mean shift.
        """
        sub = self.line.table[np.ix_(self.use.rows, self.use.missing)].astype(float)
        sub[sub == ABSENT] = np.nan
        lag = np.rint(np.nanmean(sub, axis=0)).astype(int)
        positions = self.line.positions
        block = np.repeat(np.arange(len(lag)), len(positions))
        position = np.tile(positions, len(lag))
        order = np.lexsort((block, position + lag[block]))
        return block[order], position[order]

    def matrix(self) -> tuple[Any, Array]:
        """The 0/1 matrix of the samples that hold unknowns, and their places in the replies.

        Returns
        -------
        matrix : scipy.sparse.csr_array
        places : int array
            Number of the row of the resolution times the longest reply, plus the sample.
        """
        block, position = self.columns
        longest = self.line.length + int(self.line.table.max())
        rows, columns = [], []
        for i, worker in enumerate(self.use.rows):
            shift = self.line.table[worker, self.use.missing][block]
            held = np.flatnonzero(shift != ABSENT)
            rows.append(i * longest + position[held] + shift[held])
            columns.append(held)
        place = np.concatenate(rows), np.concatenate(columns)
        shape = (len(self.use.rows) * longest, len(block))
        whole = scipy.sparse.csr_array((np.ones(len(place[0])), place), shape=shape)
        places = np.flatnonzero(np.diff(whole.indptr))
        return whole[places], places

    def operations(self, columns: int) -> float:
        """Real operations of `solve` for a number of columns."""
        known = self.use.known >= 0
        held = (self.line.table[self.use.rows][:, known] != ABSENT).sum()
        total = float(held * len(self.line.positions) * columns)
        if len(self.use.missing):
            total += banded.operations_of(self.matrix()[0], columns)
        return total

    def solve(self, samples: Array, out: Array) -> None:
        """Write the blocks: those that arrived, then the least-squares solution of the others."""
        right = self.residual(samples, out)
        if not len(self.use.missing):
            return
        triangle, transformed = banded.triangularize(self.matrix()[0], right)
        block, position = self.columns
        out[self.use.missing[block], position] = triangle.solve(transformed)

    def residual(self, samples: Array, out: Array) -> Array:
        """Write the blocks that arrived; the rows of `matrix` without them, (rows, columns)."""
        table, positions = self.line.table, self.line.positions
        received = samples[self.use.rows].copy()
        for j in map(int, np.flatnonzero(self.use.known >= 0)):
            worker = int(self.use.known[j])
            out[j, positions] = samples[worker, self.line.places(worker, j)]
            for place, other in enumerate(map(int, self.use.rows)):
                if table[other, j] != ABSENT:
                    with np.errstate(all="ignore"):
                        received[place, self.line.places(other, j)] -= out[j, positions]
        if not len(self.use.missing):
            return received[:0, 0]
        return np.asarray(received.reshape(-1, received.shape[2])[self.matrix()[1]])


def samples_plan(system: System, patterns: Array, precision: Precision) -> SamplesPlan:
    """Least squares on a shift-and-add code."""
    assert isinstance(system.reply, ShiftMap)
    return SamplesPlan(system.reply, sets_of(patterns), precision.decode)


def samples_too_large(reply: ShiftMap, lengths: tuple[int, ...], stragglers: int) -> str:
    """Why least squares is out of reach for blocks of these lengths, an empty string if it is not.

    Parameters
    ----------
    reply : ShiftMap
    lengths : tuple of int
    stragglers : int
        Data blocks that can be missing at once, if workers hold plain ones.
    """
    line = reply.line(lengths)
    whole = (line.table != ABSENT).all(axis=1)
    most = line.table.shape[1] if whole.all() else stragglers
    combining = line.table[whole][::-1][:most]
    e = len(combining)
    if not e:
        return ""
    unknowns = e * len(line.positions)
    chosen = np.linspace(0, line.table.shape[1] - 1, e).astype(int)
    moved = combining[:, chosen] - np.rint(combining[:, chosen].mean(axis=0))
    reach = float(np.ptp(moved, axis=1).max()) + 1
    band = min(reach * unknowns / line.length, unknowns)
    if unknowns * band**2 <= MOST_WORK:
        return ""
    return (
        f"least squares on {unknowns} unknown samples takes about {unknowns * band**2:.0e} "
        f"operations per survivor set; allowed are {MOST_WORK:.0e}"
    )


def sets_of(patterns: Array) -> tuple[tuple[int, ...], ...]:
    """The workers that reply, per pattern.

    Examples
    --------
    >>> sets_of(np.array([[1, 0, 1], [0, 1, 1]]))
    ((0, 2), (1, 2))
    """
    return tuple(tuple(map(int, np.flatnonzero(row))) for row in patterns)
