"""Files written whole or not at all."""

import os
from pathlib import Path

from stabbench.errors import InputError


def write(path: Path, content: str | bytes) -> Path:
    """Write a file beside its place, then move it there; directories are made.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    # names of files may hold bytes that are no text, which Python keeps as lone surrogates
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(data)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return path
