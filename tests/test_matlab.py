"""MATLAB's files of every version and writer: read exactly, or refused in one line."""

import io
import stat
import struct
import sys
import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from stabbench.errors import InputError, MissingError
from stabbench.files import arrays, read_array
from tests.support import fault, mutated, saved

FOLDER = Path(scipy.io.matlab.__file__).parent / "tests" / "data"
FILES = sorted(FOLDER.glob("*.mat"))
NUMERIC = ("double", "single", "logical", "sparse", *(
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
))  # fmt: skip
BROKEN = {
    "bad_miuint32": "entries; allowed are at most",
    "corrupted_zlib_checksum": "damaged",
    "corrupted_zlib_data": "damaged",
    "debigged_m4": "damaged",
    "malformed1": "damaged",
}
X = np.array([[0.1, -2.5, 3.0], [1e-300, 0.5, 1e300]])


# --- files of other writers


def dense(array: Any) -> Any:
    return array.toarray() if scipy.sparse.issparse(array) else array


def test_files_of_other_writers_are_there() -> None:
    assert len(FILES) >= 110, f"SciPy without its test data: {FOLDER}"
    assert {file.stem for file in FILES}.issuperset(BROKEN)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_of_other_writers_are_read_as_scipy_reads_them(file: Path) -> None:
    if file.name == "bad_miutf8_array_name.mat":  # UTF-8 tagged as bytes, which SciPy refuses
        np.testing.assert_array_equal(read_array(f"{file}:äray_name")[0], [[1.0]])
        return
    if file.name == "testhdf5_7.4_GLNX86.mat":  # version 7.3, which SciPy does not read
        quarters = np.arange(9) * (np.pi / 4.0)
        np.testing.assert_array_equal(read_array(file)[0], [quarters])
        return
    if file.stem in BROKEN:
        assert BROKEN[file.stem] in fault(file)
        return
    variables = scipy.io.loadmat(file, struct_as_record=True)
    for name, shape, kind in scipy.io.whosmat(file):
        if kind in NUMERIC and len(shape) == 2 and not name.startswith("__"):
            found, _ = read_array(file, key=name)
            expected = dense(variables[name])
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == (np.complex128 if expected.dtype.kind == "c" else np.float64)
        else:
            message = fault(file, key=name)
            assert "no numeric variable" in message or f"{len(shape)} dimensions" in message


def test_what_a_variable_is_instead_is_told() -> None:
    for stem, told in (
        ("testcell_7.4_GLNX86", "'testcell' is a cell array"),
        ("teststruct_6.1_SOL2", "'teststruct' is a structure"),
        ("testobject_7.4_GLNX86", "'testobject' is a MATLAB object"),
        ("teststring_4.2c_SOL2", "'teststring' is a char array"),
        ("testfunc_7.4_GLNX86", "'testfunc' is a function handle"),
    ):
        assert f"no numeric variable ({told}); allowed" in fault(FOLDER / f"{stem}.mat")
    assert "no numeric variable 'sqr' (a function handle); allowed are 'a', 'b', 'c'" in fault(
        FOLDER / "some_functions.mat", key="sqr"
    )


# --- version 5 to 7, byte by byte


def element(order: str, kind: int, data: bytes) -> bytes:
    """A data element; up to four bytes are packed into its tag."""
    if len(data) <= 4:
        return struct.pack(order + "I", len(data) << 16 | kind) + data.ljust(4, b"\0")
    return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(
    order: str, flags: tuple[int, int], shape: tuple[int, ...], *parts: tuple[int, bytes]
) -> bytes:
    """A variable of the class and flags, its name `v`; shape and parts as they are stored."""
    body = struct.pack(order + "II", 6, 8) + struct.pack(order + "II", *flags)
    body += element(order, 5, struct.pack(f"{order}{len(shape)}i", *shape))
    return body + b"".join(element(order, kind, data) for kind, data in parts)


