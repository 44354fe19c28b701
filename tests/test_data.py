"""Data: the same numbers for the same seed, and every fault of a file told in one line."""

import dataclasses
import gzip
import io
import math
import os
import pickle
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stabbench.arithmetic.precision import precision
from stabbench.errors import InputError
from stabbench.files import MAX_ENTRIES, read_array
from stabbench.files.delimited import parse_table
from stabbench.problems import registry
from stabbench.problems.data import FAMILIES, BreastCancer, Digits, File, dataset
from stabbench.problems.families import Gaussian, Graded, IllScaled, Uniform
from tests.support import fault, mutated, saved

M = np.array([[0.1, -2.5, 3.0], [1e-300, 0.5, 1e300]])
FLATTERING = (
    "integer-valued: small integers decode exactly in floating point, errors are flattering"
)
BANNER = "%%MatrixMarket matrix "


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def mat(variables: dict[str, Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, **options)
    return stream.getvalue()


# --- what is read


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c16"])
def test_npy_of_any_byte_order_and_layout(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.array([[0.5, -2.25, 3.0], [0.125, 7.5, -1.0]]).astype(dtype, order=order)
    found, _ = read_array(saved(tmp_path / "a.npy", npy(array)))
    assert found.dtype == np.dtype("c16" if array.dtype.kind == "c" else "f8")
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_of_any_version(tmp_path: Path, version: tuple[int, int]) -> None:
    with (tmp_path / "a.npy").open("wb") as stream:
        np.lib.format.write_array(stream, M, version=version)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy")[0], M)


@given(
    array=hnp.arrays(
        st.sampled_from(["<f8", ">f4", "<i8", ">i2", "|u1", "|b1", "<c16"]),
        hnp.array_shapes(min_dims=1, max_dims=2, max_side=4),
        elements={"allow_nan": False, "allow_infinity": False},
    )
)
def test_npy_and_npz_hold_the_same_numbers(
    tmp_path_factory: pytest.TempPathFactory, array: Any
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    np.savez_compressed(folder / "a.npz", array)
    plain, packed = read_array(saved(folder / "a.npy", npy(array))), read_array(folder / "a.npz")
    assert plain[1] == packed[1]
    np.testing.assert_array_equal(plain[0], packed[0])
    rounded = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    np.testing.assert_array_equal(plain[0].ravel(), rounded.ravel())


def test_vector_becomes_a_column_where_a_matrix_is_asked(tmp_path: Path) -> None:
    file = saved(tmp_path / "v.npy", npy(M[0]))
    np.testing.assert_array_equal(read_array(file)[0], M[0][:, None])
    np.testing.assert_array_equal(read_array(file, matrix=False)[0], M[0])


def test_npz_reads_the_only_array_or_the_named_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", weights=M)
    np.savez_compressed(tmp_path / "two.npz", X=M, y=M[0])
    np.savez(tmp_path / "none of X.npz", a=M, b=2.0 * M)
    np.testing.assert_array_equal(read_array(tmp_path / "one.npz")[0], M)
    np.testing.assert_array_equal(read_array(tmp_path / "two.npz")[0], M)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/none of X.npz:b")[0], 2.0 * M)
    np.testing.assert_array_equal(read_array(tmp_path / "two.npz", key="y")[0], M[:1].T)
    assert "2 arrays, none named 'X'" in fault(tmp_path / "none of X.npz")
    assert "no array 'c'; allowed are 'a', 'b'" in fault(f"{tmp_path}/none of X.npz:c")


def test_path_with_colon_wins_over_a_selected_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", b=M)
    saved(tmp_path / "a.npz:b.npy", npy(3.0 * M))
    np.testing.assert_array_equal(read_array(f"{tmp_path}/a.npz:b.npy")[0], 3.0 * M)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/a.npz:b")[0], M)


def test_path_with_spaces_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    saved(tmp_path / "my data é.NPY", npy(M))
    np.savez(tmp_path / "b.npz", a=M, c=M)
    np.testing.assert_array_equal(read_array("~/my data é.NPY")[0], M)
    np.testing.assert_array_equal(read_array("~/b.npz:a")[0], M)
    assert "no such file" in fault("~nobody-of-this-name.npy")


TABLES = {
    "comma": "1.5,2\n-3e0,.25\n",
    "semicolon": "1.5;2\n-3;0.25\n",
    "tab": "1.5\t2\n-3\t0.25\n",
    "spaces": "  1.5   2\n -3 0.25  \n",
    "no last line end": "1.5,2\n-3,0.25",
    "byte-order mark": "\ufeff1.5,2\n-3,0.25\n",
    "CRLF": "1.5,2\r\n-3,0.25\r\n",
    "CR": "1.5,2\r-3,0.25\r",
    "blank lines": "\n1.5,2\n\n-3,0.25\n\n",
    "comment": "# saved by NumPy\n1.5 2\n-3 0.25\n",
    "quotes": '"1.5","2"\n"-3", "0.25"\n',
    "quotes and spaces": '"1.5"  "2"\n "-3" 0.25\n',
    "header": "height,width\n1.5,2\n-3,0.25\n",
    "quoted header": '\ufeff"height, m";"width"\r\n1.5;2\r\n-3;0.25\r\n',
    "imaginary header": "i,j\n1.5,2\n-3,0.25\n",
    "decimal comma": "1,5;2\n-3;0,25\n",
    "decimal comma, tab": "1,5\t2\n-3\t0,25\n",
    "decimal comma, quotes, header": 'a;b\r\n"1,5";"2"\r\n"-3";"0,25"\r\n',
}


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
@pytest.mark.parametrize("kind", TABLES)
def test_text_tables_of_every_habit(tmp_path: Path, kind: str, suffix: str) -> None:
    found, notes = read_array(saved(tmp_path / f"a{suffix}", TABLES[kind]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[1.5, 2.0], [-3.0, 0.25]])
    assert any(note.startswith("header line skipped") for note in notes) == ("header" in kind)
    assert ("decimal commas read" in notes) == ("decimal comma" in kind)


@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.complex128]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=4),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    st.sampled_from([" ", ",", ";", "\t"]),
    st.booleans(),
)
def test_text_gives_every_bit_back(array: Any, separator: str, comma: bool) -> None:
    text = "\n".join(separator.join(str(value) for value in row) for row in array.tolist())
    if comma and separator in ";\t":
        text = text.replace(".", ",")
    found, _ = parse_table(text.encode(), "table")
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1.0D+05", 1e5),
        ("-2.5d-03", -2.5e-3),
        (".5D0", 0.5),
        ("7.D2", 700.0),
        ("1.25-105", 1.25e-105),
        ("+1.25+105", 1.25e105),
    ],
)
def test_exponents_of_fortran(tmp_path: Path, word: str, value: float) -> None:
    files = {
        "a.mtx": f"{BANNER}coordinate real general\n1 1 1\n1 1 {word}\n",
        "b.mtx": f"{BANNER}array complex general\n1 1\n{word} 0\n",
        "a.csv": f"{word},1\n",
        "a.txt": f"height width\n{word} 1\n",
        "b.txt": f"{word.replace('.', ',')};1,5\n",
    }
    for name, text in files.items():
        assert read_array(saved(tmp_path / name, text))[0][0, 0] == value
    for other in ("1D", "D5", "1.0D5.0", "1.0-5", "1.0DD5", "1-2", "0x1D2"):
        assert "is no number" in fault(saved(tmp_path / "a.csv", f"{other},1\n1,2\n"))
        body = f"array real general\n1 1\n{other}\n"
        assert "is no number" in fault(saved(tmp_path / "a.mtx", BANNER + body))


