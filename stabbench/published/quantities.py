"""How each published quantity is computed from its definition; nothing here knows the result."""

import dataclasses
import functools
import re
from itertools import combinations
from typing import Any

import numpy as np

from stabbench.analysis.conditions import conditions, stored_reply
from stabbench.analysis.noise import noise
from stabbench.analysis.survivors import All
from stabbench.codes.base import Code
from stabbench.codes.khatri_rao import KhatriRao
from stabbench.published.matrices import code_of
from stabbench.published.rows import Published
from stabbench.published.spectra import share_energy, spectra

Array = np.ndarray[Any, np.dtype[Any]]
DRAWS = 60
"""Draws of a random code whose median is compared."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A recomputed number.

    Attributes
    ----------
    value : float or None
        None where it cannot be computed.
    note : str
        How it came about, or why there is none.
    """

    value: float | None
    note: str = ""


def measure(row: Published) -> Measured:
    """Recompute a published number.

    Parameters
    ----------
    row : Published

    Raises
    ------
    InputError
        If its code does not exist.

    Examples
    --------
    >>> from stabbench.published.rows import chosen
    >>> round(measure(chosen("hilbert-3")[0]).value, 2)
    524.06
    """
    code = code_of(row.code, row.n, row.s)
    if row.quantity == "kappa_2 of the full matrix":
        return Measured(_kappa(code, row.problem, range(row.n)))
    without = re.fullmatch(r"worst kappa_2 at least, without workers ([\d ]+)", row.quantity)
    if without:
        lost = {int(word) for word in without[1].split()}
        return Measured(_kappa(code, row.problem, sorted(set(range(row.n)) - lost)))
    if isinstance(code, KhatriRao):
        return _random(code, row)
    statistic = re.fullmatch(
        r"(worst|mean|min|max) kappa_2( over \d+ random survivor sets)?", row.quantity
    )
    if statistic:
        kappa = spectra(code, row.problem, row.survivors).kappa
        note = "over all survivor sets" if statistic[2] else ""
        return Measured(float(STATISTICS[statistic[1]](kappa)), note)
    nmse = re.fullmatch(
        r"(nmse of the worst pattern|mean nmse over random survivor sets)", row.quantity
    )
    if nmse and row.noise and row.power:
        errors = expected_nmse(code, row)
        return Measured(float(errors.max() if "worst" in nmse[1] else errors.mean()))
    return Measured(None, f"no rule for {row.quantity!r}")


STATISTICS: dict[str, Any] = {"worst": np.max, "max": np.max, "min": np.min, "mean": np.mean}


def expected_nmse(code: Code, row: Published) -> Array:
    """Expected normalised squared error of every survivor set.

    With noise of variance v on the inputs, of power P: v / P (1 + ||G_S^-1||_F^2 / k) where x is
    not coded; v / P times `share_energy` where both factors are. On outputs of power P:
    v / P ||G_S^+||_F^2 / k.
    """
    scale = noise(row.noise).variance / (row.power or 1.0)
    if noise(row.noise).model == "inputs" and row.problem == "matmul":
        return scale * share_energy(code, row.survivors)
    energy = spectra(code, row.problem, row.survivors).energy
    return scale * (1 + energy) if noise(row.noise).model == "inputs" else scale * energy


def saturated(row: Published) -> float:
    """kappa_2 of the full matrix as float64 arithmetic gives it, which stops near 1e17 to 1e20."""
    code = code_of(row.code, row.n, row.s)
    reply = stored_reply(code.system(row.problem).reply, "float64")
    return float(np.linalg.cond(reply.rounded("float64")))


def eigenvalue_ratio(row: Published) -> float | None:
    """The statistic of max |eigenvalue| / min |eigenvalue| in place of kappa_2, if square."""
    code = code_of(row.code, row.n, row.s)
    statistic = re.match(r"(worst|mean|min|max) kappa_2(?! at least)", row.quantity)
    if row.survivors != code.threshold or not statistic:
        return None
    ratios = _ratios(code, row.problem)
    return None if ratios is None else float(STATISTICS[statistic[1]](ratios))


@functools.lru_cache(maxsize=4)
def _ratios(code: Code, problem: str) -> Array | None:
    system = code.system(problem)
    matrix = stored_reply(system.reply, "float64").rounded("float64")
    (_, rows), *others = system.batches(All().patterns(code.n, code.stragglers))
    if others or rows.shape[1] != matrix.shape[1]:
        return None
    sizes = np.abs(np.linalg.eigvals(matrix[rows]))
    return np.asarray(sizes.max(axis=1) / sizes.min(axis=1))


def _kappa(code: Code, problem: str, survivors: object) -> float:
    """kappa_2 of one survivor set of the ideal code."""
    system = code.system(problem)
    pattern = np.isin(np.arange(code.n), np.array(list(survivors)))  # type: ignore[call-overload]
    rows = system.rows(pattern[None].astype(np.int8))
    return float(conditions(stored_reply(system.reply, "exact"), rows).kappa_2[0])


def _random(code: KhatriRao, row: Published) -> Measured:
    """Median over draws of the worst set's error."""
    if not row.noise.startswith("inputs") or not row.power:
        return Measured(None, "random codes are compared by their noise on inputs alone")
    errors = noise(row.noise).variance / row.power * worst_energies(code, DRAWS)
    better = int((errors <= row.published).sum())
    note = f"median of {DRAWS} draws; {better} of them are below the published value"
    return Measured(float(np.median(errors)), note)


@functools.lru_cache(maxsize=4)
def worst_energies(code: KhatriRao, draws: int) -> Array:
    """The largest `share_energy` over the survivor sets, for seeds 0 .. draws-1.

    In float64 by duality: with H the complement of the columns and W = G (G^T G)^-1, G_S^-1 is
    the transpose of the rows S of W - H H_C^-1 W_C for lost rows C.
    """
    s = code.n - (code.threshold or 0)
    lost = np.array(list(combinations(range(code.n), s)))
    worst = np.empty(draws)
    for seed in range(draws):
        left, right = code.draw(seed)
        G = (left[:, :, None] * right[:, None, :]).reshape(code.n, -1)
        Q, _ = np.linalg.qr(G, mode="complete")
        H, W = Q[:, G.shape[1] :], np.linalg.pinv(G).T
        X = np.linalg.solve(H[lost], W[lost])
        weights = np.square(left).sum(axis=1) + np.square(right).sum(axis=1)
        energy = np.empty(len(lost))
        for start in range(0, len(lost), 512):
            part = slice(start, start + 512)
            columns = np.square(W - H @ X[part]).sum(axis=2)
            np.put_along_axis(columns, lost[part], 0.0, axis=1)
            energy[part] = columns @ weights
        worst[seed] = energy.max() / G.shape[1]
    return worst
