"""What each worker is sent: one file per family of codes."""
