"""
Shift and add: where it wins, where it breaks
=============================================

A shift-and-add code replaces every multiplication of a code by a shift: a worker adds the data
blocks after moving each down by some rows. Decoding needs subtractions alone: a received row that
holds one unknown resolves it, the *zigzag* subtracts it everywhere, and so on.

All coefficients are 1, so nothing is rounded before rows are added. Is it therefore more stable
than polynomial and Gaussian codes? This page measures the answer. In short:

* **It wins** while few data blocks are missing. A systematic design with at most two of them
  missing loses digits like the block length L at worst, like its square root as a rule: at n = 10
  it beats Gaussian and polynomial codes, at a storage overhead of a few percent.
* **It breaks** with the block length. No decoder of these codes has a bounded error as L grows. If
  no worker holds plain data (the Vandermonde shifts), errors grow about like L to the power k - 1;
  a few hundred rows leave nothing of float32. And from three missing blocks on, some survivor sets
  of the systematic design grow *exponentially*: one more lost digit for every six to nine rows.
* **The order of peeling** decides about orders of magnitude: from both ends it loses fewer digits
  than from the heads alone on all sets shown here. **Least squares** over all received rows removes
  the exponential growth, keeps the polynomial one, and is not made of subtractions any more.
* **Small tests mislead**: with blocks shorter than the shifts everything looks stable, at many
  times the storage.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import stabbench as sb
from stabbench.arithmetic.precision import precision
from stabbench.decoders.registry import decoder
from stabbench.problems.registry import data, problem

plt.style.use("tableau-colorblind10")


def relative_errors(text, decoder_name, n, s, lengths, sets, seed=0):
    """Worst relative error over survivor sets and storage in data blocks, per block length."""
    chosen, code = precision("float32"), sb.code(text, n=n, stragglers=s)
    system = code.system()
    patterns = np.array([[int(i in alive) for i in range(n)] for alive in sets])
    rows = []
    for length in lengths:
        matrix = data(f"gaussian[rows={system.encoders[0].unknowns * length},columns=64]")
        task = problem("matvec", matrix, 1)
        operands = task.operands(chosen, seed)
        blocks = task.blocks(system, operands)
        replies = task.work(system, task.encode(system, blocks, chosen), chosen)
        exact = task.wanted(system, task.exact(operands, "flint")).hi
        plan = decoder(decoder_name).plan(code, system, patterns, chosen, "use")
        gaps = (plan.decode(replies) - exact).reshape(len(sets), -1)
        found = np.linalg.norm(gaps, axis=1) / np.linalg.norm(exact)
        storage = system.encoders[0].overhead(length).max()
        rows.append((found.max(), storage))
    return np.array(rows)


# %%
# Error against block length
# --------------------------
#
# Ten workers, two stragglers, float32, all 45 survivor sets (every ninth for least squares). Lines
# are worst sets; the codes that combine whole blocks do not know a block length at all.

LENGTHS = [4, 8, 16, 32, 64, 128, 256]
SETS = list(itertools.combinations(range(10), 8))
LINES = [
    ("shift-add[design=vandermonde]", "zigzag[order=forward]"),
    ("shift-add[design=vandermonde]", "zigzag"),
    ("shift-add[design=vandermonde]", "lstsq"),
    ("shift-add", "zigzag"),
    ("polynomial[nodes=chebyshev]", "solve"),
    ("gaussian", "solve"),
]
few = {"lstsq": SETS[::9]}
measured = {line: relative_errors(*line, 10, 2, LENGTHS, few.get(line[1], SETS)) for line in LINES}

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for (code, name), found in measured.items():
    label = f"{code} · {name}"
    left.loglog(LENGTHS, found[:, 0], marker="o", label=label)
    right.loglog(found[:, 1], found[:, 0], marker="o", linestyle=":", label=label)
left.set(xlabel="block length L", ylabel="worst relative error, float32", ylim=(1e-8, 1e4))
right.set(xlabel="storage of the fullest worker, in data blocks")
left.axhline(1, color="#7A7A7A", linewidth=0.8)
left.set_title("longer blocks cost digits ...")
right.set_title("... and short ones cost storage")
left.legend(fontsize=7, loc="upper left")
plt.show()

# %%
# At the left end blocks are shorter than the longest shift: every code looks stable and a worker
# stores several times its share. With blocks of 256 rows the Vandermonde shifts have lost all
# digits, whatever the decoder; the systematic design still has more than five.
#
# The sets that grow exponentially
# --------------------------------
#
# Twenty workers, four stragglers: blocks 0, 1 and 3 are missing and the parities of slopes 0, 1
# and 3 are there. Neither is an arithmetic progression, so the determinant of the symbol matrix
# has roots off the unit circle; the largest real root of x³ = x² + 1, 1.4656, is the growth per
# row from the heads. The loss of four neighbouring blocks, one more, does far less harm.

LONG = [16, 32, 64, 96, 128]
BAD = [tuple(i for i in range(20) if i not in (0, 1, 3, 18))]
MOST = [tuple(range(4, 20))]


def middle(name, sets):
    """Median over five draws of the data."""
    draws = [relative_errors("shift-add", name, 20, 4, LONG, sets, seed)[:, 0] for seed in range(5)]
    return np.median(draws, axis=0)


figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name in ("zigzag[order=forward]", "zigzag", "lstsq"):
    found = middle(name, BAD)
    axes.semilogy(LONG, found, marker="o", label=f"blocks 0, 1, 3 missing · {name}")
found = middle("zigzag", MOST)
axes.semilogy(LONG, found, marker="s", label="blocks 0, 1, 2, 3 missing · zigzag")
for growth, style in ((1.4656, ":"), (1.29, "--")):
    line = 1e-7 * growth ** np.array(LONG, dtype=float)
    axes.semilogy(LONG, line, style, color="#7A7A7A", label=f"{growth} per row")
axes.set(xlabel="block length L", ylabel="relative error, float32")
axes.legend(fontsize=7)
plt.show()

# %%
# Random survivor sets meet such sets only by chance, and a test of the most losses (all parities in
# use) meets none. The policy ``adversarial`` looks for them by the gaps of blocks and slopes:
#
# .. code-block:: console
#
#    $ stabbench sweep -s shift-add -n 20 -S 4 -d zigzag --patterns adversarial:50 \
#        --data 'gaussian[rows=[512,1024,2048],columns=64]' -o results/shift-add
#
# What to do
# ----------
#
# Use a systematic design with two parities; shift by chunks of rows (``chunk=c``), because only
# L / c counts; or decode by least squares where three and more blocks can be missing.
