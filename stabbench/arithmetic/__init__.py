"""Precisions, kernels and exact references."""
