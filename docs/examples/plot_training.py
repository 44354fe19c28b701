"""
When coding changes what a network learns
=========================================

Every product of a small perceptron on the digits goes through a code for ten workers, of which two
straggle in every step. When does the model suffer, and what is saved if workers encode and update
by themselves?
"""

# %%
# Accuracy against the uncoded network
# ------------------------------------
#
# Five schemes in float32 with blocks of 32 rows, against the uncoded network of the same seeds.

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import stabbench as sb
from stabbench.arithmetic.precision import precision
from stabbench.training import api
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.cases import chosen_decoder
from stabbench.training.layers.network import examples
from stabbench.training.layers.train import Plan, Scheme, train

plt.style.use("tableau-colorblind10")

evaluate = partial(api.evaluate, "layers")

SCHEMES = {
    "Poly, integer points": "polynomial[nodes=integers]",
    "Poly, Chebyshev points": "polynomial[nodes=chebyshev]",
    "Gaussian": "gaussian",
    "shift-and-add, systematic": "shift-add[design=systematic]",
    "shift-and-add, Vandermonde": "shift-add[design=vandermonde]",
}
for title, code in SCHEMES.items():
    record = evaluate(code, n=10, stragglers=2, width=256, steps=88, trials=3)
    change = record.accuracy_difference
    end = record.reason or f"{change['mean']:+.3f} [{change['low']:+.3f}, {change['high']:+.3f}]"
    print(f"{title:27} layer error {record.layer_error['median']:.0e}  {end}")

# %%
# Poly with integer points diverges within ten steps: its decoding matrix is so ill-conditioned that
# float32 keeps no digit of a product. The other four reach the accuracy of the uncoded network on
# every seed. So it is the points that cost accuracy, not linear combinations as such.
#
# Long blocks
# -----------
#
# The error of a zigzag grows with the length L of a block, for Vandermonde shifts like a high
# power of it.


def layer_error(code: str, length: int) -> float:
    """Median layer error over the first steps, blocks of `length` rows."""
    built = sb.code(code, n=10, stragglers=2)
    decoder = chosen_decoder(built, "auto")
    scheme = Scheme(built, decoder, "naive", precision("float32"), arrivals("random"))
    run = train(scheme, Plan(width=8 * length, depth=2, steps=6), examples("digits", 0), 0)
    return float(np.median(np.concatenate(list(run.errors.values()))))


lengths = [8, 16, 32, 64, 128]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for title in list(SCHEMES)[1:]:
    errors = [layer_error(SCHEMES[title], length) for length in lengths]
    axes.loglog(lengths, errors, marker="o", label=title)
axes.axhline(0.1, color="grey", linestyle="--", linewidth=1, label="about what training bears")
axes.set_xticks(lengths, [str(length) for length in lengths])
axes.set_xlabel("rows of a block, L")
axes.set_ylabel("median layer error")
axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.88))
plt.show()

# %%
# Systematic shifts stay near rounding at every length. Vandermonde shifts pass 0.1 near L = 100:
# beyond it they lose accuracy at a small learning rate and diverge at a large one. The claim that
# shift-and-add beats Poly holds against integer points, and for systematic or short blocks.
#
# What deu saves
# --------------
#
# In mode naive the master encodes the weights for every product and sends them; in mode deu the
# workers keep coded weights, and only vectors are sent.


def costs(mode: str, batch: int) -> tuple[float, float]:
    """Bytes that the master sends, and seconds that it works, per step."""
    built = sb.code("shift-add", n=10, stragglers=2)
    decoder = chosen_decoder(built, "auto")
    scheme = Scheme(built, decoder, mode, precision("float32"), arrivals("random"))
    totals = train(scheme, Plan(width=512, steps=6, batch=batch), examples("digits", 0), 0).totals
    return totals["bytes_down"], totals["master_seconds"]


print("batch  bytes naive/deu  master time naive/deu")
for batch in (1, 8, 64):
    naive, deu = costs("naive", batch), costs("deu", batch)
    print(f"{batch:5}  {naive[0] / deu[0]:15.1f}  {naive[1] / deu[1]:21.1f}")

# %%
# deu saves the master the encoding and the sending of all weights. The vectors that remain grow
# with the batch, so the saving in bytes is large for small batches and large layers, and small when
# a batch holds as many samples as a block has rows. The workers pay: they do about twice the work.
# The coded weights stay an encoding of the weights to a few units of rounding, so nothing of the
# accuracy is lost.
