"""The access check: whether a load or store is aligned and in range, before anything is touched."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from golden.tables.commands import MATRIX_ROW_BYTES
from golden.tables.faults import Cause
from golden.tables.instruction_set import SPACES
from hdl.component import Component
from hdl.config import REGISTER_BITS, CoreConfig
from hdl.memory.beats import CAUSE_BITS, STRIDE_BITS, access_layout
from hdl.memory.fragment_geometry import FragmentGeometry


class AccessRequest(data.Struct):
    """A load or store as decoded; its registers have been checked."""

    geometry: FragmentGeometry
    register: unsigned(REGISTER_BITS)
    """First register of the fragment."""
    space: unsigned(2)
    """Index into `golden.tables.instruction_set.SPACES`."""
    address: unsigned(64)
    """Byte address of the first element."""
    has_stride: unsigned(1)
    """Whether `stride` counts; otherwise the default stride is taken."""
    stride: unsigned(32)
    """Elements from one line to the next."""
    listed: unsigned(1)
    """The lines have addresses of their own, checked elsewhere; `address` and `stride` have no meaning."""


def checked_layout(config: CoreConfig) -> data.StructLayout:
    """The outcome of a check.

    Members
    -------
    cause : unsigned(4)
        Zero, or the `Cause` of the refusal; then nothing else has a meaning.
    legal : unsigned(1)
        Whether `cause` is zero.
    access : access_layout(config)
    first, last : unsigned(address_bits + 1)
        First and last byte touched, both in generic addresses, so that the same byte of the on-chip memory is
        known again by whatever name. What lies between lines counts as touched; the last line ends behind
        all others, as strides are not negative.
    """
    return data.StructLayout(
        {
            "cause": unsigned(CAUSE_BITS),
            "legal": unsigned(1),
            "access": access_layout(config),
            "first": unsigned(config.address_bits + 1),
            "last": unsigned(config.address_bits + 1),
        }
    )


class AccessCheck(Component):
    """Alignment, stride and span of one access, in the order of the causes.

    The span is found in short steps, so that no 64-bit addition is chained to another.

    Throughput: one access in six cycles. Latency: five cycles.
    Expected critical path: the 66-bit sum of address and span.

    Members
    -------
    request : In(stream.Signature(AccessRequest))
    checked : Out(stream.Signature(checked_layout(config)))
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        members = {
            "request": In(stream.Signature(AccessRequest)),
            "checked": Out(stream.Signature(checked_layout(config))),
        }
        super().__init__(members)

    def _logic(self, m: Module) -> None:
        config = self._config
        request = Signal(AccessRequest, reset_less=True)
        geometry = request.geometry
        cause = Signal(CAUSE_BITS)
        in_shared = request.space == SPACES.index("shared")
        default_stride = Signal(32)
        stride_bits = Signal(STRIDE_BITS + 3, reset_less=True)
        stride_bytes = Signal(STRIDE_BITS)
        mask = Signal(4)  # of the bits that must be zero
        contiguous = Signal()
        span_less_one = Signal(STRIDE_BITS + 4, reset_less=True)  # 32 lines have at most 32 bits an element
        last = Signal(66, reset_less=True)
        line_less_one = Signal(7)
        checked = Signal(checked_layout(config), reset_less=True)
        m.d.comb += [
            default_stride.eq(1 << geometry.stride_log2),
            mask.eq((1 << Mux(in_shared, geometry.shared_alignment_log2, geometry.alignment_log2)) - 1),
            line_less_one.eq(((1 << geometry.line_log2) - 1) | 0b111),  # 8 bytes or more
            stride_bytes.eq(stride_bits >> 3),
            self.checked.payload.eq(checked),
            checked.cause.eq(cause),
            checked.access.geometry.eq(geometry),
            checked.access.register.eq(request.register),
            checked.access.space.eq(request.space),
            checked.access.address.eq(request.address),
            checked.access.stride.eq(stride_bytes),
            checked.access.contiguous.eq(contiguous),
            checked.access.listed.eq(request.listed),
        ]
        base = Signal(config.address_bits)
        if config.shared_bytes:
            m.d.comb += base.eq(Mux(in_shared, config.shared_base, 0))

        def refuse(reason: Cause) -> None:
            m.d.sync += [cause.eq(reason), checked.legal.eq(0)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.request.ready.eq(1)
                with m.If(self.request.valid):
                    m.d.sync += [request.eq(self.request.payload), cause.eq(0), checked.legal.eq(1)]
                    with m.If(self.request.payload.listed):
                        # Elements of two rows, so that no line begins where one ends.
                        m.d.sync += [request.address.eq(0), request.has_stride.eq(1)]
                        m.d.sync += request.stride.eq(MATRIX_ROW_BYTES)
                    m.next = "STRIDE"
            with m.State("STRIDE"):
                stride = Mux(request.has_stride, request.stride, default_stride)
                m.d.sync += [
                    stride_bits.eq(stride << geometry.element_log2),
                    contiguous.eq(stride == default_stride),
                ]
                m.next = "ALIGNMENT"
            with m.State("ALIGNMENT"):
                m.d.sync += span_less_one.eq(
                    (stride_bytes << geometry.lines_log2) - stride_bytes + line_less_one
                )
                m.next = "RANGE"
                with m.If((request.address & mask).any()):
                    refuse(Cause.MISALIGNED_ADDRESS)
                    m.next = "CHECKED"
                with m.Elif((stride_bits & Cat(Const(0b111, 3), mask)).any()):
                    refuse(Cause.MISALIGNED_STRIDE)
                    m.next = "CHECKED"
            with m.State("RANGE"):
                m.d.sync += last.eq(request.address + span_less_one)
                m.next = "SPAN"
            with m.State("SPAN"):
                m.d.sync += [
                    checked.first.eq(request.address[: config.address_bits] + base),
                    checked.last.eq(last[: config.address_bits] + base),
                ]
                m.next = "CHECKED"
                with m.If(request.listed):
                    m.d.sync += [checked.first.eq(0), checked.last.eq(~0)]
                with m.If(last[config.address_bits :].any()):
                    refuse(Cause.ADDRESS_RANGE)
            with m.State("CHECKED"):
                m.d.comb += self.checked.valid.eq(1)
                with m.If(self.checked.ready):
                    m.next = "IDLE"
