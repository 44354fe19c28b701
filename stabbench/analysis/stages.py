"""The error of one decoding split exactly into its stages, over all entries of the answer."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import Budget
from stabbench.arithmetic.quotients import LeftInverse, Quotient, integer_matrix
from stabbench.arithmetic.streams import stream

Array = np.ndarray[Any, np.dtype[Any]]
Decode = Callable[[Quotient], Quotient]
MOST_UNKNOWNS = 512
"""Real unknowns of exact decoding."""
MOST_WORK = 1e8
"""Products of 64-bit words of the exact decoding of one budget, at about 20 ns each: 2 to 3 s.

Up to that all entries enter by themselves: 3.5e5 of 28 blocks in float64 (6 s in all), 9e6 of 8
blocks in float32. What does not depend on the code takes 5 to 15 us an entry, two to four times
the exact reference.
"""
SKETCHES = (2048, 1024, 512, 256, 128, 64, 32, 16)
"""Sums of random sign that stand for the columns of a larger answer, as many as the work allows."""
PIECE = 1 << 16
"""Entries of the answer that are held as long integers at one time."""


@dataclasses.dataclass(frozen=True)
class Stages:
    """Vectors of one decoding, complex ones as real over imaginary parts, one row each reply.

    Attributes
    ----------
    encoded, computed : Quotient
        Exact replies to the rounded shares, the rounded replies.
    estimate, exact : Quotient
        What the decoder returned, and the exact result.
    ideal : Quotient, optional
        Exact replies to exact shares; none where these decode to the exact result.
    """

    encoded: Quotient
    computed: Quotient
    estimate: Quotient
    exact: Quotient
    ideal: Quotient | None = None


def stage_vectors(decode: Decode, stages: Stages) -> dict[str, Quotient]:
    """Error vectors of the stages, which add up to the error exactly.

    Parameters
    ----------
    decode : callable
        The linear map of exact decoding.
    stages : Stages

    Raises
    ------
    ZeroDivisionError
        If the received rows have a rank below the number of unknowns.
    """
    vectors = {}
    if stages.ideal is None:
        vectors["encode"] = decode(stages.encoded) - stages.exact
    else:
        vectors["approximation"] = decode(stages.ideal) - stages.exact
        vectors["encode"] = decode(stages.encoded - stages.ideal)
    vectors["compute"] = decode(stages.computed - stages.encoded)
    rest = stages.estimate - stages.exact
    for vector in vectors.values():
        rest = rest - vector
    return vectors | {"decode": rest}


class Sketch:
    """Sums of the columns of an answer with random signs, whose norms estimate those of the whole.

    Every column enters one of T sums, so no error can hide beside those that are looked at. The
    expected squared norm is that of all columns, with a relative standard deviation of at most
    sqrt(2 / T), reached by errors of rank one; that of the norm is half of it.

    Parameters
    ----------
    sums : int
        T.

    Notes
    -----
    Charikar, Chen, Farach-Colton, Finding frequent items in data streams, Theor. Comput. Sci. 312
    (2004); the signs and places come from a fixed seed, so that a budget can be computed again.
    """

    def __init__(self, sums: int) -> None:
        self.sums = sums
        self._random = stream("signs of sketches", sums)
        self._stages: Stages | None = None

    @property
    def standard_error(self) -> float:
        """Bound of the relative standard error of a norm."""
        return float(1 / np.sqrt(2 * self.sums))

    def add(self, stages: Stages) -> None:
        """Let the columns of further stages enter."""
        columns = stages.exact.shape[1]
        places = self._random.integers(self.sums, size=columns)
        signs = 2 * self._random.integers(2, size=columns) - 1
        found = _each(lambda part: self._summed(part, places, signs), stages)
        if self._stages is not None:
            found = _each(lambda one, two: one + two, self._stages, found)
        self._stages = found

    def stages(self) -> Stages:
        """The sums of all that entered."""
        assert self._stages is not None
        return self._stages

    def _summed(self, part: Quotient, places: Array, signs: Array) -> Quotient:
        rows, _ = part.shape
        sums = np.zeros((self.sums, rows), dtype=object)
        np.add.at(sums, places, (part.entries() * signs.astype(object)).T)
        return Quotient(integer_matrix(sums.T), part.over)


def _each(function: Callable[..., Quotient], *stages: Stages) -> Stages:
    fields = [field.name for field in dataclasses.fields(Stages)]
    parts = {name: [getattr(one, name) for one in stages] for name in fields}
    found: dict[str, Any] = {k: None if v[0] is None else function(*v) for k, v in parts.items()}
    return Stages(**found)


def pieces(length: int, width: int) -> Iterator[slice]:
    """Slices of the rows of an answer's blocks, each of about `PIECE` entries.

    Parameters
    ----------
    length : int
        Rows of a block.
    width : int
        Entries of the answer in one row of all blocks.

    Examples
    --------
    >>> [piece.stop for piece in pieces(10, PIECE // 4)]
    [4, 8, 12]
    """
    step = max(1, PIECE // max(1, width))
    return (slice(start, start + step) for start in range(0, length, step))


def split(
    kind: type[Budget], decode: Decode, parts: Iterable[Stages], sketch: Sketch | None = None
) -> Budget:
    """Norms of the stages relative to the exact result.

    Parameters
    ----------
    kind : type
        Budget, or StageBudget where the stages hold `Stages.ideal`.
    decode : callable
        See `stage_vectors`.
    parts : iterable of Stages
        The columns of the answer piece by piece.
    sketch : Sketch, optional
        Takes the columns in place of decoding them all.
    """
    squares: dict[str, flint.fmpq] = {}

    def add(name: str, vector: Quotient) -> None:
        squares[name] = squares.get(name, flint.fmpq(0)) + vector.square()

    def decoded(stages: Stages) -> None:
        for name, vector in stage_vectors(decode, stages).items():
            add(name, vector)

    for stages in parts:
        add("exact", stages.exact)
        add("total", stages.estimate - stages.exact)
        if sketch is None:
            decoded(stages)
        else:
            sketch.add(stages)
    if sketch is not None:
        decoded(sketch.stages())
    exact = squares.pop("exact")
    size = exact if exact != 0 else flint.fmpq(1)
    with flint.ctx.workprec(128):
        norms = {name: float(flint.arb(square / size).sqrt()) for name, square in squares.items()}
    return kind(**norms, standard_error=0.0 if sketch is None else sketch.standard_error)


def solved(
    kind: type[Budget],
    received: tuple[Quotient, bool],
    parts: Iterable[Stages],
    columns: int,
    target: Quotient | None = None,
) -> Budget | str:
    """The budget of a code that is decoded by the left inverse of the rows that arrived.

    Parameters
    ----------
    kind : type
        Budget, or StageBudget where the stages hold `Stages.ideal`.
    received : Quotient and bool
        The reply map's rows as stored, and whether they are `acting` on complex vectors.
    parts : iterable of Stages
    columns : int
        Of all parts together.
    target : Quotient, optional
        What is wanted of the unknowns.

    Returns
    -------
    Budget or str
        Why there is none, where exact decoding takes too much work.
    """
    matrix, is_complex = received
    unknowns, sides = matrix.shape[1] >> is_complex, 2 + (kind is not Budget)
    if reason := beyond(matrix.shape[1], MOST_UNKNOWNS, "real unknowns"):
        return reason
    inverse, sketch = LeftInverse(matrix, is_complex), None
    if inverse.work(sides * columns) > MOST_WORK:
        fits = [t for t in SKETCHES if t < columns and inverse.work(sides * t) <= MOST_WORK]
        if not fits:
            work = inverse.work(sides * min(columns, SKETCHES[-1]))
            return (
                f"{unknowns} unknowns take {work:.1e} products of words; exact arithmetic takes "
                f"up to {MOST_WORK:.0e}"
            )
        columns, sketch = fits[0], Sketch(fits[0])
    inverse.form(sides * columns)
    if target is None:
        return split(kind, inverse, parts, sketch)
    return split(kind, lambda sides: target * inverse(sides), parts, sketch)


def beyond(count: int, most: int, what: str = "unknowns") -> str:
    """Why there is no budget of so many unknowns, an empty string up to the most allowed.

    Examples
    --------
    >>> beyond(200, 128)
    '200 unknowns; exact arithmetic takes up to 128'
    """
    return f"{count} {what}; exact arithmetic takes up to {most}" if count > most else ""