def level_5(order: str, *bodies: bytes, packed: bool = False) -> bytes:
    mark = b"IM" if order == "<" else b"MI"
    content = b"words".ljust(124) + struct.pack(order + "H", 0x100) + mark
    for body in bodies:
        whole = struct.pack(order + "II", 14, len(body)) + body
        if packed:
            text = zlib.compress(whole)
            whole = struct.pack(order + "II", 15, len(text)) + text
        content += whole
    return content


SPARSE = [[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


def sparse_logical(order: str, entries: int, spare: int, *, double: bool) -> bytes:
    """The first entries of SPARSE, with room for more, each one byte or a double."""
    held = scipy.sparse.csc_array(np.array(SPARSE))
    rows = np.concatenate([held.indices[:entries], np.zeros(spare, int)]).astype(order + "i4")
    starts = np.minimum(held.indptr, entries).astype(order + "i4")
    ones = np.ones(entries + (0 if double else spare), order + "f8" if double else "u1")
    parts = [(1, b"v"), (5, rows.tobytes()), (5, starts.tobytes()), (9, ones.tobytes())]
    return matrix(order, (0x205, entries + spare), (5, 4), *parts)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("entries", range(7))
@pytest.mark.parametrize("spare", [0, 3])
def test_sparse_logical_matrices_of_matlab_and_others(
    tmp_path: Path, spare: int, entries: int, double: bool, order: str, packed: bool
) -> None:
    body = sparse_logical(order, entries, spare, double=double)
    found, notes = read_array(saved(tmp_path / "a.mat", level_5(order, body, packed=packed)))
    columns = np.flatnonzero(np.array(SPARSE).T)[:entries]
    expected = np.zeros(20)
    expected[columns] = 1.0
    np.testing.assert_array_equal(found, expected.reshape(4, 5).T)
    assert notes[:2] == ("sparse: densified", "booleans: converted to 0.0 and 1.0")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["v", "array_name", "größe_des_Feldes"])
def test_names_in_utf_8(tmp_path: Path, name: str, order: str, packed: bool) -> None:
    bodies = []
    for kind, word in ((16, name), (1, "other")):
        parts = (kind, word.encode()), (9, struct.pack(order + "d", len(word) / 8))
        bodies.append(matrix(order, (6, 0), (1, 1), *parts))
    file = saved(tmp_path / "a.mat", level_5(order, *bodies, packed=packed))
    assert read_array(f"{file}:{name}")[0] == len(name) / 8
    assert read_array(f"{file}:other")[0] == 5 / 8
    assert f"'{name}', 'other'" in fault(file)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("kind", "stored"), [(2, "u1"), (3, "i2"), (4, "u2"), (5, "i4")])
@pytest.mark.parametrize("held", [6, 7, 12, 14])
@pytest.mark.parametrize("mixed", [False, True])
def test_numbers_stored_in_fewer_bytes_than_their_class(
    tmp_path: Path, mixed: bool, held: int, kind: int, stored: str, order: str
) -> None:
    numbers = np.arange(6).astype(order + stored)
    parts = [(1, b"v"), (kind, numbers.tobytes())]
    if mixed:
        parts.append((kind, numbers[::-1].tobytes()))
    body = matrix(order, (held | mixed << 11, 0), (2, 3), *parts)
    found, notes = read_array(saved(tmp_path / "a.mat", level_5(order, body)))
    expected = np.arange(6.0) + (1j * np.arange(5.0, -1.0, -1.0) if mixed else 0.0)
    np.testing.assert_array_equal(found, expected.reshape(3, 2).T)
    assert any(note.startswith("float32") for note in notes) == (held == 7 and not mixed)


