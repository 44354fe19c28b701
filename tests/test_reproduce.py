"""Published numbers, recomputed: the verdicts, and that they follow from the definitions."""

import dataclasses

import pytest

from stabbench.errors import InputError
from stabbench.published import reproduce
from stabbench.published.quantities import measure
from stabbench.published.reproduction import Reproduced, as_html, as_markdown, as_table, judge
from stabbench.published.rows import Published, chosen, load
from stabbench.report.render import terminal


@pytest.fixture(scope="module")
def everything() -> list[Reproduced]:
    return reproduce()


def row(name: str) -> Published:
    (found,) = [item for item in load() if item.id == name]
    return found


def test_every_number_gets_its_expected_verdict(everything: list[Reproduced]) -> None:
    assert len(everything) == 265
    wrong = [
        (item.row.id, item.measured, item.row.published, item.verdict)
        for item in everything
        if item.verdict != item.row.expected
    ]
    assert not wrong


def test_certainties_are_shown(everything: list[Reproduced]) -> None:
    counts = {
        certainty: sum(item.row.certainty == certainty for item in everything)
        for certainty in ("read", "recalled, unverified", "computed")
    }
    assert counts == {"read": 131, "recalled, unverified": 14, "computed": 120}
    assert all(item.verdict == "agrees" for item in everything if item.row.certainty == "computed")


def test_numbers_that_differ_say_why(everything: list[Reproduced]) -> None:
    why = {item.row.id: item.why for item in everything if item.verdict == "differs"}
    assert len(why) == 19
    assert "eigenvalue" in why["frames-31-29-29-max-kappa"]
    assert "gives 54.59" in why["frames-31-29-29-max-kappa"]
    assert "limited by float64" in why["hilbert-12"]
    assert "median of 60 draws" in why["tang-mm-khatri-rao-80"]
    assert "random sample" in why["frames-100-80-96-max-kappa"]
    assert all(why.values())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("tang-mv-polynomial-80", "polynomial[nodes=equispaced]"),
        ("tang-mm-orthopoly-shifted-100", "orthopoly[kA=4,kB=7]"),
        ("tang-table-real-Vanderm-worst-31-2", "polynomial[nodes=right-equispaced]"),
        ("kappa-orthopoly-12-10-worst", "orthopoly[t0=1,kA=5,kB=2]"),
        ("kappa-orthopoly-12-10-worst", "orthopoly[t0=1/2,kA=5,kB=2]"),
        ("kappa-chebyshev-basis-8-6-worst", "chebyshev-basis[t0=1/sqrt2]"),
        ("kappa-polynomial-8-6-worst", "polynomial[nodes=chebyshev,kA=3,kB=2]"),
        ("hilbert-5", "cauchy[nodes=chebyshev]"),
        ("vandermonde-9", "polynomial[nodes=right-equispaced]"),
        ("frames-31-29-30-mean-kappa", "dct"),
        ("kappa-convolutional-6-4-worst", "convolutional[gamma=1/2]"),
    ],
)
def test_another_definition_changes_the_verdict(name: str, code: str) -> None:
    published = row(name)
    assert judge(published).verdict == "agrees"
    assert judge(dataclasses.replace(published, code=code)).verdict == "differs"


def test_a_wrong_number_differs_and_a_lower_bound_may_be_exceeded() -> None:
    published = row("kappa-polynomial-8-6-mean")
    assert judge(dataclasses.replace(published, published=published.published * 1.01)).verdict == (
        "differs"
    )
    bound = next(item for item in load() if "at least" in item.quantity)
    assert judge(dataclasses.replace(bound, published=bound.published / 3)).verdict == "agrees"
    assert judge(dataclasses.replace(bound, published=bound.published * 1.01)).verdict == "differs"


def test_what_cannot_be_computed_says_so() -> None:
    published = row("hilbert-5")
    for change, words in (
        ({"quantity": "kappa_1 of something"}, "no rule"),
        ({"code": "no-such-code"}, "unknown code"),
    ):
        found = judge(dataclasses.replace(published, **change))  # type: ignore[arg-type]
        assert found.verdict == "not computable"
        assert found.measured is None
        assert words in found.why


def test_noise_formula_of_products_counts_both_factors() -> None:
    """v / P (1 + ||G_S^-1||_F^2 / k), that of A x, is 10.9 times too small for the product."""
    published = row("tang-mm-polynomial-80")
    value = measure(published).value
    assert value is not None
    assert value == pytest.approx(2.4886e-8, rel=1e-4)
    single = measure(dataclasses.replace(published, problem="matvec")).value
    assert single is not None
    assert value / single == pytest.approx(10.94, rel=1e-2)


def test_random_codes_are_compared_by_the_median_of_their_draws() -> None:
    """A single draw has a median of about 1.8e-2 at 80 dB, draws differ by orders of magnitude."""
    found = measure(row("tang-mm-khatri-rao-80"))
    assert found.value is not None
    assert 1.8e-2 / 2 < found.value < 1.8e-2 * 2
    assert "median of 60 draws" in found.note


def test_renderers_show_every_row(everything: list[Reproduced]) -> None:
    table = as_table(everything)
    assert len(table.rows) == len(everything)
    for text in (as_markdown(everything), as_html(everything), terminal(table)):
        for name in ("tang-mv-polynomial-80", "hilbert-12", "kappa-dct-24-20-worst"):
            assert name in text
        assert "246 agrees, 19 differs" in text


def test_sources_are_chosen_by_a_part_of_their_name() -> None:
    assert {item.source for item in chosen("1910.06515")} == {
        "arXiv:1910.06515 figure data",
        "arXiv:1910.06515 tables",
    }
    assert len(chosen("frame-codes")) == 76
    with pytest.raises(InputError, match="no published numbers of 'nobody'; allowed"):
        chosen("nobody")
