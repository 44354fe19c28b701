"""Compiled Gram-Schmidt on blocks of rows that share one flat buffer.

A block holds M coordinates of one row of each of n workers, coordinate by coordinate. A row is
made orthogonal in its first m coordinates, called h; the others, called w, follow. One array and
offsets into it cost far less to pass than many arrays. What it is for is said in `scan`.
"""

from typing import Any, NamedTuple

import numpy as np

from stabbench.analysis.conditioning.blocks import (
    Errors,
    Index,
    add_squares,
    bend,
    copy,
    dot,
    fill,
    project,
    project_pairs,
    scale,
    squares_of_rest,
    subtract,
)
from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
UNIT = 2.0**-52
DOUBT = 0.1
"""Relative error of |h| from which on it may be zero: rank decides then, however small |w| is."""
VECTORS = 12


class Layout(NamedTuple):
    """Sizes, and offsets into the buffer.

    Attributes
    ----------
    n, B, M, m : int
        Workers, rows of a worker, coordinates of a row, coordinates of its h.
    level : int
        Numbers of one level of Z: B blocks of M n.
    slack : int
        Bounds on the errors of h and of w, n numbers each, for each row of each level.
    f : int
        For each level, the sum of the terms of its prefix, and the error of the sum.
    twin : int
        1 if each row stands for a complex number per coordinate, real parts (x) before negated
        imaginary parts (y), and so for a second row (-y, x) as well; B is 1 then.
    own : int
        The rows of one worker, M numbers each, and the second one of a twin.
    own_slack : int
        Their errors, 2 numbers each.
    absent : int
        1 where a worker has fewer rows than B, else 0: B n numbers.
    before : int
        For each level, the energy of the workers before the last of its prefix, without the prefix.
    after : int
        The energy of all workers after each.
    sizes, part, rest, h2, w2, total, error, left, value, root, bound : int
        n numbers each.
    """

    n: int
    B: int
    M: int
    m: int
    level: int
    slack: int
    f: int
    twin: int
    own: int
    own_slack: int
    absent: int
    before: int
    after: int
    sizes: int
    part: int
    rest: int
    h2: int
    w2: int
    total: int
    error: int
    left: int
    value: int
    root: int
    bound: int


def layout(shape: tuple[int, int, int], m: int, levels: int, twin: bool) -> tuple[Layout, int]:
    """Offsets for blocks of a shape (B, M, n), and the length of the buffer."""
    B, M, n = shape
    level = B * M * n
    slack = levels * level
    f = slack + levels * 2 * B * n
    own = f + 2 * levels
    own_slack = own + (B + 1) * M
    absent = own_slack + 2 * B
    before = absent + B * n
    vectors = [before + levels + i * n for i in range(VECTORS + 1)]
    scalars = n, B, M, m, level, slack, f, int(twin), own, own_slack, absent, before
    return Layout(*scalars, *vectors[:-1]), vectors[-1]


@compiled
def push(F: Array, at: Layout, level: int, worker: int, begin: int) -> None:
    """Make the rows of all workers from `begin` on orthogonal to those of a worker.

    The result is the next level.
    """
    span = begin, at.n
    load(F, at, level, worker)
    for b in range(at.B):
        errors = normalise(F, at, level, worker, b)
        for a in range(at.B):
            _remove(F, at, (level if b == 0 else level + 1, level + 1), (a, b), errors, span)
        if at.twin:
            _second_of_twin(F, at)
            _remove(F, at, (level + 1, level + 1), (0, 1), errors, span)


@inlined
def _remove(
    F: Array,
    at: Layout,
    levels: tuple[int, int],
    rows: tuple[int, int],
    errors: Errors,
    span: tuple[int, int],
) -> None:
    """Make rows a of a span of workers orthogonal to own row b, from one level into another."""
    a, b = rows
    n, count, block = at.n, span[1] - span[0], a * at.M * at.n + span[0]
    move = levels[0] * at.level + block, levels[1] * at.level + block
    vectors = at.part, at.rest
    project(F, move, at.own + b * at.M, vectors, (at.m, at.M, n), count)
    slack = at.slack + span[0]
    move = slack + (levels[0] * at.B + a) * 2 * n, slack + (levels[1] * at.B + a) * 2 * n
    bend(F, move, vectors, errors, n, count)


@inlined
def _second_of_twin(F: Array, at: Layout) -> None:
    """Write (-y, x) for both parts, h and w, of own row 0 = (x, y) behind it."""
    for start, end in ((0, at.m), (at.m, at.M)):
        half = (end - start) // 2
        first, second = at.own + start, at.own + at.M + start
        for j in range(half):
            F[second + j] = -F[first + half + j]
            F[second + half + j] = F[first + j]


@inlined
def load(F: Array, at: Layout, level: int, worker: int) -> None:
    """Copy the rows of a worker that joins the prefix, and begin the sum of the next level."""
    n, f = at.n, at.f + 2 * level
    F[f + 2], F[f + 3] = F[f], F[f + 1]
    own, src, step = np.uint64(at.own), np.uint64(level * at.level + worker), np.uint64(n)
    for j in range(np.uint64(at.B * at.M)):
        F[own + j] = F[src + j * step]
    for e in range(2 * at.B):
        F[at.own_slack + e] = F[at.slack + (level * at.B * 2 + e) * n + worker]


