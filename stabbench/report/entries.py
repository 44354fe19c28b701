"""Records of kind ``stability`` as tables and plots read them: short names, digits, stragglers."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from stabbench.arithmetic.precision import precision
from stabbench.codes.registry import code as build_code
from stabbench.decoders.registry import decoder as build_decoder
from stabbench.grammar import canonical, parse
from stabbench.problems.registry import data as build_data
from stabbench.sweeps.case import Record

AXES = ("code", "n", "stragglers", "precision", "decoder")
SETTINGS = (
    "problem",
    "data",
    "vectors",
    "patterns",
    "spare",
    "trials",
    "seed",
    "reference",
    "noise",
)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A record with the names and numbers that tables and plots show.

    Attributes
    ----------
    record : Record
    """

    record: Record

    @property
    def code(self) -> str:
        """The name of the code without defaults."""
        return code_name(self.record.case["code"], self.n, self.stragglers)[0]

    @property
    def family(self) -> str:
        """The family of the code, ``user`` for a code of a user's file that states none."""
        return code_name(self.record.case["code"], self.n, self.stragglers)[1]

    @property
    def decoder(self) -> str:
        """The name of the decoder without defaults."""
        return decoder_name(self.record.case["decoder"])

    @property
    def data(self) -> str:
        """The name of the data without defaults."""
        return data_name(self.record.case["data"])

    @property
    def n(self) -> int:
        """Number of workers."""
        return int(self.record.case["n"])

    @property
    def stragglers(self) -> int:
        """Number of stragglers s."""
        return int(self.record.case["stragglers"])

    @property
    def precision(self) -> str:
        """Name of the precision."""
        return str(self.record.case["precision"])

    @property
    def unit(self) -> float:
        """Unit round-off u of the precision."""
        return precision(self.precision).unit

    @property
    def key(self) -> tuple[str, str]:
        """What one line of a plot stands for: code and decoder in full."""
        return self.record.case["code"], self.record.case["decoder"]

    def value(self, measure: str, field: str = "worst") -> float | None:
        """A number of a measure, None where the record has none."""
        found = self.record.measures.get(measure)
        found = found.get(field) if isinstance(found, dict) else getattr(found, field, found)
        return float(found) if isinstance(found, int | float) else None

    def most(self, measure: str) -> int | None:
        """The greatest of the integers of a measure that lists workers."""
        found = self.record.measures.get(measure)
        return int(max(found)) if isinstance(found, list | tuple) and found else None

    def seconds(self, stage: str, field: str = "median") -> float | None:
        """Seconds of a stage, None where the record has no time of that name and kind."""
        found = self.record.measures.get("seconds", {}).get(stage)
        return float(found[field]) if isinstance(found, dict) else None

    def digits(self, field: str = "worst") -> float | None:
        """Correct digits of the median or worst error of the sets that decode, -inf on overflow.

        None without such a set.
        """
        return as_digits(self.value("relative_error", field))

    def kept(self, field: str = "worst") -> float:
        """The same as a number that ranks: -inf where no set decodes."""
        found = self.digits(field)
        return -math.inf if found is None else found

    @property
    def worst_of_all(self) -> float | None:
        """Correct digits of the worst error over all sets, -inf where one does not decode."""
        return -math.inf if self.undecodable else self.digits()

    @property
    def undecodable(self) -> float:
        """The share of survivor sets that do not decode."""
        return self.value("undecodable") or 0.0

    @property
    def worst_stragglers(self) -> str | None:
        """The stragglers of the worst error, for example ``0,3-5``; None without an error."""
        found = self.record.measures.get("relative_error")
        if found is None:
            return None
        return compact(sorted(set(range(self.n)) - set(found.worst_survivors)))


def entries(records: Iterable[Record]) -> list[Entry]:
    """The records, all of kind ``stability``, as entries."""
    return [Entry(record) for record in records]


def varying(records: Sequence[Record]) -> list[str]:
    """The parameters of `SETTINGS` that have more than one value where something was measured."""
    measured = [r for r in records if r.measures] or records
    return [key for key in SETTINGS if len({r.case.get(key) for r in measured}) > 1]


def as_digits(error: float | None) -> float | None:
    """-log10 of an error; inf for no error at all, -inf for an infinite one.

    Examples
    --------
    >>> as_digits(1e-5), as_digits(float("inf"))
    (5.0, -inf)
    """
    if error is None or math.isnan(error):
        return None
    return math.inf if error == 0 else -math.log10(error)


def compact(numbers: Sequence[int]) -> str:
    """Sorted integers in short; runs of three and more as a range.

    Examples
    --------
    >>> compact([0, 1]), compact([0, 3, 4, 5]), compact([])
    ('0,1', '0,3-5', 'none')
    """
    parts: list[str] = []
    start = 0
    for i in range(1, len(numbers) + 1):
        if i < len(numbers) and numbers[i] == numbers[i - 1] + 1:
            continue
        run = numbers[start:i]
        parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(number) for number in run]
        start = i
    return ",".join(parts) or "none"


@functools.lru_cache(maxsize=4096)
def code_name(text: str, n: int, stragglers: int) -> tuple[str, str]:
    """The name without defaults and the family; the full name where the code cannot be built.

    A report outlives the user's file that a code came from, and shows refused combinations too.
    """
    try:
        built = build_code(text, n, stragglers)
    except Exception:  # noqa: BLE001  (a user's file may be gone or have changed since the sweep)
        return _file_name(text), "user" if ".py:" in text else parse(text).name
    default = "user" if ".py:" in text else built.name
    return _file_name(built.spec), built.family or default


@functools.lru_cache(maxsize=256)
def decoder_name(text: str) -> str:
    """The name without defaults; the full name where the decoder cannot be built."""
    try:
        return _file_name(build_decoder(text).spec)
    except Exception:  # noqa: BLE001  (as above)
        return _file_name(text)


@functools.lru_cache(maxsize=256)
def data_name(text: str) -> str:
    """The name without defaults; the name of a file without its directory."""
    try:
        built = build_data(text)
    except Exception:  # noqa: BLE001  (as above)
        return Path(text).name
    return Path(text).name if built.name == "file" else canonical(built, built.name)


def _file_name(text: str) -> str:
    """A name of a user's file without its directory."""
    path, mark, rest = text.partition(".py:")
    return Path(path).name + mark + rest if mark else text
