"""Sets of replies that decode by themselves, and how they follow from the coefficients alone."""

import dataclasses
import functools
from abc import ABC, abstractmethod
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.balls import adjoint, orthonormal
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.rank import independent, residues
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """A set of replies that decodes by itself: D M_F = Q gives its decoding weights.

    Replies of the part are M x for some combinations x of the partial gradients, and Q x is the
    share of the sum that this part contributes.

    Attributes
    ----------
    rows : int array, shape (c,)
        The replies of the part.
    matrix : Coefficients, c x rho
        The decoding matrix M, of rank rho.
    target : Coefficients, m x rho
        Q.
    lost : Coefficients or None, c x s
        Where a scheme solves a system on the stragglers' rows of this matrix instead, it is what
        condition numbers are told of.
    """

    rows: Array
    matrix: Coefficients
    target: Coefficients
    lost: Coefficients | None = None

    def at(self, rows: Array) -> "Part":
        """The same part with other names of its replies."""
        return dataclasses.replace(self, rows=np.asarray(rows))


class Derivation(ABC):
    """The parts of a code that gives none: all replies together, or those of one pattern."""

    def __init__(self) -> None:
        self._known: dict[bytes, Part | None] = {}

    def stages(self, arrived: Array) -> list[tuple[Array, tuple[Part, ...]]]:
        """See `GradientCode.stages`.

        Parameters
        ----------
        arrived : bool array, shape (P, rows)
        """
        members: dict[Part, list[int]] = {}
        for at, row in enumerate(np.asarray(arrived, dtype=bool)):
            key = row.tobytes()
            if key not in self._known:
                self._known[key] = self._of(np.flatnonzero(row))
            part = self._known[key]
            if part is not None:
                members.setdefault(part, []).append(at)
        order = sorted(members, key=lambda part: part is not self.whole)
        return [(np.array(members[part]), (part,)) for part in order]

    def _of(self, rows: Array) -> Part | None:
        """The part that decodes one pattern, if there is one."""
        whole = self.whole
        full = whole is not None and len(rows) and self.rank(rows) == whole.matrix.shape[1]
        return whole if full else self.part(rows)

    @property
    @abstractmethod
    def whole(self) -> Part | None:
        """The part of all replies."""

    @abstractmethod
    def rank(self, rows: Array) -> int:
        """The rank of some rows of C^T."""

    @abstractmethod
    def part(self, rows: Array) -> Part | None:
        """All that some replies tell of the sum; None where they do not determine it."""


class Derived(Derivation):
    """Parts by exact rank.

    With N orthonormal columns that span the row space of C^T, of rank rho, all replies are one part
    with M = C^T N and Q = T N, whose condition numbers are those of C_F^T on its row space. Replies
    that determine the sum with a lower rank have a part of their own.

    Parameters
    ----------
    name : str
        Of the code, for messages.
    encoding : Coefficients, rows x (K m)
        C^T.
    reduction : int
        m.

    Raises
    ------
    InputError
        If the coefficients are not rational: balls do not tell a rank below the full one.

    Examples
    --------
    >>> sums = Coefficients.from_array(np.array([[1, 1], [2, 2], [1, 0]]))
    >>> arrived = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]) > 0
    >>> [(at.tolist(), parts[0].matrix.shape) for at, parts in Derived("", sums, 1).stages(arrived)]
    [([2], (3, 2)), ([0], (1, 1)), ([1], (2, 1))]
    """

    def __init__(self, name: str, encoding: Coefficients, reduction: int) -> None:
        super().__init__()
        if not encoding.is_rational:
            raise InputError(
                f"{name}: irrational coefficients without parts; allowed are rational ones, or "
                "parts that say how replies decode"
            )
        self.encoding = encoding
        self.target = sum_target(encoding.shape[1], reduction)
        self._residues, self._wanted = residues(encoding), residues(self.target)

    @functools.cached_property
    def whole(self) -> Part | None:
        """The part of all replies."""
        return self.part(np.arange(self.encoding.shape[0]))

    def rank(self, rows: Array) -> int:
        """The rank of some rows of C^T, certain to a probability of about 2^-61."""
        return len(self._basis(rows))

    def _basis(self, rows: Array) -> Array:
        return rows[independent([self._residues[i] for i in rows])]

    def part(self, rows: Array) -> Part | None:
        """All that some replies tell of the sum; None where they do not determine it."""
        if not len(rows):
            return None
        basis = self._basis(rows)
        together = [*(self._residues[i] for i in basis), *self._wanted]
        if len(independent(together)) > len(basis):
            return None

        @functools.cache
        def projected(bits: int) -> tuple[Any, Any]:
            return self._projected(rows, basis, bits)

        rho, complex_ = len(basis), self.encoding.is_complex
        matrix, target = (
            Coefficients(
                lambda bits, side=side: projected(bits)[side].tolist(),  # type: ignore[misc]
                (count, rho),
                complex=complex_,
            )
            for side, count in enumerate((len(rows), self.target.shape[0]))
        )
        return Part(rows, matrix, target)

    def _projected(self, rows: Array, basis: Array, bits: int) -> tuple[Any, Any]:
        """C^T N of some rows and T N in balls of about that many bits, N of rows of a basis."""
        working = bits + 64
        while True:
            with flint.ctx.workprec(working):
                R = self.encoding.rows(basis).balls(working)
                try:
                    N = orthonormal(adjoint(R), R * adjoint(R))
                except ZeroDivisionError:
                    working *= 2
                    continue
                matrix = self.encoding.rows(rows).balls(working) * N
                target = type(N)(self.target.balls(working)) * N
            if all(_radius(x) <= 2.0**-bits for x in (*matrix.entries(), *target.entries())):
                return matrix, target
            working *= 2


