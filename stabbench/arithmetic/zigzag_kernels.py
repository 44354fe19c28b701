"""Compiled loops of the zigzag: gather a resolved sample from a reply, and the transpose.

Real arrays only (complex data are twice as many real columns); replies are read, never written.
A resolved unknown is its reply minus the other terms, in the order in which those were resolved.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils
from numba.extending import intrinsic

from stabbench.arithmetic.zigzag_rounding import rounded

Array = np.ndarray[Any, np.dtype[Any]]
Grid = tuple[int, int]
Run = tuple[int, int]

_TILE = 64
_STRIP = 8
_BATCH = 256


def _subtract_strip(
    typing: Any, out: Any, replies: Any, into: Any, sample: Any, starts: Any, run: Any, at: Any
) -> tuple[Any, Any]:
    """Body of `_gather` for the next _STRIP columns at once, held in vector registers.

    Numba does not vectorise a sum over a list of addresses: the same loop in Python takes 1.6
    times as long, and the forward order would be slower than plain subtractions of whole blocks.
    """
    signature = numba.types.void(out, replies, into, sample, starts, run, at)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 4)
        ]
        element = signature.args[0].dtype
        vector = ir.VectorType(context.get_data_type(element), _STRIP)
        aligned = element.bitwidth // 8
        minus = builder.fsub if isinstance(element, numba.types.Float) else builder.sub

        def place(array: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [index]), vector.as_pointer())

        total = cgutils.alloca_once(builder, vector)
        builder.store(builder.load(place(arrays[1], args[3]), align=aligned), total)
        begin, end = cgutils.unpack_tuple(builder, args[5])
        with cgutils.for_range_slice(builder, begin, end, begin.type(1)) as (index, _):
            start = builder.load(builder.gep(arrays[2].data, [index]))
            term = builder.load(place(arrays[0], builder.add(start, args[6])), align=aligned)
            builder.store(minus(builder.load(total), term), total)
        builder.store(builder.load(total), place(arrays[0], args[2]), align=aligned)
        return context.get_dummy_value()

    return signature, generate


_strip = intrinsic(_subtract_strip)


@numba.njit(cache=True, forceinline=True)
def _gather(
    out: Array,
    replies: Array,
    places: Run,
    starts: Array,
    run: Run,
    at: int,
    columns: int,
    bits: int,
) -> None:
    """out[into] = replies[sample] - the sum of out[starts[m] + at] for m of the run, per column."""
    into, sample = places
    if bits:
        _gather_rounded(out, replies, places, starts, run, at, columns, bits)
        return
    c = 0
    while c + _STRIP <= columns:
        _strip(out, replies, into + c, sample + c, starts, run, at + c)
        c += _STRIP
    while c < columns:
        value = replies[sample + c]
        for m in range(run[0], run[1]):
            value -= out[starts[m] + at + c]
        out[into + c] = value
        c += 1


@numba.njit(cache=True)
def _gather_rounded(
    out: Array,
    replies: Array,
    places: Run,
    starts: Array,
    run: Run,
    at: int,
    columns: int,
    bits: int,
) -> None:
    for c in range(columns):
        value = np.float32(replies[places[1] + c])
        for m in range(run[0], run[1]):
            value = rounded(value - np.float32(out[starts[m] + at + c]), bits)
        out[places[0] + c] = value


@numba.njit(cache=True)
def closed_terms(
    table: Array, known: Array, rows: Array, miss: Array
) -> tuple[Array, Array, Array]:
    """Closed schedule of the forward order.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
    known : ndarray, shape (k,)
        -1 where the block is missing.
    rows : ndarray, shape (e,)
        Workers sorted so that their differences increase.
    miss : ndarray, shape (e,)
        Missing blocks, ascending.

    Returns
    -------
    lag : ndarray, shape (e,)
        Missing block j, position p is resolved at time p + lag[j] from the row e-1-j.
    term, shift : ndarray, shape (e, k)
        What is subtracted then, in order: block term[j, m] at position p + shift[j, m];
        -1 ends the list.
    """
    e, k = miss.shape[0], table.shape[1]
    lag = np.zeros(e, np.int64)
    for j in range(e - 1):
        r = rows[e - 2 - j]
        lag[j + 1] = lag[j] + table[r, miss[j + 1]] - table[r, miss[j]]
    term = np.full((e, k), -1, np.int64)
    shift = np.zeros((e, k), np.int64)
    for j in range(e):
        r = rows[e - 1 - j]
        count = 0
        for block in range(k):
            if known[block] >= 0 and table[r, block] >= 0:
                term[j, count] = block
                count += 1
        keys = lag - table[r][miss]
        for other in np.argsort(keys, kind="mergesort"):
            if other != j:
                term[j, count] = miss[other]
                count += 1
        for m in range(count):
            shift[j, m] = table[r, miss[j]] - table[r, term[j, m]]
    return lag, term, shift


@numba.njit(cache=True)
def forward(
    replies: Array, table: Array, known: Array, rows: Array, grid: Grid, out: Array, bits: int
) -> None:
    """Resolve the missing blocks of one pattern in the closed forward order.

    Parameters
    ----------
    replies : ndarray, shape (n, longest, columns)
    table, known, rows
        As `closed_terms`.
    grid : tuple of int
        (period, width): position p holds an unknown where p % period < width.
    out : ndarray, shape (k, length, columns), written
        The known blocks are in place; the rest is zero.
    bits : int
        0, or 8 or 11: every stored result is rounded to bfloat16 or float16.
    """
    length, columns = out.shape[1], out.shape[2]
    longest = replies.shape[1]
    period, width = grid
    miss = np.flatnonzero(known < 0)
    e = miss.shape[0]
    lag, term, shift = closed_terms(table, known, rows, miss)
    k = table.shape[1]
    # one list per missing block, and one more that is filled near the ends of the blocks
    starts = np.append((term * length + shift).reshape(-1) * columns, np.zeros(k, np.int64))
    counts = (term >= 0).sum(axis=1)
    reach = np.abs(shift).max()
    origin = np.array(
        [rows[e - 1 - j] * longest + table[rows[e - 1 - j], miss[j]] for j in range(e)]
    )
    resolved, received = out.reshape(-1), replies.reshape(-1)
    for first in range(0, columns, _TILE):
        some = min(columns - first, _TILE)
        for time in range(lag.min(), lag.max() + length):
            for j in range(e):
                p = time - lag[j]
                if p < 0 or p >= length or (period > 1 and p % period >= width):
                    continue
                begin, end = j * k, j * k + counts[j]
                if p < reach or p >= length - reach:
                    begin, end = e * k, e * k
                    for m in range(counts[j]):
                        if 0 <= p + shift[j, m] < length:
                            starts[end] = starts[j * k + m]
                            end += 1
                into = (miss[j] * length + p) * columns + first
                sample = (origin[j] + p) * columns + first
                at = p * columns + first
                _gather(resolved, received, (into, sample), starts, (begin, end), at, some, bits)


@numba.njit(cache=True)
def scheduled(
    replies: Array,
    table: Array,
    known: Array,
    rows: Array,
    unknown: Array,
    row: Array,
    out: Array,
    bits: int,
) -> None:
    """Resolve the missing blocks of one pattern in an order given.

    Parameters
    ----------
    replies, table, known, out, bits
        As `forward`.
    rows : ndarray, shape (e,)
        Workers that `row` counts.
    unknown, row : ndarray, shape (unknowns,)
        The order, as `peeling.peel` writes it.
    """
    length, columns = out.shape[1], out.shape[2]
    longest = replies.shape[1]
    miss = np.flatnonzero(known < 0)
    e, k = miss.shape[0], table.shape[1]
    when = np.full(e * length, -1, np.int32)
    for rank in range(unknown.shape[0]):
        when[unknown[rank]] = rank
    lists, bounds = _term_lists(table[rows], known, miss, length, columns)
    reach, spare = table.max(), bounds.shape[0] - 1
    starts = np.empty(_BATCH * k, np.int64)
    ends, into, sample = np.empty((3, _BATCH), np.int64)
    resolved, received = out.reshape(-1), replies.reshape(-1)
    for begin in range(0, unknown.shape[0], _BATCH):
        some = min(unknown.shape[0] - begin, _BATCH)
        for m in range(some):
            j, p = divmod(np.uint32(unknown[begin + m]), np.uint32(length))
            i = row[begin + m]
            into[m] = (miss[j] * length + p) * columns
            sample[m] = (rows[i] * longest + table[rows[i], miss[j]] + p) * columns
            which = 2 * (i * e + j) + (0 if 2 * p < length else 1)
            if p < reach or p >= length - reach:
                _keep_inside(lists, bounds, which, p, length)
                which = spare
            last = -1
            for term in range(bounds[which, 1], bounds[which, 2]):
                rank = when[lists[1, term] + p]
                if rank < last:
                    _sort_by_rank(lists, bounds[which, 1], bounds[which, 2], when, p)
                    break
                last = rank
            ends[m] = m * k
            for term in range(bounds[which, 0], bounds[which, 2]):
                starts[ends[m]] = lists[0, term] + p * columns
                ends[m] += 1
        for at in range(0, columns, _TILE):
            wide = min(columns - at, _TILE)
            for m in range(some):
                run = (m * k, ends[m])
                places = (into[m] + at, sample[m] + at)
                _gather(resolved, received, places, starts, run, at, wide, bits)


@numba.njit(cache=True)
def _term_lists(
    shifts: Array, known: Array, miss: Array, length: int, columns: int
) -> tuple[Array, Array]:
    """What to subtract per row, missing block read there and half of it; one list more is spare.

    The order of the terms rarely differs between samples of the same list, so it is kept sorted.

    Returns
    -------
    lists : ndarray, shape (3, (2 e^2 + 1) k)
        Per term its place in the result and in `when`, both at p = 0, and its shift.
    bounds : ndarray, shape (2 e^2 + 1, 3)
        Per list its begin, its first missing block (known ones come first), its end.
    """
    e, k = miss.shape[0], shifts.shape[1]
    lists = np.zeros((3, (2 * e * e + 1) * k), np.int64)
    bounds = np.empty((2 * e * e + 1, 3), np.int64)
    bounds[2 * e * e] = 2 * e * e * k
    column = np.full(k, -1, np.int64)
    column[miss] = np.arange(e)
    blocks = np.append(np.flatnonzero(known >= 0), miss)
    for which in range(2 * e * e):
        i, j = which // 2 // e, which // 2 % e
        bounds[which] = which * k
        for block in blocks:
            if shifts[i, block] >= 0 and block != miss[j]:
                shift = shifts[i, miss[j]] - shifts[i, block]
                end = bounds[which, 2]
                lists[0, end] = (block * length + shift) * columns
                lists[1, end] = column[block] * length + shift
                lists[2, end] = shift
                bounds[which, 2] += 1
                if column[block] < 0:
                    bounds[which, 1] += 1
    return lists, bounds


@numba.njit(cache=True)
def _keep_inside(lists: Array, bounds: Array, which: int, p: int, length: int) -> None:
    """Fill the spare list with those terms of a list that exist at position p."""
    spare = bounds.shape[0] - 1
    end = middle = bounds[spare, 0]
    for m in range(bounds[which, 0], bounds[which, 2]):
        if 0 <= p + lists[2, m] < length:
            for part in range(3):
                lists[part, end] = lists[part, m]
            end += 1
            if m < bounds[which, 1]:
                middle = end
    bounds[spare, 1], bounds[spare, 2] = middle, end


@numba.njit(cache=True)
def _sort_by_rank(lists: Array, begin: int, end: int, when: Array, p: int) -> None:
    last = -1
    for m in range(begin, end):
        rank = when[lists[1, m] + p]
        if rank >= last:
            last = rank
            continue
        start, mark, shift = lists[0, m], lists[1, m], lists[2, m]
        slot = m
        while slot > begin and when[lists[1, slot - 1] + p] > rank:
            for part in range(3):
                lists[part, slot] = lists[part, slot - 1]
            slot -= 1
        lists[0, slot], lists[1, slot], lists[2, slot] = start, mark, shift


@numba.njit(cache=True)
def transposed(
    weights: Array,
    table: Array,
    known: Array,
    rows: Array,
    unknown: Array,
    row: Array,
    out: Array,
) -> None:
    """Transpose of decoding: weights on the decoded blocks to weights on the replies.

    Parameters
    ----------
    weights : ndarray, shape (k, length, columns), used up
    table, known, rows, unknown, row
        As `scheduled`.
    out : ndarray, shape (n, longest, columns), added to
    """
    length, columns = weights.shape[1], weights.shape[2]
    miss = np.flatnonzero(known < 0)
    for rank in range(unknown.shape[0] - 1, -1, -1):
        j, p = divmod(unknown[rank], length)
        r = rows[row[rank]]
        s = p + table[r, miss[j]]
        for c in range(columns):
            out[r, s, c] += weights[miss[j], p, c]
        for block in range(table.shape[1]):
            q = s - table[r, block]
            if block != miss[j] and table[r, block] >= 0 and 0 <= q < length:
                for c in range(columns):
                    weights[block, q, c] -= weights[miss[j], p, c]
