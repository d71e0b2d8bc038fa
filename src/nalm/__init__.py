"""Neural arithmetic that extrapolates.

Every published Neural Arithmetic Logic Module as a drop-in PyTorch layer (`nalm.NMU(4, 2)`), training in your own loop
with two lines (`nalm.guide`), exact reading of what was learned (`nalm.read`), the formula of a table (`nalm.solve`).
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nalm.core.containers import Chain, Fold, Foreign, Gated, InputGated
    from nalm.core.expression import Decision, Expression
    from nalm.core.reading import read, read_logic
    from nalm.core.recipe import SGD, Adam, Clip, Constant, Late, Ramp, Recipe, Restart, Staircase
    from nalm.core.unit import Unit
    from nalm.core.weight import Weight
    from nalm.solver import solve
    from nalm.solver.regressor import ArithmeticRegressor
    from nalm.training.formula import FormulaLearner
    from nalm.training.guide import Guide, guide
    from nalm.training.logger import UnitLogger
    from nalm.training.rule import LocalGaussNewton
    from nalm.units import baselines
    from nalm.units.classic import ProductUnit, Quadratic
    from nalm.units.division import NMRU, NRU, SeparateSignNRU
    from nalm.units.formula_layer import FormulaLayer
    from nalm.units.gated import GatedNAUNMU
    from nalm.units.hillspace import HillAngles, HillCircle, HillPower, HillSum
    from nalm.units.inalu import GNALU, IMNAC, INAC, INALU
    from nalm.units.nac import NAC, NALU, MulNAC, MulNACLinear, MulNACSigmoid
    from nalm.units.nau import NAU, NMU
    from nalm.units.nlrl import NLRL
    from nalm.units.npu import NPU, ModifiedRealNPU, RealNPU
    from nalm.units.nsr import NSR, NSRChoice, NSRCount, RecurrentNSR
    from nalm.units.selector import FrozenSelector, INALUSelector, NMUSelector, NPUSelector
    from nalm.units.snmu import SNMU, StochasticGateNMU

__version__ = "0.1.0"
__all__ = ["GNALU", "IMNAC", "INAC", "INALU", "NAC", "NALU", "NAU", "NLRL", "NMRU", "NMU", "NPU", "NRU", "NSR"]
__all__ += ["SGD", "SNMU", "Adam", "ArithmeticRegressor", "Chain", "Clip", "Constant", "Decision", "Expression"]
__all__ += ["Fold", "Foreign", "FormulaLayer", "FormulaLearner", "FrozenSelector", "Gated", "GatedNAUNMU", "Guide"]
__all__ += ["HillAngles", "HillCircle", "HillPower", "HillSum", "INALUSelector", "InputGated", "Late"]
__all__ += ["LocalGaussNewton", "ModifiedRealNPU", "MulNAC", "MulNACLinear", "MulNACSigmoid", "NMUSelector"]
__all__ += ["NPUSelector", "NSRChoice", "NSRCount", "ProductUnit", "Quadratic", "Ramp", "RealNPU", "Recipe"]
__all__ += ["RecurrentNSR", "Restart", "SeparateSignNRU", "Staircase", "StochasticGateNMU", "Unit", "UnitLogger"]
__all__ += ["Weight", "__version__", "baselines", "guide", "read", "read_logic", "solve"]

# Where each public name lives. It is imported on first use, so that `nalm --help` need not wait for torch.
_HOMES = {
    "nalm.core.containers": "Chain Fold Foreign Gated InputGated",
    "nalm.core.expression": "Decision Expression",
    "nalm.core.reading": "read read_logic",
    "nalm.core.recipe": "SGD Adam Clip Constant Late Ramp Recipe Restart Staircase",
    "nalm.core.unit": "Unit",
    "nalm.core.weight": "Weight",
    "nalm.solver": "solve",
    "nalm.solver.regressor": "ArithmeticRegressor",
    "nalm.training.formula": "FormulaLearner",
    "nalm.training.guide": "Guide guide",
    "nalm.training.logger": "UnitLogger",
    "nalm.training.rule": "LocalGaussNewton",
    "nalm.units": "baselines",
    "nalm.units.classic": "ProductUnit Quadratic",
    "nalm.units.division": "NMRU NRU SeparateSignNRU",
    "nalm.units.formula_layer": "FormulaLayer",
    "nalm.units.gated": "GatedNAUNMU",
    "nalm.units.hillspace": "HillAngles HillCircle HillPower HillSum",
    "nalm.units.inalu": "GNALU IMNAC INAC INALU",
    "nalm.units.nac": "NAC NALU MulNAC MulNACLinear MulNACSigmoid",
    "nalm.units.nau": "NAU NMU",
    "nalm.units.nlrl": "NLRL",
    "nalm.units.npu": "NPU ModifiedRealNPU RealNPU",
    "nalm.units.nsr": "NSR NSRChoice NSRCount RecurrentNSR",
    "nalm.units.selector": "FrozenSelector INALUSelector NMUSelector NPUSelector",
    "nalm.units.snmu": "SNMU StochasticGateNMU",
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names.split():
            value = getattr(__import__(home, fromlist=[name]), name)  # as `from home import name`
            globals()[name] = value
            return value
    # name and obj let Python ask "Did you mean: 'NMU'?"
    raise AttributeError(f"module 'nalm' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return __all__
