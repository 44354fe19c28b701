"""Problems and data by name."""

from stabbench.errors import InputError
from stabbench.files import SUFFIXES
from stabbench.grammar import bind, canonical, near, parse
from stabbench.problems.base import Problem
from stabbench.problems.data import FAMILIES, File
from stabbench.problems.evaluate import Evaluate
from stabbench.problems.families import Data
from stabbench.problems.gradient import Gradient
from stabbench.problems.matmul import Matmul
from stabbench.problems.matvec import Matvec

PROBLEMS: dict[str, type[Problem]] = {cls.name: cls for cls in (Matvec, Matmul, Evaluate, Gradient)}


def data(text: str) -> Data:
    """The data that a grammar string or the path of a file names.

    Raises
    ------
    InputError
        Unknown family, or a path whose suffix is not allowed.

    Examples
    --------
    >>> data("gaussian[rows=512,columns=64]").matrix(0).shape
    (512, 64)
    """
    name = text.partition("[")[0].strip()
    if name in FAMILIES:
        return bind(FAMILIES[name], parse(text))
    if "/" in text or any(suffix in text for suffix in SUFFIXES):
        return File(text)
    families = [family for family in FAMILIES if family != File.name]
    raise InputError(
        f"unknown data {text!r}; {near(name, families)}, or a file ({', '.join(SUFFIXES)})"
    )


def data_spec(source: Data) -> str:
    """The grammar string of data with every parameter, the path where it is a file."""
    return source.path if isinstance(source, File) else canonical(source, source.name, full=True)


def problem(name: str, source: Data, vectors: int, partitions: int = 1) -> Problem:
    """The problem of a name on the given data; `partitions` is of problem gradient alone.

    Raises
    ------
    InputError
        Unknown name.
    """
    spec = parse(name)
    name = spec.name
    if name not in PROBLEMS:
        raise InputError(f"unknown problem {name!r}; {near(name, PROBLEMS)}")
    if name == Matmul.name:
        return bind(Matmul, spec, data=source)
    if name == Evaluate.name:
        return bind(Evaluate, spec, data=source, partitions=partitions)
    if spec.parameters:
        raise InputError(f"problem {spec}: {name} has no parameters")
    if name == Gradient.name:
        return Gradient(source, partitions)
    return Matvec(source, vectors)
