"""Arrays from files of strangers: .npy, .npz, .csv, .txt, .mtx, .mtx.gz, .mat.

Every fault of a file is one InputError that names it; nothing is unpickled. The formats
that NumPy does not read: delimited.py, matrix_market.py, matlab.py, hdf5.py.
"""

import hashlib
import importlib.util
import io
import math
import os
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError, MissingError
from stabbench.files import apart, hdf5, matlab
from stabbench.files.delimited import listed, parse_table
from stabbench.files.inputs import Input
from stabbench.files.matrix_market import parse_market, unpacked
from stabbench.files.paths import SELECTABLE, SUFFIXES, locate, suffix_of
from stabbench.files.types import type_name
from stabbench.files.variables import Contents

MAX_ENTRIES: Final = 2**26
MAX_BYTES: Final = 2**31
KEPT_BYTES: Final = 2**29
"""Parsed arrays that are kept for the next reading, beside the last one, together."""

_Content = tuple[NDArray[Any], tuple[str, ...]]


def read_array(
    path: str | os.PathLike[str] | Input,
    what: str = "data",
    *,
    key: str | None = None,
    matrix: bool = True,
) -> _Content:
    r"""Read an array of finite numbers from a file.

    The suffix tells the format: ``.npy``, ``.npz``, ``.csv``, ``.txt``, ``.mtx``, ``.mtx.gz``
    (Matrix Market) or ``.mat`` (MATLAB up to version 7; version 7.3 with h5py, the extra
    ``stabbench[hdf5]``). ``file.npz:name`` and ``file.mat:name`` select one of several arrays;
    without a name the only one or ``X`` is read. A file whose own name holds the colon comes first.

    Parameters
    ----------
    path : str, path or Input
        ``~`` expands to the home directory. An `Input` is read with the content that it names.
    what : str, optional
        What the array is for, the first word of error messages.
    key : str, optional
        Name of an array in a .npz or .mat file, instead of the one in the path.
    matrix : bool, optional
        Make a one-dimensional array a column; else it stays as it is.

    Returns
    -------
    array : ndarray, shape (rows, columns) or (rows,)
        A new C-contiguous array, float64 or complex128.
    notes : tuple of str
        What was converted, densified or skipped, and what weakens a measurement on these data.

    Raises
    ------
    InputError
        The file is missing, unreadable, empty, damaged, too large (`MAX_BYTES`, `MAX_ENTRIES`), of
        an unknown format or holds anything but finite numbers in one or two dimensions; of the
        type `MissingError` if it holds no array of the name asked for; it has not, or no longer,
        the content of the `Input`, or with which the running case was planned.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "my data.csv")
    ...     _ = file.write_text("a;b\n0,5;2\n-3;1\n", encoding="utf-8")
    ...     read_array(file)
    (array([[ 0.5,  2. ],
           [-3. ,  1. ]]), ("header line skipped: 'a', 'b'", 'decimal commas read'))
    >>> read_array("nothing.npy")
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: data 'nothing.npy': no such file; allowed are readable files
    """
    named = path if isinstance(path, Input) else None
    path = path.path if isinstance(path, Input) else os.fsdecode(path)
    file, selected = locate(path)
    where = f"{what} {str(file)!r}"
    suffix = suffix_of(file)
    name = selected if key is None else key
    kept = None if named is None else _KEPT.get((named.digest, suffix, name, matrix))
    if named is not None and kept is not None:
        named.hold(named.digest)
        return kept[0].copy(), kept[1]
    _check_status(file, where)
    if suffix is None:
        raise InputError(
            f"{where}: unknown suffix {file.suffix!r}; allowed are {', '.join(SUFFIXES)}"
        )
    if name is not None and suffix not in SELECTABLE:
        raise MissingError(
            f"{where}: name {name!r} selects nothing in a {suffix} file; "
            f"allowed are names in {' and '.join(SELECTABLE)} files"
        )
    content = _content(file, where)
    digest = hashlib.sha256(content).hexdigest()
    (named or Input(path, digest)).hold(digest)
    array, notes = _checked(_Source(content, name, where), suffix, matrix=matrix)
    if named is not None:
        _keep((digest, suffix, name, matrix), (array.copy(), notes))
    return array, notes


_KEPT: dict[tuple[str, str | None, str | None, bool], _Content] = {}


def _keep(key: tuple[str, str, str | None, bool], content: _Content) -> None:
    """Keep a parsed array by the digest of its file; the oldest make room for it."""
    _KEPT[key] = content
    while len(_KEPT) > 1 and sum(array.nbytes for array, _ in _KEPT.values()) > KEPT_BYTES:
        del _KEPT[next(iter(_KEPT))]


