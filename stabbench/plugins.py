"""Named things that a user can choose or bring: registries, ``file.py:Class`` and entry points."""

import dataclasses
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from stabbench.errors import InputError
from stabbench.grammar import Spec, near

T = TypeVar("T")


@dataclasses.dataclass
class Registry(Generic[T]):
    """Classes by the names of the grammar, found in our modules, entry points and user files.

    Parameters
    ----------
    noun : str
        What is registered, for messages: ``code``, ``decoder``.
    base : type
        The class that every member extends.
    modules : tuple of str
        Modules whose classes with a `name` are registered.
    group : str
        Entry point group of other packages, for example ``stabbench.codes``.
    aliases : dict
        Other names that people say.
    """

    noun: str
    base: type[T]
    modules: tuple[str, ...]
    group: str
    aliases: dict[str, str] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def members(self) -> dict[str, type[T]]:
        """All registered classes by name; other packages' come after ours and replace none.

        Raises
        ------
        InputError
            If an entry point of another package cannot be loaded or is no such class.
        """
        found: dict[str, type[T]] = {}
        for module in self.modules:
            found.update(self._named(importlib.import_module(module)))
        for entry in importlib.metadata.entry_points(group=self.group):
            where = f"entry point {entry.name} = {entry.value}"
            try:
                cls = entry.load()
            except Exception as error:
                raise InputError(f"{where}: {type(error).__name__}: {error}") from error
            self._check(cls, where)
            found.setdefault(getattr(cls, "name", "") or entry.name, cls)
        return found

    def find(self, spec: Spec, **binds: Any) -> type[T]:
        """The class that a parsed name selects.

        Raises
        ------
        InputError
            Unknown name, with near matches; a user's file that is missing or does not hold the
            class.
        """
        if ".py:" in spec.name:
            return self._from_file(spec.name)
        name = self.aliases.get(spec.name, spec.name)
        if name not in self.members:
            raise InputError(
                f"unknown {self.noun} {spec.name!r}; "
                f"{near(spec.name, [*self.members, *self.aliases])}, or path/to/file.py:Class"
            )
        return self.members[name]

    def _named(self, module: ModuleType) -> dict[str, type[T]]:
        return {
            vars(value)["name"]: value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self.base)
            and value.__module__ == module.__name__
            and vars(value).get("name")
        }

    def _from_file(self, name: str) -> type[T]:
        path, _, attribute = name.rpartition(":")
        module = load_module(Path(path).expanduser())
        cls = getattr(module, attribute, None)
        if cls is None:
            classes = [key for key, value in vars(module).items() if isinstance(value, type)]
            raise InputError(f"{path}: no class {attribute!r}; {near(attribute, classes)}")
        self._check(cls, name)
        cls.name = name
        return cls  # type: ignore[no-any-return]

    def _check(self, cls: Any, where: str) -> None:
        if not (isinstance(cls, type) and issubclass(cls, self.base)):
            raise InputError(
                f"{where}: not a {self.noun}; allowed are classes that extend "
                f"stabbench.{self.base.__name__}"
            )
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            raise InputError(f"{where}: the {self.noun} does not define {', '.join(missing)}")


def load_module(path: Path) -> ModuleType:
    """Import a user's Python file under a name of its own, once per path and content.

    Raises
    ------
    InputError
        If the file is missing or fails to import; the message names the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    digest = hashlib.sha256(str(path.resolve()).encode() + content).hexdigest()[:12]
    name = f"stabbench_user_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise InputError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = getattr(error, "lineno", None) or _line_in(error, str(path))
        raise InputError(f"{path}, line {line}: {type(error).__name__}: {error}") from error
    return module


def _line_in(error: BaseException, path: str) -> int:
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
