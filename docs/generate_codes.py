"""Write docs/codes.md: a table of every registered code, by family.

``python docs/generate_codes.py`` writes the page; the tests compare it with ``page()``. Names,
definitions and sources are the registry's; thresholds and advice stand here.
"""

import inspect
from pathlib import Path
from typing import Any

from stabbench.codes.registry import CODES

PAGE = Path(__file__).with_name("codes.md")
HEAD = """\
# Codes at a glance

One table per problem. The *threshold* is the number of replies that suffice, whichever they are; a
code is asked for with $n$ workers and $s$ stragglers and refused unless $n - s$ reaches it. $k$ is
the number of data blocks, for MDS codes $n - s$ unless given. For products $A^T B$ the blocks of
$A$ and $B$ number $k_A$ and $k_B$, and $p$ counts the pieces of the inner dimension.
`stabbench info NAME` prints every parameter with its default and allowed values, and
`stabbench list codes --group mds` filters by group. Names link to the full definitions.

"""
FOOT = """\
## How to choose

Look at three numbers before any other: the threshold (how many workers must be waited for), the
share of the data that a worker holds (`storage` in a record), and the worst amplification over all
survivor sets (`stabbench worst NAME -n N -S S`). The first two are the price that the papers state;
the third decides how many digits are left, and it is not fixed by the family: nodes, basis, seed
and decoder move it by orders of magnitude.

This page is written by `docs/generate_codes.py`.
"""
SECTIONS = {
    "matvec": "Matrix-vector products",
    "matmul": "Matrix products only",
    "evaluate": "Functions of the blocks",
    "gradient": "Sums of gradients",
}
NOTES = {
    "polynomial": ("k; products kA kB", "Baseline of the field. Avoid nodes=integers in any n."),
    "chebyshev-basis": ("k", "Real nodes and s of 1 or 2: growth is polynomial in n."),
    "gaussian": ("k", "No structure needed; raise select to avoid an unlucky draw."),
    "systematic-gaussian": ("k", "Few stragglers in practice: plain blocks need no decoding."),
    "haar": ("k", "As gaussian, with orthonormal columns: nothing is lost without stragglers."),
    "dct": ("k", "Deterministic and orthonormal; the worst loss is at the end nodes."),
    "cauchy": ("k", "Control: every submatrix is invertible, and yet it can be ill-conditioned."),
    "rotation": ("k; products kA kB", "The conditioning of roots of unity in real arithmetic."),
    "replication": ("n - s", "No arithmetic in decoding; costs s + 1 copies."),
    "uncoded-cyclic": ("n - s", "Control: worst condition number sqrt(s + 1)."),
    "matrix": ("k", "A generator of your own, without writing code."),
    "circulant": ("k", "Decoding by FFT, without elimination across frequencies."),
    "convolutional": ("k; products kA kB", "Sparse parities; coefficients=random decodes best."),
    "shift-add": ("k; products kA kB", "No multiplication: systematic, at most two losses."),
    "lt": ("none", "Many blocks, sparse shares, peeling; needs more than k replies."),
    "matdot": ("2p - 1", "Few workers for products; each sends a whole-size result."),
    "polydot": ("kA kB (2p - 1)", "Between polynomial and matdot in communication."),
    "entangled": ("kA kB p + p - 1", "As polydot with a lower threshold."),
    "orthopoly": ("kA kB", "Products on real nodes without the monomial basis."),
    "orthopoly-shifted": ("kA kB, but not for all sets", "To reproduce a published curve only."),
    "orthomatdot": ("2p - 1", "As matdot, in an orthonormal basis."),
    "khatri-rao": ("kA kB", "Random codes for products; raise select."),
    "product": ("n - (nA - kA + 1)(nB - kB + 1) + 1", "Grids: small codes by row and column."),
    "lagrange": ("(k - 1) degree + 1", "Polynomial functions of the blocks, exactly."),
    "berrut": ("none", "Any smooth function, approximately, from any replies."),
    "kadhe": ("n - s", "First choice where replies are to be shorter: small groups, kappa of d."),
    "fractional-repetition": ("n - s", "First choice for m = 1: condition number 1; s + 1 | n."),
    "ye-abbe": ("n - d + m", "The trade-off d = s + m for any n; small n only, or exact weights."),
    "cyclic-repetition": ("n - s", "Any n with m = 1; the tail over survivor sets is heavy."),
    "cyclic-mds": ("n - s", "Any n with m = 1, deterministic; take roots=centred."),
    "reed-solomon": ("n - s", "Any n with m = 1; weights by a formula."),
    "gradient-matrix": ("n - s", "A float encoding matrix of your own: its error is told apart."),
    "heterogeneous": ("n - s", "Workers that hold different amounts of data."),
    "clustered": ("n - s", "Another code in small clusters: its condition number at size c."),
    "bibd": ("none", "Optimal weights are one constant; few sizes exist."),
    "expander": ("none", "A bound on the error from the spectrum of a graph."),
    "graph": ("none", "Load two; best weights in linear time, without algebra."),
    "bernoulli": ("none", "The simplest random placement."),
    "stochastic": ("none", "No decoding: the master adds what arrives, unbiased."),
    "nested": ("n - s at the last level", "Load follows the stragglers that there are."),
    "block-coordinate": ("n - s at the last block", "Worker times known in distribution."),
}
"""Threshold and advice of every code."""


def definition(cls: type[Any]) -> str:
    """The first paragraph of the docstring on one line."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


def escaped(text: str) -> str:
    """Text as a Markdown cell."""
    for character in "\\_*|":
        text = text.replace(character, f"\\{character}")
    return text


def row(name: str, cls: type[Any]) -> str:
    """The line of one code."""
    threshold, advice = NOTES[name]
    link = f"{{py:obj}}`{name} <{cls.__module__}.{cls.__qualname__}>`"
    words = f"{escaped(definition(cls))} ({escaped(cls.source)})"
    return f"| {link} | {words} | {escaped(threshold)} | {escaped(advice)} |"


def table(problem: str) -> str:
    """The section of the codes whose first problem is the given one."""
    members = {n: c for n, c in CODES.members.items() if n in NOTES and c.problems[0] == problem}
    head = ["| Code | Definition (source) | Threshold | When |", "| --- | --- | --- | --- |"]
    rows = [row(name, cls) for name, cls in sorted(members.items())]
    return "\n".join([f"## {SECTIONS[problem]}", "", *head, *rows, "", ""])


def page() -> str:
    """Return the whole page."""
    return "".join([HEAD, *map(table, SECTIONS), FOOT])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
