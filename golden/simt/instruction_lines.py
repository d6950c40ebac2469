"""The instructions that a line of syntax and the kinds of their operands describe, with what executes them.

These are bulk copies, ``mbarrier`` and ``tensormap``, groups of copies and multiplies, addresses in clusters,
and what changes no value here: fences, hints to caches, pauses, and policies of caches.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from golden.simt.atomics import REDUCTIONS

HINT: Final = "L2::cache_hint"
PREFETCHES: Final = ("L2::64B", "L2::128B", "L2::256B")
RANKS: Final = ("1d", "2d", "3d", "4d", "5d")


Kind = str | Sequence[int]
"""What an operand must be; the values of a constant."""


class Line(NamedTuple):
    """An instruction."""

    syntax: str
    """As `golden.qualifier_lines`. The opcode may contain qualifiers that stand right after it."""
    kinds: tuple[Kind, ...] = ()
    """Of the operands. The values of a constant; a state space of an address, ``address`` in any, ``map`` and
    ``mbarrier`` in the one that the instruction names, ``copied`` in .global and of any width; ``tensor`` of
    a map with coordinates; ``valid`` of the bytes of a copy, or a predicate that there are none; of a
    destination ``policy``, a type behind ``>``, or ``_`` for none; otherwise of a source, behind ``&`` an
    address, and ``pointer`` for 32 or 64 bits. A ``mask`` is there with ``.multicast::cluster``.
    """
    method: str = ""
    """Of the block, which takes threads and operands; none where it has no effect and gives zeros. Or a call,
    in which ``{0}``, ``{1}`` and so on are the operands without destinations, ``{{place0}}`` and so on the
    addresses alone, ``{threads}`` the threads and ``{index}`` the number of the instruction.
    """
    keywords: Mapping[str, Any] = {}
    pure: bool = False
    """Whether it does nothing but give a value."""


_BYTES: Final = ".mbarrier::complete_tx::bytes"
_LOADED: Final = (
    f".shared::cluster .global {_BYTES} .multicast::cluster? .{HINT}?",
    f".shared::cta .global {_BYTES} .{HINT}?",
)
_SENT: Final = f".shared::cluster .shared::cta {_BYTES}"
_STORED: Final = f".global .shared::cta .bulk_group .{HINT}?"
_RANK: Final = f"{'|'.join(f'.{rank}' for rank in RANKS)} .tile?"
_CTA: Final = ".shared|.shared::cta?"
_GROUPS: Final = range(1 << 31)

_SENT_TYPES: Final = ("u32", "s32", "b32")
"""Of a reduction in shared memory, which adds u64 too."""

_FIELDS: Final[Mapping[str, tuple[range | str, ...]]] = {
    **{"global_address": ("u64",), "rank": ("u32",), "global_stride": (range(4), "u64")},
    **dict.fromkeys(("box_dim", "global_dim", "element_stride"), (range(5), "u32")),
    **{"elemtype": (range(13),), "interleave_layout": (range(3),), "swizzle_mode": (range(4),)},
    "fill_mode": (range(2),),
}
"""What follows the address of a ``tensormap.replace``: the number of the dimension, and the value."""

_EVICTIONS: Final = ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"
_THEN: Final = ".L2::evict_first|.L2::evict_unchanged?"
_SCOPES: Final = ".cta|.cluster|.gpu|.sys"
_LINE: Final = range(128, 129)
"""Bytes."""
_EVENTS: Final = range(1 << 16)
_PROXIES: Final = (
    (".proxy .alias", ""),
    (".proxy .async .global", ""),
    (".proxy .async .shared::cta|.shared::cluster?", "fence_proxy"),
)
SPACES: Final = {
    **{name: name for name in ("local", "const", "param", "shared::cta")},
    **{"shared": "shared::cta", "shared::cluster": "shared", "param::entry": "param"},
}
"""The windows of generic addresses by state spaces; all but global memory, which has none."""


def _copies() -> Iterator[Line]:
    """``cp.async``, bulk copies and their groups."""
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        line = f"cp.async .{cache} .shared|.shared::cta .global .{HINT}? "
        line += "|".join(f".{name}" for name in PREFETCHES) + "?"
        yield Line(line, ("shared", "copied", sizes), "B.copy_async({{place0}}, {{place1}}, {2}, None)")
        yield Line(
            line, ("shared", "copied", sizes, "valid"), "B.copy_async({{place0}}, {{place1}}, {2}, {3})"
        )
    yield Line("cp.async .commit_group", (), "commit_group", {"kind": "copy"})
    yield Line("cp.async .wait_group", (_GROUPS,), "await_groups", {"kind": "copy"})
    yield Line("cp.async .wait_all", (), "await_groups", {"remaining": None, "kind": "copy"})
    for form in ("", ".noinc "):
        call = f"B.arrive_copies({{0}}, {not form})"
        yield Line(f"cp.async.mbarrier.arrive {form}{_CTA} .b64", ("mbarrier",), call)
    yield Line("cp.async.bulk .commit_group", (), "commit_group", {"kind": "store"})
    yield Line("cp.async.bulk .wait_group .read?", (_GROUPS,), "await_groups", {"kind": "store"})
    for end in _LOADED:
        yield Line(
            f"cp.async.bulk.tensor {_RANK} {end}", ("shared", "tensor", "shared", "mask"), "load_tensor"
        )
        yield Line(f"cp.async.bulk {end}", ("shared", "global", "size", "shared", "mask"), "copy_bulk")
    yield Line(f"cp.async.bulk.tensor {_RANK} {_STORED}", ("tensor", "shared"), "store_tensor")
    yield Line(f"cp.async.bulk.prefetch.tensor {_RANK} .L2 .global .{HINT}?", ("tensor",))
    yield Line(f"cp.async.bulk {_SENT}", ("shared", "shared", "size", "shared"), "copy_bulk")
    yield Line(f"cp.async.bulk {_STORED}", ("global", "shared", "size"), "copy_bulk")
    yield Line(f"cp.async.bulk.prefetch .L2 .global .{HINT}?", ("global", "size"))


def _reductions() -> Iterator[Line]:
    for name, types in REDUCTIONS.items():
        keywords: dict[str, Any] = {"operation": name}
        line = f"cp.reduce.async.bulk.tensor {_RANK} {_STORED} .{name}"
        yield Line(line, ("tensor", "shared"), "store_tensor", keywords)
        for type_ in types:
            flush = ".noftz " if name == "add" and type_.endswith("f16") else ""
            end, keywords = f".{name} {flush}.{type_}", {"reduction": (name, type_)}
            line = f"cp.reduce.async.bulk {_STORED} {end}"
            yield Line(line, ("global", "shared", "size"), "copy_bulk", keywords)
            if type_ in _SENT_TYPES or (name, type_) == ("add", "u64"):
                line = f"cp.reduce.async.bulk {_SENT} {end}"
                yield Line(line, ("shared", "shared", "size", "shared"), "copy_bulk", keywords)


def _arrivals(mode: str) -> Iterator[Line]:
    """``arrive`` and ``arrive_drop``, which give a state, but not of a barrier in another block."""
    for order in ("", ".release|.relaxed .cta|.cluster "):
        for space, state in ((_CTA, ">u64"), (".shared::cluster", "_")):
            line, end = f"mbarrier.{mode} ", f"{order}{space} .b64"
            kinds = state, "mbarrier"
            yield Line(line + end, kinds, f"B.arrive_mbarrier({{0}}, None, None, {mode!r}, True)")
            yield Line(line + end, (*kinds, "u32"), f"B.arrive_mbarrier({{0}}, {{1}}, None, {mode!r}, True)")
            call = f"B.arrive_mbarrier({{0}}, None, {{1}}, {mode!r}, True)"
            yield Line(f"{line}.expect_tx {end}", (*kinds, "u32"), call)
    for order in ("", ".release .cta "):
        call = f"B.arrive_mbarrier({{0}}, {{1}}, None, {mode!r}, False)"
        yield Line(f"mbarrier.{mode} .noComplete {order}{_CTA} .b64", (">u64", "mbarrier", "u32"), call)


def _transactions(mode: str) -> Iterator[Line]:
    """``expect_tx`` and ``complete_tx``."""
    for order in ("", ".relaxed .cta|.cluster "):
        line = f"mbarrier.{mode} {order}.shared|.shared::cta|.shared::cluster? .b64"
        yield Line(line, ("mbarrier", "u32"), f"B.arrive_mbarrier({{0}}, None, {{1}}, {mode!r}, True)")


def _waits(mode: str) -> Iterator[Line]:
    """``test_wait`` and ``try_wait``, of the phase of a state or of a parity; a time has no effect."""
    for order in ("", ".acquire|.relaxed .cta|.cluster "):
        for form, type_, phase in (("", "b64", "{1} >> 63"), (".parity ", "u32", "{1} & 1")):
            line, call = f"mbarrier.{mode} {form}{order}{_CTA} .b64", f"B.wait_mbarrier({{0}}, {phase})"
            for time in ((), ("u32",))[: 1 + (mode == "try_wait")]:
                yield Line(line, (">pred", "mbarrier", type_, *time), call)


def _addresses() -> Iterator[Line]:
    """``mapa``, ``getctarank``, ``isspacep`` and fields of tensor maps."""
    for space, word in (("generic", ""), ("shared", ".shared::cluster ")):
        for type_ in ("u32", "u64"):
            call = f"B.map_shared({space!r}, {{0}}, {{1}}).astype('u{int(type_[1:]) // 8}')"
            yield Line(f"mapa {word}.{type_}", (f">{type_}", f"&{type_}", "u32"), call, pure=True)
            call = f"B.rank_of({space!r}, {{0}})"
            yield Line(f"getctarank {word}.{type_}", (">u32", f"&{type_}"), call, pure=True)
    for name, window in SPACES.items():
        yield Line(f"isspacep .{name}", (">pred", "pointer"), f"B.in_window({window!r}, {{0}})", pure=True)
    # On the chip parameters of an entry are global memory too, and constants are not.
    call = "(B.in_window('global', {0}) & ~B.in_window('const', {0})) | B.in_window('param', {0})"
    yield Line("isspacep .global", (">pred", "pointer"), call, pure=True)
    for name, kinds in _FIELDS.items():
        bits = 64 if "u64" in kinds else 32
        line = f"tensormap .replace .tile .{name} .global|.shared::cta? .b1024 .b{bits}"
        yield Line(line, ("map", *kinds), "replace_field", {"name": name})


_LINES: Final = (
    *_copies(),
    *_reductions(),
    *_addresses(),
    Line(
        "tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release "
        f"{_SCOPES} .sync .aligned",
        ("global", "shared", _LINE),
        "copy_map",
    ),
    Line(f"mbarrier.init {_CTA} .b64", ("mbarrier", "u32"), "B.init_mbarrier({0}, {1})"),
    Line(f"mbarrier.inval {_CTA} .b64", ("mbarrier",), "B.invalidate_mbarrier({0})"),
    *_arrivals("arrive"),
    *_arrivals("arrive_drop"),
    *_transactions("expect_tx"),
    *_transactions("complete_tx"),
    *_waits("test_wait"),
    *_waits("try_wait"),
    Line("mbarrier.pending_count .b64", (">u32", "u64"), "pending_count({0})", pure=True),
    Line("barrier .cluster .arrive .release|.relaxed? .aligned?", (), "B.arrive_cluster({threads}, {index})"),
    Line("wgmma .fence .sync .aligned?"),
    Line("wgmma .commit_group .sync .aligned?", (), "commit_group", {"kind": "multiply"}),
    Line("wgmma .wait_group .sync .aligned?", (range(8),), "await_groups", {"kind": "multiply"}),
    Line("activemask .b32", (">b32",), "active_mask({threads})"),
    Line(f"fence .sc|.acq_rel|.acquire|.release? {_SCOPES}"),
    Line("fence .acquire .sync_restrict::shared::cluster .cluster"),
    Line("fence .release .sync_restrict::shared::cta .cluster"),
    Line("fence .mbarrier_init .release .cluster"),
    *(Line(f"{name} {proxy}", (), method) for name in ("fence", "membar") for proxy, method in _PROXIES),
    Line(f"fence .proxy .tensormap::generic .release {_SCOPES}"),
    Line(f"fence .proxy .tensormap::generic .acquire {_SCOPES}", ("address", _LINE)),
    Line("fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster"),
    Line("fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster"),
    Line("membar .cta|.gl|.sys"),
    Line("prefetch .global|.local? .L1|.L2", ("address",)),
    Line("prefetch .global? .L2::evict_last|.L2::evict_normal", ("address",)),
    Line("prefetch .const|.param? .tensormap", ("address",)),
    Line("prefetchu .L1", ("address",)),
    Line("applypriority .global? .L2::evict_normal", ("address", _LINE)),
    Line("discard .global? .L2", ("address", _LINE)),
    Line("nanosleep .u32", ("u32",)),
    Line("pmevent", (_EVENTS,)),
    Line("pmevent .mask", (_EVENTS,)),
    Line("setmaxnreg .inc|.dec .sync .aligned .u32", (range(24, 257, 8),)),
    Line("griddepcontrol .launch_dependents|.wait"),
    Line(f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy",)),
    Line(f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy", "f32")),
    Line(f"createpolicy .range .global? {_EVICTIONS} {_THEN} .b64", ("policy", "address", "u32", "u32")),
    Line("createpolicy .cvt .L2 .b64", ("policy", "b64")),
)

LINES: Final = {
    name: [line for line in _LINES if line.syntax.split()[0] == name]
    for name in dict.fromkeys(line.syntax.split()[0] for line in _LINES)
}
"""The lines by their opcodes."""
