"""The native engine: one torch step function, traced, lowered and compiled to a fused loop."""

from .errors import Unsupported
from .kernel import Kernel, compile_step

__all__ = ["Kernel", "Unsupported", "compile_step"]
