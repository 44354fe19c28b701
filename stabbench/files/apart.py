"""Reading in a process of its own: what a damaged file does to a library ends there.

A library in C that crashes, loops or takes memory without bound ends as one InputError.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError, MissingError

MAX_SECONDS: Final = 120.0
MAX_MEMORY: Final = 2**33

_ROOT = Path(__file__).parents[2]
_Parsed = tuple[NDArray[Any], list[str]]


def ask(content: bytes, key: str | None, where: str) -> _Parsed:
    """Let ``python -m stabbench.files`` parse a file.

    Parameters
    ----------
    content : bytes
        The file.
    key : str or None
        Name of the array that is read.
    where : str
        Begin of error messages.

    Raises
    ------
    InputError
        What the other process found wrong, or that it did not come to an end.
    """
    # the current folder is left out (-P, no ""): it may hold a stranger's numpy.py
    paths = [str(_ROOT), *(path for path in sys.path if path)]
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "stabbench.files", json.dumps([key, where])],
            input=content,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            timeout=MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{where}: damaged, not read within {MAX_SECONDS:g} seconds; allowed are whole files"
        ) from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").split("\n")[-2:-1]
        reason = "".join(last)[:160] or f"its library ended with status {done.returncode}"
        raise InputError(f"{where}: damaged or not readable ({reason}); allowed are whole files")
    head, _, array = done.stdout.partition(b"\n")
    answer = json.loads(head)
    if "error" in answer:
        raise (MissingError if answer["missing"] else InputError)(answer["error"])
    return np.load(io.BytesIO(array), allow_pickle=False), answer["notes"]


def answer(parse: Callable[[bytes, str | None, str], _Parsed]) -> None:
    """Parse the file of standard input and write what `ask` reads to standard output."""
    _limit_memory()
    key, where = json.loads(sys.argv[1])
    try:
        array, notes = parse(sys.stdin.buffer.read(), key, where)
        head: dict[str, Any] = {"notes": notes}
    except InputError as error:
        head = {"error": str(error), "missing": isinstance(error, MissingError)}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    if "notes" in head:
        np.save(sys.stdout.buffer, array, allow_pickle=False)


def _limit_memory() -> None:
    """Bound the memory of this process where the system can."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    least = MAX_MEMORY if most == resource.RLIM_INFINITY else min(most, MAX_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (least, most))
