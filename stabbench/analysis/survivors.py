"""Straggler patterns: which workers reply. A policy depends on n and the count, never on a code."""

import dataclasses
import itertools
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Policy(ABC):
    """A rule that lists patterns.

    Parameters
    ----------
    survivors : int, optional
        How many workers reply, n - stragglers unless given.
    """

    survivors: int | None = dataclasses.field(
        default=None, metadata={"help": "workers that reply (default n - stragglers)"}
    )

    name: ClassVar[str] = ""

    @abstractmethod
    def sets(self, n: int, count: int, seed: int) -> Array:
        """Survivor sets, each sorted, as an int array (P, count) without repetition."""

    def exhaustive(self, n: int, count: int) -> bool:
        """Whether every survivor set is listed."""
        return False

    def patterns(self, n: int, stragglers: int, seed: int = 0) -> Array:
        """Patterns as 0/1 messages per worker, shape (P, n).

        Raises
        ------
        InputError
            If `survivors` is no possible number.
        """
        count = self.count(n, stragglers)
        sets = self.sets(n, count, seed)
        patterns = np.zeros((len(sets), n), dtype=np.int8)
        np.put_along_axis(patterns, sets, 1, axis=1)
        return patterns

    def count(self, n: int, stragglers: int) -> int:
        """The number of workers that reply."""
        count = n - stragglers if self.survivors is None else self.survivors
        if not n - stragglers <= count <= n:
            raise InputError(
                f"patterns {self}: survivors={count}; allowed is {n - stragglers} .. {n}"
            )
        return count

    def label(self, n: int, stragglers: int) -> str:
        """How far the worst of these patterns is the worst of all."""
        if self.exhaustive(n, self.count(n, stragglers)):
            return "exhaustive"
        return "search (lower bound)"

    def __str__(self) -> str:
        return canonical(self, self.name)


@dataclasses.dataclass(frozen=True)
class All(Policy):
    """Every survivor set, in lexicographic order of the survivors."""

    name: ClassVar[str] = "all"
    LIMIT: ClassVar[int] = 2_000_000

    def sets(self, n: int, count: int, seed: int) -> Array:
        """All combinations."""
        total = math.comb(n, count)
        if total > self.LIMIT:
            raise InputError(
                f"patterns all: {total} survivor sets of n={n}; allowed are {self.LIMIT}; "
                "use random[number=N] or auto"
            )
        flat = itertools.chain.from_iterable(itertools.combinations(range(n), count))
        return np.fromiter(flat, dtype=np.int64, count=total * count).reshape(total, count)

    def exhaustive(self, n: int, count: int) -> bool:
        """Always."""
        return True


@dataclasses.dataclass(frozen=True)
class Random(Policy):
    """Distinct random survivor sets, every one where there are no more than asked for.

    Parameters
    ----------
    number : int
        How many sets; ``random:N`` is short for ``random[number=N]``.
    """

    number: int = dataclasses.field(default=200, metadata={"help": "number of random sets"})

    name: ClassVar[str] = "random"

    def __post_init__(self) -> None:
        """Check the number."""
        if self.number < 1:
            raise InputError(f"patterns random: number={self.number}; allowed is >= 1")

    def sets(self, n: int, count: int, seed: int) -> Array:
        """A sample without repetition, sorted."""
        if math.comb(n, count) <= self.number:
            return All().sets(n, count, seed)
        random = stream("random survivors", seed, n, count)
        found: dict[tuple[int, ...], None] = {}
        while len(found) < self.number:
            keys = random.random((self.number, n))
            for row in np.sort(np.argpartition(keys, count - 1, axis=1)[:, :count], axis=1):
                found[tuple(row.tolist())] = None
        return np.array(sorted(itertools.islice(found, self.number)), dtype=np.int64)

    def exhaustive(self, n: int, count: int) -> bool:
        """If there are no more sets than asked for."""
        return math.comb(n, count) <= self.number


