"""The sequencer between a queue of commands and stubs of the three units."""

import random
from typing import Any

import cocotb
from amaranth.lib import data
from cocotb.triggers import RisingEdge

from cocotb_tests.conftest import Simulate
from cocotb_tests.streams import StreamSink, StreamSource, pauses, start
from cocotb_tests.unit import unit_design
from golden.commands import Command, Fill, Load, Mma, Move, Store
from golden.faults import Cause
from golden.instruction_set import LoadInstruction, MmaInstruction, Shape, StoreInstruction
from hdl.command import encode
from hdl.config import CoreConfig
from hdl.control.sequencer import Sequencer
from hdl.memory.load_store import LoadStoreRequest
from hdl.multiply.tile_request import TileRequest
from hdl.registers.register_mover import MoveRequest

CONFIG = CoreConfig()
SHAPE = Shape(16, 16, 16)
UNITS = {"memory": LoadStoreRequest, "tile": TileRequest, "move": MoveRequest}


class Stubs:
    """The units: each takes a request, is busy for a while, and says that it is done."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.log: list[tuple[str, Any]] = []
        self.causes: list[int] = []
        self.busy = 0
        dut.double_done.value = 0
        for name, shape in UNITS.items():
            sink = StreamSink(dut, name, pauses(rng, 0.4))
            getattr(dut, f"{name}_done").value = 0
            cocotb.start_soon(self._serve(dut, rng, name, sink, data.Layout.cast(shape)))
        dut.memory_cause.value = 0

    async def _serve(self, dut: Any, rng: random.Random, name: str, sink: StreamSink, layout: Any) -> None:
        done = getattr(dut, f"{name}_done")
        while True:
            (request,) = await sink.take(1, limit=1_000_000)
            self.busy += 1
            assert self.busy == 1, "two units at once"
            assert dut.busy.value
            self.log.append((name, layout.from_bits(request)))
            for _ in range(rng.randrange(12)):
                await RisingEdge(dut.aclk)
            if name == "memory":
                dut.memory_cause.value = self.causes.pop(0) if self.causes else 0
            done.value = 1
            self.busy -= 1
            await RisingEdge(dut.aclk)
            done.value = 0


def random_command(rng: random.Random) -> Command:
    layout = rng.choice(["row", "col"])
    register = rng.randrange(50)
    kind = rng.randrange(5)
    if kind == 0:
        name = rng.choice(["f16", "f32"])
        load = LoadInstruction(use="c", layout=layout, shape=SHAPE, type=name)
        return Load(load, register, rng.getrandbits(64), rng.choice([None, 40]))
    if kind == 1:
        return Store(StoreInstruction(layout=layout, shape=SHAPE, type="f32"), register, rng.getrandbits(64))
    if kind == 2:
        multiply = MmaInstruction(
            shape=SHAPE,
            a_layout="row",
            b_layout="col",
            a_type="f16",
            b_type="f16",
            c_type="f32",
            d_type="f32",
        )
        return Mma(multiply, register, rng.randrange(56), rng.randrange(56), rng.randrange(56))
    if kind == 3:
        return Fill(register, rng.randrange(14), rng.getrandbits(32))
    return Move(register, rng.randrange(50), rng.randrange(14))


def check_request(command: Command, name: str, request: Any) -> None:
    """The request went to the right unit with the command's operands."""
    if isinstance(command, Load | Store):
        assert name == "memory"
        assert request.store == isinstance(command, Store)
        assert (request.register, request.address) == (command.register, command.address)
        assert (request.has_stride, request.stride) == (command.stride is not None, command.stride or 0)
    elif isinstance(command, Mma):
        assert name == "tile"
        assert (request.x, request.y, request.c, request.d) == (command.a, command.b, command.c, command.d)
    elif isinstance(command, Fill):
        assert name == "move"
        assert (request.is_move, request.destination, request.count, request.value) == (
            *(0, command.register, command.count),
            command.value,
        )
    else:
        assert name == "move"
        assert (request.is_move, request.destination, request.source, request.count) == (
            *(1, command.destination, command.source),
            command.count,
        )


def bits_of(command: Command) -> int:
    return sum(word << 32 * index for index, word in enumerate(encode(command)))


async def until_idle(dut: Any, source: StreamSource) -> None:
    await source.sent()
    for _ in range(200):
        await RisingEdge(dut.aclk)
        if not dut.busy.value:
            return
    raise AssertionError("the sequencer never came to rest")


@cocotb.test
async def in_order_one_at_a_time(dut: Any) -> None:
    """Random commands reach their units in order, with their operands, and each is counted."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.clear.value = 0
    stubs = Stubs(dut, rng)
    await start(dut)
    source = StreamSource(dut, "commands", pauses(rng, 0.3))
    commands = [random_command(rng) for _ in range(200)]
    source.put(*map(bits_of, commands))
    await until_idle(dut, source)
    assert len(stubs.log) == len(commands)
    for command, (name, request) in zip(commands, stubs.log, strict=True):
        check_request(command, name, request)
    assert int(dut.executed.value) == len(commands)
    assert int(dut.cause.value) == 0


@cocotb.test
async def faults_stop_it(dut: Any) -> None:
    """A refused command or a failed access stops it with cause and index; nothing is taken until clear."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.clear.value = 0
    stubs = Stubs(dut, rng)
    await start(dut)
    source = StreamSource(dut, "commands")
    executed = 0
    refused = {
        Cause.ILLEGAL_INSTRUCTION: 7,
        Cause.REGISTER_RANGE: bits_of(Fill(60, 5, 1)),
    }
    for _ in range(60):
        good = [random_command(rng) for _ in range(rng.randrange(4))]
        load = LoadInstruction(use="c", layout="row", shape=SHAPE, type="f32")
        cause = rng.choice(list(Cause))
        stubs.causes = [0] * sum(isinstance(command, Load | Store) for command in good)
        if cause not in refused:
            stubs.causes.append(cause)
        bad = refused.get(cause, bits_of(Load(load, 0, 0)))
        stubs.log.clear()
        source.put(*map(bits_of, good), bad)
        await until_idle(dut, source)
        executed += len(good)
        for _ in range(rng.randrange(8)):
            await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == cause
        assert int(dut.executed.value) == executed
        assert len(stubs.log) == len(good) + (cause not in refused)
        assert not dut.commands_ready.value
        assert not dut.busy.value
        dut.clear.value = 1
        await RisingEdge(dut.aclk)
        dut.clear.value = 0
        await RisingEdge(dut.aclk)
        await RisingEdge(dut.aclk)
        assert int(dut.cause.value) == 0
        assert dut.commands_ready.value


@cocotb.test
async def clear_without_a_fault(dut: Any) -> None:
    """Clear at any time but in a fault changes nothing."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dut.clear.value = 1
    stubs = Stubs(dut, rng)
    await start(dut)
    source = StreamSource(dut, "commands", pauses(rng, 0.2))
    commands = [random_command(rng) for _ in range(40)]
    source.put(*map(bits_of, commands))
    await until_idle(dut, source)
    assert len(stubs.log) == len(commands)
    assert int(dut.executed.value) == len(commands)


def test_sequencer(simulate: Simulate) -> None:
    simulate(unit_design("sequencer", Sequencer(CONFIG)), __name__)
