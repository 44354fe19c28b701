"""Which entries a figure shows: the main setting, the main decoder, what differs in one thing."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stabbench.grammar import Spec, parse
from stabbench.report.entries import AXES, SETTINGS, Entry

DRAW = ("seed", "select")
"""Parameters of random codes that name a draw or choose among draws."""


def measured(found: Iterable[Entry]) -> list[Entry]:
    """The entries that have an error."""
    return [e for e in found if e.value("relative_error") is not None]


def problems(found: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries by problem; the name is empty where there is one problem only."""
    names = list(dict.fromkeys(str(e.record.case["problem"]) for e in found))
    return [
        (name if len(names) > 1 else "", [e for e in found if e.record.case["problem"] == name])
        for name in names
    ]


def main_setting(found: Sequence[Entry]) -> list[Entry]:
    """The entries of the setting that most measured entries have, the first among equals.

    Entries without a measure, such as skipped ones, belong to it whatever their patterns are.
    """
    counted = Counter(_setting(e) for e in measured(found) or found)
    if not counted:
        return []
    chosen = counted.most_common(1)[0][0]
    free = SETTINGS.index("patterns")

    def belongs(e: Entry) -> bool:
        mine = _setting(e)
        if not e.record.measures:
            return mine[:free] + mine[free + 1 :] == chosen[:free] + chosen[free + 1 :]
        return mine == chosen

    return [e for e in found if belongs(e)]


def main_decoder(found: Sequence[Entry]) -> list[Entry]:
    """The entries of the decoder that most codes have, precision by precision."""
    counted: dict[str, Counter[str]] = {}
    for e in measured(found) or found:
        counted.setdefault(e.precision, Counter())[e.key[1]] += 1
    chosen = {name: counts.most_common(1)[0][0] for name, counts in counted.items()}
    return [e for e in found if chosen.get(e.precision, e.key[1]) == e.key[1]]


def usual(found: Sequence[Entry]) -> list[Entry]:
    """The main setting and decoder, one draw of random codes, without codes of a single case.

    Codes of a single case, such as those of one comparison, stay where no code has more.
    """
    further = further_draws(found)
    main = [e for e in main_decoder(main_setting(found)) if e.record.case["code"] not in further]
    counts = Counter(e.key[0] for e in main)
    least = min(2, max(counts.values(), default=0))
    return [e for e in main if counts[e.key[0]] >= least]


def differing(found: Sequence[Entry], key: str) -> list[list[Entry]]:
    """Groups of entries that differ in one parameter and nothing else, of two entries or more."""
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    others = [name for name in (*AXES, *SETTINGS) if name != key]
    for e in found:
        groups.setdefault(tuple(e.record.case.get(name) for name in others), []).append(e)
    return [group for group in groups.values() if len(group) > 1]


def draws(found: Sequence[Entry]) -> list[tuple[str, list[Entry], list[Entry]]]:
    """Random codes of which several draws were measured.

    Returns
    -------
    list of (str, list of Entry, list of Entry)
        The code without its draw; single draws; draws chosen among several by ``select``. All of
        a group agree in everything but the draw.
    """
    groups: dict[tuple[Any, ...], list[tuple[Spec, Entry]]] = {}
    others = [name for name in (*AXES, *SETTINGS) if name != "code"]
    for e in (e for e in found if e.undecodable or e.digits() is not None):
        if ".py:" in e.record.case["code"]:
            continue
        spec = parse(e.record.case["code"])
        if "seed" in dict(spec.parameters):
            key = (_without_draw(spec), *(e.record.case.get(name) for name in others))
            groups.setdefault(key, []).append((spec, e))
    made = []
    for pairs in groups.values():
        single = [e for spec, e in pairs if dict(spec.parameters).get("select", 1) == 1]
        chosen = [e for spec, e in pairs if dict(spec.parameters).get("select", 1) != 1]
        if len(pairs) > 1 and single:
            made.append((str(_without_draw(parse(single[0].code))), single, chosen))
    return made


def further_draws(found: Sequence[Entry]) -> set[str]:
    """Codes that are draws beyond the first of a code, or chosen among several."""
    groups = draws(found)
    every = {e.record.case["code"] for _, single, chosen in groups for e in (*single, *chosen)}
    return every - {single[0].record.case["code"] for _, single, _ in groups}


def select_count(e: Entry) -> int:
    """Among how many draws a code was chosen."""
    return int(dict(parse(e.record.case["code"]).parameters).get("select", 1))  # type: ignore[arg-type]


def fixed(found: Sequence[Entry], but: Iterable[str] = ()) -> str:
    """What entries have in common, in words: decoder, data, n, s, draws of the data.

    Parameters
    ----------
    found : sequence of Entry
    but : iterable of str
        Parameters that the figure states elsewhere.
    """
    words: dict[str, Callable[[Entry], str]] = {
        "n": lambda e: f"n = {e.n}",
        "stragglers": lambda e: f"s = {e.stragglers}",
        "precision": lambda e: e.precision,
        "decoder": lambda e: f"decoder {e.decoder}",
        "data": lambda e: f"data {e.data}",
        "trials": lambda e: _plural(int(e.record.case.get("trials", 1)), "trial"),
    }
    parts = []
    for key, word in words.items():
        values = list(dict.fromkeys(word(e) for e in found))
        if key in but or not values:
            continue
        if len(values) == 1:
            parts += values
        elif key == "decoder":
            parts.append(_decoders(found))
    return ", ".join(part for part in parts if part)


def _decoders(found: Sequence[Entry]) -> str:
    """Which decoder each precision has, where that is one; else nothing."""
    used: dict[str, set[str]] = {}
    for e in found:
        used.setdefault(e.precision, set()).add(e.decoder)
    if any(len(names) > 1 for names in used.values()):
        return ""
    by: dict[str, list[str]] = {}
    for name, (decoder,) in used.items():
        by.setdefault(decoder, []).append(name)
    return "decoder " + ", ".join(
        f"{decoder} ({', '.join(names)})" for decoder, names in by.items()
    )


def _setting(e: Entry) -> tuple[Any, ...]:
    return tuple(e.record.case.get(key) for key in SETTINGS)


def _without_draw(spec: Spec) -> Spec:
    return Spec(spec.name, tuple(pair for pair in spec.parameters if pair[0] not in DRAW))


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")
