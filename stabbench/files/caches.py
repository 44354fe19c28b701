"""Caches of compiled kernels and fonts: a private temporary place where the usual one is read-only.

Nothing is created or changed where the usual places can be written.
"""

import os
import stat
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def redirect_caches() -> None:
    """Set NUMBA_CACHE_DIR and MPLCONFIGDIR where numba and matplotlib could not write otherwise.

    To be called before numba compiles anything; processes started later inherit the setting.
    """
    home = Path(os.environ.get("HOME") or "~").expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    compiled = [PACKAGE / room / "__pycache__" for room in ("arithmetic", "analysis")]
    kernels = _set_and_writable("NUMBA_CACHE_DIR") or all(map(writable, compiled))
    if not (kernels or writable(cache / "numba")):
        os.environ["NUMBA_CACHE_DIR"] = str(private_directory() / "numba")
    if not (_set_and_writable("MPLCONFIGDIR") or all(map(writable, (cache, config)))):
        os.environ["MPLCONFIGDIR"] = str(private_directory() / "matplotlib")


def writable(folder: Path) -> bool:
    """Whether a directory can be written, or created where it does not exist."""
    for place in (folder, *folder.parents):
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            continue
        except OSError:
            return False
        return stat.S_ISDIR(mode) and os.access(place, os.W_OK | os.X_OK)
    return False


def private_directory() -> Path:
    """A directory of this user alone below the temporary directory, the same in every process.

    What it holds is executed later, so that a directory made by another user is not used.
    """
    folder = Path(tempfile.gettempdir()) / f"stabbench-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if not mine or found.st_mode & 0o077:
            return Path(tempfile.mkdtemp(prefix="stabbench-"))
    return folder


def _set_and_writable(variable: str) -> bool:
    return bool(os.environ.get(variable)) and writable(Path(os.environ[variable]))
