"""Survivor sets, condition numbers, amplification, errors and their budget."""