def test_what_numpy_saves_as_text_is_read(tmp_path: Path) -> None:
    for array in (M, M[:, :1], M + 1j * M[::-1]):
        np.savetxt(tmp_path / "a.txt", array, header="two lines\nof words")
        np.testing.assert_array_equal(read_array(tmp_path / "a.txt")[0], array)


def test_column_numbers_in_the_first_line_are_pointed_out(tmp_path: Path) -> None:
    _, notes = read_array(saved(tmp_path / "a.csv", "0,1,2\n0.5,1,2\n"))
    assert "line 1 is 0, 1, ..., 2: read as data, not as column numbers" in notes


MATRIX_MARKET = {
    "coordinate real general": ("2 2 2\n1 1 1.5\n2 1 2\n", [[1.5, 0], [2, 0]]),
    "coordinate real symmetric": ("2 2 2\n1 1 1.5\n2 1 2\n", [[1.5, 2], [2, 0]]),
    "coordinate real skew-symmetric": ("2 2 1\n2 1 2.5\n", [[0, -2.5], [2.5, 0]]),
    "coordinate complex hermitian": ("2 2 2\n1 1 4 0\n2 1 .5 1\n", [[4, 0.5 - 1j], [0.5 + 1j, 0]]),
    "coordinate complex symmetric": ("2 2 1\n2 1 .5 1\n", [[0, 0.5 + 1j], [0.5 + 1j, 0]]),
    "coordinate pattern general": ("2 3 2\n1 1\n2 3\n", [[1, 0, 0], [0, 0, 1]]),
    "coordinate pattern symmetric": ("2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    "coordinate integer general": ("1 2 1\n1 2 -7\n", [[0, -7]]),
    "array real general": ("2 2\n1\n2.5\n3\n4\n", [[1, 3], [2.5, 4]]),
    "array real symmetric": ("2 2\n1\n2.5\n3\n", [[1, 2.5], [2.5, 3]]),
    "array real skew-symmetric": ("2 2\n2.5\n", [[0, -2.5], [2.5, 0]]),
    "array complex general": ("1 2\n1 .5\n2 -1\n", [[1 + 0.5j, 2 - 1j]]),
    "array complex hermitian": ("2 2\n1 0\n.5 1\n3 0\n", [[1, 0.5 - 1j], [0.5 + 1j, 3]]),
    "array integer general": ("2 1\n-7\n9\n", [[-7], [9]]),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", MATRIX_MARKET)
def test_matrix_market_of_every_kind(tmp_path: Path, kind: str, end: str, packed: bool) -> None:
    body, expected = MATRIX_MARKET[kind]
    content = f"{BANNER}{kind}\n% a comment\n{body}".replace("\n", end).encode()
    file = tmp_path / ("a.mtx.gz" if packed else "a.mtx")
    found, notes = read_array(saved(file, gzip.compress(content) if packed else content))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (np.complex128 if "complex" in kind else np.float64)
    joined = "; ".join(notes)
    assert ("densified" in joined) == ("coordinate" in kind)
    assert ("both triangles filled" in joined) == ("general" not in kind)
    assert ("stored entries are 1" in joined) == ("pattern" in kind)
    assert ("integers: converted to float64 exactly" in joined) == ("integer" in kind)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["f8", "c16", "i8"])
def test_matrix_market_as_scipy_writes_it(
    tmp_path: Path, kind: str, sparse: bool, symmetry: str
) -> None:
    rng = np.random.default_rng(7)
    array = (rng.standard_normal((5, 5)) * 1e3).astype(kind) * (rng.random((5, 5)) < 0.6)
    if kind == "c16":
        array = array + 1j * array.T
    if symmetry != "general":
        other = array.conj().T if symmetry == "hermitian" else array.T
        array = array - other if symmetry == "skew-symmetric" else array + other
    written = scipy.sparse.coo_array(array) if sparse else array
    scipy.io.mmwrite(tmp_path / "a.mtx", written, symmetry=symmetry)
    np.testing.assert_array_equal(read_array(tmp_path / "a.mtx")[0], array)


def test_matrix_market_repeated_entries_are_added_and_said(tmp_path: Path) -> None:
    body = "coordinate real symmetric\n2 2 3\n2 1 1.5\n1 1 2\n1 2 0.25\n"
    found, notes = read_array(saved(tmp_path / "a.mtx", BANNER + body))
    np.testing.assert_array_equal(found, [[2.0, 1.75], [1.75, 0.0]])
    assert notes[0] == "2 repeated entries: added"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "head", ["%%MatrixMarket matrix", "%%MATRIXMARKET MATRIX", "%MatrixMarket  matrix"]
)
def test_matrix_market_of_every_habit(tmp_path: Path, head: str, end: str) -> None:
    text = (
        f"{head}\tCoordinate Real GENERAL \n\n%\n  % words 1 2 3\n \n 2 2  2 \n"
        "1 1\t1.5\n\n% more\n  2 1 2.0D+00  \n\n"
    )
    found, _ = read_array(saved(tmp_path / "a.mtx", text.replace("\n", end)))
    np.testing.assert_array_equal(found, [[1.5, 0.0], [2.0, 0.0]])


