"""Named things that a user can choose or bring: registries, ``file.py:Class`` and entry points."""

import dataclasses
import functools
import importlib
import importlib.metadata
import os
import typing
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from stabbench.errors import InputError
from stabbench.files import Input
from stabbench.files.modules import load_module
from stabbench.grammar import Spec, near, parameters_of

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
        module, inputs, _ = load_module(Path(path).expanduser())
        cls = getattr(module, attribute, None)
        if cls is None:
            classes = [key for key, value in vars(module).items() if isinstance(value, type)]
            raise InputError(f"{path}: no class {attribute!r}; {near(attribute, classes)}")
        self._check(cls, name)
        return _named_by(cls, name, inputs)  # type: ignore[no-any-return]

    def _check(self, cls: Any, where: str) -> None:
        if not (isinstance(cls, type) and issubclass(cls, self.base)):
            raise InputError(
                f"{where}: not a {self.noun}; allowed are classes that extend "
                f"stabbench.{self.base.__name__}"
            )
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            raise InputError(f"{where}: the {self.noun} does not define {', '.join(missing)}")


@functools.lru_cache(maxsize=256)
def _named_by(cls: Any, name: str, inputs: tuple[Input, ...]) -> Any:
    """A class under the name of the grammar, the same one for the same content of its files.

    The class itself stays as it is: it may be one of ours, which the user's file only imports.
    """
    own = {"name": name, "imported": inputs, "__module__": cls.__module__, "__doc__": cls.__doc__}
    return type(cls)(cls.__name__, (cls,), own)


@functools.lru_cache(maxsize=256)
def _texts(cls: type) -> tuple[str, ...]:
    """The parameters of a class that can be any text, such as paths."""
    return tuple(
        name
        for name, parameter in parameters_of(cls).items()
        if str in (parameter.type, *typing.get_args(parameter.type))
    )


def note_inputs(instance: Any) -> None:
    """Let a code or decoder know the files that it reads, as its field `inputs`.

    They are the file that defines its class with the modules that this imports, for a user's, and
    every file that one of its text parameters names.
    """
    cls: Any = type(instance)
    values = [getattr(instance, name) for name in _texts(cls)]
    paths = [os.fspath(x) for x in values if x and isinstance(x, str | os.PathLike)]
    named = [Input.of(path) for path in dict.fromkeys(paths)]
    found = (*cls.imported, *(each for each in named if each.digest))
    object.__setattr__(instance, "inputs", found)


def inputs_field() -> Any:
    """The field of `note_inputs`: a part of equality and hash, and no parameter of the grammar."""
    return dataclasses.field(default=(), init=False, repr=False)
