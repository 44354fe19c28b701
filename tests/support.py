"""What several tests share: codes and decoders under test, files, the command line in process."""

import contextlib
import io
import os
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stabbench.arithmetic.precision import ALLOWED
from stabbench.cli import main
from stabbench.codes.base import LinearCode
from stabbench.codes.registry import CODES, code
from stabbench.decoders.registry import DECODERS
from stabbench.errors import InputError
from stabbench.files import read_array

Array = np.ndarray[Any, np.dtype[Any]]
ROOT = Path(__file__).parents[1]
NEEDS_FILE = ("matrix", "gradient-matrix")
PARAMETERS = {
    "polynomial": [
        f"nodes={kind}"
        for kind in (
            "integers",
            "equispaced",
            "right-equispaced",
            "half-step",
            "chebyshev",
            "roots-of-unity",
            "leja",
        )
    ],
    "chebyshev-basis": ["", "t0=1/sqrt2", "t0=1/2,nodes=equispaced"],
    "cauchy": ["", "nodes=integers"],
    "gaussian": ["", "seed=5,k=3", "select=4"],
}
SIZES = {"uncoded-cyclic": ((6, 2), (6, 1)), "replication": ((7, 2), (6, 0))}
DEFAULT_SIZES = ((7, 2), (6, 1), (4, 0))
STORAGES = ("float64", "float32", "bfloat16", "float16")
PRECISIONS = tuple(ALLOWED)


def linear_classes() -> dict[str, type[LinearCode]]:
    """Every registered code for matrix-vector products that is given by a generator."""
    return {
        name: cls
        for name, cls in CODES.members.items()
        if issubclass(cls, LinearCode) and "matvec" in cls.problems and name not in NEEDS_FILE
    }


def linear_codes() -> list[LinearCode]:
    """One list of small codes over every registered name."""
    found = []
    for name in linear_classes():
        for parameters in PARAMETERS.get(name, [""]):
            spec = f"{name}[{parameters}]" if parameters else name
            for n, s in SIZES.get(name, DEFAULT_SIZES):
                built = code(spec, n, s)
                assert isinstance(built, LinearCode)
                found.append(built)
    return found


def label(value: Any) -> str:
    """A name of a test case: the grammar string, with n and s for codes."""
    if isinstance(value, LinearCode):
        return f"{value.spec}-{value.n}-{value.stragglers}"
    return str(getattr(value, "spec", value))


CODES_UNDER_TEST = linear_codes()
DECODERS_UNDER_TEST = tuple(sorted(DECODERS.members))


def rationals(matrix: Array) -> list[list[Fraction]]:
    """A real float matrix as fractions."""
    return [[Fraction(float(x)) for x in row] for row in matrix]


class Run(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


def run(*arguments: Any) -> Run:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Run(status, out.getvalue(), err.getvalue())


def refused(*arguments: Any) -> str:
    """Run a command that must fail as wrong input; the one line that it says."""
    status, out, err = run(*arguments)
    assert status == 2, (status, out, err)
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert err.startswith("stabbench: ")
    assert "Traceback" not in err
    return err.removeprefix("stabbench: ").strip()


def child_environment(**changes: str) -> dict[str, str]:
    """The environment of a subprocess that finds this checkout."""
    clean = {k: v for k, v in os.environ.items() if not re.match(r"COV_|PYTEST_", k)}
    return clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | changes


def program(*arguments: Any) -> list[str]:
    """The command line as a subprocess."""
    return [sys.executable, "-m", "stabbench", *map(str, arguments)]


def fault(path: Path | str, **options: Any) -> str:
    """The message of the InputError of a file: one line that names the path and what is allowed."""
    with pytest.raises(InputError) as caught:
        read_array(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "allowed" in message
    return message


def saved(path: Path, content: bytes | str) -> Path:
    """Write a file."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


SPECIAL = (b"\xff" * 8, bytes(8), b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"99999999", b"-1", b"1e999")


def mutated(rng: np.random.Generator, contents: list[bytes]) -> bytes:
    """One of the contents with bytes changed, lost or spliced in from another, or cut off."""
    content = bytearray(rng.choice(np.array(contents, dtype=object)))
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(content) + 1))
        length = int(rng.integers(1, 40))
        other = rng.choice(np.array(contents, dtype=object))
        start = int(rng.integers(len(other)))
        match rng.integers(6):
            case 0 | 1:
                content[place : place + 1] = rng.bytes(1)
            case 2:
                special = SPECIAL[rng.integers(len(SPECIAL))]
                content[place : place + len(special)] = special
            case 3:
                content[place : place + length] = other[start : start + length]
            case 4:
                del content[place : place + length]
            case _:
                del content[max(place, 1 + len(content) // 2) :]
    return bytes(content) or b" "
