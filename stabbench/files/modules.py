"""Python files of users and the modules that they import, from the bytes that are hashed.

A change of any of these files is another module; compiled code that Python caches by time stamp and
size is never taken.
"""

import hashlib
import importlib.util
import itertools
import os
import stat
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from stabbench.errors import InputError
from stabbench.files.inputs import Input, digest_of, missing_modules

_PACKAGE: Final = Path(__file__).parents[1]
_STANDARD: Final = (Path(os.__file__).parent, Path(sysconfig.get_path("stdlib")))
_INSTALLED: Final = {"site-packages", "dist-packages"}
_KEPT: Final = ("__main__", "__mp_main__", "stabbench_user_")
_SERIAL = itertools.count()


class Loaded(NamedTuple):
    """A user's module and the files whose content decides what it does.

    Attributes
    ----------
    module : ModuleType
    inputs : tuple of Input
        The file itself, then the modules that were imported with it and are neither of the standard
        library nor installed.
    helpers : dict of str to ModuleType
        Those modules by name.
    """

    module: ModuleType
    inputs: tuple[Input, ...]
    helpers: dict[str, ModuleType]


def load_module(path: Path) -> Loaded:
    """Import a user's Python file under a name of its own, once per content of all its files.

    Modules beside the file can be imported by it, as those beside a script.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the file is missing or fails to import, the message names the line; if the running case
        was planned with another content of it or of a module that it imports.
    """
    if not Input.of(path).digest:
        raise InputError(f"{path}: cannot be read ({_reason(path)})")
    place = (path, path.absolute())  # a relative path may mean another file by now
    known = _LOADED.get(place)
    if known and all(digest_of(Path(named.path)) == named.digest for named in known.inputs):
        for named in known.inputs:
            named.hold(named.digest)
    else:
        known = _imported(path)
        _LOADED[place] = known
    _show(known.helpers)
    return known


_LOADED: dict[tuple[Path, Path], Loaded] = {}
_LIBRARIES: dict[str, str] = {}
"""Digests of compiled modules as they were first loaded, which is once per process."""


class _Loader(SourceFileLoader):
    """Compiles the bytes that it hashes."""

    def __init__(self, name: str, path: str, shown: str, inputs: list[Input]) -> None:
        super().__init__(name, path)
        self.shown = shown
        self.inputs = inputs

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        """The code of the present content of the file."""
        content = self.get_data(self.path)
        named = Input(self.shown, hashlib.sha256(content).hexdigest())
        named.hold(named.digest)
        self.inputs.append(named)
        return self.source_to_code(content, self.path)


class _Finder(MetaPathFinder):
    """Finds modules beside a file too, and takes note of all that are a user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs: list[Input] = []
        self.names: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the other finders do, but reading sources by `_Loader`."""
        spec = None
        if path is None and fullname not in sys.stdlib_module_names:
            spec = PathFinder.find_spec(fullname, [str(self.folder.absolute()), *sys.path], target)
        for finder in [other for other in sys.meta_path if other is not self]:
            spec = spec or finder.find_spec(fullname, path, target)
        if spec is not None and _is_users(places := _places(spec)):
            self.names.append(fullname)
            self._note(spec, places[0])
        return spec

    def _note(self, spec: ModuleSpec, origin: str) -> None:
        if spec.loader is None or not Path(origin).is_file():
            return  # a folder
        above = os.path.relpath(origin, self.folder.absolute())
        shown = os.path.normpath(self.folder / above)
        if type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.name, origin, shown, self.inputs)
            return
        named = Input(shown, digest_of(Path(origin)))
        named.hold(named.digest)
        if isinstance(spec.loader, ExtensionFileLoader):
            first = _LIBRARIES.setdefault(origin, named.digest)
            if first != named.digest:
                raise ImportError(f"{shown}: a compiled module has changed; start a new process")
        self.inputs.append(named)


def _imported(path: Path) -> Loaded:
    """Import a file and, afresh, the modules of users that it imports."""
    finder = _Finder(path.parent)
    name = f"stabbench_user_{path.stem}_{next(_SERIAL)}"
    loader = _Loader(name, str(path), str(path), finder.inputs)
    specification = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    _show({})
    hidden = _beside(path.parent)
    for each in hidden:
        del sys.modules[each]
    importlib.invalidate_caches()
    sys.modules[name] = module
    sys.meta_path.insert(0, finder)
    try:
        loader.exec_module(module)
    except InputError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        words = f"{_place(error, path)}: {type(error).__name__}: {error}{missing_modules()}"
        raise InputError(words) from error
    finally:
        sys.meta_path.remove(finder)
        helpers = {each: sys.modules.pop(each) for each in finder.names if each in sys.modules}
        sys.modules.update(hidden)
    return Loaded(module, tuple(dict.fromkeys(finder.inputs)), helpers)


def _show(helpers: dict[str, ModuleType]) -> None:
    """Let late imports and annotations find these helpers, and those of no other user's file."""
    ours = {id(module) for known in _LOADED.values() for module in known.helpers.values()}
    for name in [name for name, module in sys.modules.items() if id(module) in ours]:
        del sys.modules[name]
    for name, module in helpers.items():
        sys.modules.setdefault(name, module)


def _places(spec: ModuleSpec) -> list[str]:
    """The file of a module, or the folders of a package without one."""
    if spec.has_location and spec.origin:
        return [spec.origin]
    return list(spec.submodule_search_locations or ())


def _is_users(places: Sequence[str]) -> bool:
    """Whether a module is neither of the standard library, nor installed, nor ours."""
    paths = [Path(place) for place in places]
    return bool(paths) and not any(
        path.is_relative_to(_PACKAGE)
        or _INSTALLED & set(path.parts)
        or any(map(path.is_relative_to, _STANDARD))
        for path in paths
    )


def _beside(folder: Path) -> dict[str, ModuleType]:
    """Loaded modules of users that lie in a folder, or in whose stead it has one of that name."""
    home, found = folder.absolute(), {}
    names = {each.partition(".")[0] for each in _listed(home)}
    for name, module in list(sys.modules.items()):
        if name.startswith(_KEPT) or not isinstance(module, ModuleType):
            continue
        # attributes of modules that load lazily would load them
        spec = object.__getattribute__(module, "__dict__").get("__spec__")
        places = _places(spec) if isinstance(spec, ModuleSpec) else []
        inside = any(Path(place).is_relative_to(home) for place in places)
        if (inside or name.partition(".")[0] in names) and _is_users(places):
            found[name] = module
    return found


def _listed(folder: Path) -> list[str]:
    """Names in a folder; none where files can be opened, but not listed."""
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _reason(path: Path) -> str:
    """The system's words for a file that cannot be read."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return "Permission denied" if stat.S_ISREG(status.st_mode) else "not a regular file"


def _place(error: BaseException, path: Path) -> str:
    """File and line of an error: that of bad syntax, else the last one within the user's file."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}, line {line}"
