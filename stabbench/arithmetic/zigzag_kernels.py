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
Run = tuple[int, int]

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


@numba.njit(cache=True)
def _gather(
    out: Array,
    replies: Array,
    into: int,
    sample: int,
    starts: Array,
    run: Run,
    at: int,
    columns: int,
    bits: int,
) -> None:
    """out[into] = replies[sample] - the sum of out[starts[m] + at] for m of the run, per column."""
    c = 0
    if bits == 0:
        while c + _STRIP <= columns:
            _strip(out, replies, into + c, sample + c, starts, run, at + c)
            c += _STRIP
    while c < columns:
        value = replies[sample + c]
        for m in range(run[0], run[1]):
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
                _gather(resolved, received, into, sample, starts, (begin, end), at, some, bits)


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
    held = np.flatnonzero(known >= 0)
    sub = table[rows][:, miss].astype(np.int64)
    when = np.full((miss.shape[0], length), -1, np.int32)
    for rank in range(unknown.shape[0]):
        j, p = divmod(unknown[rank], length)
        when[j, p] = rank
    orders = _usual_orders(sub)
    terms = np.empty(table.shape[1], np.int64)
    starts = np.empty(table.shape[1], np.int64)
    resolved, received = out.reshape(-1), replies.reshape(-1)
    for first in range(0, columns, _TILE):
        some = min(columns - first, _TILE)
        for rank in range(unknown.shape[0]):
            j, p = divmod(unknown[rank], length)
            i = row[rank]
            s = p + sub[i, j]
            count = 0
            for block in held:
                q = s - table[rows[i], block]
                if table[rows[i], block] >= 0 and 0 <= q < length:
                    starts[count] = (block * length + q) * columns
                    count += 1
            found = _by_rank(sub[i], s, when, orders[i, 0 if 2 * p < length else 1, j], terms)
            for m in range(found):
                other = terms[m]
                starts[count] = (miss[other] * length + s - sub[i, other]) * columns
                count += 1
            into = (miss[j] * length + p) * columns + first
            sample = (rows[i] * longest + s) * columns + first
            _gather(resolved, received, into, sample, starts, (0, count), first, some, bits)


@numba.njit(cache=True)
def _usual_orders(sub: Array) -> Array:
    """Per row, half of the block (heads, tails) and column read: its other terms, ended by -1."""
    e = sub.shape[0]
    orders = np.full((e, 2, e, e), -1, np.int16)
    for i in range(e):
        for j in range(e):
            count = 0
            for other in range(e):
                if other != j and sub[i, other] >= 0:
                    orders[i, :, j, count] = other
                    count += 1
    return orders


@numba.njit(cache=True)
def _by_rank(shifts: Array, s: int, when: Array, order: Array, terms: Array) -> int:
    """The terms of sample s in the order in which they were resolved; returns how many.

    The order rarely changes from one sample to the next, so `order` is sorted by insertion and
    kept.
    """
    length = when.shape[1]
    count = 0
    last = -1
    for m in range(order.shape[0]):
        other = order[m]
        if other < 0:
            break
        q = s - shifts[other]
        if q < 0 or q >= length or when[other, q] < 0:
            continue
        rank = when[other, q]
        slot = count
        if rank < last:
            while slot > 0 and when[terms[slot - 1], s - shifts[terms[slot - 1]]] > rank:
                terms[slot] = terms[slot - 1]
                slot -= 1
        else:
            last = rank
        terms[slot] = other
        count += 1
    if count == order.shape[0] - 1:
        for m in range(count):
            order[m] = terms[m]
    return count
