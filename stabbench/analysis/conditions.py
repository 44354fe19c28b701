"""All that can be said of patterns before any data: condition numbers, amplification, rank."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.amplification import (
    amplification,
    elimination_amplification,
    norm_amplification,
    rms_amplification,
)
from stabbench.analysis.large import svd_operators
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import dual
from stabbench.arithmetic.extended import Extended, extended
from stabbench.arithmetic.inverses import DecodingOperators, decoding_operators
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.arithmetic.precision import Precision, precision
from stabbench.arithmetic.scaling import even, leveled, normal
from stabbench.codes.base import Code
from stabbench.codes.operators import Dense, Operator
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
BATCH_ENTRIES = 1 << 21
MOST_UNKNOWNS = 128
"""Unknowns up to which duality in ball arithmetic is fast enough."""
LOG10 = {
    "kappa_2": "log10_condition_number",
    "kappa_F": "log10_condition_number_F",
    "kappa_1": "log10_condition_number_1",
    "amplification": "log10_amplification",
}
"""Measures that tell the logarithms of others where these are beyond float64."""


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Measures per pattern, each of shape (P,); infinite where the pattern does not decode.

    Attributes
    ----------
    decodable : bool array
        By exact rank.
    kappa_2, kappa_F, kappa_1 : float64 arrays
        Condition numbers of the decoding matrix.
    amplification : float64 array
        a(F) = || |D_F| |Phi_F| ||_inf.
    elimination : float64 array
        The amplification of LU with partial pivoting, at least a(F); a(F) itself where there are
        more replies than unknowns.
    rms_amplification : float64 array
        || D_F diag(||Phi_r||_2) ||_F / ||T||_F, see `rms_amplification`.
    norm_amplification : float64 array
        || |D_F| |Phi_F| 1 ||_2 / ||T||_F, see `norm_amplification`; a(F) unless given.
    others : dict of float64 arrays
        Further measures that only some structure of codes has; logarithms, by the names in
        `LOG10`, of a measure that is beyond float64 for a pattern that decodes.
    """

    decodable: Array
    kappa_2: Array
    kappa_F: Array
    kappa_1: Array
    amplification: Array
    elimination: Array
    rms_amplification: Array
    norm_amplification: Array = dataclasses.field(default_factory=lambda: np.empty(0))
    others: dict[str, Array] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take a(F), which is at least as great, where the norm is not known."""
        if len(self.norm_amplification) != len(self.amplification):
            object.__setattr__(self, "norm_amplification", self.amplification)

    def only(self, chosen: Array) -> "Conditions":
        """The conditions of chosen patterns."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)[:-1]}
        others = {name: array[chosen] for name, array in self.others.items()}
        return Conditions(**{k: v[chosen] for k, v in values.items()}, others=others)


def conditions(generator: Coefficients, rows: Array, target: Array | None = None) -> Conditions:
    """Conditions of the chosen rows of a generator, right at any magnitude.

    Parameters
    ----------
    generator : Coefficients, n x k
    rows : int array, shape (P, r)
        The rows that arrive, per pattern.
    target : array, shape (wanted, k), optional
        T, what is wanted of the unknowns; all of them unless given.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> conditions(parity, np.array([[0, 1], [1, 2]])).amplification
    array([1., 3.])
    """
    generator = normal(generator)[0]
    names = (*Extended._fields, "norm_amplification")
    values: dict[str, Any] = {name: np.full(len(rows), np.inf) for name in names}
    decodable = np.ones(len(rows), dtype=bool)
    if _holds(generator):
        _fill_batches(values, decodable, generator, rows, target)
    norms = values.pop("norm_amplification")
    beyond = decodable & ~np.all([np.isfinite(x) for x in values.values()], axis=0)
    others: dict[str, Array] = {}
    for p in np.flatnonzero(beyond):
        found = extended(generator.rows(rows[p]), target)
        decodable[p] = found is not None
        for name, number in found._asdict().items() if found is not None else ():
            values[name][p] = number.value
            if name in LOG10 and not np.isfinite(number.value):
                others.setdefault(LOG10[name], np.full(len(rows), np.inf))[p] = number.log10
    for name, told in LOG10.items():
        if told in others:
            within = np.isfinite(values[name])
            others[told][within] = np.log10(values[name][within])
    norms = np.where(np.isfinite(norms) & ~beyond, norms, values["amplification"])
    return Conditions(decodable=decodable, **values, norm_amplification=norms, others=others)


def _holds(generator: Coefficients) -> bool:
    """Whether float64 can hold the decoding operators of a normal generator, and their squares."""
    n, k = generator.shape
    if k > MOST_UNKNOWNS:
        return even(generator.rounded("float64"), max(n - k, 0))
    try:
        return dual(generator).room >= 0
    except InputError:  # no rows of a generator without full rank decode
        return True


