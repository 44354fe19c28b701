"""Problems and data by name."""

from stabbench.errors import InputError
from stabbench.files import SUFFIXES
from stabbench.grammar import bind, canonical, near, parameters_of, parse
from stabbench.problems.base import FIXED, Problem
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


def problem(text: str, source: Data, vectors: int, partitions: int = 1) -> Problem:
    """The problem that a grammar string names, on the given data.

    Parameters
    ----------
    text : str
    source : Data
    vectors : int
        Columns by which problem matvec multiplies.
    partitions : int
        Blocks of problem evaluate, partial gradients of problem gradient.

    Raises
    ------
    InputError
        Unknown name or parameter, or a value that is not allowed.

    Examples
    --------
    >>> problem("matmul[columns=3]", data("digits"), vectors=1).spec
    'matmul[columns=3]'
    """
    spec = parse(text)
    if spec.name not in PROBLEMS:
        raise InputError(f"unknown problem {spec.name!r}; {near(spec.name, PROBLEMS)}")
    cls = PROBLEMS[spec.name]
    given = dict(zip(FIXED, (source, vectors, partitions), strict=True))
    return bind(cls, spec, **{key: given[key] for key in parameters_of(cls) if key in FIXED})
