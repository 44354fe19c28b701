"""Precisions, kernels and exact references."""

from stabbench.files.caches import redirect_caches

redirect_caches()
