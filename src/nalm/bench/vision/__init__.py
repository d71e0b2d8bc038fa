"""Arithmetic on images: units at the end of networks that learn to read digits although only a product, a quotient or
a sum is ever told."""