def test_matrix_market_integers_stay_exact_or_are_refused(tmp_path: Path) -> None:
    def body(kind: str, *entries: str) -> str:
        lines = "\n".join(entries)
        return f"{BANNER}coordinate {kind}\n2 2 {len(entries)}\n{lines}\n"

    least, large = -(2**63), 2**64 - 1
    for value in (least, large):
        found, _ = read_array(saved(tmp_path / "a.mtx", body("integer general", f"2 1 {value}")))
        assert found[1, 0] == float(value)
        file = saved(tmp_path / "a.mtx", body("integer skew-symmetric", f"2 1 {value}"))
        assert "integers beyond 64 bits" in fault(file)
    twice = (f"2 1 {2**62}", f"2 1 {2**62}")
    assert "sums may exceed 64 bits" in fault(
        saved(tmp_path / "a.mtx", body("integer general", *twice))
    )
    found, _ = read_array(saved(tmp_path / "a.mtx", body("integer general", "2 1 7", "2 1 -9")))
    assert found[1, 0] == -2.0


@pytest.mark.parametrize(
    "options", [{"format": "4"}, {"do_compression": False}, {"do_compression": True}]
)
def test_matlab_gives_numbers_and_types_back(tmp_path: Path, options: dict[str, Any]) -> None:
    variables = {
        "real": M,
        "small": np.array([[1.0, 2.0]]),
        "mixed": np.array([[0.5 + 1j, 2 - 3j]]),
        "thin": scipy.sparse.csc_array([[0.0, 1.5]]),
        "word": "not a number",
    }
    file = saved(tmp_path / "a.mat", mat(variables, **options))
    for name in ("real", "small", "mixed"):
        np.testing.assert_array_equal(read_array(f"{file}:{name}")[0], variables[name])
    found, notes = read_array(file, key="thin")
    np.testing.assert_array_equal(found, [[0.0, 1.5]])
    assert notes == ("sparse: densified",)
    assert read_array(f"{file}:small")[1] == (FLATTERING,)
    assert "no numeric variable 'word'" in fault(f"{file}:word")
    assert "none named 'X'; allowed are FILE:NAME with 'real', 'small'" in fault(file)


