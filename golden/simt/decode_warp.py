"""Exchanges of values between the lanes of a warp."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from golden.ptx.blocks import collective_details
from golden.ptx.decoding import Context, Step
from golden.ptx.scalar_types import TYPES
from golden.ptx.syntax import Immediate, Instruction, Operand, Pair, Sink
from golden.qualifier_lines import chosen_qualifiers
from golden.simt.code import Writer
from golden.simt.warp_operations import REDUCTIONS, elect, match, reduce, shuffle, vote

_EXCHANGES: Final[Mapping[str, tuple[partial[Any], tuple[int, ...], tuple[int, ...]]]] = {
    **{
        f"shfl .sync .{mode} .b32": (partial(shuffle, mode), (32, 32, 32), (32, 1))
        for mode in ("up", "down", "bfly", "idx")
    },
    **{f"vote .sync .{mode} .pred": (partial(vote, mode), (1,), (1,)) for mode in ("all", "any", "uni")},
    "vote .sync .ballot .b32": (partial(vote, "ballot"), (1,), (32,)),
    **{
        f"match .{mode} .sync .b{bits}": (partial(match, mode), (bits,), (32, 1))
        for mode in ("any", "all")
        for bits in (32, 64)
    },
    **{
        f"redux .sync .{name} .{type_}": (partial(reduce, name, type_), (32,), (32,))
        for name, type_ in REDUCTIONS
    },
    "elect .sync": (partial(elect), (), (32, 1)),
}
"""What the lanes of a mask compute together, with the bits of its sources and of its results."""

_SYNCHRONOUS: Final = (6, 4)
"""The PTX ISA version from which exchanges need ``.sync``."""


def _exchange(context: Context, instruction: Instruction, index: int) -> Step:
    """An exchange between the lanes of a mask; without ``.sync``, between the lanes that are at hand."""
    word, *words = instruction.opcode
    named = {syntax: form for syntax, form in _EXCHANGES.items() if syntax.split()[0] == word}
    is_old = word in ("shfl", "vote") and "sync" not in words
    if is_old and context.version >= _SYNCHRONOUS:
        message = f"it lacks .sync, without which it ended with PTX ISA {'.'.join(map(str, _SYNCHRONOUS))}"
        raise context.unsupported(instruction, message)
    given = [*words, "sync"] if is_old else words
    fitting = [form for syntax, form in named.items() if chosen_qualifiers(syntax, given) is not None]
    if not fitting:
        raise context.unsupported(instruction, f"there are: {', '.join(named)}")
    compute, bits, results = fitting[0]
    target, *operands = context.operands(instruction, 1 + len(bits) + (not is_old))
    if word == "elect" and not isinstance(target, Pair):
        raise context.unsupported(instruction)
    if word == "match" and "any" in words and isinstance(target, Pair):
        raise context.error(target, "match.any has no predicate as a destination")
    targets: list[tuple[Operand, int]] = [(target, results[0])]
    if len(results) > 1:
        pair = (target.first, target.second) if isinstance(target, Pair) else (target, Sink(target.location))
        targets = list(zip(pair, results, strict=True))
    sources = list(zip(operands, bits, strict=False))
    kind = "b32" if is_old else next((part for part in words if part in TYPES), "integer")
    kinds = "integer" if word == "match" else kind, kind
    mask = Immediate(-1, "integer", instruction.location) if is_old else operands.pop()
    details = collective_details(context, mask, sources, targets, compute, kinds)
    reads, writes = [mask, *operands], [operand for operand, _ in targets]
    if not is_old:  # the block ends with the collective, which the running block executes
        return context.step(instruction, index, reads, writes, lambda _: None, collective=details)

    def write_code(writer: Writer) -> None:
        values = "".join(f", {writer.array(*source)}" for source in sources)
        call = f"{writer.bind(compute)}({writer.threads}, every_lane{values})"
        writer.results(call + "[0]" * (len(results) == 1), targets)

    return context.step(instruction, index, reads, writes, write_code, select=False)


DECODERS: Final = dict.fromkeys(("shfl", "vote", "match", "redux", "elect"), _exchange)
