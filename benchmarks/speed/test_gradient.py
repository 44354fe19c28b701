"""Gradient codes against the memory traffic that they must cause, in one run.

The traffic of encoding is what the workers of a real system must move: every worker reads its own d
partitions and writes its reply. One process that plays all workers could do with less: each
gradient read once, each reply written once. Codes of groups and of whole entries are held to a
factor of 3 of that too; a cyclic code with d = 10, m = 5 computes too much for each number moved.
"""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.arithmetic.precision import precision
from stabbench.decoders.registry import decoder

Ratio = Callable[..., float]
Array = np.ndarray[Any, np.dtype[Any]]
WORKERS, ENTRIES = 100, 1_000_000
CODES = (
    ("fractional-repetition", 4),
    ("kadhe[d=5,m=2]", 3),
    ("kadhe[d=10,m=5]", 5),
    ("cyclic-repetition", 4),
)
CYCLIC = (("ye-abbe[m=5]", 5), ("cyclic-mds", 4))


def traffic(read: int, written: int) -> Array:
    """An array of float32 whose copy moves as many bytes as reading and writing these numbers."""
    return np.ones((read + written) // 2, dtype=np.float32)


@pytest.mark.parametrize(
    ("spec", "stragglers", "each"),
    [(*code, False) for code in CODES] + [(*code, True) for code in CODES + CYCLIC],
)
def test_encoding_is_bound_by_memory(ratio: Ratio, spec: str, stragglers: int, each: bool) -> None:
    code: Any = sb.code(spec, n=WORKERS, stragglers=stragglers)
    m = code.reduction
    held: Any = code.system("gradient").reply
    gradients = np.ones((WORKERS, ENTRIES // m, m), dtype=np.float32)
    read = WORKERS * ENTRIES * (code.load if each else 1)
    written = WORKERS * ENTRIES // m * (2 if code.is_complex else 1)
    moved = "workers' bytes" if each else "bytes, each once"
    value = ratio(
        lambda: held.combine(gradients, precision("float32")),
        traffic(read, written).copy,
        f"copy of the {moved} / encoding time ({spec}, 100 x 1e6 float32)",
        rounds=7,
    )
    assert value > 1 / 3


@pytest.mark.parametrize(("spec", "stragglers"), CODES)
def test_decoding_is_bound_by_memory(ratio: Ratio, spec: str, stragglers: int) -> None:
    code: Any = sb.code(spec, n=WORKERS, stragglers=stragglers)
    m, single = code.reduction, precision("float32")
    replies = np.ones((WORKERS, ENTRIES // m, 1), dtype=np.float32)
    pattern = np.ones((1, WORKERS), dtype=np.int8)
    pattern[0, :stragglers] = 0
    plan = decoder("weights").plan(code, code.system("gradient"), pattern, single, "use")
    copied = traffic((WORKERS - stragglers) * ENTRIES // m, ENTRIES)
    value = ratio(
        lambda: plan.decode(replies),
        copied.copy,
        f"copy of the master's bytes / decoding time ({spec}, 100 x 1e6 float32)",
        rounds=5,
    )
    assert value > 1 / 3


def test_no_coefficient_per_entry_is_formed(benchmark: Any) -> None:
    held: Any = sb.code("kadhe[d=5,m=2]", n=WORKERS, stragglers=3).system("gradient").reply
    gradients = np.ones((WORKERS, 50_000, 2), dtype=np.float32)
    replies = held.combine(gradients, precision("float32"))
    tracemalloc.start()
    held.combine(gradients, precision("float32"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    benchmark.extra_info["peak bytes / bytes of the replies"] = peak / replies.nbytes
    benchmark.pedantic(lambda: held.combine(gradients, precision("float32")), rounds=3)
    assert peak < 1.1 * replies.nbytes + 2**20
