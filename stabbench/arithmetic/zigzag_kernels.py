"""Compiled loops of the zigzag: gather a resolved sample from a reply, round it, transpose it.

Real arrays only (complex data are twice as many real columns); replies are read, never written.
A resolved unknown is its reply minus the other terms, in the order in which those were resolved.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

Array = np.ndarray[Any, np.dtype[Any]]
Grid = tuple[int, int]

_TILE = 64
_STRIP = 16


@numba.njit(cache=True)
def round_bfloat16(x: np.float32) -> np.float32:
    """A float32 to the nearest bfloat16, ties to even."""
    bits = np.float32(x).view(np.uint32)
    if bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000):
        return x
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    bits = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    return np.uint32(bits).view(np.float32)


@numba.njit(cache=True)
def round_float16(x: np.float32) -> np.float32:
    """A float32 to the nearest float16, ties to even; its subnormals are multiples of 2^-24."""
    bits = np.float32(x).view(np.uint32)
    sign = bits & np.uint32(0x80000000)
    size = bits ^ sign
    if size > np.uint32(0x7F800000):
        return x
    if size < np.uint32(0x38800000):
        # the last place of 0.75 is 2^-24
        up = np.uint32(size).view(np.float32) + np.float32(0.75)
        size = np.float32(up - np.float32(0.75)).view(np.uint32)
    else:
        odd = (size >> np.uint32(13)) & np.uint32(1)
        size = (size + np.uint32(0x0FFF) + odd) & np.uint32(0xFFFFE000)
        if size > np.uint32(0x477FE000):
            size = np.uint32(0x7F800000)
    return np.uint32(size | sign).view(np.float32)


@numba.njit(cache=True)
def round_stored(values: Array, bits: int) -> None:
    """Round a float32 vector in place to bfloat16 (bits 8) or float16 (bits 11)."""
    for c in range(values.shape[0]):
        values[c] = round_bfloat16(values[c]) if bits == 8 else round_float16(values[c])


def _subtract_strip(
    typing: Any, out: Any, replies: Any, into: Any, sample: Any, starts: Any, at: Any, count: Any
) -> tuple[Any, Any]:
    """`_subtract_one` for the next _STRIP columns at once, held in vector registers.

    Numba does not vectorise sums over a list of addresses; a loop in Python syntax takes 1.5 times
    as long as it should.
    """
    signature = numba.types.void(out, replies, into, sample, starts, at, count)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 4)
        ]
        element = signature.args[0].dtype
        scalar = context.get_data_type(element)
        vector = ir.VectorType(scalar, _STRIP)
        bytes_each = element.bitwidth // 8
        minus = builder.fsub if isinstance(element, numba.types.Float) else builder.sub

        def place(array: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [index]), vector.as_pointer())

        total = cgutils.alloca_once(builder, vector)
        builder.store(builder.load(place(arrays[1], args[3]), align=bytes_each), total)
        with cgutils.for_range(builder, args[6]) as loop:
            start = builder.load(builder.gep(arrays[2].data, [loop.index]))
            term = builder.load(place(arrays[0], builder.add(start, args[5])), align=bytes_each)
            builder.store(minus(builder.load(total), term), total)
        builder.store(builder.load(total), place(arrays[0], args[2]), align=bytes_each)
        return context.get_dummy_value()

    return signature, generate


_strip = intrinsic(_subtract_strip)


@numba.njit(cache=True)
def _gather(
    out: Array,
    replies: Array,
    into: int,
    sample: int,
    starts: Array,
    at: int,
    count: int,
    columns: int,
    bits: int,
) -> None:
    """out[into] = replies[sample] - out[starts[0] + at] - out[starts[1] + at] ..., per column."""
    c = 0
    if bits == 0:
        while c + _STRIP <= columns:
            _strip(out, replies, into + c, sample + c, starts, at + c, count)
            c += _STRIP
    while c < columns:
        value = replies[sample + c]
        for m in range(count):
            value -= out[starts[m] + at + c]
            if bits == 8:
                value = round_bfloat16(value)
            elif bits == 11:
                value = round_float16(value)
        out[into + c] = value
        c += 1


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
    starts = (term * length + shift) * columns
    counts = (term >= 0).sum(axis=1)
    reach = np.abs(shift).max()
    near = np.empty(table.shape[1], np.int64)
    resolved, received = out.reshape(-1), replies.reshape(-1)
    for first in range(0, columns, _TILE):
        some = min(columns - first, _TILE)
        for time in range(lag.min(), lag.max() + length):
            for j in range(e):
                p = time - lag[j]
                if p < 0 or p >= length or (period > 1 and p % period >= width):
                    continue
                r = rows[e - 1 - j]
                into = (miss[j] * length + p) * columns + first
                sample = (r * longest + p + table[r, miss[j]]) * columns + first
                at = p * columns + first
                if reach <= p < length - reach:
                    _gather(resolved, received, into, sample, starts[j], at, counts[j], some, bits)
                    continue
                inside = 0
                for m in range(counts[j]):
                    if 0 <= p + shift[j, m] < length:
                        near[inside] = starts[j, m]
                        inside += 1
                _gather(resolved, received, into, sample, near, at, inside, some, bits)


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
    e = miss.shape[0]
    when = np.full(e * length, -1, np.int32)
    for rank in range(unknown.shape[0]):
        when[unknown[rank]] = rank
    held = np.flatnonzero(known >= 0)
    starts = np.empty(table.shape[1], np.int64)
    # heads and tails of a row meet their terms in orders that rarely change
    habit = np.empty((e, 2, e), np.int64)
    habit[:, :] = np.arange(e)
    ranks = np.empty(e, np.int64)
    resolved, received = out.reshape(-1), replies.reshape(-1)
    for first in range(0, columns, _TILE):
        some = min(columns - first, _TILE)
        for rank in range(unknown.shape[0]):
            j, p = divmod(unknown[rank], length)
            r = rows[row[rank]]
            s = p + table[r, miss[j]]
            count = 0
            for block in held:
                q = s - table[r, block]
                if table[r, block] >= 0 and 0 <= q < length:
                    starts[count] = (block * length + q) * columns
                    count += 1
            order = habit[row[rank], 0 if 2 * p < length else 1]
            count = _by_rank(
                table[r], miss, j, s, length, columns, when, order, ranks, starts, count
            )
            into = (miss[j] * length + p) * columns + first
            sample = (r * longest + s) * columns + first
            _gather(resolved, received, into, sample, starts, first, count, some, bits)


@numba.njit(cache=True)
def _by_rank(
    shifts: Array,
    miss: Array,
    j: int,
    s: int,
    length: int,
    columns: int,
    when: Array,
    order: Array,
    ranks: Array,
    starts: Array,
    count: int,
) -> int:
    """Append to `starts` the other missing terms of sample s, as they were resolved.

    Insertion sort from the order of the last sample, which it updates.
    """
    e = miss.shape[0]
    begin = count
    for m in range(e):
        other = order[m]
        if other == j or shifts[miss[other]] < 0:
            continue
        q = s - shifts[miss[other]]
        if q < 0 or q >= length or when[other * length + q] < 0:
            continue
        rank = when[other * length + q]
        start = (miss[other] * length + q) * columns
        slot = count
        while slot > begin and ranks[slot - begin - 1] > rank:
            ranks[slot - begin] = ranks[slot - begin - 1]
            starts[slot] = starts[slot - 1]
            slot -= 1
        if slot < count:
            for back in range(m, 0, -1):
                if back <= m - (count - slot):
                    break
                order[back] = order[back - 1]
            order[m - (count - slot)] = other
        ranks[slot - begin] = rank
        starts[slot] = start
        count += 1
    return count
