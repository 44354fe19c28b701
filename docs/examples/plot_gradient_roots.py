"""
The same condition number, three digits apart
=============================================

A cyclic MDS code is made from s consecutive roots of unity. Which ones does not change the
condition number of the system that the decoder solves, but it changes the error: next to 1 the
weights are large and cancel, opposite to it they do not. The amplification a(F) tells; the
condition number does not.

The same numbers from the command line::

    stabbench sweep -s "cyclic-mds[roots=[adjacent,centred]]" -n 50 -S 4 -p float32 \
        -d closed-form --problem gradient --data "gaussian[columns=120]" \
        --patterns random:300 -o roots
"""

import matplotlib.pyplot as plt
import numpy as np

import stabbench as sb

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for roots, color in (("adjacent", "#D55E00"), ("centred", "#0072B2")):
    record = sb.evaluate(
        f"cyclic-mds[roots={roots}]",
        n=50,
        stragglers=4,
        problem="gradient",
        precision="float32",
        decoder="closed-form",
        data="gaussian[columns=120]",
        patterns="random:300",
    )
    print(
        f"{roots:10} median error {record.relative_error.median:.1e}, "
        f"median condition number {record.condition_number.median:.2f}, "
        f"median amplification {record.amplification.median:.3g}"
    )
    axes.plot(record.distribution, np.linspace(0, 1, len(record.distribution)), color=color)
    axes.text(record.relative_error.median, 0.5, f"  {roots}", color=color)
axes.set_xscale("log")
axes.set_xlabel("relative error of the sum in float32")
axes.set_ylabel("share of survivor sets")
plt.show()
