"""Shift-and-add encoding and zigzag decoding of many columns, for many survivor patterns at once.

Arrays in, arrays out; the order of peeling comes from `peeling`, the loops from `zigzag_kernels`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from stabbench.arithmetic import zigzag_kernels
from stabbench.arithmetic.peeling import (
    MOST_BLOCKS,
    Resolution,
    Undecodable,
    chain,
    fault,
    peel,
    peel_heads,
    resolution,
)
from stabbench.arithmetic.shift_tables import ABSENT, Array, Table, is_increasing
from stabbench.errors import InputError

Integers = npt.NDArray[np.int32]

ORDERS = ("forward", "both-ends")
_COMPILED = {"f4": "f4", "f8": "f8", "i8": "i8", "c8": "f4", "c16": "f8"}


def encode(table: Table, blocks: Array) -> Array:
    """Coded blocks: row p of block i is the sum over j of row p - t[i,j] of data block j.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    blocks : ndarray, shape (k, L, columns)
        Sums run over j ascending, in the dtype of `blocks`.

    Returns
    -------
    ndarray, shape (n, L + longest shift, columns)
        Rows of a worker beyond its own longest shift are zero; they are neither stored nor sent.

    Examples
    --------
    >>> encode(np.array([[0, 0], [0, 1]]), np.array([[[1], [2]], [[10], [20]]]))[..., 0].tolist()
    [[11, 22, 0], [1, 12, 20]]
    """
    length = blocks.shape[1]
    coded = np.zeros((len(table), length + int(table.max()), blocks.shape[2]), blocks.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, j in np.argwhere(table != ABSENT):
            coded[i, table[i, j] : table[i, j] + length] += blocks[j]
    return coded


@dataclass(frozen=True)
class Peeling:
    """The decoding of given survivor patterns, whatever the data: see `plan`.

    Attributes
    ----------
    table : ndarray of int32, shape (n, k)
    length : int
        L, units per data block.
    order : str
    uses : tuple of Resolution or Undecodable
        Per pattern which workers resolve which blocks, or why that cannot be done.
    closed : ndarray of bool, shape (patterns,)
        The closed schedule of the forward order holds, so no order is stored.
    schedules : tuple of (unknown, row) or None
        Per pattern that is not closed: the order of resolution as `peeling.peel` writes it.
    grid : tuple of int
        (period, width) of the positions that hold unknowns; (1, 1) for one dimension.
    """

    table: Table
    length: int
    order: str
    uses: tuple[Resolution | Undecodable, ...]
    closed: npt.NDArray[np.bool_]
    schedules: tuple[tuple[Integers, Integers] | None, ...]
    grid: tuple[int, int] = (1, 1)

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Which patterns can be decoded."""
        return np.array([isinstance(use, Resolution) for use in self.uses], bool)

    def decode(self, replies: Array, source: npt.ArrayLike | None = None, store: int = 0) -> Array:
        """Data blocks from replies; the replies are read only, the peak is replies plus result.

        Parameters
        ----------
        replies : ndarray, shape (n, longest, columns) or (batch, n, longest, columns)
            As `encode` lays them out, one set for all patterns or one per pattern (see `source`).
            The replies of stragglers and rows beyond a reply's length are never read.
        source : array_like of int, shape (patterns,), optional
            Which of the batch each pattern decodes; 0, 1, 2 ... by default.
        store : int
            0, or the bits of the significand (8 bfloat16, 11 float16) to which every sample is
            rounded between two steps; of float32 and complex64 alone.

        Returns
        -------
        ndarray, shape (patterns, k, L, columns), of the dtype of `replies` in native byte order
            NaN where the pattern is undecodable (0 for integers).
        """
        batch = replies[None] if replies.ndim == 3 else replies
        if source is None:
            source = np.zeros(len(self.uses), int) if len(batch) == 1 else np.arange(len(batch))
        chosen = np.asarray(source)
        self._check(batch, chosen, store)
        native = batch.dtype.newbyteorder("=")
        real = _COMPILED.get(native.str[1:])
        flat = batch if real is None else np.ascontiguousarray(batch, native).view(real)
        out = np.zeros(
            (len(self.uses), self.table.shape[1], self.length, flat.shape[3]), flat.dtype
        )
        with np.errstate(over="ignore", invalid="ignore"):
            for i, use in enumerate(self.uses):
                if isinstance(use, Undecodable):
                    out[i] = np.nan if out.dtype.kind in "fc" else 0
                else:
                    self._decode_one(i, use, flat[chosen[i]], out[i], store)
        return out if real is None else out.view(native)

    def _check(self, batch: Array, source: npt.NDArray[np.int_], store: int) -> None:
        need = (len(self.table), self.length + int(self.table.max()))
        if batch.shape[1] != need[0] or batch.shape[2] < need[1]:
            raise InputError(
                f"replies of shape {batch.shape[1:]}: allowed is (n, rows, columns) "
                f"with n = {need[0]} and rows at least {need[1]}"
            )
        if source.shape != (len(self.uses),):
            raise InputError(
                f"{len(source)} sets of replies for {len(self.uses)} patterns: "
                "allowed is one for all or one each"
            )
        if store not in (0, 8, 11):
            raise InputError(f"store={store}: allowed are 0, 8 (bfloat16), 11 (float16)")
        if store and batch.dtype not in (np.float32, np.complex64):
            raise InputError(f"store={store} of {batch.dtype}: allowed are float32, complex64")

    def _decode_one(self, i: int, use: Resolution, replies: Array, out: Array, store: int) -> None:
        for block in np.flatnonzero(use.known >= 0):
            start = self.table[use.known[block], block]
            out[block] = replies[use.known[block], start : start + self.length]
        if not len(use.missing):
            return
        if out.dtype.str[1:] not in _COMPILED:
            _by_elements(self, i, use, replies, out)
        elif self.closed[i]:
            rows = chain(self.table, use.rows, use.missing)
            zigzag_kernels.forward(replies, self.table, use.known, rows, self.grid, out, store)
        else:
            unknown, row = self.schedule(i)
            zigzag_kernels.scheduled(
                replies, self.table, use.known, use.rows, unknown, row, out, store
            )

    def select(self, i: int) -> "Peeling":
        """The decoding of pattern i alone."""
        one = slice(i, i + 1)
        return replace(
            self, uses=self.uses[one], closed=self.closed[one], schedules=self.schedules[one]
        )

    def in_order(self, i: int, blocks: Array) -> Array:
        """The resolved samples of pattern i, shape (unknowns, columns), as they are resolved.

        Their size shows how errors grow along one decoding.
        """
        use = self.uses[i]
        if isinstance(use, Undecodable):
            raise InputError(str(use))
        block, position = np.divmod(self.schedule(i)[0], self.length)
        return np.asarray(blocks[use.missing[block], position])

    def terms(self, i: int) -> int:
        """Terms that the decoding of pattern i subtracts, for one column; 0 where it cannot.

        Of a sample that is resolved, all other blocks of its reply that reach its place.
        """
        use = self.uses[i]
        if isinstance(use, Undecodable) or not len(use.missing):
            return 0
        unknown, row = self.schedule(i)
        block, position = np.divmod(unknown, self.length)
        shifts = self.table[use.rows]
        place = position + shifts[row, use.missing[block]]
        terms = -len(unknown)
        for worker in range(len(use.rows)):
            mine = place[row == worker]
            for shift in shifts[worker][shifts[worker] != ABSENT]:
                terms += int(np.count_nonzero((mine >= shift) & (mine < shift + self.length)))
        return terms

    def schedule(self, i: int) -> tuple[Integers, Integers]:
        """Order of resolution of pattern i.

        Returns
        -------
        unknown, row : ndarray of int32
            As `peeling.peel` writes them: number of the missing block * L + position, and which of
            the `rows` of the resolution it is read from.
        """
        stored, use = self.schedules[i], self.uses[i]
        if stored is not None:
            return stored
        if isinstance(use, Undecodable):
            raise InputError(str(use))
        return _closed_schedule(self.table, use, self.length, self.grid)


