"""What a layer is: random numbers, starts, weights, units, containers of units, and reading them as formulas."""
