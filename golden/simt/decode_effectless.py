"""Instructions that change no value here: fences, hints to caches, pauses, and policies of caches."""

from typing import Final

from golden.ptx.decoding import Context, Step
from golden.ptx.syntax import Immediate, Instruction, Operand
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.code import call_step

_EVICTIONS: Final = ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"
_THEN: Final = ".L2::evict_first|.L2::evict_unchanged?"
_SCOPES: Final = ".cta|.cluster|.gpu|.sys"
_PROXIES: Final = (".proxy .alias", ".proxy .async .global|.shared::cta|.shared::cluster?")
_LINES: Final = (
    (f"fence .sc|.acq_rel|.acquire|.release? {_SCOPES}", ()),
    ("fence .acquire .sync_restrict::shared::cluster .cluster", ()),
    ("fence .release .sync_restrict::shared::cta .cluster", ()),
    ("fence .mbarrier_init .release .cluster", ()),
    *((f"{name} {proxy}", ()) for name in ("fence", "membar") for proxy in _PROXIES),
    (f"fence .proxy .tensormap::generic .release {_SCOPES}", ()),
    (f"fence .proxy .tensormap::generic .acquire {_SCOPES}", ("address", "128")),
    ("fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster", ()),
    ("fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster", ()),
    ("membar .cta|.gl|.sys", ()),
    ("prefetch .global|.local? .L1|.L2", ("address",)),
    ("prefetch .global? .L2::evict_last|.L2::evict_normal", ("address",)),
    ("prefetch .const|.param? .tensormap", ("address",)),
    ("prefetchu .L1", ("address",)),
    ("applypriority .global? .L2::evict_normal", ("address", "128")),
    ("discard .global? .L2", ("address", "128")),
    ("nanosleep .u32", ("u32",)),
    ("pmevent", ("constant",)),
    ("pmevent .mask", ("constant",)),
    ("setmaxnreg .inc|.dec .sync .aligned .u32", ("registers",)),
    ("griddepcontrol .launch_dependents|.wait", ()),
    (f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy",)),
    (f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy", "f32")),
    (f"createpolicy .range .global? {_EVICTIONS} {_THEN} .b64", ("policy", "address", "u32", "u32")),
    ("createpolicy .cvt .L2 .b64", ("policy", "b64")),
)
"""Syntax, as `golden.qualifier_lines`, and the operands."""


def _decode(context: Context, instruction: Instruction, index: int) -> Step:
    name, words = instruction.opcode[0], instruction.opcode[1:]
    lines = [line for line in _LINES if line[0].split()[0] == name]
    fitting = [kinds for syntax, kinds in lines if chosen_qualifiers(syntax, words) is not None]
    if not fitting:
        choices = ", ".join(dict.fromkeys(syntax for syntax, _ in lines))
        raise context.unsupported(instruction, f"there are: {choices}")
    counts = sorted({len(kinds) for kinds in fitting})
    operands = context.operands(instruction, counts[0], counts[-1])
    kinds = next(kinds for kinds in fitting if len(kinds) == len(operands))
    for operand, kind in zip(operands, kinds, strict=True):
        _require(context, operand, kind)
    if kinds[:1] == ("policy",):
        call = "full({threads}.size, 0, 'u8')"
        return call_step(context, instruction, index, call, (), [(operands[0], 64)], pure=True)
    if {"proxy", "async"} <= {*words} and "global" not in words:
        return call_step(context, instruction, index, "B.fence_proxy({threads})", (), ())
    return context.step(instruction, index, (), (), lambda writer: None, select=False)


def _require(context: Context, operand: Operand, kind: str) -> None:
    """Refuse an operand that is not of a kind."""
    if kind == "policy":
        context.require_destination(operand, 64)
    elif kind == "address":
        context.require_address(operand)
    elif kind[1:].isdecimal() and not kind.isdecimal():
        context.require_source(operand, int(kind[1:]), kind if kind[0] == "f" else "integer")
    elif not isinstance(operand, Immediate) or operand.kind != "integer":
        raise context.error(operand, "expected a constant")
    elif operand.value not in _CONSTANTS[kind]:
        raise context.error(operand, f"{operand.value} is not among {_TOLD[kind]}")


_CONSTANTS: Final = {"128": range(128, 129), "constant": range(1 << 16), "registers": range(24, 257, 8)}
_TOLD: Final = {
    "128": "the sizes: 128 alone",
    "constant": "the numbers of events",
    "registers": "the numbers of registers: multiples of 8 from 24 to 256",
}

DECODERS: Final = dict.fromkeys((syntax.split()[0] for syntax, _ in _LINES), _decode)
