"""Training as a stability measurement: kinds of cases of their own in the common store.

Decentralized training with compressed gossip is in `gossip`.
"""
