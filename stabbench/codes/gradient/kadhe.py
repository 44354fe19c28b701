"""The communication-efficient framework: any linear code, shared by groups of workers."""

import dataclasses
import functools
import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.gradient import generators
from stabbench.codes.gradient.base import (
    GradientCode,
    constant,
    entries,
    load_field,
    reduction_field,
    settle_load,
    tradeoff,
)
from stabbench.codes.gradient.parts import Part
from stabbench.errors import InputError
from stabbench.files import SUFFIXES
from stabbench.grammar import near

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class GroupCode(GradientCode):
    """Workers in groups of d that hold the same d partitions and share one generator."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Load d and reduction m."""

    @functools.cached_property
    @abstractmethod
    def transposed(self) -> Coefficients:
        """The generator, transposed: d x m."""

    def validate(self) -> None:
        """Raise InputError unless d divides n."""
        d = self.sizes[0]
        if self.n % d:
            raise InputError(f"{self.name}: d={d} does not divide n={self.n}")

    @property
    def reduction(self) -> int:
        """m, the dimension of the generator."""
        return self.sizes[1]

    @functools.cached_property
    def placement(self) -> Array:
        """Blocks of ones."""
        d = self.sizes[0]
        return np.kron(np.eye(self.n // d), np.ones((d, d))) > 0

    def coefficients(self, bits: int) -> Any:
        """Entry ((i, u), (a, t)) is G[u, t] for every partition i of group a, else zero."""
        d, m = self.sizes
        table = entries(self.transposed, bits)
        rows = []
        for j in range(self.n):
            group, t = divmod(j, d)
            before, after = [0] * (group * d * m), [0] * ((self.n - group * d - d) * m)
            rows.append([*before, *table[t] * d, *after])
        return rows

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """One part per group, all with the same matrix."""
        d, m = self.sizes
        first = Part(np.arange(d), self.transposed, constant(np.eye(m, dtype=int).tolist()))
        return tuple(first.at(first.rows + start) for start in range(0, self.n, d))


@dataclasses.dataclass(frozen=True)
class Kadhe(GroupCode):
    """Any real linear [d, m, s + 1] code as a gradient code of load d and reduction m.

    Group a of d workers holds the same d partitions, with sum S_a; worker (a, t) sends
    y[v] = sum over u of G[u, t] S_a[v m + u]. Each group decodes from any m independent replies.

    Parameters
    ----------
    generator : str
        ``gaussian`` (the paper's own choice), ``repetition``, ``parity``, ``hamming``,
        ``vandermonde``, ``chebyshev``, ``systematic-gaussian`` or a file with G (m x d).
    d, m : int, optional
        Load and reduction; m = d - s where only d is given, d = s + m where only m is.
    seed, select : int
        The random draw, and of how many draws to keep the best.

    Raises
    ------
    InputError
        d that does not divide n, m > d - s, a generator whose minimum distance is below s + 1
        (the erasure that fails is named).

    Examples
    --------
    >>> code = Kadhe(20, 2, generator="chebyshev", d=5, m=3)
    >>> code.minimum_distance, code.tradeoff
    (3, 'd = 5 >= s + m = 5 (met with equality)')
    """

    generator: str = dataclasses.field(
        default="gaussian",
        metadata={
            "help": "gaussian | repetition | parity | hamming | vandermonde | chebyshev | "
            "systematic-gaussian, or a file"
        },
    )
    d: int | None = load_field()
    m: int | None = reduction_field()
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})
    select: int = dataclasses.field(default=1, metadata={"help": "keep the best of N draws"})

    name: ClassVar[str] = "kadhe"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Kadhe, Koyluoglu, Ramchandran, arXiv:2005.07184"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "gradient"})

    def validate(self) -> None:
        """Raise InputError for contradicting sizes and for claims that the generator breaks."""
        super().validate()
        self.require(seed=0, select=1)
        if self.generator not in (*generators.NAMED, *generators.RANDOM) and not any(
            suffix in self.generator for suffix in SUFFIXES
        ):
            names = (*generators.NAMED, *generators.RANDOM)
            raise InputError(
                f"kadhe: unknown generator {self.generator!r}; {near(self.generator, names)}, "
                f"or a file ({', '.join(SUFFIXES)})"
            )
        gone = self._erasure_that_fails()
        if gone is not None:
            raise InputError(
                f"kadhe: generator {self.generator} does not tolerate stragglers="
                f"{self.stragglers}: without workers {list(gone)} of a group its rank falls below "
                f"m={self.sizes[1]}; allowed are stragglers < minimum distance = "
                f"{generators.minimum_distance(self.transposed)}"
            )

    def _erasure_that_fails(self) -> tuple[int, ...] | None:
        """Enumerated, but for theorems and for draws too large, which are MDS almost surely."""
        d, drawn = self.sizes[0], self.generator in generators.RANDOM
        many = math.comb(d, self.stragglers) > generators.ENUMERATED
        if self.is_mds or (drawn and many):
            return None
        if many:
            raise InputError(
                f"kadhe: {math.comb(d, self.stragglers)} sets of stragglers={self.stragglers} of "
                f"d={d}; allowed are {generators.ENUMERATED} for a generator to be checked"
            )
        return generators.erasure_that_fails(self.transposed, self.stragglers)

    @functools.cached_property
    def sizes(self) -> tuple[int, int]:
        """Load d and reduction m."""
        d, m = self.d, self.m
        if self.generator == "hamming" and d is None and m is None:
            d, m = 7, 4
        if self.generator == "repetition" and m is None:
            m = 1
        return settle_load(self, d, m)

    @property
    def is_mds(self) -> bool:
        """Whether any m columns of the generator are independent by theorem."""
        return self.generator in ("vandermonde", "chebyshev", "repetition")

    @functools.cached_property
    def transposed(self) -> Coefficients:
        """The generator, transposed: d x m."""
        d, m = self.sizes
        if self.generator in generators.NAMED:
            return generators.named(self.generator, d, m)
        if self.generator in generators.RANDOM:
            return Coefficients.from_array(generators.drawn(self.generator, d, m, self.chosen_seed))
        file = self.file_of("generator")
        assert file is not None
        return Coefficients.from_array(generators.from_file(file, d, m))

    @functools.cached_property
    def chosen_seed(self) -> int:
        """The seed of the draw that `select` keeps."""
        if self.select == 1:
            return self.seed
        d, m = self.sizes

        def quality(seed: int) -> float:
            return generators.worst_sigma(generators.drawn(self.generator, d, m, seed), m)

        return max(range(self.seed, self.seed + self.select), key=quality)

    @functools.cached_property
    def minimum_distance(self) -> int:
        """The minimum distance of the generator, by theorem or by rank enumeration.

        That of draws too large to be enumerated is the one that they have almost surely.
        """
        d, m = self.sizes
        erasures = sum(math.comb(d, e) for e in range(1, d - m + 1))
        sure = self.generator in generators.RANDOM and erasures > generators.ENUMERATED
        return d - m + 1 if self.is_mds or sure else generators.minimum_distance(self.transposed)

    @property
    def tradeoff(self) -> str:
        """How d, m and the minimum distance stand to the bound d >= s + m of Ye and Abbe."""
        return tradeoff(self.sizes[0], self.minimum_distance - 1, self.sizes[1])

    def union_bound(self, kappa: float) -> float:
        """Chen and Dongarra's bound on P(worst kappa of a Gaussian generator > kappa).

        2.56 m C(d, s) / kappa, the same for every n since all groups share the generator.

        Examples
        --------
        >>> round(Kadhe(5, 2, d=5, m=3).union_bound(1e3), 4)
        0.0768
        """
        d, m = self.sizes
        return 2.56 * m * math.comb(d, d - m) / kappa


@dataclasses.dataclass(frozen=True)
class FractionalRepetition(GroupCode):
    """Groups of s + 1 workers that all send the plain sum of the same s + 1 partitions.

    Raises
    ------
    InputError
        Unless s + 1 divides n.

    Examples
    --------
    >>> FractionalRepetition(4, 1).encoding.rounded("float64").tolist()[0]
    [1.0, 1.0, 0.0, 0.0]
    """

    name: ClassVar[str] = "fractional-repetition"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Tandon, Lei, Dimakis, Karampatziakis, arXiv:1612.03301"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "binary", "gradient"})
    closed: ClassVar[str] = "the mean of the replies of each group"

    @property
    def sizes(self) -> tuple[int, int]:
        """Load s + 1 and reduction 1."""
        return self.stragglers + 1, 1

    @functools.cached_property
    def transposed(self) -> Coefficients:
        """A column of ones."""
        return constant([[1]] * (self.stragglers + 1))

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """One over the survivors of the group; NaN where a group lost all."""
        d = self.stragglers + 1
        sums = arrived.reshape(len(arrived), -1, d).sum(axis=2, dtype=dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = arrived / np.repeat(sums, d, axis=1)
        return np.asarray(weights, dtype=dtype)[:, None]
