"""The dot-product unit and the core of the pages, driven from Python as the pages drive them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from page_visit import SITE
from wasm_module import WasmModule

MAX_CYCLES = 500_000


def description(name: str) -> dict[str, Any]:
    """``unit.json`` or ``core.json``."""
    found: dict[str, Any] = json.loads((SITE / "data" / f"{name}.json").read_text())
    return found


@dataclass
class Flight:
    """What was seen of one operation: cycles of acceptance and departure, result, and signals."""

    accepted: int = -1
    left: int = -1
    result: int = -1
    signals: dict[str, list[int]] = field(default_factory=dict)


class UnitInWasm:
    def __init__(self) -> None:
        self.description = description("unit")
        self.module = WasmModule(SITE / "data" / "unit.wasm")
        self._operands = self.module.call("operands_address")
        self._observed = self.module.call("observed_address")

    def run(self, operations: Sequence[Sequence[int]]) -> list[Flight]:
        """Offer an operation in every cycle, and take every result at once."""
        self.module.call("reset")
        flights = [Flight() for _ in operations]
        waiting, under_way = list(range(len(flights))), list[int]()
        cycle = 0
        while waiting or under_way:
            assert cycle < MAX_CYCLES
            if waiting:
                self.module.write(self._operands, operations[waiting[0]])
            events = self.module.call("step", int(bool(waiting)), 1)
            if events & 1:
                flights[waiting[0]].accepted = cycle
                under_way.append(waiting.pop(0))
            if events & 2:
                leaving = flights[under_way.pop(0)]
                leaving.left, leaving.result = cycle, self.module.call("result_word")
            cycle += 1
            self._observe(flights, cycle)
        return flights

    def _observe(self, flights: Sequence[Flight], cycle: int) -> None:
        words = self.module.words(self._observed, self.description["words"])
        for flight in flights:
            for signal in self.description["signals"]:
                if flight.accepted >= 0 and cycle - flight.accepted == signal["cycle"]:
                    flight.signals[f"{signal['stage']}.{signal['field']}"] = _elements(words, signal)


def _elements(words: Sequence[int], signal: dict[str, Any]) -> list[int]:
    width, count, offset = signal["width"], signal["count"], signal["offset"]
    own = words[offset : offset + -(-width * count // 32)]
    whole = sum(word << 32 * index for index, word in enumerate(own))
    return [whole >> width * index & (1 << width) - 1 for index in range(count)]


class CoreInWasm:
    """A core that has run a program."""

    def __init__(self, memory: bytes, commands: Sequence[Sequence[int]], *, latency: int = 20) -> None:
        self.description = description("core")
        self.module = WasmModule(SITE / "data" / "core.wasm")
        self.module.call("reset", latency)
        self.base = self.module.call("memory_base")
        self._size = self.module.call("memory_bytes")
        first = np.frombuffer(memory, np.uint32)
        self.module.write(self.module.call("memory_address"), [int(word) for word in first])
        words = [word for command in commands for word in command]
        self.module.write(self.module.call("commands_address", len(commands)), words)
        self.outcome = ("unfinished", "done", "fault")[self.module.call("run", MAX_CYCLES)]

    @property
    def memory(self) -> bytes:
        words = self.module.words(self.module.call("memory_address"), self._size // 4)
        return np.array(words, np.uint32).tobytes()

    def noted(self, name: str, words: int) -> NDArray[np.uint32]:
        """What the harness noted, a row of so many words for each item."""
        count = self.module.call(f"{name}_words")
        found = self.module.words(self.module.call(f"{name}_address"), count)
        return np.array(found, np.uint32).reshape(-1, words)

    def registers(self) -> NDArray[np.uint32]:
        """What was written last to each register and lane, shape (registers, 32)."""
        lanes, per_word = self.description["lanes"], self.description["lanes_per_word"]
        found = np.zeros(self.description["registers"] * lanes, np.uint32)
        for _, address, mask, *data in self.noted("writes", 7):
            for lane in range(per_word):
                if mask >> lane & 1:
                    found[int(address) * per_word + lane] = data[lane]
        return found.reshape(-1, lanes)
