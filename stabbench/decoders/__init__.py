"""How replies become the answer."""
