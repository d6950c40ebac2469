"""The memory of skewed banks in which loads and stores transpose, each their own or one for both."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hdl.config import CoreConfig
from hdl.memory.bank_mapping import ADDRESS_BITS, BUFFER_BITS, SELECT_BITS, BankMapping
from hdl.registers.collision_free_memory import collision_free_memory
from hdl.registers.register_ports import LANE_BITS, QUAD_BITS
from hdl.stream.pipeline import delay, register

__all__ = ["DRAIN_LATENCY", "Banks", "banks_are_shared", "banks_signature"]

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
        select : Out(SELECT_BITS)
            For `BankMapping.permuted`, one cycle later.
        addresses : Out(BUFFER_BITS + ADDRESS_BITS).array(banks)
            In each bank, two cycles later.
        words, data : Out(4), Out(128)
            Of a fill, one cycle later: the words of the banks to be written, and what is to be permuted.
    data : In(128)
        What was drained, permuted, `DRAIN_LATENCY` cycles later.
    hold : In(1)
        Another user, whose fills come later, asked for one in the cycle before.
    """
    port = {
        "valid": Out(1),
        "ready": In(1),
        "select": Out(SELECT_BITS),
        "addresses": Out(BUFFER_BITS + ADDRESS_BITS).array(BankMapping(config).banks),
    }
    return wiring.Signature(
        {
            "fill": Out(wiring.Signature({**port, "words": Out(_WORDS), "data": Out(QUAD_BITS)})),
            "drain": Out(wiring.Signature(port)),
            "data": In(QUAD_BITS),
            "hold": In(1),
        }
    )


class Banks(wiring.Component):
    """Byte-wide block RAMs between two networks that exchange bytes (`hdl.memory.bank_mapping`).

    Throughput: a fill and a drain per cycle. Of two users the first one's fills and the second one's drains
    come before the other's; the first one should not fill while `hold`. Latency: a drain sees a fill that
    was granted in the cycle before it or earlier.
    Expected critical path: the choice of the user and four levels of exchanges.

    Parameters
    ----------
    config : CoreConfig
    users : int
        1 or 2; each has buffers of its own.

    Members
    -------
    users : In(banks_signature(config)).array(users)

    Testbench
    ---------
    cocotb_tests/memory/test_load_crossbar.py, through `LoadCrossbar`.
    """

    def __init__(self, config: CoreConfig, users: int) -> None:
        self._mapping = BankMapping(config)
        super().__init__({"users": In(banks_signature(config)).array(users)})

    def elaborate(self, platform: object) -> Module:
        """Return the unit's module."""
        m = Module()
        mapping = self._mapping
        fills = [user.fill for user in self.users]
        drains = [user.drain for user in self.users]
        depth = len(self.users) << BUFFER_BITS + ADDRESS_BITS
        m.d.comb += fills[0].ready.eq(1)
        m.d.comb += drains[-1].ready.eq(1)
        if len(self.users) > 1:
            m.d.comb += [fills[1].ready.eq(~fills[0].valid), drains[0].ready.eq(~drains[1].valid)]
            m.d.sync += self.users[0].hold.eq(fills[1].valid)

        filling, fill_is_second = self._granted(m, fills, "fill")
        _, drain_is_second = self._granted(m, drains, "drain")
        words = Mux(filling, _chosen(fill_is_second, [fill.words for fill in fills]), 0)
        written = register(m, words, "fill_words", reset_less=False)
        filled = register(
            m,
            mapping.permuted(
                _chosen(fill_is_second, [fill.data for fill in fills]),
                _chosen(fill_is_second, [fill.select for fill in fills]),
            ),
            "filled",
        )
        fill_owner = register(m, fill_is_second, "fill_owner")
        drain_owner = register(m, drain_is_second, "drain_owner")
        drained = []
        for bank in range(mapping.banks):
            memory = collision_free_memory(unsigned(8 * mapping.bank_bytes), depth)
            m.submodules[f"bank_{bank}"] = memory
            write, read = memory.write_port(), memory.read_port()
            write_addresses = [fill.addresses[bank] for fill in fills]
            read_addresses = [drain.addresses[bank] for drain in drains]
            m.d.comb += [
                write.en.eq(written[_WORDS * bank // mapping.banks]),
                write.addr.eq(Cat(_chosen(fill_owner, write_addresses), fill_owner)),
                write.data.eq(filled.word_select(bank, 8 * mapping.bank_bytes)),
                read.en.eq(1),
                read.addr.eq(Cat(_chosen(drain_owner, read_addresses), drain_owner)),
            ]
            drained.append(read.data)
        select = delay(m, _chosen(drain_is_second, [drain.select for drain in drains]), 3, "drain_select")
        data = mapping.permuted(register(m, Cat(drained), "drained"), select)
        m.d.comb += [user.data.eq(data) for user in self.users]
        return m

    def _granted(self, m: Module, ports: list[Any], name: str) -> tuple[Value, Value]:
        """Whether anything was granted a cycle ago, and whether to the second user."""
        grants = [port.valid & port.ready for port in ports]
        anything = register(m, Cat(grants).any(), f"{name}_granted", reset_less=False)
        return anything, register(m, Cat(grants[1:]).any(), f"{name}_is_second")


def _chosen(is_second: Value, values: list[Value]) -> Value:
    return Mux(is_second, values[1], values[0]) if len(values) > 1 else values[0]
