"""Exact recovery: second-order fits in the coordinates where a unit is linear, snapped to the grid and verified."""

from .judge import Status as Status
from .solution import Evidence as Evidence
from .solution import Solution as Solution
from .solve import solve as solve
