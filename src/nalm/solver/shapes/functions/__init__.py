"""Formulas with elementary functions, met with the arithmetic shapes."""
