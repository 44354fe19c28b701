"""Compiled loops of a gossip step: rounding, mixing, sparse updates, residuals, exact sums.

Every kernel works on all workers at once, rows of arrays, in the float type of its arrays; choosing
entries is in `select`.
"""

import numba
import numpy as np

from stabbench.arithmetic.precision import precision

CARRIED, BFLOAT16, FLOAT16, FLOAT32 = 0, 1, 2, 3
"""Codes of a stored format: that of the arrays themselves, or a narrower one carried in them."""

_FORMATS = [precision(name).storage for name in ("bfloat16", "float16", "float32")]
_DROPPED = (0, *(53 - form.p for form in _FORMATS))
_SMALLEST = (0.0, *(2.0**form.emin for form in _FORMATS))
# adding and subtracting this rounds a number below _SMALLEST to a multiple of the quantum
_ALIGN = (0.0, *(1.5 * 2.0 ** (52 + form.emin - form.p + 1) for form in _FORMATS))
_TOO_LARGE = (0.0, *(2.0 ** (form.emax + 1) for form in _FORMATS))
_CHUNK = 2048
CEILING = 1e12
"""Beyond this magnitude, as at inf and NaN, a run counts as diverged."""


@numba.njit(cache=True)
def stored(value, form):  # type: ignore[no-untyped-def]
    """A float32 or float64 number rounded once to a format, ties to even; overflow gives inf."""
    wide = np.float64(value)
    if form == CARRIED or not np.isfinite(wide):
        return wide
    if abs(wide) < _SMALLEST[form]:
        return np.copysign((wide + _ALIGN[form]) - _ALIGN[form], wide)
    dropped = np.uint64(_DROPPED[form])
    one = np.uint64(1)
    bits = wide.view(np.uint64)
    odd = (bits >> dropped) & one
    bits += (one << (dropped - one)) - one + odd
    bits = (bits >> dropped) << dropped
    rounded = np.uint64(bits).view(np.float64)
    return np.copysign(np.inf, wide) if abs(rounded) >= _TOO_LARGE[form] else rounded


@numba.njit(cache=True)
def store(values, form):  # type: ignore[no-untyped-def]
    """Round every entry of a contiguous array in place."""
    if form != CARRIED:
        flat = values.ravel()
        for t in range(flat.size):
            flat[t] = stored(flat[t], form)


@numba.njit(cache=True)
def mix_difference(x, replicas, start, weight, out):  # type: ignore[no-untyped-def]
    """out_i = sum over neighbours of w_ij (r_ij - x_i): the flows of an edge cancel bit for bit."""
    n, d = x.shape
    for i in range(n):
        for low in range(0, d, _CHUNK):
            high = min(low + _CHUNK, d)
            out[i, low:high] = 0
            for s in range(start[i], start[i + 1]):
                w = weight[s]
                for k in range(low, high):
                    out[i, k] += w * (replicas[s, k] - x[i, k])


@numba.njit(cache=True)
def mix_sum(x, replicas, start, weight, own, eta, out):  # type: ignore[no-untyped-def]
    """out_i = eta (w_ii x_i + sum over neighbours of w_ij r_ij - x_i)."""
    n, d = x.shape
    for i in range(n):
        for low in range(0, d, _CHUNK):
            high = min(low + _CHUNK, d)
            for k in range(low, high):
                out[i, k] = own[i] * x[i, k]
            for s in range(start[i], start[i + 1]):
                w = weight[s]
                for k in range(low, high):
                    out[i, k] += w * replicas[s, k]
            for k in range(low, high):
                out[i, k] = eta * (out[i, k] - x[i, k])


@numba.njit(cache=True)
def gather(z, start, index, form, value):  # type: ignore[no-untyped-def]
    """The entries of a message, rounded to the wire."""
    for i in range(z.shape[0]):
        for t in range(start[i], start[i + 1]):
            value[t] = stored(z[i, index[t]], form)


@numba.njit(cache=True)
def add(x, start, index, value, form, moved):  # type: ignore[no-untyped-def]
    """Add messages to x, rounded to the format; `moved` is what x changed by; whether bounded."""
    bounded = True
    for i in range(x.shape[0]):
        for t in range(start[i], start[i + 1]):
            k = index[t]
            old = x[i, k]
            x[i, k] = stored(old + value[t], form)
            moved[t] = x[i, k] - old
            bounded &= abs(x[i, k]) <= CEILING
    return bounded


