"""Exact recovery: second-order fits in the coordinates where a unit is linear, snapped to the grid and verified."""

from nalm.solver.alone import monomial_times_form as monomial_times_form
from nalm.solver.alone import product_of_powers as product_of_powers
from nalm.solver.alone import product_of_sums as product_of_sums
from nalm.solver.alone import product_with_factors as product_with_factors
from nalm.solver.alone import quotient_of_sums as quotient_of_sums
from nalm.solver.alone import sum_of_inputs as sum_of_inputs
from nalm.solver.alone import sum_of_powers as sum_of_powers
from nalm.solver.alone import sum_of_products as sum_of_products
from nalm.solver.alone import sum_with_trees as sum_with_trees
from nalm.solver.alone import tree_search as tree_search
from nalm.solver.solution import Evidence as Evidence
from nalm.solver.solution import Solution as Solution
from nalm.solver.solve import solve as solve
from nalm.solver.verdict.judge import Candidate as Candidate
from nalm.solver.verdict.judge import Status as Status
