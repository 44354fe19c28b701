"""Writing files as a whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from stabbench.errors import InputError


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file through a temporary neighbour, so that readers see the old or the new content.

    Raises
    ------
    InputError
        If the file cannot be written; what was there before is kept.
    """
    target = Path(path)
    name = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(target)
    except OSError as error:
        if name:
            with contextlib.suppress(OSError):
                Path(name).unlink()
        raise InputError(f"{target}: cannot be written ({error.strerror})") from None


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """Write a UTF-8 text as `write_bytes` does; characters that UTF-8 lacks are escaped."""
    write_bytes(path, content.encode(errors="backslashreplace"))
