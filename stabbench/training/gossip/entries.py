"""Records of gossip runs as lines of tables and plots: short names, and what sets lines apart."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stabbench.grammar import parse
from stabbench.sweeps.case import Record

LINE = ("method", "compressor", "precision", "accumulation", "mixing", "sender")
STEPS = ("rate", "consensus")
PANEL = ("problem", "graph", "n", "weights", "batch", "decay", "steps", "seed")
SILENT = {
    "compressor": "none",
    "batch": "0",
    "decay": "0.0",
    "mixing": "difference",
    "sender": "rounded",
}
"""What goes without saying."""
NAMES = ("method", "compressor", "problem", "graph")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A run with its names among the runs of a report.

    Attributes
    ----------
    record : Record
    scheme : str
        Method, compressor, precision and what else differs.
    setting : str
        Problem, graph and what else differs between panels.
    """

    record: Record
    scheme: str
    setting: str

    def trace(self, key: str) -> list[Any]:
        """A measure by step."""
        return list(self.record.measures["trace"][key])


def entries(records: Iterable[Record]) -> list[Entry]:
    """The runs that were measured, to the end or until they diverged."""
    found = [record for record in records if "trace" in record.measures]
    varied = {key for key in (*LINE, *STEPS, *PANEL) if _differs(found, key)}
    return [
        Entry(
            record,
            _words(record.case.parameters, [k for k in (*LINE, *STEPS) if k in varied], LINE[:2]),
            _words(record.case.parameters, [k for k in PANEL if k in varied], PANEL[:2]),
        )
        for record in found
    ]


def panels(found: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The runs of each setting."""
    groups: dict[str, list[Entry]] = {}
    for entry in found:
        groups.setdefault(entry.setting, []).append(entry)
    return groups


def short(key: str, text: Any) -> str:
    """A name of the grammar without the parameters that have their default.

    The one or two numbers of methods and compressors speak for themselves, those of problems and
    graphs do not.

    Examples
    --------
    >>> short("compressor", "rand-k[ratio=0.1,shared=false]")
    'rand-k 0.1'
    >>> short("method", "ecsd[variant=full,gradient=private]")
    'ecsd private'
    >>> short("problem", "logistic[dimension=50,samples=100]")
    'logistic dimension=50 samples=100'
    """
    if key not in NAMES:
        return str(text)
    from stabbench.training.gossip.classifiers import PROBLEMS
    from stabbench.training.gossip.compressors import COMPRESSORS
    from stabbench.training.gossip.graphs import TOPOLOGIES
    from stabbench.training.gossip.methods import METHODS

    registries: dict[str, Mapping[str, type]] = {
        "method": METHODS,
        "compressor": COMPRESSORS,
        "problem": PROBLEMS,
        "graph": TOPOLOGIES,
    }
    spec = parse(str(text))
    fields: Mapping[str, Any] = getattr(registries[key][spec.name], "__dataclass_fields__", {})
    given = [(name, value) for name, value in spec.parameters if value != fields[name].default]
    if key in PANEL:
        return " ".join([spec.name, *(f"{name}={value}" for name, value in given)])
    words = (name if isinstance(value, bool) else str(value) for name, value in given)
    return " ".join([spec.name, *words])


def _differs(found: Sequence[Record], key: str) -> bool:
    return len({record.case.get(key) for record in found}) > 1


def _words(parameters: Mapping[str, Any], varied: Sequence[str], always: Sequence[str]) -> str:
    """Names in full where they are words, `name value` where they are numbers."""
    found = []
    for key in dict.fromkeys([*always, *varied]):
        value = parameters.get(key)
        text = short(key, value)
        if SILENT.get(key) == text or (key == "accumulation" and _only(parameters, text)):
            continue
        if key in STEPS:
            text = text if value else "auto"
        found.append(text if isinstance(value, str) else f"{key} {text}")
    return ", ".join(found)


def _only(parameters: Mapping[str, Any], accumulation: str) -> bool:
    """Whether the method has no other accumulation than naive sums by default."""
    from stabbench.training.gossip.methods import method

    first = method(str(parameters["method"])).accumulations[0]
    return accumulation == first == "naive"
