"""Arrays from files of strangers, for data, generators and nodes alike.

arrays.py: paths, checks, conversion, NumPy's formats. delimited.py, matrix_market.py: one format
each. matlab.py, hdf5.py, variables.py: MATLAB's. apart.py: parsing in a process of its own.
atomic.py: writing. caches.py: where kernels and fonts are cached.
"""

from stabbench.files.arrays import MAX_ENTRIES, SUFFIXES, locate, read_array

__all__ = ["MAX_ENTRIES", "SUFFIXES", "locate", "read_array"]
