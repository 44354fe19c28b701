"""Paths of data files: known suffixes, and the name of an array behind a colon."""

import os
from pathlib import Path
from typing import Final

SUFFIXES: Final = (".npy", ".npz", ".csv", ".txt", ".mtx", ".mtx.gz", ".mat")
SELECTABLE: Final = (".npz", ".mat")
"""Suffixes of files that hold several arrays by name."""


def locate(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Split the path of a file from the name that it selects, as in ``file.npz:name``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    file : Path
        ``~`` expanded; whether it exists is not said.
    name : str or None
        The selected name; None where the path as a whole exists or selects nothing.

    Examples
    --------
    >>> locate("runs/data.npz:train")
    (PosixPath('runs/data.npz'), 'train')
    """
    path = os.fsdecode(path)
    file = _expanded(path)
    if os.path.lexists(file):
        return file, None
    colons = [place for place, letter in enumerate(path) if letter == ":"]
    splits = [(_expanded(path[:place]), path[place + 1 :]) for place in colons]
    splits = [split for split in splits if suffix_of(split[0]) in SELECTABLE]
    present = [split for split in splits if os.path.lexists(split[0])]
    return next(iter([*present, *splits]), (file, None))


def suffix_of(file: Path) -> str | None:
    """The known suffix of a file name."""
    return next((suffix for suffix in SUFFIXES if file.name.lower().endswith(suffix)), None)


def _expanded(path: str) -> Path:
    """Expand ``~``; a name such as ``~x.npy`` that is nobody's home stays."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
