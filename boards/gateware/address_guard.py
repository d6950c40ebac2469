"""AXI4 bursts outside the memory, answered with DECERR instead of handed on."""

from litex.gen import LiteXModule
from litex.soc.interconnect.axi import AXIInterface
from migen import FSM, Cat, Constant, If, NextState, NextValue, Signal

from hdl.config import PAGE_BYTES

_DECERR = 0b11
_MAX_OUTSTANDING = 64


class AddressGuard(LiteXModule):
    """Hands on the bursts that begin inside one region, and refuses the others.

    The core sees the region at two addresses: its own, for the pointers of a processor, and 0, for programs
    that were laid out for a memory that begins there. The first page from 0 on is refused, so that a null
    pointer is a fault. A program uses one of the two: the core takes them for different memory.

    LiteDRAM answers every address, those beyond its memory with what lies at the address modulo its size. No
    burst of the core crosses a page, so the first address decides. Data of a write follow their address. A
    burst is refused once those before it have been answered, as answers are in order.

    Throughput: one burst and one beat a cycle in each direction. Latency: 1 cycle for data of a write that
    come with their address, otherwise none.

    Parameters
    ----------
    master : AXIInterface
        Of the core.
    origin, size : int
        Of the region in bytes: a power of two as size, and a multiple of it as origin.

    Attributes
    ----------
    slave : AXIInterface
        To the memory.

    Raises
    ------
    ValueError
        For a region that is not aligned.
    """

    def __init__(self, master: AXIInterface, origin: int, size: int) -> None:
        if size & (size - 1) or origin % size:
            raise ValueError(
                f"A memory region must have a power of two as size and begin at a multiple of it, "
                f"not {size:#x} bytes at {origin:#x}"
            )
        self.slave = slave = AXIInterface(data_width=master.data_width, address_width=master.address_width)
        shift = size.bit_length() - 1
        inside = {}
        for name in ("aw", "ar"):
            channel, low = getattr(master, name), getattr(master, name).addr[:shift]
            high = channel.addr[shift:]
            inside[name] = (high == origin >> shift) | ((high == 0) & (low >= PAGE_BYTES))
            self.comb += [
                channel.connect(getattr(slave, name), omit={"valid", "ready", "addr"}),
                getattr(slave, name).addr.eq(Cat(low, Constant(origin >> shift, len(high)))),
            ]
        self.comb += master.w.connect(slave.w, omit={"valid", "ready"})
        self._guard_reads(master, slave, inside["ar"])
        self._guard_writes(master, slave, inside["aw"])

    def _guard_reads(self, master: AXIInterface, slave: AXIInterface, inside: object) -> None:
        self.reads = fsm = FSM(reset_state="PASS")
        outstanding = self._outstanding(
            slave.ar.valid & slave.ar.ready, slave.r.valid & slave.r.ready & slave.r.last
        )
        left = Signal(8)
        fsm.act(
            "PASS",
            slave.r.connect(master.r),
            If(
                inside,
                slave.ar.valid.eq(master.ar.valid & (outstanding != _MAX_OUTSTANDING)),
                master.ar.ready.eq(slave.ar.ready & (outstanding != _MAX_OUTSTANDING)),
            ).Elif(
                master.ar.valid & (outstanding == 0),
                master.ar.ready.eq(1),
                NextValue(left, master.ar.len),
                NextState("REFUSE"),
            ),
        )
        fsm.act(
            "REFUSE",
            master.r.valid.eq(1),
            master.r.resp.eq(_DECERR),
            master.r.last.eq(left == 0),
            If(master.r.ready, NextValue(left, left - 1), If(left == 0, NextState("PASS"))),
        )

    def _guard_writes(self, master: AXIInterface, slave: AXIInterface, inside: object) -> None:
        self.writes = fsm = FSM(reset_state="PASS")
        taken = slave.aw.valid & slave.aw.ready
        unwritten = self._outstanding(taken, slave.w.valid & slave.w.ready & slave.w.last)
        unanswered = self._outstanding(taken, slave.b.valid & slave.b.ready)
        fsm.act(
            "PASS",
            slave.b.connect(master.b),
            slave.w.valid.eq(master.w.valid & (unwritten != 0)),
            master.w.ready.eq(slave.w.ready & (unwritten != 0)),
            If(
                inside,
                slave.aw.valid.eq(master.aw.valid & (unanswered != _MAX_OUTSTANDING)),
                master.aw.ready.eq(slave.aw.ready & (unanswered != _MAX_OUTSTANDING)),
            ).Elif(
                master.aw.valid & (unanswered == 0),
                master.aw.ready.eq(1),
                NextState("DROP"),
            ),
        )
        fsm.act("DROP", master.w.ready.eq(1), If(master.w.valid & master.w.last, NextState("REFUSE")))
        fsm.act(
            "REFUSE",
            master.b.valid.eq(1),
            master.b.resp.eq(_DECERR),
            If(master.b.ready, NextState("PASS")),
        )

    def _outstanding(self, begun: object, ended: object) -> Signal:
        count = Signal(max=_MAX_OUTSTANDING + 1)
        self.sync += count.eq(count + begun - ended)
        return count
