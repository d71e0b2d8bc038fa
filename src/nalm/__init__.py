"""Neural arithmetic that extrapolates.

Every published Neural Arithmetic Logic Module as a drop-in PyTorch layer (`nalm.NMU(4, 2)`), training in your own loop
with two lines (`nalm.guide`), exact reading of what was learned (`nalm.read`), the formula of a table (`nalm.solve`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from nalm.expression import Expression as Expression
from nalm.expression import read as read
from nalm.guide import Guide as Guide
from nalm.guide import guide as guide
from nalm.recipe import SGD as SGD
from nalm.recipe import Adam as Adam
from nalm.recipe import Clip as Clip
from nalm.recipe import Constant as Constant
from nalm.recipe import Late as Late
from nalm.recipe import Ramp as Ramp
from nalm.recipe import Recipe as Recipe
from nalm.recipe import Restart as Restart
from nalm.recipe import Staircase as Staircase
from nalm.stack import Chain as Chain
from nalm.stack import Fold as Fold
from nalm.stack import Foreign as Foreign
from nalm.stack import Gated as Gated
from nalm.stack import InputGated as InputGated
from nalm.unit import Unit as Unit
from nalm.units import baselines as baselines
from nalm.units.classic import ProductUnit as ProductUnit
from nalm.units.classic import Quadratic as Quadratic
from nalm.units.division import NMRU as NMRU
from nalm.units.division import NRU as NRU
from nalm.units.division import SeparateSignNRU as SeparateSignNRU
from nalm.units.gated import GatedNAUNMU as GatedNAUNMU
from nalm.units.inalu import GNALU as GNALU
from nalm.units.inalu import IMNAC as IMNAC
from nalm.units.inalu import INAC as INAC
from nalm.units.inalu import INALU as INALU
from nalm.units.logic import NLRL as NLRL
from nalm.units.logic import NSR as NSR
from nalm.units.nac import NAC as NAC
from nalm.units.nac import NALU as NALU
from nalm.units.nac import MulNAC as MulNAC
from nalm.units.nac import MulNACLinear as MulNACLinear
from nalm.units.nac import MulNACSigmoid as MulNACSigmoid
from nalm.units.nau import NAU as NAU
from nalm.units.nau import NMU as NMU
from nalm.units.npu import NPU as NPU
from nalm.units.npu import ModifiedRealNPU as ModifiedRealNPU
from nalm.units.npu import RealNPU as RealNPU
from nalm.units.snmu import SNMU as SNMU
from nalm.units.snmu import StochasticGateNMU as StochasticGateNMU
from nalm.weight import Weight as Weight

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nalm.regressor import ArithmeticRegressor as ArithmeticRegressor
    from nalm.rule import LocalGaussNewton as LocalGaussNewton
    from nalm.solver import solve as solve

# imported on first use: layers need neither scipy nor scikit-learn
_LATER = {"solve": "nalm.solver", "ArithmeticRegressor": "nalm.regressor", "LocalGaussNewton": "nalm.rule"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'nalm' has no attribute {name!r}")
