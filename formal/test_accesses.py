"""The access check and the burst generator: which bytes a load or store touches, and in which bursts."""

from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Mux, Signal, Value

from formal.claims import Claim, implies
from formal.faults import faulty
from formal.runner import Bounded, Counterexample, prove
from formal.streams import offer_stays, transferred
from golden.tables.faults import Cause
from golden.tables.instruction_set import SPACES
from hdl.config import PRESETS, CoreConfig
from hdl.memory import access
from hdl.memory.access import AccessRequest
from hdl.memory.fragment_geometry import fragment_geometry, legal_fragments

pytestmark = [pytest.mark.formal, pytest.mark.long]

FORMATS = PRESETS["small"].dot_product
GLOBAL = CoreConfig(dot_product=FORMATS, f64_units=1, address_bits=64)
SHARED = CoreConfig(
    dot_product=FORMATS, f64_units=1, address_bits=32, shared_bytes=0x4000, shared_base=0xF_0000
)
SOME_SHAPES = [(2, 3, 4, 5, 2, 4), (5, 4, 6, 4, 3, 3)]
"""Of `shapes`: an s4 fragment and one of f32 by rows; with on-chip memory the base that is added differs."""

FIELDS = (
    *("element_log2", "lines_log2", "line_log2", "stride_log2"),
    *("alignment_log2", "shared_alignment_log2"),
)
"""Of `FragmentGeometry`, that the check looks at."""

CHECK_CYCLES = 6
"""From the request to the answer."""


def shapes(config: CoreConfig) -> set[tuple[Any, ...]]:
    """What the check must know of each fragment, of all there are."""
    return {
        tuple(geometry[name] for name in FIELDS)
        for geometry in (fragment_geometry(*row) for row in legal_fragments(config))
    }


def checked(config: CoreConfig, shape: tuple[int, ...], hdl: ModuleType = access) -> Claim:
    """`AccessCheck`: the outcome of one access, of any fragment, address and stride, five cycles later.

    The causes in their order, computed without steps and in numbers that do not wrap. Assumes that the
    fragment has the sizes of `shape`; there is a proof for each that the configuration has. Bounded: the unit
    is idle after reset, takes the request of the first cycle, and is idle again when it has been answered.
    All that it keeps in between is the request and what it computed from it, so the n-th access is as the
    first.
    """
    claim = Claim()
    unit = hdl.AccessCheck(config)
    inside = claim.include(unit)
    m = claim.module
    request = Signal(AccessRequest, name="taken")
    with m.If(transferred(unit.request)):
        m.d.sync += request.eq(unit.request.payload)
    geometry = unit.request.payload.geometry
    fits = [geometry[name] == value for name, value in zip(FIELDS, shape, strict=True)]
    claim.assume("geometry", Cat(*fits).all())
    claim.assume("request_at_once", claim.started | unit.request.valid)
    # Rows of matrices have addresses of their own, which are checked elsewhere.
    claim.assume("not_listed", ~unit.request.payload.listed)

    geometry = request.geometry
    default = Signal(32, name="default_stride")
    stride_bits = Signal(40, name="stride_in_bits")
    multiple = Signal(7, name="multiple")
    span = Signal(48, name="span_less_one")
    first, last = Signal(66, name="first_byte"), Signal(66, name="last_byte")
    line = Signal(8, name="line_bytes")
    stride = Mux(request.has_stride, request.stride, default)
    is_shared = request.space == SPACES.index("shared")
    m.d.comb += [
        default.eq(1 << geometry.stride_log2),
        stride_bits.eq(stride << geometry.element_log2),
        multiple.eq(1 << Mux(is_shared, geometry.shared_alignment_log2, geometry.alignment_log2)),
        line.eq(1 << geometry.line_log2),
        # All lines but one, and the last byte of one more.
        span.eq((stride_bits >> 3 << geometry.lines_log2) - (stride_bits >> 3) + line - 1),
        first.eq(request.address),
        last.eq(request.address + span),
    ]
    cause = Mux(
        (request.address & (multiple - 1)) != 0,
        Cause.MISALIGNED_ADDRESS,
        Mux(
            (stride_bits & ((multiple << 3) - 1)) != 0,
            Cause.MISALIGNED_STRIDE,
            Mux(last >> config.address_bits != 0, Cause.ADDRESS_RANGE, 0),
        ),
    )
    shared = is_shared if config.shared_bytes else Const(0)
    base = Mux(shared, config.shared_base, 0)
    answer = unit.checked.payload
    answered = unit.checked.valid
    good = answered & (answer.cause == 0)
    result = answer.access
    claim.always("cause", implies(answered, (answer.cause == cause) & (answer.legal == (cause == 0))))
    claim.always("span", implies(good, (answer.first == first + base) & (answer.last == last + base)))
    claim.always(
        "address", implies(good, (result.address == request.address) & (result.space == request.space))
    )
    claim.always("stride", implies(good, result.stride == stride_bits >> 3))
    claim.always("contiguous", implies(good, result.contiguous == (stride == default)))
    same = (result.register == request.register) & (Value.cast(result.geometry) == Value.cast(geometry))
    claim.always("fragment", implies(good, same))
    offer_stays(claim, "checked", unit.checked)
    state = inside.signal("fsm_state")
    idle_for = Signal(3, name="busy_for")
    with m.If(transferred(unit.request)):
        m.d.sync += idle_for.eq(0)
    with m.Elif(~idle_for.all()):
        m.d.sync += idle_for.eq(idle_for + 1)
    claim.always("answers_in_time", (state == 0) | answered | (idle_for < 5))
    return claim


@pytest.mark.parametrize("shape", sorted(shapes(GLOBAL)), ids=str)
def test_access_check(shape: tuple[int, ...]) -> None:
    prove(f"access_{'_'.join(map(str, shape))}", checked(GLOBAL, shape), Bounded(CHECK_CYCLES))


@pytest.mark.parametrize("shape", SOME_SHAPES, ids=str)
def test_access_check_with_shared_memory(shape: tuple[int, ...]) -> None:
    prove(f"access_shared_{'_'.join(map(str, shape))}", checked(SHARED, shape), Bounded(CHECK_CYCLES))


@pytest.mark.parametrize(
    ("text", "fault", "broken"),
    [
        ("geometry.shared_alignment_log2, geometry", "geometry.alignment_log2, geometry", "cause"),
        ("Cat(Const(0b111, 3), mask)", "Cat(Const(0b011, 3), mask)", "cause"),
        ("span_less_one = Signal(STRIDE_BITS + 4", "span_less_one = Signal(STRIDE_BITS - 5", "cause"),
        ("checked.last.eq(last[: config.address_bits] + base)", "checked.last.eq(last + 1)", "span"),
    ],
)
def test_faulty_access_check(text: str, fault: str, broken: str) -> None:
    claim = checked(SHARED, SOME_SHAPES[0], faulty(access, text, fault))
    with pytest.raises(Counterexample, match=f"broken: .*{broken}"):
        prove("faulty_access", claim, Bounded(CHECK_CYCLES))
