"""The design explorer: every (d, s, m) that gradient schemes admit, measured, with Pareto front."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stabbench.analysis import costs
from stabbench.analysis.gradient import Gradient as Analysis
from stabbench.analysis.metrics import errors
from stabbench.analysis.structure import Choice
from stabbench.analysis.survivors import policy
from stabbench.analysis.timemodel import TimeModel, expected_time
from stabbench.arithmetic.precision import precision
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.registry import code as build
from stabbench.decoders.base import Decoder
from stabbench.decoders.registry import decoder as build_decoder
from stabbench.errors import InputError
from stabbench.grammar import Spec, parse
from stabbench.problems.families import Gaussian
from stabbench.problems.gradient import Gradient

Array = np.ndarray[Any, np.dtype[Any]]
SCHEMES = (
    "kadhe[generator=gaussian]",
    "kadhe[generator=chebyshev]",
    "fractional-repetition",
    "cyclic-repetition",
    "cyclic-mds",
    "reed-solomon",
    "ye-abbe[variant=vandermonde]",
    "ye-abbe[variant=roots-of-unity,target=middle]",
)
ENTRIES = 120


@dataclasses.dataclass(frozen=True)
class Design:
    """One row of the explorer's table.

    Attributes
    ----------
    code : str
    load, stragglers, reduction : int
        d, s and m.
    storage : float
        Most of the data that one worker holds, d / K.
    communication : float
        What one worker sends, in lengths of a gradient: 1 / m for one message.
    sent : float
        The same in real numbers, of which a complex number is two.
    kappa, amplification : float
        Worst over the patterns.
    error : dict of str to float
        Worst relative error per precision; infinite where it overflows or a set does not decode.
    time : float
        Expected iteration time of the papers' model.
    label : str
        ``exhaustive`` or ``search (lower bound)``.
    pareto : bool
        No other design stores and sends at most as much, tolerates at least as many stragglers,
        and has at most its errors, with one of them better.
    """

    code: str
    load: int
    stragglers: int
    reduction: int
    storage: float
    communication: float
    sent: float
    kappa: float
    amplification: float
    error: dict[str, float]
    time: float
    label: str
    pareto: bool = False

    @property
    def digits(self) -> dict[str, float]:
        """Correct digits per precision, at least 0."""
        return {name: _digits(value) for name, value in self.error.items()}


def gradient(
    n: int,
    schemes: Sequence[str] = SCHEMES,
    *,
    stragglers: Sequence[int] | None = None,
    precisions: Sequence[str] = ("float32", "float64"),
    decoder: str = "weights",
    patterns: str = "auto:20",
    seed: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Design]:
    """Measure every (d, s, m) that the schemes admit with n workers.

    Parameters
    ----------
    n : int
    schemes : sequence of str
        Grammar strings without d and m, which are filled in.
    stragglers : sequence of int, optional
        1 .. n-1 unless given.
    precisions : sequence of str
    decoder, patterns : str
        Names of the grammar.
    seed : int
        Of the Gaussian partial gradients and the patterns.
    progress : callable
        Called with every code before it is measured.

    Returns
    -------
    list of Design, by scheme, d and m; the Pareto front is marked

    Raises
    ------
    InputError
        Unknown names; nothing that any scheme admits.

    Examples
    --------
    >>> rows = gradient(4, ["fractional-repetition", "kadhe"], stragglers=[1])
    >>> [(row.code, row.load, row.reduction) for row in rows]
    [('fractional-repetition', 2, 1), ('kadhe[d=2,m=1]', 2, 1), ('kadhe[d=4,m=3]', 4, 3)]
    >>> rows[2].pareto
    True
    """
    wanted = range(1, n) if stragglers is None else stragglers
    chosen = build_decoder(decoder)
    rows = []
    for scheme in schemes:
        for code in admitted(scheme, n, wanted):
            progress(f"{code.spec}, stragglers {code.stragglers}")
            rows.append(measure(code, chosen, precisions, patterns, seed))
    if not rows:
        raise InputError(f"n={n}, stragglers={list(wanted)}: no scheme admits any (d, s, m)")
    return mark_pareto(rows)


def admitted(scheme: str, n: int, stragglers: Sequence[int]) -> Iterator[GradientCode]:
    """The codes of a scheme for every (d, s, m) that it admits, d = s + m.

    Raises
    ------
    InputError
        If the scheme is no gradient code, or admits nothing with n workers.
    """
    nothing = True
    for s in stragglers:
        for code in _built(scheme, n, s):
            if isinstance(code, GradientCode):
                nothing = False
                yield code
    if nothing:
        every = [code for s in range(1, n) for code in _built(scheme, n, s)]
        faults = [fault for fault in every if isinstance(fault, InputError)]
        if len(faults) == len(every):
            raise faults[-1] if faults else InputError(f"n={n}; allowed are 2 or more workers")


def _built(scheme: str, n: int, s: int) -> Iterator[GradientCode | InputError]:
    """The code, or why there is none, for every m."""
    spec = parse(scheme)
    sized = spec.name in ("kadhe", "ye-abbe")
    for m in range(1, n - s + 1) if sized else (1,):
        sizes = (("d", s + m), ("m", m)) if sized else ()
        try:
            code = build(Spec(spec.name, (*spec.parameters, *sizes)), n, s)
        except InputError as error:
            yield error
            continue
        if not isinstance(code, GradientCode):
            raise InputError(f"scheme {scheme!r} is no gradient code")
        yield code


def measure(
    code: GradientCode,
    decoder: Decoder,
    precisions: Sequence[str],
    patterns: str,
    seed: int,
) -> Design:
    """The design of one code."""
    rule = policy(patterns)
    table = rule.patterns(code.n, code.stragglers, seed)
    reason = decoder.accepts(code)
    if reason:
        raise InputError(f"decoder {decoder.spec} with {code.spec}: {reason}")
    system = code.system("gradient")
    choice = Choice(code, system, decoder, precision("float64"), "use")
    communication = costs.communication(system, ENTRIES)
    found = Analysis().conditions(choice, table)
    return Design(
        code=code.spec,
        load=code.load,
        stragglers=code.stragglers,
        reduction=code.reduction,
        storage=code.load / code.partitions,
        communication=communication,
        sent=communication * (2 if code.is_complex else 1),
        kappa=float(found.kappa_2.max()),
        amplification=float(found.amplification.max()),
        error={name: worst_error(choice, name, table, seed) for name in precisions},
        time=expected_time(code, TimeModel()).value,
        label=rule.label(code.n, code.stragglers),
    )


def worst_error(choice: Choice, name: str, patterns: Array, seed: int) -> float:
    """The worst relative error over patterns on Gaussian partial gradients."""
    form, code = precision(name), choice.code
    assert isinstance(code, GradientCode)
    task = Gradient(Gaussian(rows=code.partitions, columns=ENTRIES), code.partitions)
    operands = task.operands(form, seed)
    exact = task.wanted(choice.system, task.exact(operands, "flint"))
    shares = task.encode(choice.system, task.blocks(choice.system, operands), form)
    replies = task.work(choice.system, shares, form)
    plan = choice.decoder.plan(code, choice.system, patterns, form, choice.spare)
    return float(errors(plan.decode(replies), exact).relative.max())


def mark_pareto(rows: Sequence[Design]) -> list[Design]:
    """The same rows with the Pareto front marked."""
    costs = np.array([_costs(row) for row in rows])
    marked = []
    for row, own in zip(rows, costs, strict=True):
        better = (costs <= own).all(axis=1) & (costs < own).any(axis=1)
        marked.append(dataclasses.replace(row, pareto=not better.any()))
    return marked


def _costs(row: Design) -> list[float]:
    """Storage, minus stragglers, numbers sent, and errors to a tenth of a digit."""
    lost = [-round(_digits(error), 1) for error in row.error.values()]
    return [row.storage, -row.stragglers, row.sent, *lost]


def _digits(error: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.clip(-np.log10(error), 0.0, 17.0))
