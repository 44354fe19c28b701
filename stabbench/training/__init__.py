"""Training as a stability measurement: kinds of cases of their own in the common store.

Coded layers are in `layers`, coded gradients in `descent`, compressed gossip in `gossip`.
"""