def test_matlab_single_variable_of_any_numeric_class(tmp_path: Path) -> None:
    for dtype, note in (
        ("f4", "float32: converted to float64 exactly"),
        ("i2", "integers: converted to float64 exactly"),
        ("?", "booleans: converted to 0.0 and 1.0"),
    ):
        file = saved(tmp_path / "a.mat", mat({"v": np.array([[1, 0]], dtype), "w": "word"}))
        found, notes = read_array(file)
        np.testing.assert_array_equal(found, [[1.0, 0.0]])
        assert note in notes


@pytest.mark.parametrize(("order", "mark"), [("<", b"IM"), (">", b"MI")])
def test_matlab_of_any_byte_order(tmp_path: Path, order: str, mark: bytes) -> None:
    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)

    name = struct.pack(order + "I", 1 << 16 | 1) + b"a\0\0\0"  # packed into its tag
    body = element(6, struct.pack(order + "II", 6, 0)) + element(5, struct.pack(order + "ii", 1, 2))
    body += name + element(9, struct.pack(order + "dd", 0.1, -2.5))
    header = b"words".ljust(124) + struct.pack(order + "H", 0x100) + mark
    file = saved(tmp_path / "a.mat", header + element(14, body))
    np.testing.assert_array_equal(read_array(f"{file}:a")[0], [[0.1, -2.5]])


# --- what is said


def test_notes_say_what_conversion_did(tmp_path: Path) -> None:
    def notes(array: Any) -> tuple[str, ...]:
        return read_array(saved(tmp_path / "a.npy", npy(array)))[1]

    exact, big = "integers: converted to float64 exactly", 2**53 + 1
    assert notes(M) == ()
    assert notes(np.array([1, 2], ">i4")) == (exact, FLATTERING)
    assert notes(np.array([2**60, -(2**63)])) == (exact, FLATTERING)
    assert notes(np.array([1, big, -big, 2**53])) == (
        "integers: 2 values above 2^53 rounded to float64",
        FLATTERING,
    )
    assert notes(np.array([2**64 - 1], np.uint64))[0].startswith("integers: 1 values above 2^53")
    assert notes(np.array([True])) == ("booleans: converted to 0.0 and 1.0", FLATTERING)
    assert notes(np.array([1.0, -4.0])) == (FLATTERING,)
    assert notes(np.array([0.5], ">f2")) == ("float16: converted to float64 exactly",)
    assert notes(np.array([0.5 + 1j], "c8")) == (
        "complex64: converted to complex128 exactly",
        "complex: kept, computed in complex arithmetic",
    )
    assert notes(np.array([0.5 + 1j])) == ("complex: kept, computed in complex arithmetic",)


@pytest.mark.parametrize("kind", ["longdouble", "clongdouble"])
def test_longdouble_is_rounded_once_and_said(tmp_path: Path, kind: str) -> None:
    one = np.ones(2, kind)
    array = one + np.array([0.5, np.finfo(np.longdouble).eps]).astype(kind)
    for content in (npy(array), npy(array.astype(array.dtype.newbyteorder(">")))):
        found, notes = read_array(saved(tmp_path / "a.npy", content))
        np.testing.assert_array_equal(found[:, 0], [1.5, 1.0 + float(np.finfo("longdouble").eps)])
        wide = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps
        assert any("1 of 2 values rounded to" in note for note in notes) == wide


@pytest.mark.parametrize("what", ["data", "generator"])
def test_messages_begin_with_what_is_read_and_from_where(tmp_path: Path, what: str) -> None:
    path = f"{tmp_path}/no\nwhere.npy"
    assert fault(path, what=what).startswith(f"{what} {path!r}: no such file")


# --- what is refused


@pytest.mark.parametrize(
    ("array", "place"),
    [
        (np.array([[1.0, 2.0], [np.nan, np.inf]]), "NaN at row 2, column 1"),
        (np.array([[1.0, 2.0, -np.inf], [np.nan, 0.0, 0.0]]), "infinity at row 1, column 3"),
        (np.array([1.0, np.nan]), "NaN at row 2, column 1"),
        (np.array([[1.0, complex(0.0, np.nan)]]), "NaN at row 1, column 2"),
        (np.array([[1.0, 2.0], [3.0, np.nan]], order="F", dtype=">f4"), "NaN at row 2, column 2"),
    ],
)
def test_the_first_number_that_is_not_finite_is_named(
    tmp_path: Path, array: Any, place: str
) -> None:
    assert f"{place} (counted from 1)" in fault(saved(tmp_path / "a.npy", npy(array)))
    assert f"{place} (counted from 1)" in fault(saved(tmp_path / "a.npy", npy(array)), matrix=False)


def test_longdouble_beyond_float64_is_refused(tmp_path: Path) -> None:
    huge = np.array([0.5, np.finfo(np.longdouble).max])
    message = fault(saved(tmp_path / "a.npy", npy(huge)))
    assert "infinity at row 2, column 1" in message or "NaN" in message
    assert "allowed are" in message


