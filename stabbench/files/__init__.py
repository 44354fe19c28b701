"""Arrays and modules from files of strangers, for data, generators, nodes and code alike.

arrays.py: checks, conversion, NumPy's formats. delimited.py, matrix_market.py: one format each.
matlab.py, hdf5.py, variables.py: MATLAB's. apart.py: parsing in a process of its own. paths.py:
names of files. inputs.py: content as a part of identity. modules.py: Python files. atomic.py:
writing. caches.py: where kernels and fonts are cached.
"""

from stabbench.files.arrays import MAX_ENTRIES, read_array
from stabbench.files.inputs import Input
from stabbench.files.paths import SUFFIXES, locate

__all__ = ["MAX_ENTRIES", "SUFFIXES", "Input", "locate", "read_array"]
