"""The native engine: one torch step function, traced, lowered and compiled to a fused loop."""

from nalm.native.errors import Unsupported
from nalm.native.kernel import Kernel, compile_step

__all__ = ["Kernel", "Unsupported", "compile_step"]
