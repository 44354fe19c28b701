"""What a decoder is: a plan made from the survivors alone, then decoding of replies."""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.errors import InputError
from stabbench.files import Input
from stabbench.grammar import canonical
from stabbench.plugins import inputs_field

Array = np.ndarray[Any, np.dtype[Any]]
Spare = Literal["use", "drop"]


class Plan(ABC):
    """All that decoding needs of the survivors, for a batch of patterns.

    Attributes
    ----------
    rows : int array, shape (P, r)
        The replies that decoding reads, per pattern.
    """

    rows: Array

    @abstractmethod
    def decode(self, replies: Array) -> Array:
        """Estimates of the unknown blocks.

        Parameters
        ----------
        replies : array, shape (rows of the system, L, m), in storage precision

        Returns
        -------
        array, shape (P, unknowns, L, m), in decoding precision, complex if the code or the replies
        are; not finite where decoding broke down or overflowed
        """

    def ready(self, replies: Array) -> "Plan":
        """The plan after all planning that needs the shape of the replies; most need none."""
        return self

    def operations(self, replies: Array, sent: Array) -> Array | None:
        """Real floating-point operations of `decode` per pattern, shape (P,), planning left out.

        Parameters
        ----------
        replies : array, shape (rows of the system, L, m)
        sent : int array, shape (rows of the system,)
            Numbers of each reply that are no padding.

        Returns
        -------
        array, shape (P,); None where a decoder does not count them
        """
        return None


def is_wide(precision: Precision) -> bool:
    """Whether decoding is in a longdouble that is wider than float64."""
    return bool(precision.decode == np.longdouble and precision.decode != np.float64)


