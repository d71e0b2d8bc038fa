"""Exact recovery: second-order fits in the coordinates where a unit is linear, snapped to the grid and verified."""

from .alone import monomial_times_form as monomial_times_form
from .alone import product_of_powers as product_of_powers
from .alone import product_of_sums as product_of_sums
from .alone import product_with_factors as product_with_factors
from .alone import quotient_of_sums as quotient_of_sums
from .alone import sum_of_inputs as sum_of_inputs
from .alone import sum_of_powers as sum_of_powers
from .alone import sum_of_products as sum_of_products
from .alone import sum_with_trees as sum_with_trees
from .alone import tree_search as tree_search
from .solution import Evidence as Evidence
from .solution import Solution as Solution
from .solve import solve as solve
from .verdict.judge import Candidate as Candidate
from .verdict.judge import Status as Status
