"""Codes by name: the list of our families, aliases, and the function that builds a code."""

from stabbench.codes.base import FIXED, Code
from stabbench.errors import InputError
from stabbench.grammar import Spec, bind, parse
from stabbench.plugins import Registry

CODES: Registry[Code] = Registry(
    noun="code",
    base=Code,  # type: ignore[type-abstract]
    modules=(
        "stabbench.codes.polynomial",
        "stabbench.codes.random",
        "stabbench.codes.structured",
        "stabbench.codes.replication",
        "stabbench.codes.matrix",
        "stabbench.codes.aligned",
        "stabbench.codes.orthogonal",
        "stabbench.codes.khatri_rao",
        "stabbench.codes.circulant",
        "stabbench.codes.convolutional",
        "stabbench.codes.grid",
        "stabbench.codes.luby",
        "stabbench.codes.lagrange",
        "stabbench.codes.shift_add",
        "stabbench.codes.gradient.kadhe",
        "stabbench.codes.gradient.ye_abbe",
        "stabbench.codes.gradient.cyclic_repetition",
        "stabbench.codes.gradient.cyclic_mds",
        "stabbench.codes.gradient.reed_solomon",
        "stabbench.codes.gradient.heterogeneous",
        "stabbench.codes.gradient.matrix",
        "stabbench.codes.gradient.clustered",
        "stabbench.codes.gradient.bibd",
        "stabbench.codes.gradient.graphs",
        "stabbench.codes.gradient.random_placement",
        "stabbench.codes.gradient.nested",
        "stabbench.codes.gradient.block_coordinate",
    ),
    group="stabbench.codes",
    aliases={
        "poly": "polynomial",
        "mds": "gaussian",
        "frc": "fractional-repetition",
        "crc": "cyclic-repetition",
        "rs": "reed-solomon",
        "sa": "shift-add",
    },
)


def code(text: str | Spec, n: int, stragglers: int) -> Code:
    """Build the code that a grammar string names.

    Parameters
    ----------
    text : str
        ``name[parameter=value,...]`` or ``path/to/file.py:Class[...]``.
    n : int
        Number of workers.
    stragglers : int
        Number of stragglers to be tolerated.

    Raises
    ------
    InputError
        Unknown name or parameter, a value that is not allowed, or n and stragglers that the code
        cannot serve.

    Examples
    --------
    >>> code("polynomial[nodes=equispaced]", n=31, stragglers=2).threshold
    29
    """
    spec = parse(text) if isinstance(text, str) else text
    for key, value in spec.parameters:
        if isinstance(value, tuple):
            raise InputError(f"{spec}: {key} is a list, which stands for a grid, not for one code")
    built: Code = bind(CODES.find(spec), spec, **dict(zip(FIXED, (n, stragglers), strict=True)))
    return built
