"""The memory of skewed banks in which loads and stores transpose, each their own or one for both."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.component import Component
from hdl.config import CoreConfig
from hdl.memory.bank_mapping import PLACE_BITS, SELECT_BITS, BankMapping
from hdl.memory.fragment_geometry import log2_exact
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import delay, register

DRAIN_LATENCY = 4
"""Cycles from a drain to its data: two to find its addresses, one to read it, one because block RAM is slow
to give its data."""

_WORDS = QUAD_BITS // LANE_BITS


def banks_are_shared(config: CoreConfig) -> bool:
    """Whether loads and stores have one memory of banks.

    One dot-product unit computes a tile of m16n16k16 in 256 cycles; its loads and its store take 192.
    """
    return config.dot_product_units == 1


def banks_signature(config: CoreConfig) -> wiring.Signature:
    """What loads or stores do with the banks, as they drive it.

    Members
    -------
    fill, drain : Out of
        valid : Out(1)
            Asks for the banks.
        ready : In(1)
            It is granted in this cycle, which is the first of those that are counted below.
        select : Out(SELECT_BITS * beat_quads)
            For `BankMapping.permuted`, of each quad, one cycle later.
        addresses : Out(PLACE_BITS + log2(beat_quads)).array(banks * beat_quads)
            As `BankMapping.located` gives them, of the first quad in each bank, then of the next one, two
            cycles later. In a bank, each quad has a plane of its own.
        words, data : Out(4 * beat_quads), Out(128 * beat_quads)
            Of a fill, one cycle later: the words of the banks to be written, and what is to be permuted.
    data : In(128 * beat_quads)
        What was drained, permuted, `DRAIN_LATENCY` cycles later.
    hold : In(1)
        Another user, whose fills come later, asked for one in the cycle before.
    """
    quads = config.beat_quads
    port = {
        "valid": Out(1),
        "ready": In(1),
        "select": Out(SELECT_BITS * quads),
        "addresses": Out(PLACE_BITS + log2_exact(quads)).array(BankMapping(config).banks * quads),
    }
    fill = {**port, "words": Out(_WORDS * quads), "data": Out(QUAD_BITS * quads)}
    return wiring.Signature(
        {
            "fill": Out(wiring.Signature(fill)),
            "drain": Out(wiring.Signature(port)),
            "data": In(QUAD_BITS * quads),
            "hold": In(1),
        }
    )


class Banks(Component):
    """Byte-wide block RAMs between two networks that exchange bytes (`hdl.memory.bank_mapping`).

    Throughput: a fill and a drain, of `beat_quads` quads each, per cycle. Of two users the first one's fills
    and the second one's drains come before the other's; the first one should not fill while `hold`. Latency:
    a drain sees a fill that was granted in the cycle before it or earlier.
    Expected critical path: the choice of the user and four levels of exchanges; with planes, the choice of a
    quad in front of block RAM.
    Testbench: cocotb_tests/memory/test_banks.py, through `Crossbars`.

    Parameters
    ----------
    config : CoreConfig
    users : int
        1 or 2; each has buffers of its own.

    Members
    -------
    users : In(banks_signature(config)).array(users)
    """

    def __init__(self, config: CoreConfig, users: int) -> None:
        self._mapping = BankMapping(config)
        super().__init__({"users": In(banks_signature(config)).array(users)})

    def _logic(self, m: Module) -> None:
        mapping = self._mapping
        fills = [user.fill for user in self.users]
        drains = [user.drain for user in self.users]
        depth = len(self.users) << PLACE_BITS
        quads, bank_bits = mapping.planes, 8 * mapping.bank_bytes
        m.d.comb += fills[0].ready.eq(1)
        m.d.comb += drains[-1].ready.eq(1)
        if len(self.users) > 1:
            m.d.comb += [fills[1].ready.eq(~fills[0].valid), drains[0].ready.eq(~drains[1].valid)]
            m.d.sync += self.users[0].hold.eq(fills[1].valid)

        filling, fill_is_second = self._granted(m, fills, "fill")
        _, drain_is_second = self._granted(m, drains, "drain")
        words = Mux(filling, _chosen(fill_is_second, [fill.words for fill in fills]), 0)
        written = register(m, words, "fill_words", reset_less=False)
        fill_data = _chosen(fill_is_second, [fill.data for fill in fills])
        fill_select = _chosen(fill_is_second, [fill.select for fill in fills])
        filled = register(m, self._permuted(m, fill_data, fill_select), "filled")
        fill_owner = register(m, fill_is_second, "fill_owner")
        drain_owner = register(m, drain_is_second, "drain_owner")
        places = range(quads * mapping.banks)
        filling_at = [_chosen(fill_owner, [fill.addresses[place] for fill in fills]) for place in places]
        draining_at = [_chosen(drain_owner, [drain.addresses[place] for drain in drains]) for place in places]
        drained: list[list[Value]] = [[] for _ in range(mapping.banks)]
        for plane in range(quads):
            for bank in range(mapping.banks):
                memory = collision_free_memory(unsigned(bank_bits), depth)
                m.submodules[f"bank_{plane * mapping.banks + bank}"] = memory
                write, read = memory.write_port(), memory.read_port()
                of_quads = places[bank :: mapping.banks]
                into = [filling_at[place][PLACE_BITS:] == plane for place in of_quads]
                out = [draining_at[place][PLACE_BITS:] == plane for place in of_quads]
                lanes = [written[_WORDS * place // mapping.banks] for place in of_quads]
                write_at = _selected(into, [filling_at[place][:PLACE_BITS] for place in of_quads])
                read_at = _selected(out, [draining_at[place][:PLACE_BITS] for place in of_quads])
                m.d.comb += [
                    write.en.eq(_selected(into, lanes)),
                    write.addr.eq(Cat(write_at, fill_owner)),
                    write.data.eq(
                        _selected(into, [filled.word_select(place, bank_bits) for place in of_quads])
                    ),
                    read.en.eq(1),
                    read.addr.eq(Cat(read_at, drain_owner)),
                ]
                drained[bank].append(read.data)
        select = delay(m, _chosen(drain_is_second, [drain.select for drain in drains]), 3, "drain_select")
        found = register(m, Cat(map(Cat, drained)), "drained")
        if quads > 1:
            planes = [delay(m, draining_at[place][PLACE_BITS:], 2, "drain_plane") for place in places]
            of_banks = [found.word_select(bank, quads * bank_bits) for bank in range(mapping.banks)]
            found = Signal(len(self.users[0].data))
            m.d.comb += found.eq(
                Cat(of_banks[place % mapping.banks].word_select(planes[place], bank_bits) for place in places)
            )
        data = self._permuted(m, found, select)
        m.d.comb += [user.data.eq(data) for user in self.users]

    def _permuted(self, m: Module, data: Value, select: Value) -> Value:
        """What `BankMapping.permuted` makes of each quad."""
        return Cat(
            self._mapping.permuted(
                m, data.word_select(quad, QUAD_BITS), select.word_select(quad, SELECT_BITS)
            )
            for quad in range(self._mapping.planes)
        )

    def _granted(self, m: Module, ports: list[Any], name: str) -> tuple[Value, Value]:
        """Whether anything was granted a cycle ago, and whether to the second user."""
        grants = [port.valid & port.ready for port in ports]
        anything = register(m, Cat(grants).any(), f"{name}_granted", reset_less=False)
        return anything, register(m, Cat(grants[1:]).any(), f"{name}_is_second")


def _selected(hits: list[Value], values: list[Value]) -> Value:
    """The value whose condition is true; exactly one is."""
    if len(values) == 1:
        return values[0]
    found = values[0] & hits[0].replicate(len(values[0]))
    for hit, value in zip(hits[1:], values[1:], strict=True):
        found |= value & hit.replicate(len(value))
    return found


def _chosen(is_second: Value, values: list[Value]) -> Value:
    return Mux(is_second, values[1], values[0]) if len(values) > 1 else values[0]
