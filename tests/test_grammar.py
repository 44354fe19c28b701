"""The one grammar: what is printed is read back, grids expand, faults are one line."""

import dataclasses
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.errors import InputError
from stabbench.grammar import (
    Spec,
    bind,
    canonical,
    convert,
    expand,
    near,
    parameters_of,
    parse,
    split,
)

NAMES = st.from_regex(r"[a-z][a-z0-9\-]{0,10}", fullmatch=True)
WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=12)
QUOTABLE = WORDS.filter(lambda word: not ("'" in word and '"' in word))
SCALARS = st.one_of(
    st.integers(-(10**18), 10**18),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    QUOTABLE,
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, min_size=1, max_size=3).map(tuple))
SPECS = st.builds(
    Spec, NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda p: p[0]).map(tuple)
)


@dataclasses.dataclass(frozen=True)
class Sample:
    """Fields of every type that families use."""

    count: int = 3
    scale: float = 0.5
    ratio: Fraction = Fraction(1, 3)
    flag: bool = False
    word: str = "x"
    order: Literal["up", "down", "1"] = "up"
    maybe: int | None = None


@given(SPECS)
def test_printed_specs_are_read_back(spec: Spec) -> None:
    again = parse(str(spec))
    assert again == spec
    kinds = [type(value) for _, value in spec.parameters]
    assert [type(value) for _, value in again.parameters] == kinds


@given(SPECS, st.data())
def test_blanks_around_separators_do_not_matter(spec: Spec, data: st.DataObject) -> None:
    plain = Spec(spec.name, tuple((k, v) for k, v in spec.parameters if isinstance(v, int)))
    blank = st.sampled_from(["", " ", "  ", "\t"])
    spaced = "".join(
        f"{data.draw(blank)}{c}{data.draw(blank)}" if c in "[]=," else c for c in str(plain)
    )
    assert parse(spaced) == plain


@given(st.lists(SPECS, max_size=4))
def test_lists_split_only_at_outer_commas(specs: list[Spec]) -> None:
    assert [parse(part) for part in split(", ".join(map(str, specs)))] == specs


@given(st.text(max_size=30))
def test_any_text_is_a_spec_or_one_line_of_complaint(text: str) -> None:
    try:
        parsed = parse(text)
    except InputError as error:
        message = str(error)
    else:
        message = ""
        assert parse(str(parsed)) == parsed
    assert "\n" not in message
    assert not message or "the form is name[parameter=value,...]" in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "[a=1]",
        "x[",
        "x[a]",
        "x[a=]",
        "x[a=1",
        "x[a=1]]",
        "x[a=[1]",
        "x[=1]",
        "x[a='b]",
        "x[a=1;b=2]extra]",
        "x]y",
        "x[a=[]]",
        "x[a=[[1]]]",
    ],
)
def test_broken_texts_are_refused_with_the_place(text: str) -> None:
    with pytest.raises(InputError, match=r"expected .* at character \d+"):
        parse(text)


@given(SPECS)
def test_grid_is_the_product_of_its_lists(spec: Spec) -> None:
    plain = Spec(spec.name, tuple(p for p in spec.parameters if p[0] != "draws"))
    grid = expand(plain)
    sizes = 1
    for _, value in plain.parameters:
        sizes *= len(dict.fromkeys(map(repr, value))) if isinstance(value, tuple) else 1
    assert 1 <= len(grid) <= sizes
    for member in grid:
        for (key, value), (key2, allowed) in zip(member.parameters, plain.parameters, strict=True):
            assert key == key2
            assert value in allowed if isinstance(allowed, tuple) else value == allowed


def test_draws_are_seeds_from_the_first_on() -> None:
    grid = [str(spec) for spec in expand(parse("gaussian[k=2,seed=7,draws=3]"))]
    assert grid == [f"gaussian[k=2,seed={seed}]" for seed in (7, 8, 9)]


