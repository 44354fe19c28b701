"""One module per plot; each makes its data as a table and draws that table."""
