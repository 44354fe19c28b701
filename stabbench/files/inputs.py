"""Files that a result depends on: named by path and content, and held to both when they are read.

A code or data object holds an `Input` for every file that it reads, so that objects are equal only
where the contents are. A case holds their digests; while it runs, no other content is accepted.
"""

import contextlib
import dataclasses
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from stabbench.errors import InputError
from stabbench.files.paths import locate

DIGITS: Final = 12
"""Hexadecimal digits of a SHA-256 in the identity of a case."""
_ENTRY = re.compile(rf"(\S.*?):([0-9a-f]{{{DIGITS}}})(?: |$)")


@dataclasses.dataclass(frozen=True)
class Input:
    """A file with the content that it had when it was named.

    Parameters
    ----------
    path : str
        As it was written, ``file.npz:name`` included.
    digest : str
        SHA-256 of all bytes of the file, hexadecimal; empty where there was no readable file.

    Examples
    --------
    >>> Input.of("nothing.npy")
    Input(path='nothing.npy', digest='')
    """

    path: str
    digest: str

    def __str__(self) -> str:
        return self.path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Input":
        """Name a file with its present content.

        Raises
        ------
        InputError
            If a case runs that was planned with another content, or without this file.
        """
        named = cls(os.fsdecode(path), digest_of(locate(path)[0]))
        if watch := _WATCH.get():
            watch.name(named)
        return named

    def hold(self, found: str) -> None:
        """Say that content of a digest is about to be used for this file.

        Raises
        ------
        InputError
            If it is not the content that was named, or that the running case was planned with.
        """
        if found != self.digest:
            raise _changed(self.path, self.digest, found)
        if watch := _WATCH.get():
            watch.name(self)
            watch.held.add(self.path)


def digest_of(file: Path) -> str:
    """SHA-256 of a file in hexadecimal digits, empty where it is no readable regular file."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return ""
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def written(inputs: Iterable[Input]) -> str:
    """File names and digests as a case holds them; whole paths where two files share a name.

    Examples
    --------
    >>> written([Input("a/G.npy", 64 * "0"), Input("x.csv", 64 * "f")])
    'G.npy:000000000000 x.csv:ffffffffffff'
    """
    unique = {named.path: named.digest[:DIGITS] for named in inputs if named.digest}
    names = {path: locate(path)[0].name for path in unique}
    count = Counter(names.values())
    labels = {path: name if count[name] == 1 else path for path, name in names.items()}
    return " ".join(f"{labels[path]}:{digest}" for path, digest in unique.items())


@contextlib.contextmanager
def planned_with(files: str) -> Iterator[None]:
    """Accept files with the planned contents alone while a case runs.

    Parameters
    ----------
    files : str
        As `written` gives it; empty for a case that reads no file.

    Raises
    ------
    InputError
        Within: where a file is named or read with another content, or without having been planned.
        At the end: where a planned file was not met, or one that was named but read by foreign
        means has changed meanwhile.
    """
    watch = _Watch(dict(_ENTRY.findall(files)))
    token = _WATCH.set(watch)
    try:
        yield
        watch.finish()
    finally:
        _WATCH.reset(token)


def missing_modules() -> str:
    """What to add to a failed import: Python files that the running case was planned with."""
    watch = _WATCH.get()
    missed = [label for label in watch.missed() if label.endswith(".py")] if watch else []
    if not watch or not missed:
        return ""
    listed = ", ".join(f"{label} (sha256 {watch.planned[label]})" for label in missed)
    return f"; modules of which it was planned, not found: {listed}"


@dataclasses.dataclass
class _Watch:
    """The files of a running case: digests by label as planned, paths named and held so far."""

    planned: dict[str, str]
    named: dict[str, Input] = dataclasses.field(default_factory=dict)
    held: set[str] = dataclasses.field(default_factory=set)

    def name(self, named: Input) -> None:
        label = self._label(named.path)
        planned = self.planned.get(label)
        if planned is None and not named.digest:
            return
        if planned is None:
            raise InputError(
                f"{named.path}: the case was planned without this file; allowed are files that a "
                "parameter of the code, decoder or data names, and that exist when it is planned"
            )
        if planned != named.digest[:DIGITS]:
            raise _changed(named.path, planned, named.digest)
        self.named[named.path] = named

    def finish(self) -> None:
        for named in [named for path, named in self.named.items() if path not in self.held]:
            named.hold(digest_of(locate(named.path)[0]))
        if missed := self.missed():
            raise InputError(
                f"{missed[0]}: the case was planned with this file but did not read it"
            )

    def missed(self) -> list[str]:
        met = set(map(self._label, self.named))
        return [label for label in self.planned if label not in met]

    def _label(self, path: str) -> str:
        return path if path in self.planned else locate(path)[0].name


_WATCH: ContextVar[_Watch | None] = ContextVar("files of the running case", default=None)


def _changed(path: str, planned: str, found: str) -> InputError:
    before, now = (digest[:DIGITS] or "no file" for digest in (planned, found))
    return InputError(
        f"{path}: the file has changed: sha256 {before} planned, {now} found; allowed is the "
        "content that was planned: plan again"
    )
