"""Builds the pages of docs/ from templates and from the committed measurements in results/: `make results`."""
