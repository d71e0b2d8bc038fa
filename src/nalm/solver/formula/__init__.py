"""Formulas: how they are built, what they are worth and how fast they change, how they are written down."""