DAMAGED: dict[str, tuple[bytes, str]] = {
    "numbers beyond int8": (
        matrix("<", (8, 0), (1, 1), (1, b"v"), (3, struct.pack("<h", 300))), "beyond int8",
    ),
    "NaN of an integer class": (
        matrix("<", (12, 0), (1, 1), (1, b"v"), (9, struct.pack("<d", np.nan))), "beyond int32",
    ),
    "imaginary parts are missing": (
        matrix("<", (0x806, 0), (1, 2), (1, b"v"), (2, b"\1\2"), (2, b"\1")), "1 imaginary parts",
    ),
    "one number of two": (matrix("<", (6, 0), (1, 2), (1, b"v"), (2, b"\1")), "1 numbers for"),
    "a row outside": (
        matrix("<", (5, 0), (2, 1), (1, b"v"), (5, b"\2\0\0\0"), (5, bytes([0] * 4 + [1, 0, 0, 0])),
               (2, b"\1")), "out of bounds",
    ),
    "a row that is a fraction": (
        matrix("<", (5, 0), (2, 1), (1, b"v"), (7, b"\0\0\0\0"), (5, bytes([0] * 4 + [1, 0, 0, 0])),
               (2, b"\1")), "no integers",
    ),
    "columns that go back": (
        matrix("<", (5, 0), (1, 2), (1, b"v"), (2, b"\0\0"), (2, b"\0\2\1"), (2, b"\1\1")),
        "columns of a sparse",
    ),
    "a negative length": (matrix("<", (6, 0), (1, -1), (1, b"v"), (2, b"\1")), "shape (1, -1)"),
    "a name of numbers": (matrix("<", (6, 0), (1, 1), (9, b"v"), (2, b"\1")), "a name of type 9"),
    "a name in Latin": (matrix("<", (6, 0), (1, 1), (16, b"\xe4"), (2, b"\1")), "'utf-8' codec"),
    "words as numbers": (matrix("<", (6, 0), (1, 1), (1, b"v"), (16, b"\1")), "of type 16"),
    "five bytes in four": (
        matrix("<", (6, 0), (1, 1), (1, b"v")) + struct.pack("<I", 5 << 16 | 2) + bytes(9),
        "5 bytes packed into four",
    ),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_variables_are_refused(tmp_path: Path, name: str, packed: bool) -> None:
    body, words = DAMAGED[name]
    message = fault(saved(tmp_path / "a.mat", level_5("<", body, packed=packed)))
    assert "damaged" in message
    assert words in message


def test_only_the_variable_that_is_asked_for_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.BytesIO()
    variables = {"large": np.zeros((3000, 1000)), "small": X}
    scipy.io.savemat(stream, variables, do_compression=True)
    file = saved(tmp_path / "a.mat", stream.getvalue())
    read_array(f"{file}:small")
    tracemalloc.start()
    np.testing.assert_array_equal(read_array(f"{file}:small")[0], X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**21
    monkeypatch.setattr(arrays, "MAX_BYTES", 2**20)
    assert f"{3000 * 1000 * 8 + 56} bytes of type 14 are packed" in fault(f"{file}:large")


# --- version 4


def level_4(order: str, mode: int, array: Any, name: str = "v", *, mixed: int = 0) -> bytes:
    shape = array.shape[-2:]
    head = struct.pack(order + "5i", mode, *shape, mixed, len(name) + 1)
    numbers: bytes = np.swapaxes(array, -2, -1).tobytes()
    return head + name.encode() + b"\0" + numbers


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("digit", "stored"), list(enumerate(["f8", "f4", "i4", "i2", "u2", "u1"])))
def test_version_4_of_any_type_and_order(
    tmp_path: Path, digit: int, stored: str, order: str
) -> None:
    mode = 1000 * (order == ">") + 10 * digit
    full = np.array([[1, 2, 3], [0, 5, 7]]).astype(order + stored)
    table = np.array([[1, 1, 5, 2], [2, 3, 7, 0], [2, 3, 9, 1], [2, 4, 0, 0]], order + stored)
    content = level_4(order, mode, full, "full")
    content += level_4(
        order, mode, np.stack([full, full[::-1]]).astype(full.dtype), "mixed", mixed=1
    )
    content += level_4(order, mode + 2, table[:, :3], "thin")
    content += level_4(order, mode + 2, table, "both")
    content += level_4(order, mode + 1, full, "word")
    file = saved(tmp_path / "a.mat", content)
    expected = {
        "full": full,
        "mixed": full + 1j * full[::-1],
        "thin": [[5, 0, 0, 0], [0, 0, 16, 0]],
        "both": [[5 + 2j, 0, 0, 0], [0, 0, 16 + 1j, 0]],
    }
    for name, array in expected.items():
        np.testing.assert_array_equal(read_array(file, key=name)[0], array)
        np.testing.assert_array_equal(dense(scipy.io.loadmat(file)[name]), array)
    assert "no numeric variable 'word' (a char array)" in fault(file, key="word")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((level_4("<", mode, X), f"of mode {mode}") for mode in (2000, 3000, 4000, 60, 3)),
        (level_4("<", 1000, X), "a matrix of mode 1000"),
        (level_4("<", 0, X)[:-1], "bytes for a matrix of shape (2, 3)"),
        (struct.pack("<5i", 0, 2**30, 2**30, 0, 2) + b"v\0", "bytes for a matrix"),
        (struct.pack("<5i", 0, -1, -1, 0, 2) + b"v\0" + bytes(8), "bytes for a matrix"),
        (struct.pack("<5i", 0, 1, 1, 0, -9) + b"v\0" + bytes(8), "bytes for a matrix"),
        (level_4("<", 2, np.array([[3.0, 1, 5], [2, 2, 0]])), "places of a sparse"),
        (level_4("<", 2, np.array([[0.0, 1, 5], [2, 2, 0]])), "places of a sparse"),
        (level_4("<", 2, np.array([[1.5, 1, 5], [2, 2, 0]])), "numbers beyond int64"),
        (level_4("<", 2, np.array([[np.nan, 1, 5], [2, 2, 0]])), "numbers beyond int64"),
        (level_4("<", 2, np.array([[1.0, 1, 5], [1e9, 1e9, 0]])), "entries; allowed are at most"),
        (level_4("<", 2, np.array([[1.0, 1], [2, 2]])), "a sparse matrix of shape (2, 2)"),
    ],
)  # fmt: skip
def test_version_4_damaged_or_of_old_machines(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in fault(saved(tmp_path / "a.mat", content))


# --- version 7.3


def level_73(fill: Callable[[Any], None], **options: Any) -> bytes:
    """A file of version 7.3: HDF5 behind 512 bytes, which begin with MATLAB's header."""
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512, **options) as file:
        fill(file)
    content: bytes = stream.getvalue()
    return b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + content[128:]


