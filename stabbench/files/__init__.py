"""Arrays from files of strangers, for data, generators and nodes alike.

arrays.py: formats, checks, conversion. delimited.py: tables in text.
"""

from stabbench.files.arrays import MAX_ENTRIES, SUFFIXES, locate, read_array

__all__ = ["MAX_ENTRIES", "SUFFIXES", "locate", "read_array"]