@inlined
def normalise(F: Array, at: Layout, level: int, worker: int, b: int) -> Errors:
    """Divide own row b by |h|, add |w|^2 to the sum and make the own rows after b orthogonal.

    Returns the error of the direction of h, |w| and the error of w, after the division.
    """
    m, M = at.m, at.M
    row, slack, f = at.own + b * M, at.own_slack + 2 * b, at.f + 2 * (level + 1)
    rho = np.sqrt(F[at.absent + b * at.n + worker] + dot(F, row, row, m))
    scale(F, row, 1 / rho, M)
    y = np.sqrt(dot(F, row + m, row + m, M - m))
    turn = F[slack] / rho + UNIT
    error = F[slack + 1] / rho + y * turn
    F[f] += y * y
    F[f + 1] += 2 * y * error if turn < DOUBT else np.inf
    for a in range(b + 1, at.B):
        other, bent = at.own + a * M, at.own_slack + 2 * a
        part = dot(F, other, row, m)
        subtract(F, other, row, part, M)
        rest = np.sqrt(dot(F, other, other, m))
        F[bent + 1] += abs(part) * error + (F[bent] + rest * turn) * y
        F[bent] += abs(part) * turn
    return turn, y, error


@inlined
def complete_single(
    F: Array, at: Layout, level: int, errors: Errors, span: tuple[int, int]
) -> None:
    """Terms of each last worker of a span, its one row made orthogonal to own row 0 and its twin.

    Writes the sums with these terms to `total` and their errors to `error`.
    """
    first, count, n = span[0], span[1] - span[0], at.n
    source, row = level, at.own
    if at.twin:
        _remove(F, at, (level, level + 1), (0, 0), errors, span)
        _second_of_twin(F, at)
        source, row = level + 1, at.own + at.M
    copy(F, at.absent + first, at.h2, count)
    vectors = at.part, at.rest, at.h2, at.w2
    squares_of_rest(F, source * at.level + first, row, vectors, (at.m, at.M, n), count)
    slack = at.slack + source * 2 * n + first
    bend(F, (slack, at.left), (at.part, at.rest), errors, n, count)
    _begin(F, at, level + 1, count)
    _add_terms(F, at, at.left, at.left + n, count)


@compiled
def complete_block(F: Array, at: Layout, level: int, span: tuple[int, int]) -> None:
    """Terms of each last worker of a span with all its rows, made orthogonal in place.

    Writes the sums with these terms to `total` and their errors to `error`.
    """
    first, count = span[0], span[1] - span[0]
    m, M, n, block = at.m, at.M, at.n, at.M * at.n
    _begin(F, at, level, count)
    for b in range(at.B):
        row = level * at.level + b * block + first
        slack = at.slack + (level * at.B + b) * 2 * n + first
        copy(F, at.absent + b * n + first, at.h2, count)
        add_squares(F, row, at.h2, m, n, count)
        fill(F, at.w2, 0.0, count)
        add_squares(F, row + m * n, at.w2, M - m, n, count)
        _add_terms(F, at, slack, slack + n, count)
        for a in range(b + 1, at.B):
            other = level * at.level + a * block + first
            bent = at.slack + (level * at.B + a) * 2 * n + first
            project_pairs(F, (row, other), (at.part, at.h2), (m, M, n), count)
            fill(F, at.rest, 0.0, count)
            add_squares(F, other, at.rest, m, n, count)
            for i in range(count):
                rho, part = np.sqrt(F[at.h2 + i]), abs(F[at.part + i])
                turn, y = F[slack + i] / rho + UNIT, np.sqrt(F[at.w2 + i]) / rho
                F[bent + n + i] += part * (F[slack + n + i] + rho * y * turn)
                F[bent + n + i] += (F[bent + i] + np.sqrt(F[at.rest + i]) * turn) * y
                F[bent + i] += part * rho * turn


@inlined
def _begin(F: Array, at: Layout, level: int, count: int) -> None:
    """Begin with the sum of the prefix and its error."""
    f = at.f + 2 * level
    fill(F, at.total, F[f], count)
    fill(F, at.error, F[f + 1], count)


@inlined
def _add_terms(F: Array, at: Layout, slack_h: Index, slack_w: Index, count: Index) -> None:
    """Add |w|^2 / |h|^2 and its error to `total` and `error`."""
    h2, w2, total, error = (
        np.uint64(at.h2),
        np.uint64(at.w2),
        np.uint64(at.total),
        np.uint64(at.error),
    )
    slack_h, slack_w = np.uint64(slack_h), np.uint64(slack_w)
    for i in range(np.uint64(count)):
        share = 1 / np.sqrt(F[h2 + i])
        y = np.sqrt(F[w2 + i]) * share
        F[total + i] += y * y
        turn = F[slack_h + i] * share
        change = 2 * y * (y * (turn + UNIT) + F[slack_w + i] * share)
        F[error + i] += change if turn < DOUBT else np.inf