@pytest.mark.parametrize("text", ["s[seed=1,seed=2]", "s[seed=1,seed=1]", "s[draws=2,draws=2]"])
def test_no_parameter_of_a_grid_is_given_twice(text: str) -> None:
    with pytest.raises(InputError, match=r"s: parameter '(seed|draws)' is given twice"):
        expand(parse(text))


@pytest.mark.parametrize("draws", ["0", "-1", "1.5", "true", "two", "[1,2]"])
def test_draws_must_be_a_positive_integer(draws: str) -> None:
    with pytest.raises(InputError, match="draws"):
        expand(parse(f"gaussian[draws={draws}]"))


@given(
    st.builds(
        Sample,
        st.integers(-1000, 1000),
        st.floats(allow_nan=False, allow_infinity=False),
        st.fractions(),
        st.booleans(),
        QUOTABLE,
        st.sampled_from(["up", "down", "1"]),
        st.none() | st.integers(-9, 9),
    ),
    st.booleans(),
)
def test_canonical_text_builds_the_same_object(sample: Sample, full: bool) -> None:
    text = canonical(sample, "sample", full=full)
    assert bind(Sample, parse(text)) == sample
    assert canonical(bind(Sample, parse(text)), "sample", full=full) == text


def test_defaults_are_left_out_unless_asked_for() -> None:
    assert canonical(Sample(), "sample") == "sample"
    assert canonical(Sample(count=4), "sample") == "sample[count=4]"
    names = [key for key, _ in parse(canonical(Sample(), "sample", full=True)).parameters]
    assert names == ["count", "scale", "ratio", "flag", "word", "order"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("s[cuont=1]", "unknown parameter 'cuont'; did you mean count?"),
        ("s[count=1.5]", "count=1.5; allowed: an integer"),
        ("s[count=true]", "count=true; allowed: an integer"),
        ("s[scale=wide]", "scale=wide; allowed: a number"),
        ("s[scale=1e999]", "scale=1e999; allowed: a number"),
        ("s[scale=1" + 400 * "0" + "]", "allowed: a number"),
        ("s[scale=nan]", "scale=nan; allowed: a number"),
        ("s[scale=-inf]", "scale=-inf; allowed: a number"),
        ("s[ratio='1e999999999']", "allowed: a number or fraction"),
        ("s[ratio=1/0]", "ratio=1/0; allowed: a number or fraction"),
        ("s[flag=yes]", "flag=yes; allowed: true | false"),
        ("s[flag=1]", "flag=1; allowed: true | false"),
        ("s[order=sideways]", "order=sideways; allowed: up | down | 1"),
        ("s[count=1,count=2]", "'count' is given twice"),
        ("s[count=[1,2]]", "count=[1,2]; allowed: an integer"),
    ],
)
def test_wrong_parameters_name_the_allowed_values(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        bind(Sample, parse(text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (2.0, int, 2),
        (1, float, 1.0),
        ("1/3", float, 1 / 3),
        ("1/3", Fraction, Fraction(1, 3)),
        (0.1, Fraction, Fraction(1, 10)),
        (1, Literal["1", "1/2"], "1"),
        (7, str, "7"),
        ("1e-5", Fraction, Fraction(1, 100000)),
    ],
)
def test_values_are_converted_to_the_type_of_the_field(
    value: Any, kind: Any, expected: Any
) -> None:
    converted = convert(value, kind, "x")
    assert converted == expected
    assert type(converted) is type(expected)


def test_words_that_python_reads_as_no_finite_number_stay_words() -> None:
    for word in ("nan", "inf", "-Infinity", "1e999"):
        assert parse(f"x[a={word}]").parameters == (("a", word),)


def test_required_fields_are_named() -> None:
    @dataclasses.dataclass(frozen=True)
    class Needs:
        path: str

    with pytest.raises(InputError, match="'path' is required"):
        bind(Needs, parse("needs"))
    assert parameters_of(Needs)["path"].required


def test_near_matches_come_before_all_that_is_allowed() -> None:
    assert near("polynomal", ["polynomial", "dct"]).startswith("did you mean polynomial?")
    assert near("zzz", ["b", "a"]) == "allowed: a, b"
    assert near("zzz", []) == "allowed: none"
