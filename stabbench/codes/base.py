"""What a code is: parameters, exact coefficients, and the system of operators built from them."""

import dataclasses
import functools
import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.operators import Dense, Operator
from stabbench.errors import InputError, require_least
from stabbench.files import Input
from stabbench.grammar import canonical
from stabbench.plugins import inputs_field, note_inputs

Array = np.ndarray[Any, np.dtype[Any]]
FIXED = ("n", "stragglers")


@dataclasses.dataclass(frozen=True)
class System:
    """A code at work: what every worker is sent, and what its replies say of the unknowns.

    Attributes
    ----------
    encoders : tuple of Operator
        One per operand that is coded.
    reply : Operator
        Phi, from the unknown blocks to the replies.
    owner : int array, shape (rows,)
        The worker that sends each row; a worker may send several.
    target : Coefficients, optional
        T, what is wanted of the unknowns; all of them where there is none.
    """

    encoders: tuple[Operator, ...]
    reply: Operator
    owner: Array
    target: Coefficients | None = None

    @property
    def workers(self) -> int:
        """Number of workers."""
        return int(self.owner.max()) + 1

    def holder(self, operand: int) -> Array:
        """The worker that holds each share of an operand."""
        return self.owner

    def batches(self, patterns: Array) -> list[tuple[Array, Array]]:
        """Patterns by the number of rows that they bring: indices (Q,) and row indices (Q, r).

        Parameters
        ----------
        patterns : int array, shape (P, n)
        """
        counts = (patterns[:, self.owner] > 0).sum(axis=1)
        groups = [np.flatnonzero(counts == count) for count in np.unique(counts)]
        return [(group, self.rows(patterns[group])) for group in groups]

    def rows(self, patterns: Array) -> Array:
        """Row indices that arrive, shape (P, r), for patterns with equal numbers of messages.

        Parameters
        ----------
        patterns : int array, shape (P, n)
            How many messages of each worker arrived; 1 stands for all rows of a one-message worker.
        """
        arrived = patterns[:, self.owner] > 0
        counts = arrived.sum(axis=1)
        if counts.size and (counts != counts[0]).any():
            raise ValueError("patterns of one batch must bring equal numbers of rows")
        return np.nonzero(arrived)[1].reshape(len(patterns), -1)


@dataclasses.dataclass(frozen=True)
class Code(ABC):
    """A coded-computing scheme: its parameters, and nothing that depends on data or precision.

    Parameters
    ----------
    n : int
        Number of workers.
    stragglers : int
        Number of workers s that may fail to reply.

    Attributes
    ----------
    inputs : tuple of Input
        The files that it is made of, by path and content: those that its text parameters name, and
        a user's Python files. Codes with other contents are other codes.

    Raises
    ------
    InputError
        If n < 1, s < 0, s >= n, or fewer than `threshold` workers are left without the stragglers.
    """

    n: int
    stragglers: int
    inputs: tuple[Input, ...] = inputs_field()

    name: ClassVar[str] = ""
    imported: ClassVar[tuple[Input, ...]] = ()
    """Files that define the class, of a user's."""
    family: ClassVar[str] = ""
    source: ClassVar[str] = ""
    groups: ClassVar[frozenset[str]] = frozenset()
    problems: ClassVar[tuple[str, ...]] = ("matvec",)
    dense: ClassVar[bool] = False
    """Whether the reply map is a matrix of coefficients, which dense decoders need."""

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Permutations of the workers that leave the condition numbers of all patterns as they are.

        ``cyclic``: i + 1 modulo n; ``reflection``: n - 1 - i; ``dihedral``: both.
        """
        return None

    def __post_init__(self) -> None:
        """Check n, the stragglers and the threshold, then what the family itself demands."""
        label = self.name or type(self).__name__
        for field, value in (("n", self.n), ("stragglers", self.stragglers)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise InputError(f"{label}: {field}={value!r}; allowed is an integer")
        if self.n < 1:
            raise InputError(f"{label}: n={self.n} workers; allowed is n >= 1")
        if not 0 <= self.stragglers < self.n:
            raise InputError(
                f"{label}: stragglers={self.stragglers} of n={self.n}; allowed is 0 .. n-1"
            )
        note_inputs(self)
        self.validate()
        if self.threshold is not None and self.n - self.stragglers < self.threshold:
            raise InputError(
                f"{label}: n={self.n}, stragglers={self.stragglers} leave "
                f"{self.n - self.stragglers} replies; the code needs {self.threshold}"
            )

    def validate(self) -> None:  # noqa: B027  (most families have nothing to add)
        """Raise InputError if the family's own parameters contradict each other."""

    def file_of(self, parameter: str) -> Input | None:
        """The file that a parameter names, with the content that belongs to this code.

        `stabbench.files.read_array` reads it; None where the parameter is not given.
        """
        path = getattr(self, parameter)
        if path is None:
            return None
        found = (named for named in self.inputs if named.path == os.fspath(path))
        return next(found, Input(os.fspath(path), ""))

    def require(self, **least: int) -> None:
        """Raise InputError if a parameter that is given is below its least value, as in seed=0."""
        require_least({key: getattr(self, key) for key in least}, self.name, **least)

    def refuses(self, problem: str) -> str:
        """Why the code does not serve a problem, an empty string where it does."""
        return "" if problem in self.problems else f"the code is not for problem {problem}"

    @property
    @abstractmethod
    def threshold(self) -> int | None:
        """Number of workers whose replies suffice, None where no fixed number does."""

    @abstractmethod
    def system(self, problem: str = "matvec") -> System:
        """The operators of the code for a problem that it serves."""

    @property
    def spec(self) -> str:
        """The grammar string that builds this code again, without defaults."""
        return canonical(self, self.name, FIXED)

    @property
    def full_spec(self) -> str:
        """The grammar string with every parameter, the identity of the code."""
        return canonical(self, self.name, FIXED, full=True)

    def __str__(self) -> str:
        return self.spec


