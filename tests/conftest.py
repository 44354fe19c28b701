"""What all tests share: one BLAS thread, hypothesis profiles, versions in the report header."""

import os
from importlib import import_module
from importlib.metadata import version

import hypothesis
import threadpoolctl

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ["MPLBACKEND"] = "agg"

# loads the BLAS of numpy and of scipy; a library that a plugin loaded before is limited too
import_module("scipy.linalg")
threadpoolctl.threadpool_limits(limits=1)

hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


def pytest_report_header() -> list[str]:
    """Name what the measured numbers depend on."""
    packages = ("numpy", "scipy", "python-flint", "mpmath", "numba")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    kernels = sorted(
        {
            f"{pool['internal_api']} {pool['version']} {pool['architecture']}"
            for pool in threadpoolctl.threadpool_info()
            if pool["user_api"] == "blas"
        }
    )
    return [f"arithmetic: {versions}", f"BLAS: {', '.join(kernels)}, one thread"]
