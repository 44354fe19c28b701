"""Parse the MATLAB 7.3 file of standard input for another process; see apart.py."""

from stabbench.files.apart import answer
from stabbench.files.arrays import parse_hdf5

if __name__ == "__main__":
    answer(parse_hdf5)