def data_blocks(default: str = "n - stragglers") -> Any:
    """The field of the parameter k, the number of data blocks; the default in words."""
    return dataclasses.field(default=None, metadata={"help": f"data blocks (default {default})"})


@dataclasses.dataclass(frozen=True)
class LinearCode(Code):
    """A code given by a generator: reply i is the combination of blocks in row i.

    A subclass states `name` and writes `coefficients`; everything else follows.

    Parameters
    ----------
    k : int, optional
        Number of data blocks, n - stragglers unless given.

    Examples
    --------
    >>> class Parity(LinearCode):
    ...     name = "parity"
    ...
    ...     def coefficients(self, bits):
    ...         return np.vstack(
    ...             [np.eye(self.blocks), np.ones((self.n - self.blocks, self.blocks))]
    ...         )
    >>> Parity(4, 1).generator.rounded("float64")[-1]
    array([1., 1., 1.])
    """

    k: int | None = data_blocks()

    dense: ClassVar[bool] = True

    @property
    def blocks(self) -> int:
        """The number of data blocks after defaults."""
        return self.n - self.stragglers if self.k is None else self.k

    def validate(self) -> None:
        """Raise InputError if k is no number of blocks."""
        if self.blocks < 1:
            raise InputError(f"{self.name}: k={self.blocks} data blocks; allowed is k >= 1")

    @property
    def threshold(self) -> int | None:
        """Replies that suffice: k for an MDS code."""
        return self.blocks

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the generator (over all workers) and unknown blocks."""
        return self.n, self.blocks

    @property
    def is_complex(self) -> bool:
        """Whether the coefficients are complex numbers."""
        return False

    @abstractmethod
    def coefficients(self, bits: int) -> Any:
        """The generator, entries exact or as balls of `bits` bits, shape `shape`.

        Entries may be int, float, Fraction, flint numbers and balls, or mpmath numbers.
        """

    @functools.cached_property
    def generator(self) -> Coefficients:
        """The generator as exact or arbitrarily precise coefficients."""
        return Coefficients(self.coefficients, self.shape, complex=self.is_complex)

    @property
    def owner(self) -> Array:
        """The worker of each row of the generator, shape (rows,)."""
        rows = self.shape[0]
        return np.arange(rows) // (rows // self.n)

    def system(self, problem: str = "matvec") -> System:
        """Encoder and reply map, which are the same matrix for a matrix-vector product."""
        operator = Dense(self.generator)
        return System((operator,), operator, self.owner)
