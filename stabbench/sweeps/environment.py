"""The machine and the versions in which a record was computed."""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

PACKAGES = ("stabbench", "numpy", "scipy", "mpmath", "python-flint", "numba", "ml_dtypes")


@functools.cache
def environment() -> dict[str, Any]:
    """Versions of Python and packages, BLAS kernels and threads, processor and system."""
    import numpy as np  # noqa: F401  (loads the BLAS that is inspected)
    import scipy.linalg  # noqa: F401
    import threadpoolctl

    libraries = [
        f"{pool['internal_api']} {pool.get('version')} {pool.get('architecture', '')}".strip()
        for pool in threadpoolctl.threadpool_info()
    ]
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": sorted(set(libraries)),
        "blas_threads": 1,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def key(description: dict[str, Any]) -> str:
    """A short key of an environment: 12 hexadecimal digits of the hash of its contents."""
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