def put(place: Any, name: str, array: Any, word: str, **options: Any) -> Any:
    """Store an array as MATLAB does, transposed, with its class."""
    held = place.create_dataset(name, data=np.asarray(array).T, **options)
    held.attrs["MATLAB_class"] = np.bytes_(word)
    return held


def put_sparse(place: Any, name: str, array: Any, word: str) -> Any:
    held = scipy.sparse.csc_array(array)
    group = place.create_group(name)
    group.attrs["MATLAB_class"] = np.bytes_(word)
    group.attrs["MATLAB_sparse"] = np.uint64(array.shape[0])
    group["jc"] = held.indptr.astype("u8")
    if held.nnz:
        group["data"] = pairs(held.data) if word != "logical" else held.data.astype("u1")
        group["ir"] = held.indices.astype("u8")
    return group


def pairs(array: Any) -> Any:
    """Complex numbers as pairs of named parts."""
    if array.dtype.kind != "c":
        return array
    kind = array.real.dtype
    return np.ascontiguousarray(array).view([("real", kind), ("imag", kind)])


def parsed(content: bytes, key: str | None = None) -> Any:
    """What the other process parses, in this one."""
    return arrays.parse_hdf5(content, key, "data 'a.mat'")[0]


CLASSES = {"double": "f8", "single": "f4", **{name: name for name in NUMERIC if "int" in name}}
WHOLE = np.array([[1, 0, 3], [0, 5, 100]])


