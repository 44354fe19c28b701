"""
How bad a random code can be, and what theory says
==================================================

The groups of a Kadhe code share one Gaussian generator, and the worst straggler pattern decodes by
the worst of its C(d, s) square submatrices. Over many draws the tail of that condition number falls
like 1 / kappa, in parallel to the bound of Chen and Dongarra summed over all submatrices,
2.56 m C(d, s) / kappa. It does not depend on the number of workers. At the right end a curve is a
handful of draws and may lie above the bound, which is one of a probability. One spare reply in a
group, and the tail of a pattern falls like 1 / kappa^2.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from stabbench.codes.gradient.kadhe import Kadhe

DRAWS = 2000
SIZES = ((5, 2, 3), (10, 5, 5))


def worst_condition_numbers(d, s, m, replies):
    """The worst kappa of each draw over all choices of that many replies of a group."""
    rows = np.array(list(itertools.combinations(range(d), replies)))
    worst = []
    for seed in range(DRAWS):
        code = Kadhe(d, s, d=d, m=m, seed=seed)
        generator = code.transposed.rounded("float64")
        sigma = np.linalg.svd(generator[rows], compute_uv=False)
        worst.append((sigma[:, 0] / sigma[:, -1]).max())
    return np.sort(worst)


figure, axes = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
share = 1 - np.arange(DRAWS) / DRAWS
for (d, s, m), color in zip(SIZES, ("#0072B2", "#D55E00"), strict=True):
    code = Kadhe(d, s, d=d, m=m)
    kappa = worst_condition_numbers(d, s, m, m)
    axes.loglog(kappa, share, color=color, label=f"(d,s,m) = ({d},{s},{m}), worst of a draw")
    bound = np.array([code.union_bound(x) for x in kappa])
    axes.loglog(kappa[bound < 1], bound[bound < 1], "--", color=color, label="union bound")
    for x in 10.0 ** np.arange(2, 6):
        beyond = (kappa > x).mean()
        print(f"({d},{s},{m}) kappa > {x:.0e}: {beyond:.4f}, bound {code.union_bound(x):.4f}")

kappa = worst_condition_numbers(5, 2, 3, 4)
axes.loglog(kappa, share, color="#009E73", label="(5,2,3) with one spare reply")
axes.set_xlabel("worst condition number of a generator")
axes.set_ylabel("share of draws beyond it")
axes.set_ylim(0.5 / DRAWS, 1.5)
axes.legend(fontsize=8, loc="lower left", bbox_to_anchor=(1.0, 0.0))
plt.show()
