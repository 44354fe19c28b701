"""What is computed, and on which data."""
