"""What the kinds of training with a code share: checks, decoders, records of several trials.

The uncoded run that they compare with, and the training itself, are their own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code
from stabbench.decoders.base import Decoder
from stabbench.decoders.registry import decoder as build_decoder
from stabbench.errors import InputError, require_least
from stabbench.problems.families import Data
from stabbench.sweeps.case import Case, Record, case_of

UNCODED = "uncoded"
NO_DECODER = "none"
"""What stands for the decoder in a case without a code."""


class Trial(Protocol):
    """A run of one seed: the step at which it diverged, if it did, and what was not finite."""

    diverged: int | None
    reason: str


def chosen_decoder(code: Code, name: str, order: Sequence[str]) -> Decoder:
    """The decoder of a name; ``auto`` takes the first of the order that accepts the code.

    Raises
    ------
    InputError
        Unknown decoder; ``auto`` where no decoder of the order accepts the code.
    """
    if name != "auto":
        return build_decoder(name)
    for candidate in map(build_decoder, order):
        if not candidate.accepts(code):
            return candidate
    raise InputError(f"decoder auto with {code.spec}: none of {', '.join(order)} decodes it")


def check_uncoded(parameters: Mapping[str, Any]) -> None:
    """Check what names a code's workers and decoder, though no code uses them.

    Raises
    ------
    InputError
        A number of workers or stragglers that none has, an unknown decoder.
    """
    require_least(parameters, n=1, stragglers=0)
    if parameters["decoder"] not in ("auto", NO_DECODER):
        build_decoder(parameters["decoder"])


def refusal(code: Code | None, decoder: Decoder | None, precision: Precision) -> str:
    """Why a decoder cannot decode a code in a precision, an empty string if it can."""
    if code is None or decoder is None:
        return ""
    return decoder.accepts(code) or decoder.accepts_precision(precision)


def named_case(
    kind: str,
    parameters: dict[str, Any],
    code: Code | None,
    decoder: Decoder | None,
    data: Data,
) -> Case:
    """The case of parameters with code and decoder in full, and digests of the files it reads."""
    if code is None or decoder is None:
        code = decoder = None
        parameters |= {"code": UNCODED, "stragglers": 0, "decoder": NO_DECODER}
    else:
        parameters |= {"code": code.full_spec, "decoder": decoder.full_spec}
    made = [each for each in (code, decoder, data) if each is not None]
    return case_of(kind, parameters, *made)


def levels(errors: Any) -> dict[str, float]:
    """Median, 95% quantile and greatest of errors, each of them one of the errors.

    Examples
    --------
    >>> levels([4.0, 1.0, 2.0])
    {'median': 2.0, 'q95': 4.0, 'worst': 4.0}
    """
    found = np.quantile(errors, (0.5, 0.95, 1.0), method="inverted_cdf")
    return dict(zip(("median", "q95", "worst"), map(float, found), strict=True))


def short(value: float) -> float:
    """A number by step as records keep it, to four significant digits.

    Examples
    --------
    >>> short(0.123456)
    0.1235
    """
    return float(f"{value:.4g}")


def record(case: Case, trials: Sequence[Trial], measures: dict[str, Any]) -> Record:
    """The record of all trials: ``overflow`` if one of them diverged, with the first reason."""
    diverged = [number for number, trial in enumerate(trials) if trial.diverged]
    if not diverged:
        return Record(case, measures=measures)
    first = diverged[0]
    words = f"{len(diverged)} of {len(trials)} trials diverged, trial {first}: "
    return Record(case, "overflow", words + trials[first].reason, measures)
