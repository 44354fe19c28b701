"""Gradient descent on softmax regression with coded gradients, exact or approximate.

Networks whose layer products are coded are in `stabbench.training.layers`.
"""