def split(array: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in the type of a decoder; complex ones of a real decoder as two real columns each.

    Examples
    --------
    >>> split(np.array([[1 + 2j, 3 - 4j]]), np.dtype("float32"))
    array([[ 1.,  2.,  3., -4.]], dtype=float32)
    """
    if dtype.kind == "c" or not np.iscomplexobj(array):
        return array.astype(dtype, copy=False)
    return array.astype(np.result_type(dtype, np.complex64), order="C", copy=False).view(dtype)


def joined(columns: Array, replies: Array) -> Array:
    """Inverse of `split`: complex numbers again where the replies are complex.

    Examples
    --------
    >>> joined(np.array([1.0, 2.0]), np.array([0j]))
    array([1.+2.j])
    """
    if columns.dtype.kind == "c" or not np.iscomplexobj(replies):
        return columns
    return np.ascontiguousarray(columns).view(np.result_type(columns, np.complex64))


def width(replies: Array, dtype: np.dtype[Any]) -> int:
    """Columns of `as_columns`.

    Examples
    --------
    >>> width(np.ones((2, 3, 1), complex), np.dtype("float64"))
    6
    """
    parts = 2 if np.iscomplexobj(replies) and dtype.kind != "c" else 1
    return int(math.prod(replies.shape[1:])) * parts


def as_columns(replies: Array, dtype: np.dtype[Any]) -> Array:
    """Replies (rows, L, m) `split` for a decoder, one row each: shape (rows, width)."""
    return split(replies, dtype).reshape(len(replies), -1)


def as_blocks(estimates: Array, replies: Array) -> Array:
    """Estimates (P, k, width) of such columns as blocks of the replies' shape, (P, k, L, m)."""
    whole = joined(estimates, replies)
    return whole.reshape(*whole.shape[:2], *replies.shape[1:])


@dataclasses.dataclass(frozen=True)
class Decoder(ABC):
    """How replies become the answer; the parameters are those of the grammar.

    Attributes
    ----------
    inputs : tuple of Input
        The files that it is made of, as for `Code`, once the registry has built it.
    """

    inputs: tuple[Input, ...] = inputs_field()

    name: ClassVar[str] = ""
    imported: ClassVar[tuple[Input, ...]] = ()
    """Files that define the class, of a user's."""
    source: ClassVar[str] = ""
    growth: ClassVar[Literal["amplification", "elimination"]] = "amplification"
    """Which measure of the conditions predicts this decoder's error."""
    uses_spare: ClassVar[bool] = True
    """Whether replies beyond the number of unknowns can enter."""
    may_fail: ClassVar[bool] = False
    """Whether patterns of full rank can be beyond this decoder; its plans then say `solved`."""

    def unit(self, precision: Precision) -> float:
        """Unit round-off of the decoder's own arithmetic."""
        return precision.decoding.unit

    @abstractmethod
    def accepts(self, code: Code) -> str:
        """Why this decoder cannot decode `code`, an empty string where it can."""

    def accepts_precision(self, precision: Precision) -> str:
        """Why this decoder cannot run in `precision`, an empty string where it can."""
        return f"{self.name} runs on LAPACK, which has no longdouble" if is_wide(precision) else ""

    def accepts_size(self, code: Code, system: System, lengths: tuple[int, ...]) -> str:
        """Why blocks of these lengths are out of reach, an empty string where they are not.

        Parameters
        ----------
        code : Code
        system : System
        lengths : tuple of int
            Rows of a block of every coded operand.
        """
        return ""

    @abstractmethod
    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Prepare the decoding of many patterns at once.

        Parameters
        ----------
        code : Code
        system : System
            Built by `code`.
        patterns : int array, shape (P, n)
            Messages that arrived, the same number of rows in every pattern.
        precision : Precision
        spare : {"use", "drop"}
            Whether replies beyond the number of unknowns enter (least squares) or the first
            independent ones, in worker order, are chosen.
        """

    @property
    def spec(self) -> str:
        """The grammar string of this decoder, without defaults."""
        return canonical(self, self.name)

    @property
    def full_spec(self) -> str:
        """The grammar string with every parameter."""
        return canonical(self, self.name, full=True)

    def __str__(self) -> str:
        return self.spec


@dataclasses.dataclass(frozen=True)
class Batches(Plan):
    """Plans of patterns that bring different numbers of rows.

    Attributes
    ----------
    members : list of int arrays
        The patterns of each plan.
    plans : list of Plan
    rows : int array, shape (P, most rows)
        Padded with -1.
    """

    members: list[Array]
    plans: list[Plan]

    @property
    def rows(self) -> Array:  # type: ignore[override]
        """The replies that decoding reads, padded with -1."""
        widest = max(plan.rows.shape[1] for plan in self.plans)
        rows = np.full((sum(map(len, self.members)), widest), -1)
        for members, plan in zip(self.members, self.plans, strict=True):
            rows[members, : plan.rows.shape[1]] = plan.rows
        return rows

    def decode(self, replies: Array) -> Array:
        """Estimates of all plans in the order of the patterns."""
        parts = [plan.decode(replies) for plan in self.plans]
        return np.concatenate(parts)[self._order]

    def ready(self, replies: Array) -> "Batches":
        """Every plan made ready."""
        return dataclasses.replace(self, plans=[plan.ready(replies) for plan in self.plans])

    def operations(self, replies: Array, sent: Array) -> Array | None:
        """Those of all plans in the order of the patterns; None unless all count them."""
        parts = [plan.operations(replies, sent) for plan in self.plans]
        counted = [part for part in parts if part is not None]
        return np.concatenate(counted)[self._order] if len(counted) == len(parts) else None

    @property
    def _order(self) -> Array:
        return np.argsort(np.concatenate(self.members))


def by_batches(system: System, patterns: Array, plan: Callable[[Array], Plan]) -> Plan:
    """One plan for all patterns, made from plans of those that bring equally many rows.

    Parameters
    ----------
    system : System
    patterns : int array, shape (P, n)
    plan : callable
        From row indices (Q, r) to their plan.
    """
    groups = system.batches(patterns)
    if len(groups) == 1:
        return plan(groups[0][1])
    return Batches([members for members, _ in groups], [plan(rows) for _, rows in groups])


def require(decoder: Decoder, code: Code) -> None:
    """Raise InputError if the decoder does not apply to the code."""
    reason = decoder.accepts(code)
    if reason:
        raise InputError(f"decoder {decoder.spec} with {code.spec}: {reason}")
