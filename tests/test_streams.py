"""Random numbers: every purpose has a stream of its own, for every seed and index."""

import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError, MissingError
from stabbench.problems.data import FAMILIES, dataset
from stabbench.problems.families import Gaussian

PACKAGE = Path(__file__).parents[1] / "stabbench"
Grids = Mapping[str, tuple[Iterable[int], ...]]
SEEDS = range(51)
N, K, INDEX = (1, 2, 3, 8, 16, 20), (1, 2, 3, 11, 13, 19, 23, 29), range(5)
PURPOSES: Grids = {
    **dict.fromkeys(("data matrix", "data vectors", "point of gradients"), (SEEDS,)),
    **dict.fromkeys(("split of samples", "initial weights", "order of samples"), (SEEDS,)),
    **dict.fromkeys(("noise on replies", "arrivals", "worker times"), (SEEDS,)),
    **dict.fromkeys(("noise on shares", "graph tried again"), (SEEDS, INDEX)),
    "data of a self-test": (range(20),),
    "random survivors": (SEEDS, N, K),
    "families of a search": (N, K),
    "expected time": (SEEDS, N, (2, 3, 20_000)),
    "code khatri-rao": (SEEDS, N, K, (1, 2, 11)),
    **dict.fromkeys(("prefixes of a search", "sample of a survey"), (SEEDS, K)),
    **dict.fromkeys(("sets of a selection", "sets of a shift table"), (SEEDS, K)),
    "order of nodes": (range(1, 51),),
    "signs of sketches": (range(1, 51),),
    "start of Lanczos iteration": (),
    **dict.fromkeys(("signs of row sums", "signs of norms", "points of an identity"), ()),
    **dict.fromkeys(
        [
            f"code {name}"
            for name in (
                *("gaussian", "systematic-gaussian", "haar", "lt", "cyclic-repetition", "ye-abbe"),
                *("heterogeneous", "bernoulli", "stochastic", "convolutional"),
                *("convolutional gammaA", "convolutional gammaB"),
            )
        ],
        (SEEDS, N, K),
    ),
    **dict.fromkeys(("generator gaussian", "generator systematic-gaussian"), (SEEDS, N, K)),
}
GOSSIP: Grids = {
    f"gossip {name}": (SEEDS,) for name in ("data", "start", "curvature", "masks", "batches")
}
"""Drawn by cases of compressed gossip, and nothing else by them."""


def state(purpose: str, *numbers: int) -> bytes:
    found: bytes = stream(purpose, *numbers).bit_generator.seed_seq.generate_state(4).tobytes()
    return found


def shared(purposes: Grids) -> list[list[tuple[object, ...]]]:
    """Purposes and numbers that begin one stream."""
    known: dict[bytes, list[tuple[object, ...]]] = {}
    for purpose, grids in purposes.items():
        for numbers in itertools.product(*grids):
            known.setdefault(state(purpose, *numbers), []).append((purpose, *numbers))
    return [found for found in known.values() if len(found) > 1]


@pytest.mark.parametrize("purposes", [PURPOSES, GOSSIP], ids=["all", "gossip"])
def test_no_two_streams_are_one(purposes: Grids) -> None:
    assert shared(purposes) == []


def test_large_seeds_have_streams_of_their_own() -> None:
    large = (*(2**32 + i for i in range(3)), 2**64 + 1, 23 * 2**32 + 5, 2**130)
    seeds = {p: ((0, 1, 5, *large), *g[1:]) for p, g in PURPOSES.items() if g and g[0] is SEEDS}
    assert shared(seeds) == []


def drawn_in(folder: Path) -> set[str]:
    """The purposes named in the sources of a folder."""
    found = set()
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'(?:\bstream\(\s*|\bdraw\(\w+, )f?"([\w -]+)', text))
    return found


def test_every_seed_of_the_package_is_a_purpose_of_this_list() -> None:
    other = re.compile(r"(default_rng|SeedSequence|RandomState|random\.Random|random\.seed)\(")
    for path in PACKAGE.rglob("*.py"):
        lines = [x for x in path.read_text(encoding="utf-8").splitlines() if ">>>" not in x]
        assert path.name == "streams.py" or not any(map(other.search, lines)), path
    begins = {p.strip() for p in drawn_in(PACKAGE)}
    listed = {*PURPOSES, *GOSSIP}
    assert {p for p in begins if not any(name.startswith(p) for name in listed)} == set()
    assert len(begins) > 25


def test_gossip_draws_for_its_own_purposes_alone() -> None:
    gossip = PACKAGE / "training" / "gossip"
    assert drawn_in(gossip) == set(GOSSIP)
    drawn = [family for family in FAMILIES.values() if family.__module__ == Gaussian.__module__]
    for family in drawn:
        with pytest.raises(MissingError, match="no labels"):
            dataset(family())
    assert len(drawn) == 4


@pytest.mark.parametrize("purpose", ["data matrix", "noise on shares"])
def test_negative_numbers_are_refused(purpose: str) -> None:
    with pytest.raises(InputError, match=r"random numbers of \[-1\]; allowed are integers >= 0"):
        stream(purpose, -1)
