"""Decentralized training with compressed gossip (D-PSGD, DCD, CHOCO, DeepSqueeze, ECSD).

The method ECSD is a reconstruction. "Error-Compensated Sparsification for Communication-Efficient
Decentralized Training in Edge Environment" (IEEE TPDS 33(1), 2022, DOI 10.1109/TPDS.2021.3084104)
states in its abstract that the sparsified model update is exchanged, that it is compensated, that
any sparsification ratio works, and that the rate is that of the method without sparsification; its
listing is not public. What is built here has these properties; it may differ from the paper's.
"""

from stabbench.training.gossip.channel import Setting
from stabbench.training.gossip.classifiers import problem
from stabbench.training.gossip.compressors import compressor
from stabbench.training.gossip.formats import Formats
from stabbench.training.gossip.graphs import Mixing, mixing
from stabbench.training.gossip.methods import method
from stabbench.training.gossip.simulate import Run, simulate

__all__ = [
    "Formats",
    "Mixing",
    "Run",
    "Setting",
    "compressor",
    "method",
    "mixing",
    "problem",
    "simulate",
]
