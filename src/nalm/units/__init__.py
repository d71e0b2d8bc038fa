"""The catalogue: one file per paper."""
