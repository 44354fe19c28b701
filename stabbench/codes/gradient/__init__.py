"""Gradient codes: workers combine the partial gradients that they hold, the master their sum."""
