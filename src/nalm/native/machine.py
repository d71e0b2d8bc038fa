"""LLVM IR to machine code, through llvmlite."""

from __future__ import annotations

import ctypes
from typing import Any

from nalm.native.errors import Unsupported


def load_llvm() -> Any:
    """llvmlite's binding, with the native target ready.

    Raises:
        Unsupported: if llvmlite cannot be imported; the message says how to install it.
    """
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        raise Unsupported("llvmlite", f"cannot be loaded ({error}); `pip install llvmlite` brings it") from error
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


class Machine:
    """Compiled code. Keeps LLVM's memory alive for as long as a function of it may run."""

    def __init__(self, text: str, cpu: str | None = None) -> None:
        binding = load_llvm()
        module = binding.parse_assembly(text)
        target = binding.Target.from_default_triple()
        here = (binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
        name, features = here if cpu is None else (cpu, "")
        machine = target.create_target_machine(cpu=name, features=features, opt=3, jit=True)
        tuning = binding.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = False
        tuning.slp_vectorization = False
        builder = binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        self._engine = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def function(self, name: str, *arguments: Any) -> Any:
        """A compiled function without a result, callable from Python; it runs without the interpreter's lock."""
        return ctypes.CFUNCTYPE(None, *arguments)(self._engine.get_function_address(name))
