"""A training rule for arithmetic units inside networks: local Gauss-Newton steps towards implied targets."""

from nalm.rule.optimiser import LocalGaussNewton as LocalGaussNewton
from nalm.rule.parts import others as others
from nalm.rule.settings import Settings as Settings
