"""Exact recovery: second-order fits in the coordinates where a unit is linear, snapped to the grid and verified."""

from nalm.solver.alone import alone as alone
from nalm.solver.solution import Evidence as Evidence
from nalm.solver.solution import Solution as Solution
from nalm.solver.solve import solve as solve
from nalm.solver.verdict.candidate import Candidate as Candidate
from nalm.solver.verdict.candidate import Status as Status
from nalm.solver.verdict.candidate import Verdict as Verdict
