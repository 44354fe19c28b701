"""Streams of random numbers: every seed of the package is made here, by its purpose."""

import hashlib
import operator

import numpy as np

from stabbench.errors import InputError

_TAILS: dict[str, tuple[int, ...]] = {
    "data matrix": (1,),
    "data vectors": (2,),
    "point of gradients": (23,),
    "noise on replies": (29,),
    "random survivors": (7,),
    "order of nodes": (),
    "signs of row sums": (0,),
    "expected time": (),
    "code gaussian": (7953754361492234599,),
    "code systematic-gaussian": (8386104263653423475,),
    "code haar": (1918984552,),
    "code khatri-rao": (11,),
    "code lt": (19,),
    "code cyclic-repetition": (13,),
    "code ye-abbe": (11,),
    "code heterogeneous": (17,),
    "code stochastic": (29,),
    "generator gaussian": (8,),
    "split of samples": (11,),
    "initial weights": (12,),
    "order of samples": (13,),
    "arrivals": (31,),
    "worker times": (37,),
    # data and masks are the streams of data matrix and vectors, which gossip does not draw
    "gossip data": (1,),
    "gossip start": (1, 1),
    "gossip curvature": (1, 2),
    "gossip masks": (2,),
    "gossip batches": (3,),
}
"""Words after the numbers of streams on which published results rest; others follow from names."""


def stream(purpose: str, *numbers: int) -> np.random.Generator:
    """The random generator of a purpose and of numbers, such as a seed and sizes.

    Streams of different purposes, or of different numbers for one purpose, are different ones.
    ``default_rng([seed, 23, index])`` would not do: NumPy ignores zeros at the end and cuts large
    numbers into words, so that ``[5, 23, 0]`` is ``[5, 23]`` and ``[2**32, 23]`` is ``[0, 1, 23]``.

    Parameters
    ----------
    purpose : str
        What is drawn; the same purpose always takes equally many numbers.
    numbers : int
        Nonnegative.

    Raises
    ------
    InputError
        A negative number.

    Examples
    --------
    >>> draws = {stream("noise on shares", 0, operand).integers(1 << 60) for operand in range(3)}
    >>> len(draws)
    3
    """
    words = [operator.index(number) for number in numbers]
    if min(words, default=0) < 0:
        raise InputError(f"{purpose}: random numbers of {words}; allowed are integers >= 0")
    tail = _TAILS.get(purpose)
    if tail is not None and max(words, default=0) < 1 << 32:
        return np.random.default_rng([*words, *tail])
    digest = hashlib.sha256(" ".join([purpose, *map(str, words)]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
