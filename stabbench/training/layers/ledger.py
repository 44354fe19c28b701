"""What a training run cost: bytes of the arrays that were sent, flops, seconds."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import Precision

Array = np.ndarray[Any, np.dtype[Any]]
SECONDS = (
    "setup",
    "encode",
    "compute",
    "decode",
    "master_update",
    "worker_encode",
    "worker_update",
)
MASTER = ("encode", "decode", "master_update")


@dataclasses.dataclass
class Ledger:
    """Running totals of one training run.

    Parameters
    ----------
    precision : Precision
        Its storage format tells the bytes of a number that is sent.

    Attributes
    ----------
    down, up : int
        Bytes from the master to workers and back.
    setup, setup_flops : int, float
        Bytes sent and flops of the master before the first step, for coded weights that the
        workers keep.
    master_flops, worker_flops : float
        Additions and multiplications of coding, products and updates; all workers together.
    seconds : dict
        Wall time by stage; the work of all workers together, as they run here one after the other.
    """

    precision: Precision
    down: int = 0
    up: int = 0
    setup: int = 0
    setup_flops: float = 0.0
    master_flops: float = 0.0
    worker_flops: float = 0.0
    seconds: dict[str, float] = dataclasses.field(
        default_factory=lambda: dict.fromkeys(SECONDS, 0.0)
    )

    def bytes_of(self, array: Array) -> int:
        """Bytes of an array on the wire."""
        return array.size * self.precision.storage.itemsize * (2 if array.dtype.kind == "c" else 1)

    def send(self, *arrays: Array) -> None:
        """Count arrays that the master sends to one worker each."""
        self.down += sum(map(self.bytes_of, arrays))

    def prepare(self, *arrays: Array) -> None:
        """Count arrays that the master sends to one worker each before the first step."""
        self.setup += sum(map(self.bytes_of, arrays))

    def receive(self, *arrays: Array) -> None:
        """Count arrays that workers send to the master."""
        self.up += sum(map(self.bytes_of, arrays))

    @contextlib.contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the wall time of the block to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - start

    def totals(self) -> dict[str, Any]:
        """All totals so far."""
        return {
            "bytes_down": self.down,
            "bytes_up": self.up,
            "bytes_setup": self.setup,
            "setup_flops": self.setup_flops,
            "master_flops": self.master_flops,
            "worker_flops": self.worker_flops,
            "master_seconds": sum(self.seconds[stage] for stage in MASTER),
            **{f"{stage}_seconds": value for stage, value in self.seconds.items()},
        }
