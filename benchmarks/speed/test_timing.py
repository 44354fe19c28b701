"""Times that a sweep records: with a cold kernel cache against a warm one."""

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from stabbench.sweeps.store import Store

ROOT = Path(__file__).parents[2]
STAGES = ("encode", "compute", "plan_single", "decode_single", "plan_batch", "decode_batch")
SWEEP = ["-m", "stabbench", "sweep", "smoke", "-j", "1"]


def times(output: Path, cache: Path) -> dict[str, dict[str, float]]:
    """Median seconds of every case and stage of a smoke sweep with compiled kernels in `cache`."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    subprocess.run(
        [sys.executable, *SWEEP, "-o", str(output)],
        env=environment,
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    store = Store.existing(output)
    return {
        key: {stage: record.measures["seconds"][stage]["median"] for stage in STAGES}
        for key, record in store.records.items()
    }


def test_a_cold_kernel_cache_does_not_show_in_times(benchmark: Any, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cold = times(tmp_path / "cold", cache)
    assert any(cache.rglob("*.nbi"))  # kernels were compiled, and in this run
    warm = benchmark.pedantic(lambda: times(tmp_path / "warm", cache), rounds=1)
    assert cold.keys() == warm.keys()
    for stage in STAGES:
        ratios = [cold[key][stage] / warm[key][stage] for key in cold]
        apart = [max(x, 1 / x) for x in ratios]
        benchmark.extra_info[stage] = {
            "cold": statistics.median(case[stage] for case in cold.values()),
            "warm": statistics.median(case[stage] for case in warm.values()),
            "ratio": statistics.median(ratios),
            "least": min(ratios),
            "greatest": max(ratios),
        }
        print(f"\n{stage}: {benchmark.extra_info[stage]}")  # noqa: T201
        assert statistics.median(apart) < 2
        assert max(apart) < 10