@pytest.mark.parametrize("version", ["earliest", "latest"])
@pytest.mark.parametrize("packing", [{}, {"chunks": (2, 1), "compression": 4, "shuffle": True}])
@pytest.mark.parametrize("word", [*CLASSES, "logical"])
def test_version_73_of_any_class(word: str, packing: dict[str, Any], version: str) -> None:
    kind = CLASSES.get(word, "u1")
    array = (WHOLE % 2 if word == "logical" else WHOLE).astype(kind)
    mixed = np.asfortranarray(WHOLE + 1j * WHOLE[::-1]).astype(np.result_type(kind, np.complex64))

    def fill(file: Any) -> None:
        put(file, "full", array, word, **packing)
        put(file, "thin", array, word)
        put_sparse(file, "sparse", array, word)
        put_sparse(file, "hollow", np.zeros((3, 2)), word)
        put(file, "mixed", pairs(mixed.astype(np.complex128)), "double", **packing)
        put_sparse(file, "both", mixed.astype(np.complex128), "double")
        file.create_group("#refs#")

    content = level_73(fill, libver=version)
    expected = {"full": array, "thin": array, "sparse": array, "hollow": np.zeros((3, 2)),
                "mixed": mixed, "both": mixed}  # fmt: skip
    for name, numbers in expected.items():
        np.testing.assert_array_equal(parsed(content, name), numbers)
    bare = np.dtype(np.bool_ if word == "logical" else kind)
    assert parsed(content, "full").dtype == parsed(content, "sparse").dtype == bare
    with pytest.raises(InputError, match="6 numeric variables, none named 'X'"):
        parsed(content)


def test_version_73_is_read_as_any_other(tmp_path: Path) -> None:
    def fill(file: Any) -> None:
        put(file, "X", X, "double")
        put_sparse(file, "y", np.array([[1.0, 0.0]]), "logical")
        put(file, "cube", np.ones((2, 2, 2)), "double")
        put(file, "none", np.array([0, 3], "u8"), "double").attrs["MATLAB_empty"] = np.uint8(1)
        put(file, "word", np.array([[97]], "u2"), "char")

    file = saved(tmp_path / "a.mat", level_73(fill))
    found, notes = read_array(file)
    np.testing.assert_array_equal(found, X)
    assert notes == ()
    assert found.flags.c_contiguous
    assert found.flags.writeable
    found, notes = read_array(f"{file}:y")
    np.testing.assert_array_equal(found, [[1.0, 0.0]])
    assert notes[:2] == ("sparse: densified", "booleans: converted to 0.0 and 1.0")
    assert "variable 'cube': 3 dimensions, shape (2, 2, 2)" in fault(file, key="cube")
    assert "variable 'none': empty array of shape (0, 3)" in fault(file, key="none")
    missing = fault(file, key="word")
    assert missing.startswith(f"data {str(file)!r}: no numeric variable 'word' (a char array)")
    with pytest.raises(MissingError, match="'z'; allowed are 'X', 'cube', 'none', 'y'"):
        read_array(file, key="z")


def _refers(file: Any) -> None:
    put(file.create_group("#refs#"), "a", X, "double")
    held = file.create_dataset("v", shape=(1, 1), dtype=h5py.ref_dtype)
    held.attrs["MATLAB_class"] = np.bytes_("cell")


def _structure(file: Any) -> None:
    file.create_group("v").attrs["MATLAB_class"] = np.bytes_("struct")


def _external(file: Any) -> None:
    held = file.create_dataset("v", (1, 3), "f8", external=[("/etc/hostname", 0, 24)])
    held.attrs["MATLAB_class"] = np.bytes_("double")


