"""Millions of results: a Verilated unit driven from numpy arrays through C++."""

import ctypes
import hashlib
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import wiring
from numpy.typing import NDArray

from sim.cache import cached
from sim.compiler import compiler
from sim.testbench.precompiled import precompiled_header
from sim.testbench.unit import TOP, unit_design
from sim.verilate import WAIVED, Recipe, archive, make, run_tool, write_sources
from sim.verilated_runtime import runtime_archive

_HARNESS: Final = Path(__file__).with_suffix(".cpp")
_BUILD: Final = Path(__file__).parents[2] / "build" / "bulk"
_VERILATOR_FLAGS: Final = (
    *("--cc", "--assert", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--output-split", "0"),
    *(f"-Wno-{name}" for name in WAIVED),
)
# Beyond -O1 a unit takes longer to build than most tests simulate it.
_OPTIMISATION: Final = "-O1"
_COMPILER_FLAGS: Final = (_OPTIMISATION, "-std=c++20")


class BulkUnit:
    """One unit, simulated without a Python call per cycle.

    Its ports are a stream ``operands`` and a stream ``result``; ready and valid of both are registers. Its
    simulation is built once for each Verilog text and kept under ``build/bulk``. `verilog` is a module with
    the same ports that is simulated in its place. `cycles` are of the last run, from reset to the last
    result.
    """

    def __init__(self, unit: wiring.Component, *, verilog: str | None = None) -> None:
        self.operand_words = _words(unit.operands)
        self.result_words = _words(unit.result)
        text = verilog or unit_design("bulk", unit).verilog
        sizes = (f"-DOPERAND_WORDS={self.operand_words}", f"-DRESULT_WORDS={self.result_words}")
        self._library = ctypes.CDLL(str(_build(text, sizes)))
        self._library.run_bulk.restype = ctypes.c_int64
        self._library.run_bulk.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
            *(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64),
        ]
        self.cycles = 0

    def run(
        self, operands: NDArray[np.uint32], *, input_pause: int = 0, output_pause: int = 0, seed: int = 1
    ) -> NDArray[np.uint32]:
        """Send operations through a unit fresh from reset and return the results in order.

        Operands have shape (count, operand_words), low words first; so have results. Of 256 chances in each
        cycle, each side makes the unit wait in as many as its pause. ValueError for operands of another
        shape; RuntimeError if results are missing, or there are more than operands.
        """
        if operands.ndim != 2 or operands.shape[1] != self.operand_words:
            raise ValueError(
                f"operands must have {self.operand_words} words each, not shape {operands.shape}"
            )
        operands = np.ascontiguousarray(operands, dtype=np.uint32)
        results = np.zeros((len(operands), self.result_words), dtype=np.uint32)
        self.cycles = self._library.run_bulk(
            operands.ctypes.data, results.ctypes.data, len(operands), input_pause, output_pause, seed
        )
        if self.cycles == -1:
            raise RuntimeError(f"fewer than {len(operands)} results came")
        if self.cycles == -2:
            raise RuntimeError(f"more than {len(operands)} results came")
        return results


def _words(port: Any) -> int:
    bits: int = Shape.cast(port.payload.shape()).width
    return -(-bits // 32)


def _build(text: str, sizes: tuple[str, ...]) -> Path:
    tool = compiler()
    flags = (*_COMPILER_FLAGS, *tool.library_flags)
    parts = (
        text,
        _HARNESS.read_text(),
        version("verilator"),
        *_VERILATOR_FLAGS,
        *tool.command,
        tool.version,
        *flags,
        *sizes,
    )
    folder = _BUILD / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    library = folder / "bulk.so"
    folder.mkdir(parents=True, exist_ok=True)
    cached((library,), lambda place: (_compile(text, place, (*flags, *sizes)),))
    return library


def _compile(text: str, folder: Path, flags: tuple[str, ...]) -> Path:
    tool = compiler()
    shared_flags = (*_COMPILER_FLAGS, *tool.library_flags)
    header = _header(shared_flags)
    model_flags = (*shared_flags, *(("-include", str(header)) if header else ()))
    write_sources(folder, {f"{TOP}.v": text})
    recipe = Recipe(_VERILATOR_FLAGS, model_flags, _OPTIMISATION, _OPTIMISATION)
    model = archive(folder, TOP, TOP, (f"{TOP}.v",), recipe)
    runtime = runtime_archive(model.parent, f"V{TOP}", shared_flags, _BUILD, partial(make, folder))
    command = [
        *(*tool.command, *flags, f"-I{model.parent.name}", "-isystemverilator/include", "-o", "bulk.so"),
        *(str(_HARNESS), str(model), str(runtime), *tool.link_flags),
    ]
    run_tool(tool.command[0], command, folder)
    return folder / "bulk.so"


def _header(flags: tuple[str, ...]) -> Path | None:
    parts = (version("verilator"), *compiler().command, compiler().version, *flags)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return precompiled_header(_BUILD / f"headers-{digest}", flags)
