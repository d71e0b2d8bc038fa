"""A training rule for arithmetic units inside networks: local Gauss-Newton steps towards implied targets."""

from nalm.training.rule.optimiser import LocalGaussNewton as LocalGaussNewton
from nalm.training.rule.settings import Settings as Settings
