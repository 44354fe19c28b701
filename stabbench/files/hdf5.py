"""Variables of MATLAB files of version 7.3, which are HDF5 files, by h5py.

HDF5's library loops or allocates without bound on some damaged files: apart.py runs this in a
process of its own. Everything that is declared is checked before it is read.
"""

import io
import math
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from stabbench.files.variables import Columns, Contents, Variable, joined

if TYPE_CHECKING:
    import h5py

_CLASSES: Final = {
    "double": "f8", "single": "f4", "logical": "?", "int8": "i1", "uint8": "u1", "int16": "i2",
    "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
}  # fmt: skip
_OTHERS: Final = {
    "cell": "cell array", "struct": "structure", "char": "char array",
    "function_handle": "function handle",
}  # fmt: skip
_MAX_DIMENSIONS, _MAX_WORD = 32, 64
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3


def is_hdf5(content: bytes) -> bool:
    r"""Whether a .mat file is one of version 7.3, or of HDF5 without MATLAB's header.

    Examples
    --------
    >>> is_hdf5(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM")
    False
    """
    return content[124:128] in (b"\0\2IM", b"\2\0MI") or content.startswith(b"\x89HDF\r\n\x1a\n")


def contents(content: bytes, entries: int, most: int) -> Contents:
    """List the variables of a MATLAB 7.3 file.

    Parameters
    ----------
    content : bytes
        The file.
    entries : int
        Largest number of stored entries of a sparse matrix.
    most : int
        Largest number of bytes of an unpacked piece of a matrix.

    Raises
    ------
    ValueError, KeyError, OSError, RuntimeError, zlib.error
        The file is damaged.

    Notes
    -----
    A matrix is stored transposed, its attribute MATLAB_class names its class; logical values are
    bytes, complex ones pairs of ``real`` and ``imag``. A sparse matrix is a group of ``data``,
    ``ir`` and ``jc`` with the number of rows as attribute MATLAB_sparse. An empty matrix stores
    its lengths, which attribute MATLAB_empty tells. Format: MathWorks, MAT-File Versions, -v7.3.

    Examples
    --------
    >>> import h5py
    >>> stream = io.BytesIO()
    >>> with h5py.File(stream, "w") as file:
    ...     file["a"] = [[1.0], [2.5]]
    ...     file["a"].attrs["MATLAB_class"] = np.bytes_("double")
    >>> found = contents(stream.getvalue(), entries=100, most=1000)
    >>> found.numeric["a"].shape, found.numeric["a"].read()
    ((1, 2), array([[1. , 2.5]]))
    """
    import h5py

    found = Contents()
    file = h5py.File(io.BytesIO(content), "r")
    for name in file:
        if name.startswith("#"):  # what cells and objects refer to
            continue
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            found.others[name] = "link"  # perhaps to another file
            continue
        item = file[name]
        word = _word(item, "MATLAB_class")
        if word not in _CLASSES:
            found.others[name] = _OTHERS.get(word, f"variable of class {word!r}")
        elif isinstance(item, h5py.Dataset):
            found.numeric[name] = _full(item, word, most)
        elif "MATLAB_sparse" in item.attrs:
            found.numeric[name] = _sparse(item, word, entries, most)
        else:
            raise ValueError(f"{name!r} is no matrix")
    return found


def _word(item: "h5py.HLObject", name: str) -> str:
    """Return an attribute that is a word; an empty one where there is none."""
    if name not in item.attrs:
        return ""
    held = item.attrs.get_id(name)
    if held.dtype.kind != "S" or held.dtype.itemsize > _MAX_WORD or math.prod(held.shape) != 1:
        raise ValueError(f"attribute {name} is no word")
    return bytes(np.ravel(item.attrs[name])[0]).rstrip(b"\0").decode("ascii")


def _whole(item: "h5py.HLObject", name: str) -> int:
    """Return an attribute that is an integer; 0 where there is none."""
    if name not in item.attrs:
        return 0
    held = item.attrs.get_id(name)
    if held.dtype.kind not in "iu" or math.prod(held.shape) != 1:
        raise ValueError(f"attribute {name} is no integer")
    return int(np.ravel(item.attrs[name])[0])