@dataclasses.dataclass(frozen=True)
class First(Policy):
    """One pattern: the first workers straggle."""

    name: ClassVar[str] = "first"

    def sets(self, n: int, count: int, seed: int) -> Array:
        """The last `count` workers reply."""
        return np.arange(n - count, n)[None]


@dataclasses.dataclass(frozen=True)
class Last(Policy):
    """One pattern: the last workers straggle."""

    name: ClassVar[str] = "last"

    def sets(self, n: int, count: int, seed: int) -> Array:
        """The first `count` workers reply."""
        return np.arange(count)[None]


@dataclasses.dataclass(frozen=True)
class Contiguous(Policy):
    """The stragglers are neighbours, cyclically: n patterns."""

    name: ClassVar[str] = "contiguous"

    def sets(self, n: int, count: int, seed: int) -> Array:
        """Every cyclic interval of stragglers."""
        return _distinct((np.arange(count) + start) % n for start in range(n))


@dataclasses.dataclass(frozen=True)
class Strided(Policy):
    """The stragglers are equally spaced, cyclically, for every stride and start."""

    name: ClassVar[str] = "strided"

    def sets(self, n: int, count: int, seed: int) -> Array:
        """Complements of all cyclic arithmetic progressions with distinct members."""
        s = n - count
        missing = (
            (start + stride * np.arange(s)) % n
            for stride in range(1, max(n // 2, 1) + 1)
            for start in range(n)
        )
        return _distinct(
            np.setdiff1d(np.arange(n), gone) for gone in missing if len(set(gone.tolist())) == s
        )


@dataclasses.dataclass(frozen=True)
class Auto(Policy):
    """Every survivor set where they are few, else random ones and the bad families.

    Parameters
    ----------
    limit : int
        Most patterns that are listed exhaustively, and the number of random ones beyond.
    """

    limit: int = dataclasses.field(default=500, metadata={"help": "most patterns listed in full"})

    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        """Check the limit."""
        if self.limit < 1:
            raise InputError(f"patterns auto: limit={self.limit}; allowed is >= 1")

    def sets(self, n: int, count: int, seed: int) -> Array:
        """All, or random with first, last, contiguous and strided stragglers."""
        if self.exhaustive(n, count):
            return All().sets(n, count, seed)
        parts = [Random(number=self.limit).sets(n, count, seed)]
        parts += [policy.sets(n, count, seed) for policy in (Contiguous(), Strided())]
        return np.unique(np.concatenate(parts), axis=0)

    def exhaustive(self, n: int, count: int) -> bool:
        """If there are no more sets than the limit."""
        return math.comb(n, count) <= self.limit


@dataclasses.dataclass(frozen=True)
class Adversarial(Auto):
    """The patterns of ``auto`` and those that a search finds to be bad for the code itself.

    Parameters
    ----------
    limit : int
        As for ``auto``, and the number of bad patterns that the search may add.
    """

    name: ClassVar[str] = "adversarial"


def _distinct(sets: Any) -> Array:
    return np.unique(np.array([np.sort(row) for row in sets], dtype=np.int64), axis=0)


POLICIES: dict[str, type[Policy]] = {
    cls.name: cls for cls in (All, Random, First, Last, Contiguous, Strided, Auto, Adversarial)
}


def policy(text: str) -> Policy:
    """The policy that a grammar string names; ``random:N`` and ``auto:N`` are shorthands.

    Examples
    --------
    >>> policy("random:50")
    Random(survivors=None, number=50)
    >>> policy("all").patterns(3, 1).tolist()
    [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    word, _, number = text.partition(":")
    shorthand = {"random": "number", "auto": "limit", "adversarial": "limit"}
    if number and word in shorthand:
        text = f"{word}[{shorthand[word]}={number}]"
    spec = parse(text)
    if spec.name not in POLICIES:
        raise InputError(f"unknown patterns {spec.name!r}; {near(spec.name, POLICIES)}")
    return bind(POLICIES[spec.name], spec)
