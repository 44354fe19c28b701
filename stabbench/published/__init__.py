"""Numbers of the literature, recomputed from the definitions that they rest on."""

from stabbench.published.reproduction import Reproduced as Reproduced
from stabbench.published.reproduction import reproduce as reproduce