def _checked(source: "_Source", suffix: str, *, matrix: bool) -> _Content:
    """Parse a content and check and convert its array."""
    array, notes = _parsed(source, suffix)
    _check_shape(array.shape, source.where)
    if matrix and array.ndim == 1:
        array = array.reshape(-1, 1)
    _check_finite(array, source.where, "finite numbers")
    array, more = _working(array, source.where)
    return array, (*notes, *more)


def _check_status(file: Path, where: str) -> None:
    """Refuse what cannot hold data, before it is opened: a pipe would block."""
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{where}: no such file; allowed are readable files") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {_reason(error)}; allowed are readable files") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{where}: a directory; allowed are files")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{where}: a device, pipe or socket; allowed are regular files")
    if status.st_size == 0:
        raise InputError(f"{where}: the file is empty; allowed are files that hold an array")
    if status.st_size > MAX_BYTES:
        raise InputError(f"{where}: {status.st_size} bytes; allowed are at most {MAX_BYTES}")


def _content(file: Path, where: str) -> bytes:
    """Read the whole file."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{where}: {_reason(error)}; allowed are readable files") from error


def _reason(error: OSError | ValueError) -> str:
    """Return the system's words for a file that cannot be opened."""
    text = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read ({(text or type(error).__name__).lower()})"


def _check_shape(shape: Sequence[int], where: str) -> None:
    """Refuse shapes other than those of vectors and matrices of a bearable size."""
    if len(shape) not in (1, 2):
        raise InputError(
            f"{where}: {len(shape)} dimensions, shape {tuple(shape)}; allowed are 1 and 2"
        )
    entries = math.prod(shape)
    if entries == 0:
        raise InputError(
            f"{where}: empty array of shape {tuple(shape)}; allowed are 1 or more entries"
        )
    if not 0 < entries <= MAX_ENTRIES:
        raise InputError(f"{where}: {entries} entries; allowed are at most {MAX_ENTRIES}")


def _check_finite(array: NDArray[Any], where: str, allowed: str) -> None:
    """Name the first entry that is not finite."""
    finite = np.isfinite(array)
    if finite.all():
        return
    first = int(np.argmin(finite))
    row, column = divmod(first, array.shape[1] if array.ndim > 1 else 1)
    kind = "NaN" if np.isnan(array.flat[first]) else "infinity"
    raise InputError(
        f"{where}: {kind} at row {row + 1}, column {column + 1} (counted from 1); "
        f"allowed are {allowed}"
    )


def _working(array: NDArray[Any], where: str) -> tuple[NDArray[Any], list[str]]:
    """Convert to float64 or complex128 and say what that did."""
    notes = []
    kind, name = array.dtype.kind, type_name(array.dtype.newbyteorder("="))
    working = np.dtype(np.complex128 if kind == "c" else np.float64)
    with np.errstate(over="ignore", under="ignore"):
        converted = np.ascontiguousarray(array, dtype=working)
    if kind == "b":
        notes.append("booleans: converted to 0.0 and 1.0")
    elif kind in "iu":
        large = array[np.abs(converted) >= 2.0**53].tolist()
        rounded = sum(int(float(value)) != value for value in large)
        notes.append(
            f"integers: {rounded} values above 2^53 rounded to float64"
            if rounded
            else "integers: converted to float64 exactly"
        )
    elif array.dtype.itemsize > working.itemsize:
        _check_finite(converted, where, f"numbers in the range of {working.name}")
        rounded = int(np.count_nonzero(converted != array))
        notes.append(
            f"{name}: {rounded} of {array.size} values rounded to {working.name}"
            if rounded
            else f"{name}: converted to {working.name} exactly"
        )
    elif array.dtype.itemsize < working.itemsize:
        notes.append(f"{name}: converted to {working.name} exactly")
    if kind == "c":
        notes.append("complex: kept, computed in complex arithmetic")
    if np.array_equal(converted, np.rint(converted)):
        notes.append(
            "integer-valued: small integers decode exactly in floating point, errors are flattering"
        )
    return converted, notes


def _choose(
    names: Sequence[str], key: str | None, where: str, kind: str, others: Mapping[str, str]
) -> str:
    """Return the name of the array to read; `others` says what else there is."""
    allowed = listed([repr(name) for name in names], 20)
    if not names:
        held = listed([f"{name!r} is a {other}" for name, other in others.items()], 20)
        raise InputError(
            f"{where}: no {kind}{held and f' ({held})'}; allowed are files that hold one"
        )
    if key is not None:
        if key not in names:
            other = f" (a {others[key]})" if key in others else ""
            raise MissingError(f"{where}: no {kind} {key!r}{other}; allowed are {allowed}")
        return key
    if len(names) > 1 and "X" not in names:
        raise InputError(
            f"{where}: {len(names)} {kind}s, none named 'X'; allowed are FILE:NAME with {allowed}"
        )
    return names[0] if len(names) == 1 else "X"


