"""
Where Ye and Abbe's code loses its digits
=========================================

The Vandermonde matrix behind the code has a condition number of 4e54 for 50 workers, and solving
for the decoding weights in float64 leaves nothing of the sum. Yet neither the code nor float64 is
to blame: with the encoder and the weights both computed exactly and each rounded once, seven
digits remain. Exact weights alone, with an encoder formed in float64, do not help, and of the
larger code (d, s, m) = (10, 5, 5) nothing can be rescued.

The same numbers from the command line::

    stabbench sweep -s "ye-abbe[m=3,encoder=[exact,float]]" -n 50 -S 2 -p float64 \
        -d weights -d exact-weights --problem gradient --data "gaussian[columns=120]" \
        --patterns random:12 -o rescue
"""

import matplotlib.pyplot as plt

import stabbench as sb

CASES = (
    ("weights solved in float64", "ye-abbe[m=3]", 2, "weights"),
    ("rows scaled first", "ye-abbe[m=3]", 2, "weights[equilibrate=true]"),
    ("exact weights, float64 encoder", "ye-abbe[m=3,encoder=float]", 2, "exact-weights"),
    ("exact weights and encoder", "ye-abbe[m=3]", 2, "exact-weights"),
    ("(10,5,5): exact weights and encoder", "ye-abbe[m=5]", 5, "exact-weights"),
)

errors = [
    sb.evaluate(
        code,
        n=50,
        stragglers=s,
        problem="gradient",
        precision="float64",
        decoder=decoder,
        data="gaussian[columns=120]",
        patterns="random:12",
    ).relative_error.median
    for _, code, s, decoder in CASES
]
for (name, *_), error in zip(CASES, errors, strict=True):
    print(f"{name:40} {error:.1e}")

figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
axes.barh([name for name, *_ in CASES], errors, left=1e-10, color="#0072B2")
axes.set_xscale("log")
axes.axvline(1, color="black", linewidth=0.8)
axes.invert_yaxis()
axes.set_xlabel("median relative error of the sum (1: nothing is left)")
plt.show()
