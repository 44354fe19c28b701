"""Numerical stability of coded computation: digits lost, on which stragglers, and why.

The public functions are loaded when they are first used, so that the import is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stabbench.analysis.numbers import condition_numbers as condition_numbers
    from stabbench.codes.base import Code as Code
    from stabbench.codes.base import LinearCode as LinearCode
    from stabbench.codes.registry import code as code
    from stabbench.decoders.base import Decoder as Decoder
    from stabbench.errors import InputError as InputError
    from stabbench.gating import gate as gate
    from stabbench.sweeps.api import evaluate as evaluate
    from stabbench.sweeps.api import sweep as sweep

__version__ = "0.1.0"

_PUBLIC = {
    "Code": "stabbench.codes.base",
    "Decoder": "stabbench.decoders.base",
    "InputError": "stabbench.errors",
    "LinearCode": "stabbench.codes.base",
    "code": "stabbench.codes.registry",
    "condition_numbers": "stabbench.analysis.numbers",
    "evaluate": "stabbench.sweeps.api",
    "gate": "stabbench.gating",
    "sweep": "stabbench.sweeps.api",
}
__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'stabbench' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
