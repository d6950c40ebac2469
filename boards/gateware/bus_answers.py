"""Registers on both sides of a SoC's bus, in what slaves answer masters."""

from litex.gen import LiteXModule
from litex.soc.integration.soc import LiteXSoC
from litex.soc.interconnect import wishbone

__all__ = ["AnswerRegister", "register_answers"]


class AnswerRegister(LiteXModule):
    """Registers the answers of a Wishbone bus between two interfaces.

    Requests pass as they are; while the master sees its answer, the slave sees no request.

    Throughput: an access that took n cycles takes n + 1. Latency of an answer: 1 cycle.

    Parameters
    ----------
    master, slave : wishbone.Interface
        Ends of the same widths. They have classic cycles: bursts are not made faster.
    """

    def __init__(self, master: wishbone.Interface, slave: wishbone.Interface) -> None:
        self.comb += [
            master.connect(slave, omit={"stb", "ack", "err", "dat_r"}),
            slave.stb.eq(master.stb & ~master.ack & ~master.err),
        ]
        self.sync += [getattr(master, name).eq(getattr(slave, name)) for name in ("ack", "err", "dat_r")]


def register_answers(soc: LiteXSoC) -> None:
    """Give each slave and each master that a SoC's bus has so far a register of answers.

    Without them a path leads from a block RAM, whose output alone takes 6 ns in an ECP5 of speed grade 6,
    through the choice of the slave to every master, across an FPGA that the core fills. Synthesis takes the
    first register into the block RAM where it can; the second one shortens the path then.

    Parameters
    ----------
    soc : LiteXSoC
        With a bus of Wishbone, not yet finalized; LiteX adds the bridge to its CSRs later.
    """
    for name, slave in soc.bus.slaves.items():
        soc.bus.slaves[name] = bus = wishbone.Interface.like(slave)
        soc.add_module(name=f"{name}_slave_answers", module=AnswerRegister(bus, slave))
    for name, master in soc.bus.masters.items():
        soc.bus.masters[name] = bus = wishbone.Interface.like(master)
        soc.add_module(name=f"{name}_master_answers", module=AnswerRegister(master, bus))
