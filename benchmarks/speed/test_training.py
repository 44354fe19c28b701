"""Training with coded layers: what deu saves the master, and what the exact reference costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stabbench as sb
from stabbench.arithmetic import exact
from stabbench.arithmetic.precision import precision
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.cases import chosen_decoder
from stabbench.training.layers.network import examples
from stabbench.training.layers.reference import product
from stabbench.training.layers.train import Plan, Scheme, train

Ratio = Callable[..., float]
CODES = (
    "gaussian",
    "polynomial[nodes=chebyshev]",
    "shift-add[design=systematic]",
    "shift-add[design=vandermonde]",
)


@pytest.mark.parametrize("name", CODES)
def test_deu_takes_time_from_the_master(benchmark: Any, name: str) -> None:
    code, single = sb.code(name, n=10, stragglers=2), precision("float32")
    network, data = Plan(width=512, steps=12, batch=32), examples("digits", 0)

    def seconds(mode: str) -> float:
        scheme = Scheme(code, chosen_decoder(code, "auto"), mode, single, arrivals("random"))
        return float(train(scheme, network, data, 0).totals["master_seconds"])

    seconds("deu")  # compiles the decoder
    ratios = [seconds("naive") / seconds("deu") for _ in range(3)]
    benchmark.pedantic(lambda: seconds("deu"), rounds=1)
    value = float(np.median(ratios))
    benchmark.extra_info["master time naive / deu"] = value
    print(f"\nmaster time naive / deu, {name}, blocks of 64 rows: {value:.3g}")  # noqa: T201
    assert value > 1


def test_reference_is_cheap_beside_exact_arithmetic(ratio: Ratio) -> None:
    random = np.random.default_rng(0)
    A, B = random.standard_normal((64, 256)), random.standard_normal((256, 32))
    value = ratio(
        lambda: product(A, B),
        lambda: exact.product(A, B),
        "flint time / sliced float64 products (64 x 256 times 256 x 32, float64)",
        rounds=3,
    )
    assert value > 5