@numba.njit(cache=True)
def add_kahan(x, carry, start, index, value, form):  # type: ignore[no-untyped-def]
    """Kahan's sum x += message; the value kept is x + carry, both of the format."""
    bounded = True
    for i in range(x.shape[0]):
        for t in range(start[i], start[i + 1]):
            k = index[t]
            old = x[i, k]
            term = value[t] + carry[i, k]
            x[i, k] = stored(old + term, form)
            carry[i, k] = stored(term - (x[i, k] - old), form)
            bounded &= abs(x[i, k]) <= CEILING
    return bounded


@numba.njit(cache=True)
def add_replicas(replicas, sender, start, index, value, form):  # type: ignore[no-untyped-def]
    """Every replica takes the message of its sender, as the sender took it."""
    for s in range(replicas.shape[0]):
        j = sender[s]
        for t in range(start[j], start[j + 1]):
            k = index[t]
            replicas[s, k] = stored(replicas[s, k] + value[t], form)


@numba.njit(cache=True)
def add_replicas_kahan(  # type: ignore[no-untyped-def]
    replicas, carry, sender, start, index, value, form
):
    """As `add_replicas`, with Kahan's sum."""
    for s in range(replicas.shape[0]):
        j = sender[s]
        for t in range(start[j], start[j + 1]):
            k = index[t]
            old = replicas[s, k]
            term = value[t] + carry[s, k]
            replicas[s, k] = stored(old + term, form)
            carry[s, k] = stored(term - (replicas[s, k] - old), form)


@numba.njit(cache=True)
def keep(z, start, index, gone, form, e):  # type: ignore[no-untyped-def]
    """Set e = z - what went, rounded to the format of the memory; whether e stays bounded."""
    bounded = True
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            e[i, k] = z[i, k]
            bounded &= abs(z[i, k]) <= CEILING
        for t in range(start[i], start[i + 1]):
            e[i, index[t]] = z[i, index[t]] - gone[t]
            bounded &= abs(e[i, index[t]]) <= CEILING
    store(e, form)
    return bounded


@numba.njit(cache=True)
def add_exactly(z, low, term):  # type: ignore[no-untyped-def]
    """(z, low) += term by TwoSum, in place."""
    n, d = z.shape
    for i in range(n):
        for k in range(d):
            a, b = z[i, k], term[i, k]
            total = a + b
            virtual = total - a
            low[i, k] += (a - (total - virtual)) + (b - virtual)
            z[i, k] = total


@numba.njit(cache=True)
def keep_two(z, low, start, index, gone, form, e, e_low):  # type: ignore[no-untyped-def]
    """(e, e_low) = (z, low) - what went, each term rounded to the format of the memory."""
    bounded = True
    n, d = z.shape
    for i in range(n):
        for t in range(start[i], start[i + 1]):
            k = index[t]
            a, b = z[i, k], -gone[t]
            total = a + b
            virtual = total - a
            low[i, k] += (a - (total - virtual)) + (b - virtual)
            z[i, k] = total
            bounded &= abs(total) <= CEILING
        for k in range(d):
            whole = z[i, k] + low[i, k]
            rest = low[i, k] - (whole - z[i, k])
            e[i, k] = stored(whole, form)
            e_low[i, k] = stored((whole - e[i, k]) + rest, form)
    return bounded


@numba.njit(cache=True)
def accumulate(hi, lo, term):  # type: ignore[no-untyped-def]
    """The pair (hi, lo) += term to about 106 bits, in place; float64 and one dimension."""
    for t in range(hi.size):
        a, b = hi[t], np.float64(term[t])
        total = a + b
        virtual = total - a
        lower = lo[t] + ((a - (total - virtual)) + (b - virtual))
        hi[t] = total + lower
        lo[t] = lower - (hi[t] - total)


@numba.njit(cache=True)
def apart(replicas, x, sender):  # type: ignore[no-untyped-def]
    """The greatest difference between a replica and the model that it copies."""
    worst = 0.0
    for s in range(replicas.shape[0]):
        for k in range(replicas.shape[1]):
            gap = abs(np.float64(replicas[s, k]) - np.float64(x[sender[s], k]))
            if gap > worst or np.isnan(gap):
                worst = gap
    return worst


@numba.njit(cache=True)
def accumulate_rows(hi, lo, terms):  # type: ignore[no-untyped-def]
    """The pair (hi, lo) += every row of `terms`, in place."""
    for i in range(terms.shape[0]):
        accumulate(hi, lo, terms[i])
