"""Training of a multilayer perceptron whose layer products go through a code.

The algorithms of coded distributed training, `naive` and `deu`, for shift-and-add and for every
linear code; coded gradient descent is in `stabbench.training.descent`.
"""
