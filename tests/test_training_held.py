"""Numbers of coded training belong to the weights that workers hold, and to whole steps."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stabbench.arithmetic import exact
from stabbench.arithmetic.kernels import multiply
from stabbench.arithmetic.precision import precision
from stabbench.codes.operators import Dense
from stabbench.codes.registry import code as build_code
from stabbench.report import report
from stabbench.training import api
from stabbench.training.layers.arrivals import arrivals
from stabbench.training.layers.cases import chosen_decoder
from stabbench.training.layers.coding import Coding
from stabbench.training.layers.network import accuracy, examples
from stabbench.training.layers.structure import Nearest
from stabbench.training.layers.train import Plan, Scheme, _Trainer

evaluate = partial(api.evaluate, "layers")
train_layers = partial(api.train, "layers")

Array = np.ndarray[Any, np.dtype[Any]]
SYSTEMATIC = "shift-add[design=systematic]"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("polynomial[nodes=chebyshev]", "bfloat16"),
        ("polynomial[nodes=roots-of-unity]", "float32"),
        (SYSTEMATIC, "bfloat16"),
        ("gaussian", "float64"),
    ],
)
def test_accuracy_and_errors_are_of_the_weights_that_workers_hold(name: str, form: str) -> None:
    """Each is computed again from the shares alone, by least squares in NumPy."""
    code, data = build_code(name, 6, 2), examples("digits", 0)
    how = chosen_decoder(code, "auto")
    s = Scheme(code, how, "deu", precision(form), arrivals("random"))
    network = Plan(width=24, depth=1, steps=30, batch=16)
    trainer = _Trainer(s, network, data, 0)
    seen: list[Array] = []
    take = trainer._step

    def watched(step: int) -> None:
        seen.append(trainer.layers[0].shares)  # type: ignore[attr-defined]
        take(step)

    trainer._step = watched  # type: ignore[method-assign]
    found = trainer.run()

    def held(shares: Array, rows: int) -> Array:
        coding = trainer.layers[0].coding  # type: ignore[attr-defined]
        length = -(-rows // coding.blocks)
        unit = np.eye(coding.blocks * length).reshape(coding.blocks, length, -1)
        matrix = coding.encoder.apply(unit, precision("float64"))
        if isinstance(coding.encoder, Dense):
            G = coding.encoder.matrix(s.precision)
            matrix = np.einsum("ij,ab->iajb", G, np.eye(length)).reshape(len(G), length, -1)
        flat, right = (
            matrix.reshape(-1, coding.blocks * length),
            shares.reshape(-1, shares.shape[2]),
        )
        flat, right = (np.vstack([x.real, x.imag]) for x in (flat, right))
        found: Array = np.linalg.lstsq(flat, right.astype(np.float64), rcond=None)[0]
        return found[:rows]

    shapes = [W.shape for W in found.shadow]
    layers: Any = trainer.layers
    weights = [held(layer.shares, rows) for layer, (rows, _) in zip(layers, shapes, strict=True)]
    tolerance = {"float64": 1e-12}.get(form, 1e-6)
    for mine, expected in zip(found.weights, weights, strict=True):
        assert np.allclose(mine, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    features = s.precision.store(data.test)
    assert found.test_accuracy == accuracy(weights, found.biases, features, data.test_classes)
    for number, (W, shadow) in enumerate(zip(weights, found.shadow, strict=True)):
        apart = np.linalg.norm(W - shadow) / np.linalg.norm(shadow)
        assert found.shadow_distance[number] == pytest.approx(apart, rel=5e-2)
    # the first product of the last step, from the shares before it
    columns, pattern = trainer.batches[-1], trainer.patterns[-1]
    inputs = s.precision.store(data.train)[:, columns]
    shares = seen[-1]
    coding = layers[0].coding
    estimate = coding.decode(multiply(shares, inputs, s.precision), pattern, network.width)
    true = held(shares, network.width) @ inputs.astype(np.float64)
    error = np.linalg.norm(estimate - true) / np.linalg.norm(true)
    assert found.errors["forward 1"][-1] == pytest.approx(error, rel=0.2)


def test_nearest_weights_of_float64_shares_are_known_beyond_float64() -> None:
    """Against exact least squares in rationals."""
    code, form = build_code("polynomial[nodes=chebyshev]", 7, 2), precision("float64")
    coding = Coding(code, chosen_decoder(code, "auto"), form)
    shares = coding.encode(np.random.default_rng(0).standard_normal((5, 3)))
    hi, lo = Nearest(coding, 5).weights(shares)
    first, rest = exact.least_squares(code.generator.rounded("float64"), shares[:, 0])  # type: ignore[attr-defined]
    assert np.abs((hi - first) + (lo - rest)).max() < 2e-17 * np.abs(first).max()


def test_a_model_off_its_shadow_is_told() -> None:
    """Sums in bfloat16 drift from the shadow, on badly conditioned points much farther."""
    found = {
        name: evaluate(
            name, mode="deu", precision="bfloat16", width=64, steps=44, trials=1
        ).shadow_distance
        for name in ("polynomial[nodes=chebyshev]", "dct")
    }
    assert found["polynomial[nodes=chebyshev]"]["worst"] > 3 * found["dct"]["worst"] > 1e-3
    (layers,) = found["dct"]["by_layer"]
    assert len(layers) == 3
    assert max(layers) == found["dct"]["worst"]
    naive = evaluate("dct", mode="naive", width=16, steps=2, trials=1)
    assert "shadow_distance" not in naive.measures


def test_bytes_per_step_depend_on_neither_points_nor_rate() -> None:
    records = [
        evaluate(f"polynomial[nodes={nodes}]", n=10, stragglers=2, steps=25, rate=rate, trials=2)
        for nodes, rate in (("integers", 0.1), ("integers", 0.05), ("chebyshev", 0.1))
    ]
    assert [record.status for record in records] == ["overflow", "overflow", "ok"]
    for key in ("bytes_down", "bytes_up", "worker_flops"):
        assert len({record.per_step[key] for record in records}) == 1
    for record in records:
        broken = [step - 1 if step else 25 for step in record.diverged]
        assert record.whole_steps == broken
        for spent, whole in zip(record.totals["bytes_down"], broken, strict=True):
            rest = spent - whole * record.per_step["bytes_down"]
            assert 0 <= rest < record.per_step["bytes_down"]


def test_a_run_without_a_whole_step_has_no_costs_per_step(tmp_path: Path) -> None:
    record = evaluate("gaussian", mode="naive", width=8, steps=3, trials=1, rate=1e300)
    assert record.status == "overflow"
    assert record.whole_steps == [0]
    assert not {"per_step", "seconds"} & set(record.measures)
    train_layers(
        None, tmp_path, codes=["gaussian"], mode=["naive", "deu"], width=8, steps=3, rate=1e300
    )
    (section,) = report(tmp_path, tmp_path / "report", formats=["svg"]).sections
    assert "training-costs" not in {table.name for table in section.tables}