def _vast(file: Any) -> None:
    held = file.create_dataset("v", (2**20, 2**20), "f8", chunks=(2**10, 2**10))
    held.attrs["MATLAB_class"] = np.bytes_("double")


def _chunk(file: Any) -> None:
    """A chunk that unpacks to more than it may hold."""
    held = put(file, "v", X, "double", chunks=(3, 2), compression=9)
    held.id.write_direct_chunk((0, 0), zlib.compress(bytes(10**6)))


def _wide(file: Any) -> None:
    put(file, "v", X, "double", chunks=(64, 64), maxshape=(None, None))


def _sparse_of(**parts: Any) -> Callable[[Any], None]:
    def fill(file: Any) -> None:
        group = put_sparse(file, "v", np.eye(2), "double")
        for name, part in parts.items():
            del group[name]
            if part is not None:
                group[name] = part

    return fill


STRANGE: dict[str, tuple[Callable[[Any], None], str]] = {
    "references": (_refers, "('v' is a cell array)"),
    "structure": (_structure, "('v' is a structure)"),
    "words": (lambda f: put(f, "v", np.array([[97]], "u2"), "char"), "('v' is a char array)"),
    "handle": (lambda f: put(f, "v", [[1]], "function_handle"), "('v' is a function handle)"),
    "object": (lambda f: put(f, "v", [[1]], "table"), "('v' is a variable of class 'table')"),
    "no class": (lambda f: f.create_dataset("v", data=X), "('v' is a variable of class '')"),
    "link": (lambda f: f.__setitem__("v", h5py.ExternalLink("b.h5", "/x")), "('v' is a link)"),
    "soft link": (lambda f: f.__setitem__("v", h5py.SoftLink("/x")), "('v' is a link)"),
    "group": (
        lambda f: f.create_group("v").attrs.create("MATLAB_class", np.bytes_("double")),
        "'v' is no matrix",
    ),
    "class in numbers": (
        lambda f: f.create_dataset("v", data=X).attrs.create("MATLAB_class", 7), "is no word",
    ),
    "strings": (lambda f: put(f, "v", np.array([[b"a"]]), "double"), "numbers of type |S1"),
    "other pairs": (
        lambda f: put(f, "v", np.zeros((1, 1), [("a", "f8"), ("b", "f8")]), "double"),
        "numbers of type",
    ),
    "beyond": (lambda f: put(f, "v", [[300]], "int8"), "numbers beyond int8"),
    "external": (_external, "numbers that are not in the file"),
    "vast": (_vast, f"{2**40} entries; allowed are at most"),
    "chunk": (_chunk, "more than 48 bytes in a chunk"),
    "wide": (_wide, f"{2**15} bytes in a chunk"),
    "filter": (
        lambda f: put(f, "v", X, "double", chunks=(3, 2), compression="lzf"), "filters [32000]",
    ),
    "sparse without rows": (_sparse_of(ir=None), "rows of a sparse matrix"),
    "sparse without starts": (_sparse_of(jc=None), "'jc' of a sparse matrix is no dataset"),
    "sparse of few values": (_sparse_of(data=[1.0]), "(1,) values in (2,) rows"),
    "sparse of fractions": (_sparse_of(ir=[0.0, 1.0]), "where integers belong"),
    "sparse outside": (_sparse_of(ir=np.array([0, 2], "u8")), "out of bounds"),
    "sparse back": (_sparse_of(jc=np.array([0, 2, 1], "u8")), "columns of a sparse matrix"),
    "sparse beyond": (_sparse_of(ir=np.array([0, 2**63], "u8")), "rows of a sparse matrix"),
    "sparse link": (_sparse_of(data=h5py.ExternalLink("b.h5", "/x")), "'data' of a sparse"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_version_73_without_a_plain_matrix_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill, words = STRANGE[name]
    monkeypatch.setattr(arrays, "MAX_BYTES", 2**10)
    with pytest.raises(InputError) as caught:
        parsed(level_73(fill))
    assert words in str(caught.value)
    assert str(caught.value).startswith("data 'a.mat': ")
    assert "\n" not in str(caught.value)


def test_version_73_reads_no_other_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "b.h5", "w") as other:
        put(other, "x", X, "double")

    def fill(file: Any) -> None:
        layout = h5py.VirtualLayout(shape=X.T.shape, dtype="f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "b.h5"), "x", shape=X.T.shape)
        file.create_virtual_dataset("v", layout).attrs["MATLAB_class"] = np.bytes_("double")
        file["w"] = h5py.ExternalLink(str(tmp_path / "b.h5"), "/x")

    with pytest.raises(InputError, match="numbers that are not in the file"):
        parsed(level_73(fill), "v")
    with pytest.raises(MissingError, match=r"no numeric variable 'w' \(a link\)"):
        parsed(level_73(fill), "w")


def test_version_73_without_h5py_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = saved(tmp_path / "a.mat", level_73(lambda file: put(file, "X", X, "double")))
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert "save with -v7), or all with pip install 'stabbench[hdf5]'" in fault(file)


def test_hdf5_that_loops_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(level_73(lambda file: put(file, "X", X, "double")))
    heap = content.find(b"HEAP")
    _, free, data = struct.unpack_from("<QQQ", content, heap + 8)
    struct.pack_into("<Q", content, 512 + data + free, free)  # the free list begins again
    monkeypatch.setattr("stabbench.files.apart.MAX_SECONDS", 1.0)
    assert "damaged, not read within 1 seconds" in fault(saved(tmp_path / "a.mat", bytes(content)))


@pytest.mark.parametrize(
    ("script", "words"),
    [("kill -SEGV $$", "status -11"), ("echo words; echo last >&2; exit 3", "(last)")],
)
def test_library_that_crashes_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    file = saved(tmp_path / "a.mat", level_73(lambda file: put(file, "X", X, "double")))
    program = saved(tmp_path / "python", f"#!/bin/sh\ncat >/dev/null\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))
    message = fault(file)
    assert "damaged or not readable" in message
    assert words in message


# --- files of every version, mutated


def _any_73(file: Any) -> None:
    put(file, "X", X, "double", chunks=(2, 2), compression=4, shuffle=True)
    put(file, "mixed", pairs(X.astype(np.complex128)), "double")
    put_sparse(file, "sparse", X > 1.0, "logical")


OWN = [
    level_5("<", sparse_logical("<", 6, 2, double=False)),
    level_5(">", *(body for body, _ in DAMAGED.values()), packed=True),
    level_4("<", 0, X, "X") + level_4("<", 2, np.array([[1.0, 1, 5], [2, 2, 0]]), "sparse"),
    level_4(">", 1000, X.astype(">f8"), "X"),
]
OTHERS = [content for content in map(Path.read_bytes, FILES) if len(content) < 10_000]


@pytest.mark.parametrize(
    ("contents", "count"),
    [(OWN, 300), (OTHERS, 300), ([level_73(_any_73), level_73(_any_73, libver="latest")], 150)],
    ids=["own", "others", "7.3"],
)
def test_mutated_files_are_refused_or_read_never_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: list[bytes], count: int
) -> None:
    # HDF5 in this process: its crash would end the tests
    monkeypatch.setattr("stabbench.files.apart.ask", arrays.parse_hdf5)
    monkeypatch.setattr(arrays, "MAX_BYTES", 2**20)
    rng = np.random.default_rng(11)
    messages = []
    for _ in range(count):
        file = saved(tmp_path / "a.mat", mutated(rng, contents))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                found, _ = read_array(file, key=str(rng.choice(["X", "mixed", "sparse", "v"])))
            except InputError as error:
                messages.append(str(error))
            else:
                assert np.isfinite(found).all()
        assert not warned
    assert len(messages) > count // 3
    assert not any("\n" in message or "memory" in message for message in messages)