class Rounded(Derivation):
    """Parts of a float matrix, of which the row space holds the sum to rounding alone.

    The right singular vectors V above LAPACK's threshold, max(n, K) eps, span the row space; the
    weights of D B_F V = 1 V are the best there are but for a relative eps kappa. Whether they are
    good enough is asked for elsewhere: every pattern has a part.

    Parameters
    ----------
    matrix : float64 or complex128 array, shape (n, K)
        B.

    Examples
    --------
    >>> rounded = Rounded(np.array([[0.1, 0.1], [0.3, 0.3], [1.0, 0.0]]))
    >>> rounded.rank(np.array([0, 1])), rounded.whole.matrix.shape
    (1, (3, 2))
    """

    def __init__(self, matrix: Array) -> None:
        super().__init__()
        self.matrix = matrix

    @functools.cached_property
    def whole(self) -> Part:
        """The part of all replies."""
        return self.part(np.arange(len(self.matrix)))

    def rank(self, rows: Array) -> int:
        """The numerical rank of some rows of B."""
        return self._count(np.linalg.svd(self.matrix[rows], compute_uv=False))

    def _count(self, sigma: Array) -> int:
        small = max(self.matrix.shape) * float(np.finfo(sigma.dtype).eps)
        return int((sigma > small * sigma.max(initial=0)).sum())

    def part(self, rows: Array) -> Part:
        """The rows on their numerical row space."""
        _, sigma, V = np.linalg.svd(self.matrix[rows], full_matrices=False)
        basis = Coefficients.from_array(V[: self._count(sigma)].conj().T)
        received = Coefficients.from_array(self.matrix[rows])

        def times(left: Coefficients) -> Coefficients:
            def entries(bits: int) -> Any:
                working = bits + 64
                with flint.ctx.workprec(working):
                    V: Any = basis.balls(working)
                    return (type(V)(left.balls(working)) * V).tolist()

            return Coefficients(entries, (left.shape[0], basis.shape[1]), complex=basis.is_complex)

        return Part(rows, times(received), times(sum_target(self.matrix.shape[1], 1)))


def sum_target(columns: int, reduction: int) -> Coefficients:
    """T, from the entries of all pieces to those of the sum, shape (m, columns).

    Examples
    --------
    >>> sum_target(4, 2).rounded("float64")
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    at = np.arange(columns) % reduction
    return Coefficients.from_array(at == np.arange(reduction)[:, None])


def _radius(ball: Any) -> float:
    """The radius of a ball in units of its size, absolute below 1."""
    size = max(1.0, float(ball.abs_upper()))
    parts = (ball.real, ball.imag) if isinstance(ball, flint.acb) else (ball,)
    return max(float(part.rad()) for part in parts) / size
