"""What is kept of finished runs, and what can be counted from it."""
