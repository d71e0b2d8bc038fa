"""Formulas as stacks of published units: a new stack for a formula, and a given stack filled."""