def _full(dataset: "h5py.Dataset", word: str, most: int) -> Variable:
    """Return a full matrix."""
    if dataset.shape is None:
        raise ValueError("a matrix without a shape")
    if _whole(dataset, "MATLAB_empty"):
        lengths = _vector(dataset, _MAX_DIMENSIONS, most)
        return Variable(tuple(int(length) for length in lengths), False, lambda: np.zeros(0))

    def read() -> NDArray[Any]:
        return _numbers(dataset, word, most).T

    return Variable(dataset.shape[::-1], False, read)


def _sparse(group: "h5py.Group", word: str, entries: int, most: int) -> Variable:
    """Return a sparse matrix."""
    starts = _vector(_member(group, "jc"), entries + 1, most)
    shape = (_whole(group, "MATLAB_sparse"), starts.size - 1)

    def read() -> NDArray[Any]:
        if "ir" not in group:  # nothing is stored, unless the starts say otherwise
            return Columns(np.zeros(0, dtype=np.int64), starts).dense(
                np.zeros(0, dtype=_CLASSES[word]), shape
            )
        rows = _vector(_member(group, "ir"), entries, most)
        values = _member(group, "data")
        if values.shape != rows.shape:
            raise ValueError(f"{values.shape} values in {rows.shape} rows")
        return Columns(rows, starts).dense(_numbers(values, word, most), shape)

    return Variable(shape, True, read)


def _member(group: "h5py.Group", name: str) -> "h5py.Dataset":
    """Return a dataset of a group that lies in this file."""
    import h5py

    item = group[name] if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(item, h5py.Dataset):
        raise ValueError(f"{name!r} of a sparse matrix is no dataset")
    return item


def _vector(dataset: "h5py.Dataset", longest: int, most: int) -> NDArray[Any]:
    """Return integers of a dataset of one dimension."""
    if dataset.ndim != 1 or dataset.shape[0] > longest or dataset.dtype.kind not in "iu":
        raise ValueError(f"shape {dataset.shape} of type {dataset.dtype} where integers belong")
    _check_storage(dataset, most)
    vector: NDArray[Any] = dataset[...]
    return vector


def _numbers(dataset: "h5py.Dataset", word: str, most: int) -> NDArray[Any]:
    """Return the numbers of a dataset as the type of their class."""
    _check_storage(dataset, most)
    pair = dataset.dtype.names == ("real", "imag")
    parts = [dataset.dtype[name] for name in dataset.dtype.names or ()] if pair else [dataset.dtype]
    if any(part.kind not in "biuf" or part.shape for part in parts):
        raise ValueError(f"numbers of type {dataset.dtype}")
    stored = dataset[...]
    real, imaginary = (stored["real"], stored["imag"]) if pair else (stored, None)
    return joined(real, imaginary, _CLASSES[word])


def _check_storage(dataset: "h5py.Dataset", most: int) -> None:
    """Refuse numbers that lie in other files, are not there or unpack to more than declared."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(index)[0] for index in range(settings.get_nfilters())]
    if dataset.external or not dataset.id.get_storage_size():
        raise ValueError("numbers that are not in the file")
    if not {_DEFLATE, _SHUFFLE, _CHECKSUM}.issuperset(filters) or filters.count(_DEFLATE) > 1:
        raise ValueError(f"filters {filters}")
    if not dataset.chunks:
        return
    bytes_of_chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if bytes_of_chunk > most:
        raise ValueError(f"{bytes_of_chunk} bytes in a chunk")

    def check(chunk: Any) -> None:
        skipped, packed = dataset.id.read_direct_chunk(chunk.chunk_offset)
        allowed = bytes_of_chunk + 4  # a checksum may be packed with the numbers
        if not skipped and len(zlib.decompressobj().decompress(packed, allowed + 1)) > allowed:
            raise ValueError(f"more than {bytes_of_chunk} bytes in a chunk")

    if _DEFLATE in filters:
        dataset.id.chunk_iter(check)
