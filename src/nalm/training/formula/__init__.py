"""Training of `nalm.FormulaLayer`: many attempts side by side, until one lies on the grid and fresh batches agree."""

from nalm.training.formula.learner import FormulaLearner as FormulaLearner
from nalm.training.formula.settings import Settings as Settings