class _Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (self.mark,)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    trap = np.array([[_Trap(str(mark))]], dtype=object)
    bytes_of_trap = npy(trap, allow_pickle=True)
    np.savez(tmp_path / "b.npz", X=trap, allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("X.npy", pickle.dumps(_Trap(str(mark))))
    files = [
        saved(tmp_path / "a.npy", bytes_of_trap),
        tmp_path / "b.npz",
        tmp_path / "c.npz",
        *(
            saved(tmp_path / f"d{suffix}", pickle.dumps(_Trap(str(mark))))
            for suffix in (".npy", ".npz", ".mat", ".csv", ".mtx")
        ),
    ]
    messages = [fault(file) for file in files]
    assert not mark.exists()
    assert all("pickled Python objects, never loaded" in message for message in messages[:2])


REFUSED = {
    "empty.npy": (b"", "the file is empty"),
    "empty.csv": (b"", "the file is empty"),
    "unknown.xlsx": (b"x", "unknown suffix '.xlsx'; allowed are .npy, .npz, .csv, .txt, .mtx"),
    "nosuffix": (b"x", "unknown suffix ''"),
    "none.npy": (npy(np.zeros((0, 3))), "empty array of shape (0, 3)"),
    "scalar.npy": (npy(np.float64(1.0)), "0 dimensions"),
    "cube.npy": (npy(np.ones((2, 2, 2))), "3 dimensions, shape (2, 2, 2); allowed are 1 and 2"),
    "words.npy": (npy(np.array(["a"])), "entries of type '<U1'; allowed are numbers"),
    "times.npy": (npy(np.array(["2020"], "M8[s]")), "entries of type '<M8[s]'"),
    "records.npy": (npy(np.zeros(2, [("a", "f8"), ("b", "f8")])), "entries of type '|V16'"),
    "other.npy": (b"hello, world", "truncated, damaged or no .npy file"),
    "other.npz": (b"hello, world", "truncated, damaged or no .npz file"),
    "other.mat": (b"hello, world" * 20, "truncated, damaged or no .mat file"),
    "other.mtx": (b"hello, world", "no .mtx file; allowed is a first line"),
    "other.mtx.gz": (b"hello, world", "damaged gzip data"),
    "binary.csv": (b"\x00\x01\x02", "null bytes, not text"),
    "utf16.csv": ("1;2\n".encode("utf-16"), "not UTF-8 at byte 0"),
    "latin.csv": ("Größe;b\n1;2\n".encode("latin-1"), "not UTF-8 at byte 2"),
    "blank.csv": (b"\n  \n# words\n", "no rows"),
    "header.csv": (b"a,b\n", "only a header line"),
    "index.csv": (b",a,b\n0,1,2\n", "no name in column 1 of the header in line 1"),
    "word.csv": (b"a,b\n1,2\n3,oops\n", "line 3, column 2: 'oops' is no number"),
    "late.csv": (b"1,2\na,b\n", "line 2, column 1: 'a' is no number"),
    "partial.csv": (b"a,2\n1,2\n", "line 1, column 1: 'a' is no number"),
    "gap.csv": (b"1,2\n3,\n", "line 2, column 2: '' is no number"),
    "under.csv": (b"1_0,2\n", "line 1, column 1: '1_0' is no number"),
    "script.csv": ("1,٢\n".encode(), "line 1, column 2: '٢' is no number"),
    "mixed.csv": (
        b"1,5;2\n3.5;4\n",
        "line 2, column 1: '3.5' is no number; allowed are numbers with a",
    ),
    "thousands.csv": (b'"1,234","5"\n', "line 1, column 1: '1,234' is no number"),
    "quote.csv": (b'1,"2\n3,4\n', "unbalanced quotes in line 1"),
    "ragged.csv": (b"1,2\n\n3,4,5\n", "3 cells in line 3, 2 in line 1"),
    "short.csv": (b"1,2\n3\n", "1 cells in line 2, 2 in line 1"),
    "ragged.txt": (b"1 2\n3\n", "1 cells in line 2, 2 in line 1"),
    "headed.csv": (b"a,b,c\n1,2\n", "2 cells in line 2, 3 in line 1"),
    "nan.csv": (b"a,b\n1,2\n3,nan\n", "NaN at row 2, column 2"),
    "huge.csv": (b"1,2\n-1e999,3\n", "infinity at row 2, column 1"),
    "nan.mtx": (f"{BANNER}array real general\n1 2\n1\nnan\n".encode(), "NaN at row 1, column 2"),
    "large.mtx": (f"{BANNER}array real general\n99999 99999\n1\n".encode(), "9999800001 entries"),
    "long.mtx": (
        f"{BANNER}coordinate real general\n2 2 999999999999\n1 1 1\n".encode(),
        "truncated or damaged, 1 lines for 999999999999 entries",
    ),
    "short.mtx": (f"{BANNER}array real general\n2 2\n1\n2\n3\n".encode(), "truncated"),
    "outside.mtx": (
        f"{BANNER}coordinate real general\n2 2 1\n3 1 1\n".encode(),
        "line 3: index 3; allowed are 1 to 2",
    ),
    "word.mtx": (f"{BANNER}array real general\n1 1\nx\n".encode(), "line 3: 'x' is no number"),
    "half.mtx": (f"{BANNER}array complex general\n1 1\n2\n".encode(), "1 numbers in line 3"),
    "kind.mtx": (f"{BANNER}array real upper\n1 1\n2\n".encode(), "'upper' in line 1; allowed are"),
    "size.mtx": (f"{BANNER}array real general\n% 1 1\n".encode(), "no line of sizes"),
    "wide.mtx": (f"{BANNER}array real symmetric\n1 2\n2\n".encode(), "symmetric of sizes [1, 2]"),
    "whole.mtx": (
        f"{BANNER}array integer general\n1 1\n99999999999999999999\n".encode(),
        "integers beyond 64 bits",
    ),
    "skew.mtx": (
        f"{BANNER}coordinate real skew-symmetric\n2 2 2\n1 1 1\n2 1 3\n".encode(),
        "skew-symmetric with others on the diagonal; allowed are zeros",
    ),
    "real.mtx": (
        f"{BANNER}array complex hermitian\n1 1\n2 1\n".encode(),
        "hermitian with others on the diagonal; allowed are real numbers",
    ),
    "none.mtx": (f"{BANNER}array real general\n0 2\n".encode(), "empty array of shape (0, 2)"),
    "none.mat": (mat({"v": np.zeros((0, 2))}), "variable 'v': empty array"),
    "cube.mat": (mat({"v": np.zeros((2, 2, 2))}), "variable 'v': 3 dimensions"),
    "word.mat": (mat({"v": "word"}), "no numeric variable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_faults_are_one_line_that_names_them(tmp_path: Path, name: str) -> None:
    content, words = REFUSED[name]
    message = fault(saved(tmp_path / name, content))
    assert message.startswith(f"data {str(tmp_path / name)!r}: ")
    assert words in message


def test_what_is_no_readable_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = saved(tmp_path / "a.npy", npy(M))
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "dangling.npy").symlink_to("nowhere.npy")
    assert "no such file" in fault(tmp_path / "b.npy")
    assert "no such file" in fault(file / "inside.npy")
    assert "no such file" in fault(tmp_path / "dangling.npy")
    assert f"data {str(tmp_path / 'b.npz')!r}: no such file" in fault(f"{tmp_path}/b.npz:a")
    assert "a directory" in fault(tmp_path / "folder.npy")
    assert "device, pipe or socket" in fault(tmp_path / "pipe.npy")
    assert "cannot be read" in fault(tmp_path / ("x" * 300 + ".npy"))
    assert "cannot be read" in fault(f"{tmp_path}/null\0.npy")
    assert "name 'x' selects nothing in a .npy file" in fault(file, key="x")

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    # the superuser may read everything, so the mode of the file alone proves nothing
    file.chmod(0)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "cannot be read (permission denied)" in fault(file)


def test_files_above_the_limits_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    file = saved(tmp_path / "a.npy", header.getvalue())
    assert f"{10**12} entries; allowed are at most {MAX_ENTRIES}" in fault(file)
    wide = scipy.sparse.csc_array((10**6, 10**6))
    assert "entries; allowed" in fault(saved(tmp_path / "a.mat", mat({"v": wide})))
    monkeypatch.setattr("stabbench.files.arrays.MAX_BYTES", 100)
    assert "bytes; allowed are at most 100" in fault(saved(tmp_path / "b.npy", npy(M)))
    bomb = gzip.compress(b" " * 1000)
    assert "unpacked too large" in fault(saved(tmp_path / "a.mtx.gz", bomb))


WHOLE = np.array([[0.1, -2.5], [1e-300, 0.3]])


def packed(save: Callable[..., None], *arguments: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    save(stream, *arguments, **options)
    return stream.getvalue()


CONTENTS = {
    "a.npy": npy(WHOLE),
    "a.npz": packed(np.savez, X=WHOLE),
    "b.npz": packed(np.savez_compressed, X=WHOLE),
    "a.mat": mat({"X": WHOLE}, format="4"),
    "b.mat": mat({"X": WHOLE}),
    "c.mat": mat({"X": WHOLE}, do_compression=True),
    "d.mat": mat({"X": scipy.sparse.csc_array(WHOLE)}),
    "a.mtx.gz": gzip.compress(
        f"{BANNER}array real general\n2 2\n0.1\n1e-300\n-2.5\n0.3\n".encode()
    ),
    "a.mtx": f"{BANNER}coordinate complex hermitian\n2 2 2\n1 1 1.5 0\n2 1 0.25 1\n".encode(),
    "a.csv": b'\xef\xbb\xbfa;"b"\r\n"0,1";2\r\n3;-4e1\r\n',
}


@pytest.mark.parametrize("name", [name for name in CONTENTS if name not in ("a.mtx", "a.csv")])
def test_truncated_at_any_byte_is_refused(tmp_path: Path, name: str) -> None:
    content = CONTENTS[name]
    np.testing.assert_array_equal(read_array(saved(tmp_path / name, content))[0], WHOLE)
    messages = [fault(saved(tmp_path / name, content[:end])) for end in range(len(content))]
    assert all(re.search("truncated|empty|no numeric variable", message) for message in messages)


@pytest.mark.parametrize("name", CONTENTS)
def test_damaged_bytes_are_refused_or_read_never_worse(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(3)
    suffix = "".join(Path(name).suffixes)
    contents = [content for other, content in CONTENTS.items() if other.endswith(suffix)]
    messages = []
    for _ in range(200):
        file = saved(tmp_path / name, mutated(rng, [CONTENTS[name], *contents]))
        try:
            found, _ = read_array(file)
        except InputError as error:
            messages.append(str(error))
        else:
            assert np.isfinite(found).all()
    assert len(messages) > 10
    assert not any("\n" in message for message in messages)


def test_damaged_archive_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=M)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    place = content.find(M.tobytes())
    content[place] ^= 1
    assert "damaged" in fault(saved(tmp_path / "a.npz", bytes(content)))


# --- data families


DRAWN = [Gaussian(5, 3), Uniform(5, 3), Graded(5, 3), IllScaled(5, 3, blocks=2)]
REAL = [Digits(), BreastCancer()]


@pytest.mark.parametrize("data", [*DRAWN, *REAL], ids=lambda data: data.name)
def test_numbers_depend_on_the_seed_only(data: Any) -> None:
    np.random.seed(1)  # noqa: NPY002
    first = data.matrix(7)
    np.random.seed(2)  # noqa: NPY002
    first_again = dataclasses.replace(data).matrix(np.int64(7))
    assert first.tobytes() == first_again.tobytes()
    assert first.dtype == np.float64
    assert first.flags.c_contiguous
    first[:] = 0.0
    assert data.matrix(7).tobytes() == first_again.tobytes()
    assert (data.matrix(8).tobytes() != first_again.tobytes()) == (data in DRAWN)


def test_published_numbers_of_a_seed_stay() -> None:
    np.testing.assert_array_equal(
        Gaussian(1, 2).matrix(0),
        np.random.default_rng(np.random.SeedSequence([0, 1])).standard_normal((1, 2)),
    )
    assert not np.isclose(Gaussian(4, 1).matrix(0), Gaussian().vector(0, 4, 1)).any()


@pytest.mark.parametrize("data", [*DRAWN, *REAL], ids=lambda data: data.name)
def test_vectors_are_the_same_for_every_family_and_count(data: Any) -> None:
    vectors = data.vector(3, columns=6, count=4)
    assert vectors.shape == (6, 4)
    assert vectors.flags.c_contiguous
    np.testing.assert_array_equal(vectors[:, :2], Gaussian().vector(3, 6, 2))
    large = data.vector(3, columns=10_000)
    assert abs(large.mean()) < 0.05
    assert abs(large.std() - 1.0) < 0.05


def test_uniform_fills_its_interval() -> None:
    array = Uniform(1000, 50).matrix(0)
    assert array.min() >= -1.0
    assert array.max() < 1.0
    assert array.min() < -0.999
    assert array.max() > 0.999
    assert abs(array.mean()) < 0.01


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (7, 7), (1, 5), (5, 1), (1, 1)])
@pytest.mark.parametrize("span", [1.0, 1e3, 1e8])
def test_graded_has_geometric_singular_values(shape: tuple[int, int], span: float) -> None:
    values = np.linalg.svd(Graded(*shape, span).matrix(5), compute_uv=False)
    rank = min(shape)
    expected = span ** -np.linspace(0.0, 1.0, rank) if rank > 1 else np.ones(1)
    np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_graded_singular_vectors_have_no_preferred_direction() -> None:
    draws = np.array([Graded(3, 2, 1e8).matrix(seed) for seed in range(2000)])
    assert np.abs(draws.mean(axis=0)).max() < 0.03
    np.testing.assert_allclose((draws**2).mean(axis=0), 1.0 / 6.0, atol=0.02)


def test_ill_scaled_blocks_differ_by_the_range() -> None:
    array = IllScaled(30, 200, 1e6, blocks=4).matrix(1)
    scales = [float(np.std(block)) for block in np.array_split(array, 4)]
    np.testing.assert_allclose(scales, [1.0, 1e-2, 1e-4, 1e-6], rtol=0.1)
    assert IllScaled(3, 3, 1e8, blocks=1).matrix(0).tobytes() == Gaussian(3, 3).matrix(0).tobytes()


@pytest.mark.parametrize(
    ("data", "shape", "constant"), [(Digits(), (1797, 64), 3), (BreastCancer(), (569, 30), 0)]
)
def test_real_data_are_standardised(data: Any, shape: tuple[int, int], constant: int) -> None:
    array = data.matrix(0)
    assert array.shape == shape
    assert np.abs(array.mean(axis=0)).max() < 1e-12
    still = ~array.any(axis=0)
    assert still.sum() == constant
    np.testing.assert_allclose(array[:, ~still].std(axis=0), 1.0, rtol=1e-12)
    assert (array[:, ~still] != np.rint(array[:, ~still])).mean() > 0.9
    assert "standardised" in data.notes[0]
    assert "UCI" in data.source
    assert data.labels(0).shape == shape[:1]
    assert data.labels(0).dtype == np.int64


def test_a_changed_file_is_other_data(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", first=M)
    data = File(f"{tmp_path}/a.npz:first")
    data.matrix(0)[:] = 0.0
    np.testing.assert_array_equal(data.matrix(1), M)
    assert not data.notes
    np.savez(tmp_path / "a.npz", first=np.arange(9).reshape(3, 3))
    np.testing.assert_array_equal(data.matrix(1), M)
    data = File(f"{tmp_path}/a.npz:first")
    assert data.notes == ("integers: converted to float64 exactly", FLATTERING)
    assert data.matrix(0).shape == (3, 3)
    (tmp_path / "a.npz").unlink()
    with pytest.raises(InputError, match="no such file"):
        File(f"{tmp_path}/a.npz:first").matrix(0)


def test_labels_come_with_the_data(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=M, y=np.array([1, 0]))
    features, labels = dataset(f"{tmp_path}/a.npz")
    np.testing.assert_array_equal(features, M)
    np.testing.assert_array_equal(labels, [1, 0])
    assert labels.dtype == np.int64
    saved(tmp_path / "b.mat", mat({"X": M, "y": np.array([[0.5], [2.0]])}))
    np.testing.assert_array_equal(dataset(f"{tmp_path}/b.mat")[1], [0.5, 2.0])
    features, labels = dataset("digits")
    assert features.tobytes() == Digits().matrix(0).tobytes()
    assert set(labels) == set(range(10))
    np.savez(tmp_path / "large.npz", X=M, y=np.array([-1000.0, 2.0**52]))
    assert dataset(f"{tmp_path}/large.npz")[1].tolist() == [-1000, 2**52]
    assert dataset(f"{tmp_path}/large.npz")[1].dtype == np.int64
    np.savez(tmp_path / "c.npz", X=M, y=np.array([1, 0, 1]))
    np.savez(tmp_path / "d.npz", X=M)
    for name, words in (
        (f"{tmp_path}/c.npz", r"array y of shape \(3, 1\)"),
        (f"{tmp_path}/d.npz", "no array 'y'"),
        ("gaussian", "no labels; allowed are digits, breast-cancer"),
        ("digitz", "no such file"),
    ):
        with pytest.raises(InputError, match=words):
            dataset(name)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Gaussian(rows=0), r"data 'gaussian': rows=0; allowed are integers from 1 to \d+$"),
        (lambda: Uniform(columns=-1), r"columns=-1; allowed are integers from 1"),
        (lambda: Gaussian(rows=2.5), r"rows=2.5; allowed are integers"),  # type: ignore[arg-type]
        (lambda: Gaussian(rows=True), r"rows=True; allowed are integers"),
        (lambda: Gaussian(rows=10**5, columns=10**5), r"allowed are at most \d+ entries"),
        (lambda: Graded(range=0.5), r"range=0.5; allowed are numbers from 1"),
        (lambda: Graded(range=float("nan")), r"range=nan; allowed are numbers from 1"),
        (lambda: Graded(range=float("inf")), r"range=inf; allowed are numbers from 1"),
        (lambda: IllScaled(rows=4, blocks=5), r"blocks=5; allowed are integers from 1 to 4"),
        (lambda: IllScaled(blocks=0), r"blocks=0; allowed are integers from 1 to 512"),
        (lambda: File(""), "the path is empty"),
        (lambda: Gaussian().matrix(-1), r"seed=-1; allowed are integers from 0$"),
        (lambda: Digits().matrix(0.5), r"seed=0.5; allowed are integers"),  # type: ignore[arg-type]
        (lambda: Gaussian().vector(0, 0), r"columns=0; allowed are integers from 1"),
        (lambda: Gaussian().vector(0, 5, 0), r"count=0; allowed are integers from 1"),
    ],
)
def test_parameters_are_checked(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("span", [1, 1.0, 1e300])
def test_ranges_include_their_ends(span: float) -> None:
    assert Graded(range=span).range == span
    with pytest.raises(InputError, match="allowed are numbers from 1 to 1e300"):
        Graded(range=math.nextafter(span, 0 if span == 1 else math.inf))


def test_every_family_is_described() -> None:
    assert list(FAMILIES) == [
        "gaussian", "uniform", "graded", "ill-scaled", "digits", "breast-cancer", "file",
    ]  # fmt: skip
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family.source
        assert all(field.metadata["help"] for field in dataclasses.fields(family))


@pytest.mark.parametrize("form", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["matvec", "matmul", "evaluate", "gradient"])
def test_operands_are_numbers_of_the_storage(name: str, form: str) -> None:
    chosen = precision(form)
    for operand in registry.problem(name, registry.data("digits"), 1, 4).operands(chosen, 0):
        assert operand.dtype == chosen.storage.carrier
        assert np.array_equal(operand, chosen.store(operand))
