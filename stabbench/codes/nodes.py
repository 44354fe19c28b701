"""Evaluation points of polynomial-like codes, exact or as balls."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import flint
import numpy as np

from stabbench.errors import InputError
from stabbench.files import Input, read_array

Nodes = Literal[
    "integers",
    "equispaced",
    "right-equispaced",
    "half-step",
    "chebyshev",
    "roots-of-unity",
    "leja",
    "custom",
]
CANDIDATES = 1001


def nodes(kind: str, n: int, bits: int, file: Input | None = None) -> list[Any]:
    """The n evaluation points of a family, as exact numbers or balls of `bits` bits.

    Parameters
    ----------
    kind : str
        ``integers`` 1..n; ``equispaced`` linspace(-1, 1, n); ``right-equispaced`` -1 + 2i/n for
        i = 1..n; ``half-step`` 1, 1.5, .. , -1, -1.5, .. (then 0 for odd n); ``chebyshev``
        cos((2i-1) pi / 2n); ``roots-of-unity`` exp(2 pi i j / n); ``leja`` greedy on 1001
        equispaced candidates in [-1, 1] from 1 on; ``custom`` from `file`.
    n : int
        Number of points.
    bits : int
        Precision of irrational points.
    file : Input, optional
        A file with n distinct numbers, for ``custom``.

    Raises
    ------
    InputError
        A file that does not hold n distinct numbers, more Leja points than candidates.

    Examples
    --------
    >>> nodes("equispaced", 3, 53)
    [Fraction(-1, 1), Fraction(0, 1), Fraction(1, 1)]
    >>> nodes("half-step", 5, 53)
    [Fraction(1, 1), Fraction(3, 2), Fraction(-1, 1), Fraction(-3, 2), Fraction(0, 1)]
    """
    if kind == "custom":
        return _custom(n, file)
    with flint.ctx.workprec(bits):
        return FAMILIES[kind](n)


def check(name: str, kind: str, n: int, file: Input | None) -> None:
    """Raise InputError if a code of some name cannot have these nodes, or would ignore the file."""
    if file is not None and kind != "custom":
        raise InputError(f"{name}: file={file} with nodes={kind}; allowed with nodes=custom")
    if kind in ("custom", "leja"):
        nodes(kind, n, 53, file)


def is_complex(kind: str, file: Input | None = None) -> bool:
    """Whether a family of nodes leaves the real line."""
    if kind == "custom" and file is not None:
        return bool(read_array(file)[0].dtype.kind == "c")
    return kind == "roots-of-unity"


def _integers(n: int) -> list[Any]:
    return [Fraction(i) for i in range(1, n + 1)]


def _equispaced(n: int) -> list[Any]:
    if n == 1:
        return [Fraction(-1)]
    return [Fraction(2 * i, n - 1) - 1 for i in range(n)]


def _right_equispaced(n: int) -> list[Any]:
    return [Fraction(2 * i, n) - 1 for i in range(1, n + 1)]


def _half_step(n: int) -> list[Any]:
    half = [1 + Fraction(i, 2) for i in range(n // 2)]
    return half + [-x for x in half] + [Fraction(0)] * (n % 2)


def _chebyshev(n: int) -> list[Any]:
    return [flint.arb.cos_pi_fmpq(flint.fmpq(2 * i + 1, 2 * n)) for i in range(n)]


def _roots_of_unity(n: int) -> list[Any]:
    return [root_of_unity(j, n) for j in range(n)]


def root_of_unity(power: int, order: int) -> Any:
    """exp(2 pi i power / order) as a ball at the current precision, reduced before rounding."""
    turn = flint.fmpq(2 * (power % order), order)
    return flint.acb(flint.arb.cos_pi_fmpq(turn), flint.arb.sin_pi_fmpq(turn))


def _leja(n: int) -> list[Any]:
    if n > CANDIDATES:
        raise InputError(
            f"nodes=leja: n={n} of {CANDIDATES} candidates; allowed is n <= {CANDIDATES}"
        )
    grid = [Fraction(2 * i, CANDIDATES - 1) - 1 for i in range(CANDIDATES)]
    return [grid[i] for i in leja_order([float(x) for x in grid], n, first=CANDIDATES - 1)]


def leja_order(points: list[float], count: int, first: int) -> list[int]:
    """Indices of a greedy Leja sequence: each next point maximises the product of distances.

    Ties go to the lower index.

    Examples
    --------
    >>> leja_order([-1.0, 0.0, 0.5, 1.0], 3, first=3)
    [3, 0, 1]
    """
    values = np.asarray(points)
    chosen = [first]
    with np.errstate(divide="ignore"):
        score = np.log(np.abs(values - values[first]))
        while len(chosen) < count:
            chosen.append(int(np.argmax(score)))
            score = score + np.log(np.abs(values - values[chosen[-1]]))
    return chosen


FAMILIES: dict[str, Callable[[int], list[Any]]] = {
    "integers": _integers,
    "equispaced": _equispaced,
    "right-equispaced": _right_equispaced,
    "half-step": _half_step,
    "chebyshev": _chebyshev,
    "roots-of-unity": _roots_of_unity,
    "leja": _leja,
}


def _custom(n: int, file: Input | None) -> list[Any]:
    if file is None:
        raise InputError("nodes=custom needs file=PATH with the nodes")
    table = read_array(file, what="nodes")[0]
    if 1 not in table.shape:
        rows, columns = table.shape
        raise InputError(f"{file}: {rows} x {columns} numbers; allowed is one row or one column")
    values = table.ravel()
    if values.size != n:
        raise InputError(f"{file}: holds {values.size} nodes; n={n} are needed")
    if len(set(values.tolist())) != n:
        raise InputError(f"{file}: nodes repeat; allowed are distinct nodes")
    return [complex(v) if values.dtype.kind == "c" else Fraction(float(v)) for v in values]