def plan(
    table: Table,
    patterns: Iterable[Iterable[int]],
    length: int,
    order: str = "both-ends",
    grid: tuple[int, int] = (1, 1),
) -> Peeling:
    """The peeling of survivor patterns; all that does not depend on the data.

    `forward` follows the closed schedule where the sub-table has the increasing-difference
    property: with the e rows sorted so that differences increase, missing block j is read from row
    r(j) = e-1-j at time p + lag(j), lag(0) = 0, lag(j+1) = lag(j) + t[r(j+1),j+1] - t[r(j+1),j],
    within one time j ascending. Other tables go round the heads (`peeling.peel_heads`).
    `both-ends` is `peeling.peel`.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    patterns : iterable of survivor sets (worker numbers)
    length : int
        Units per data block.
    order : str
        `forward` or `both-ends`.
    grid : tuple of int
        Positions p with p % grid[0] < grid[1] are unknowns, the others are zero (`zigzag2d`).

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> table = shift_table("vandermonde", 4, 2)
    >>> data = np.arange(6.0).reshape(2, 3, 1)
    >>> plan(table, [(0, 1), (1, 3)], 3).decode(encode(table, data))[1, :, :, 0].tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    if order not in ORDERS:
        raise InputError(f"order {order!r}: allowed are {', '.join(ORDERS)}")
    if table.shape[1] > MOST_BLOCKS or table.shape[1] * (length + int(table.max())) >= 2**31:
        raise InputError(
            f"{table.shape[1]} blocks of {length} units: allowed are {MOST_BLOCKS} blocks and "
            "2**31 samples in all"
        )
    table = np.ascontiguousarray(table, np.int32)
    uses: list[Resolution | Undecodable] = []
    schedules: list[tuple[Integers, Integers] | None] = []
    closed = []
    for survivors in patterns:
        use, schedule = _plan_one(table, tuple(survivors), length, order, grid)
        uses.append(use)
        schedules.append(schedule)
        closed.append(schedule is None and isinstance(use, Resolution))
    return Peeling(table, length, order, tuple(uses), np.array(closed), tuple(schedules), grid)


def _plan_one(
    table: Table, survivors: tuple[int, ...], length: int, order: str, grid: tuple[int, int]
) -> tuple[Resolution | Undecodable, tuple[Integers, Integers] | None]:
    use = resolution(table, survivors)
    if isinstance(use, Undecodable) or not len(use.missing):
        return use, None
    missing = use.missing
    rows = chain(table, use.rows, missing)
    if order == "forward" and is_increasing(table[np.ix_(rows, missing)]):
        return use, None
    sub = np.ascontiguousarray(table[np.ix_(use.rows, missing)])
    positions = int(np.sum(np.arange(length) % grid[0] < grid[1]))
    unknown = np.empty(len(missing) * positions, np.int32)
    row = np.empty_like(unknown)
    run = peel_heads if order == "forward" else peel
    done = run(sub, length, *grid, unknown, row)
    if done == len(unknown):
        return use, (unknown, row)
    left = np.bincount(unknown[:done] // length, minlength=len(missing)) < positions
    return fault(table, use, missing[left], survivors), None


def _closed_schedule(
    table: Table, use: Resolution, length: int, grid: tuple[int, int]
) -> tuple[Integers, Integers]:
    rows = chain(table, use.rows, use.missing)
    lag, _, _ = zigzag_kernels.closed_terms(table, use.known, rows, use.missing)
    position = np.flatnonzero(np.arange(length) % grid[0] < grid[1])
    block = np.repeat(np.arange(len(lag)), len(position))
    time = np.add.outer(lag, position).ravel()
    order = np.lexsort((block, time))
    unknown = np.add.outer(np.arange(len(lag)) * length, position).ravel()[order]
    place = np.searchsorted(use.rows, rows)
    return unknown.astype(np.int32), place[::-1][block[order]].astype(np.int32)


def _by_elements(peeling: Peeling, i: int, use: Resolution, replies: Array, out: Array) -> None:
    """The same operations in NumPy, for dtypes that are not compiled: longdouble, Python integers.

    It scatters, as the definition does; the kernels gather.
    """
    table, length = peeling.table, peeling.length
    received = replies[use.rows].copy()
    for place, worker in enumerate(use.rows):
        for block in np.flatnonzero(use.known >= 0):
            if table[worker, block] != ABSENT:
                start = table[worker, block]
                received[place, start : start + length] -= out[block]
    sub = table[np.ix_(use.rows, use.missing)]
    for unknown, row in zip(*peeling.schedule(i), strict=True):
        j, p = divmod(int(unknown), length)
        value = received[row, p + sub[row, j]].copy()
        out[use.missing[j], p] = value
        others = np.flatnonzero((sub[:, j] != ABSENT) & (np.arange(len(sub)) != row))
        received[others, p + sub[others, j]] -= value
