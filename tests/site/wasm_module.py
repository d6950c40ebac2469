"""A WebAssembly module of the site in wasmtime: its functions, and 32-bit words of its memory."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["WasmModule"]


class WasmModule:
    """One instance; its WASI functions reach neither files nor clocks that matter."""

    def __init__(self, path: Path) -> None:
        import wasmtime  # noqa: PLC0415  of the extra site, which is not there for the other tests

        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        self._store.set_wasi(wasmtime.WasiConfig())
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        module = wasmtime.Module.from_file(engine, str(path))
        self._exports: Any = linker.instantiate(self._store, module).exports(self._store)
        self.call("_initialize")

    def call(self, name: str, *arguments: int) -> int:
        result = self._exports[name](self._store, *arguments)
        return 0 if result is None else int(result) & 0xFFFF_FFFF

    def words(self, address: int, count: int) -> tuple[int, ...]:
        memory = self._exports["memory"]
        data = memory.read(self._store, address, address + 4 * count)
        return struct.unpack(f"<{count}I", data)

    def write(self, address: int, words: Sequence[int]) -> None:
        memory = self._exports["memory"]
        memory.write(self._store, struct.pack(f"<{len(words)}I", *words), address)
