"""The records of a sweep: one append-only file, synced per record, repaired after a kill."""

import errno
import fcntl
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from stabbench.errors import InputError
from stabbench.sweeps.case import SCHEMA, Record

NAME = "records.jsonl"
ELSEWHERE = "give another directory with -o, or move these records aside with --aside"
BEGIN = b'{"type": "sweep"'


class Store:
    """A directory with ``records.jsonl``: a header, environments and records, a line each.

    Parameters
    ----------
    directory : path

    Raises
    ------
    InputError
        If the directory or its records cannot be read, a line other than the last is damaged, or a
        record is of no case of the sweep or contradicts an earlier one.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self.path = self.directory / NAME
        self._file = -1
        self._forget()
        self._load()

    def _forget(self) -> None:
        self.header: dict[str, Any] | None = None
        self._cases: frozenset[str] = frozenset()
        self.environments: dict[str, dict[str, Any]] = {}
        self.records: dict[str, Record] = {}
        self.torn = False
        self._end = 0

    @classmethod
    def existing(cls, directory: str | os.PathLike[str]) -> "Store":
        """The store of a directory that must hold a sweep.

        Raises
        ------
        InputError
            If there is none.
        """
        store = cls(directory)
        if store.header is None:
            raise InputError(f"{store.path}: no sweep is stored here; run stabbench sweep -o first")
        return store

    @property
    def expected(self) -> list[str]:
        """Ids of all cases of the sweep, in order."""
        return list(self.header["cases"]) if self.header else []

    @property
    def missing(self) -> list[str]:
        """Ids of the cases that have no record yet."""
        return [case for case in self.expected if case not in self.records]

    def open(self, request: Mapping[str, Any], cases: list[str]) -> None:
        """Begin writing a sweep, or go on with the same one.

        Parameters
        ----------
        request : mapping
            What the sweep was asked for, to name a difference.
        cases : list of str
            Ids of all its cases.

        Raises
        ------
        InputError
            If the directory holds another sweep (the difference is named), is in use by another
            process, or cannot be written.
        """
        if self.header is not None:
            self._same(request, cases)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror})") from None
        self._lock()
        self._forget()
        self._load()  # another process may have written before this one got the lock
        if self.header is not None:
            self._same(request, cases)
        os.ftruncate(self._file, self._end)
        os.lseek(self._file, self._end, os.SEEK_SET)
        if self.header is None:
            self.header = {"schema": SCHEMA, "request": dict(request), "cases": cases}
            self._append({"type": "sweep", **self.header})

    def put_aside(self, cases: list[str]) -> Path | None:
        """Rename the records of another sweep, so that a new one can begin here.

        Parameters
        ----------
        cases : list of str
            Ids of all cases of the new sweep.

        Returns
        -------
        Path or None
            ``records-N.jsonl``, N the first free number; None if there was nothing to move.

        Raises
        ------
        InputError
            If another process is writing the records, or they cannot be renamed.
        """
        if self.header is None or set(cases) == set(self.expected):
            return None
        numbers = itertools.count(1)
        free = next(n for n in numbers if not (self.directory / f"records-{n}.jsonl").exists())
        target = self.directory / f"records-{free}.jsonl"
        try:
            self._file = os.open(self.path, os.O_RDWR)
            self._lock()
            self.path.rename(target)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be renamed ({error.strerror})") from None
        finally:
            self.close()
        self._forget()
        return target

    def add_environment(self, key: str, environment: Mapping[str, Any]) -> None:
        """Write an environment once."""
        if key not in self.environments:
            self.environments[key] = dict(environment)
            self._append({"type": "environment", "key": key, "environment": dict(environment)})

    def add(self, record: Record) -> None:
        """Write a record and sync it to disk before returning.

        Raises
        ------
        InputError
            If the disk is full; the records written so far stay whole.
        """
        self._append(record.to_json())
        self.records[record.case.id] = record

    def close(self) -> None:
        """Release the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise InputError(f"{self.path}: another sweep is writing here") from None

    def _append(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, allow_nan=False, ensure_ascii=True).encode() + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            words = "disk full" if error.errno == errno.ENOSPC else error.strerror
            raise InputError(
                f"{self.path}: {words}; the {len(self.records)} records so far are kept"
            ) from None
        self._end += len(data)

    def _load(self) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None
        if data and not (data.startswith(BEGIN) or BEGIN.startswith(data)):
            raise InputError(f"{self.path}: does not begin with a sweep; not a file of stabbench")
        for number, line, last in _lines(data):
            parsed = _parse(line)
            if parsed is None and last:
                self.torn = True
                return
            if parsed is None or not self._take(parsed, number):
                raise InputError(f"{self.path}, line {number}: damaged; move the file away")
            self._end += len(line)

    def _take(self, line: dict[str, Any], number: int) -> bool:
        """Take in one line; False if it is damaged."""
        kind = line.get("type")
        try:
            if kind == "sweep" and number == 1:
                if line.get("schema") != SCHEMA:
                    raise InputError(f"schema {line.get('schema')!r}; this version reads {SCHEMA}")
                self.header = {key: line[key] for key in ("schema", "request", "cases")}
                self._cases = frozenset(self.header["cases"])
            elif kind == "environment":
                self.environments[line["key"]] = line["environment"]
            elif kind == "record":
                self._take_record(Record.from_json(line))
            else:
                return False
        except InputError as error:
            raise InputError(f"{self.path}, line {number}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            return False
        return True

    def _take_record(self, record: Record) -> None:
        """Take in a record; one line may be there twice, but no case with two results."""
        case_id = record.case.id
        if case_id not in self._cases:
            raise InputError(f"record {case_id}: no case of this sweep; move the file away")
        known = self.records.setdefault(case_id, record)
        if known is not record and known.to_json() != record.to_json():
            raise InputError(f"record {case_id}: differs from an earlier one; move the file away")

    def _same(self, request: Mapping[str, Any], cases: list[str]) -> None:
        assert self.header is not None
        if set(cases) == set(self.header["cases"]):
            return
        found = _difference(self.header["request"], request, "")
        if found is not None:
            where, old, new = found
            raise InputError(
                f"{self.path}: holds another sweep, with {where} = {_show(old)}, not {_show(new)}; "
                f"{ELSEWHERE}"
            )
        raise InputError(
            f"{self.path}: holds another sweep, of {len(self.header['cases'])} cases made by "
            f"another version or other files; {ELSEWHERE}"
        )


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        yield number, line, number == len(lines)


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _difference(old: Any, new: Any, where: str) -> tuple[str, Any, Any] | None:
    """The first place at which two requests differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = sorted({*old, *new})
        steps = [(f"{where} {key}".strip(), old.get(key), new.get(key)) for key in keys]
    elif _are_tables(old) and _are_tables(new) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True), start=1)
        steps = [(f"{where.removesuffix('s')} {i}", a, b) for i, (a, b) in pairs]
    else:
        return None if old == new else (where, old, new)
    return next((d for place, a, b in steps if (d := _difference(a, b, place))), None)


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _show(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