class _Source(NamedTuple):
    """What a reader gets: the bytes, the array asked for, the begin of error messages."""

    content: bytes
    key: str | None
    where: str


_Parsed = tuple[NDArray[Any], list[str]]


def _parsed(
    source: _Source, suffix: str, reader: Callable[[_Source], _Parsed] | None = None
) -> _Parsed:
    """Parse the content by its suffix; whatever a parser raises becomes one InputError."""
    try:
        return (reader or _READERS[suffix])(source)
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{source.where}: too large for memory; allowed is what fits") from error
    except Exception as error:  # parsers raise all kinds on damaged files
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{source.where}: truncated, damaged or no {suffix} file ({reason[:160]}); "
            f"allowed are whole {suffix} files"
        ) from error


def _read_npy(source: _Source) -> _Parsed:
    """Read one array in NumPy's format."""
    return _parse_npy(io.BytesIO(source.content), len(source.content), source.where), []


def _parse_npy(stream: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """Check the header, then read the array of a stream of `size` bytes."""
    version = np.lib.format.read_magic(stream)
    # versions 2 and 3 differ in the names of fields only, which are refused below
    old = version == (1, 0)
    header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise InputError(
            f"{where}: pickled Python objects, never loaded; allowed are arrays of numbers"
        )
    if dtype.kind not in "biufc":
        raise InputError(f"{where}: entries of type {dtype.str!r}; allowed are numbers")
    _check_shape(shape, where)
    needed, present = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if present < needed:
        raise InputError(
            f"{where}: truncated, {present} of {needed} bytes of numbers; allowed are whole files"
        )
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _read_npz(source: _Source) -> _Parsed:
    """Read one of the arrays of NumPy's archive."""
    with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        names = [name.removesuffix(".npy") for name in members]
        name = _choose(names, source.key, source.where, "array", {})
        info = archive.getinfo(name + ".npy")
        with archive.open(info) as stream:
            return _parse_npy(stream, info.file_size, f"{source.where}: array {name!r}"), []


def _read_text(source: _Source) -> _Parsed:
    """Read a table."""
    return parse_table(source.content, source.where)


def _read_mtx(source: _Source) -> _Parsed:
    """Read a Matrix Market file, unpacked."""
    market = parse_market(source.content, source.where)
    _check_shape(market.shape, source.where)
    found, notes = market.read()
    if market.layout == "coordinate":
        notes.append("sparse: densified")
    if market.symmetry != "general":
        notes.append(f"{market.symmetry}: both triangles filled")
    if market.field == "pattern":
        notes.append("pattern: stored entries are 1")
    return found, notes


def _read_mtx_gz(source: _Source) -> _Parsed:
    """Unpack and read a Matrix Market file."""
    return _read_mtx(source._replace(content=unpacked(source.content, MAX_BYTES, source.where)))


def _read_mat(source: _Source) -> _Parsed:
    """Read a numeric variable of a MATLAB file."""
    if not hdf5.is_hdf5(source.content):
        return _variable(source, matlab.contents(source.content, MAX_BYTES))
    if importlib.util.find_spec("h5py") is None:
        raise InputError(
            f"{source.where}: MATLAB 7.3 (HDF5) file and no h5py; allowed are versions up to 7 "
            "(save with -v7), or all with pip install 'stabbench[hdf5]'"
        )
    return apart.ask(*source)


def parse_hdf5(content: bytes, key: str | None, where: str) -> _Parsed:
    """Read a numeric variable of a MATLAB 7.3 file, in this process; see `apart.ask`."""

    def reader(source: _Source) -> _Parsed:
        return _variable(source, hdf5.contents(source.content, MAX_ENTRIES, MAX_BYTES))

    return _parsed(_Source(content, key, where), ".mat", reader)


def _variable(source: _Source, found: Contents) -> _Parsed:
    """Read the variable that is asked for."""
    names = list(found.numeric)
    name = _choose(names, source.key, source.where, "numeric variable", found.others)
    variable = found.numeric[name]
    _check_shape(variable.shape, f"{source.where}: variable {name!r}")
    return variable.read(), ["sparse: densified"] if variable.sparse else []


_READERS: Final[dict[str, Callable[[_Source], _Parsed]]] = dict(
    zip(
        SUFFIXES,
        (_read_npy, _read_npz, _read_text, _read_text, _read_mtx, _read_mtx_gz, _read_mat),
        strict=True,
    )
)