def _fill_batches(
    values: dict[str, Any],
    decodable: Array,
    generator: Coefficients,
    rows: Array,
    target: Array | None,
) -> None:
    """Write the measures of patterns that decode, and which do, batch by batch."""
    decodable[:] = False
    step = max(1, BATCH_ENTRIES // max(1, generator.shape[1] * rows.shape[1]))
    matrix = generator.rounded("float64")
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        try:
            found = operators_of(generator, part)
        except InputError:
            break
        decodable[start : start + step] = found.status
        at = start + np.flatnonzero(found.status)
        inverse, received = found.D[found.status], matrix[part[found.status]]
        with np.errstate(over="ignore"):
            values["kappa_2"][at] = spectral_norm(received) * spectral_norm(inverse)
            values["kappa_F"][at] = frobenius_norm(received) * frobenius_norm(inverse)
            values["kappa_1"][at] = column_norm(received) * column_norm(inverse)
        grown = _amplifications(generator, part[found.status], inverse, target)
        for name, measure in grown.items():
            values[name][at] = measure


def _amplifications(
    generator: Coefficients, rows: Array, inverse: Array, target: Array | None
) -> dict[str, Array]:
    """Amplification of patterns that decode, from inverses whose rows are right to their norms.

    An error in a row counts by the largest row of the system: where rows are of very different
    sizes, each is taken over a power of two, which amplification does not feel. That needs a square
    system; of others nothing is said.
    """
    square = rows.shape[1] == generator.shape[1]
    level, exponents = leveled(generator)
    if level is not generator:
        if not square:
            return {}
        inverse = operators_of(level, rows).D
    received = level.rounded("float64")[rows]
    decoder, size, whole = inverse, 1.0, generator.shape[1] ** 0.5
    if target is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            decoder = np.matmul(target, inverse)
        size, whole = float(np.abs(target).sum(axis=1).max()), float(np.linalg.norm(target))
    found = {
        "amplification": amplification(decoder, received) / size,
        "rms_amplification": rms_amplification(decoder, received, whole),
        "norm_amplification": norm_amplification(decoder, received, whole),
    }
    found["elimination"] = found["amplification"]
    if square:
        whole_rows = generator.rounded("float64")[rows]
        own = elimination_amplification(decoder, whole_rows, exponents[rows]) / size
        found["elimination"] = np.maximum(own, found["amplification"])
    return found


def merged(parts: list[tuple[Array, Conditions]]) -> Conditions:
    """Conditions of all patterns from those of groups of them.

    Parameters
    ----------
    parts : list of (int array, Conditions)
        The patterns of each group, and their conditions.
    """
    order = np.argsort(np.concatenate([members for members, _ in parts]))
    values: dict[str, Any] = {
        field.name: np.concatenate([getattr(found, field.name) for _, found in parts])[order]
        for field in dataclasses.fields(Conditions)[:-1]
    }
    others = {}
    for name, told in LOG10.items():
        if any(told in found.others for _, found in parts):
            logs = [found.others.get(told, np.log10(getattr(found, name))) for _, found in parts]
            others[told] = np.concatenate(logs)[order]
    return Conditions(**values, others=others)


def operators_of(generator: Coefficients, rows: Array) -> DecodingOperators:
    """Pseudo-inverses by duality, or for many unknowns by singular values in float64.

    See `decoding_operators`.
    """
    if generator.shape[1] <= MOST_UNKNOWNS:
        return decoding_operators(generator, rows)
    return svd_operators(generator, rows)


def generator_of(code: Code) -> Coefficients:
    """The dense reply map of a code for matrix-vector products, a linear code's generator.

    Raises
    ------
    InputError
        If the replies are no dense combinations.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> generator_of(code("systematic-gaussian", n=3, stragglers=1)).rounded("float64")[:2]
    array([[1., 0.],
           [0., 1.]])
    """
    reply = code.system("matvec").reply
    if not isinstance(reply, Dense):
        raise InputError(f"{code.spec}: the replies are no dense combinations")
    return reply.coefficients


@functools.lru_cache(maxsize=16)
def stored_generator(code: Code, storage: str) -> Coefficients:
    """`generator_of` a code as a precision stores it, or the ideal one for ``exact``.

    Raises
    ------
    OverflowError
        If an entry overflows in the storage format.
    """
    if storage == "exact":
        return generator_of(code)
    values = generator_of(code).rounded(storage)
    if not np.isfinite(values).all():
        raise OverflowError(f"an entry of the generator of {code.spec} overflows {storage}")
    return Coefficients.from_array(values)


@functools.lru_cache(maxsize=16)
def stored_reply(reply: Operator, storage: str) -> Coefficients:
    """A dense reply map as a precision stores it, see `Dense.stored`.

    Raises
    ------
    OverflowError
        If a coefficient overflows in the storage format.
    """
    assert isinstance(reply, Dense)
    return reply.stored(storage)


def storage_name(name: str) -> str:
    """The storage format of a named precision."""
    chosen: Precision = precision(name)
    return chosen.storage.name
