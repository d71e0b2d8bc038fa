"""Exact recovery: second-order fits in the coordinates where a unit is linear, snapped to the grid and verified."""

from .judge import Candidate as Candidate
from .judge import Status as Status
from .shapes import monomial_times_form as monomial_times_form
from .shapes import product_of_powers as product_of_powers
from .shapes import product_of_sums as product_of_sums
from .shapes import product_with_factors as product_with_factors
from .shapes import quotient_of_sums as quotient_of_sums
from .shapes import sum_of_inputs as sum_of_inputs
from .shapes import sum_of_powers as sum_of_powers
from .shapes import sum_of_products as sum_of_products
from .shapes import tree_search as tree_search
from .solution import Evidence as Evidence
from .solution import Solution as Solution
from .solve import solve as solve
