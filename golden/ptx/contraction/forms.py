"""Instructions as the assembler sees them when it looks for products and sums."""

from dataclasses import dataclass
from typing import Final

from golden.ptx.scalar_types import TYPES, float_bits, float_value
from golden.ptx.syntax import Immediate, Instruction, Operand, Register
from golden.tables.formats import float_format

_ELEMENTS: Final = {
    **{name: (float_format(name), 1) for name in ("f32", "f64", "f16", "bf16")},
    **{f"{name}x2": (float_format(name), 0x10001) for name in ("f16", "bf16")},
}
"""Of each type that has products the format of an element, and a register with a 1 in each element."""

SIGNS: Final = {name: ones * element.sign_mask for name, (element, ones) in _ELEMENTS.items()}
"""The sign bits of each type."""

ONES: Final = {
    name: ones * (element.bias << element.fraction_bits) for name, (element, ones) in _ELEMENTS.items()
}
"""The bits of 1 in each element."""

_ROUNDINGS: Final = frozenset({"rn", "rz", "rm", "rp"})
_FP8: Final = frozenset({"e4m3", "e5m2"})

GUARDED_ENDS: Final = frozenset({"ld", "ldu", "st", "atom", "red", "shfl", "bar", "barrier", "cp"})
"""The instructions that become a branch around them under a guard."""

ATOMICS: Final = ("atom", "red")
FUSED: Final = "%fma"
"""The operation of an atomic whose addition a product has joined; no PTX text can have the name."""


@dataclass(frozen=True)
class Form:
    """An operation on one of the types that have products."""

    name: str
    """``mul``, ``add``, ``sub``, ``neg``, ``min``, ``max``, ``div`` or ``rcp``."""
    type: str
    flush: bool
    saturate: bool
    """``.ftz`` and ``.sat``."""

    def matches(self, other: "Form") -> bool:
        """Whether the type is the same, and ``.ftz`` in both or none."""
        return self.type == other.type and self.flush == other.flush


def form(instruction: Instruction, *names: str) -> Form | None:
    """The form of an instruction with one of these names and no qualifier but ``.ftz`` and ``.sat``."""
    name, *words = instruction.opcode
    if name not in names or not words or words[-1] not in _ELEMENTS:
        return None
    if not set(words[:-1]) <= {"ftz", "sat"}:
        return None
    return Form(name, words[-1], "ftz" in words, "sat" in words)


def division(instruction: Instruction) -> tuple[str, bool] | None:
    """The kind of an approximate division or reciprocal of f32, and whether it has ``.ftz``."""
    name, *words = instruction.opcode
    if name not in ("div", "rcp") or words[-1:] != ["f32"]:
        return None
    kind = next((word for word in ("approx", "full") if word in words), None)
    return None if kind is None else (kind if name == "div" else "rcp", "ftz" in words)


def inner_sum(instruction: Instruction) -> Form | None:
    """The additions, without ``.ftz``, that are operations of their own within an instruction, if any.

    On sm_90 a multiplication of fp8 is two multiplications of f16 and then one addition of each register of
    C. An atomic addition of f32 in the block's shared memory is a loop with an addition.
    """
    words = instruction.opcode
    if words[0] in ATOMICS and {"shared", "shared::cta"}.intersection(words):
        return Form("add", "f32", flush=False, saturate=False) if words[-2:] == ("add", "f32") else None
    if words[:2] != ("mma", "sync") or not _FP8.intersection(words) or any(w.startswith("sp") for w in words):
        return None
    return Form("add", {"f32": "f32", "f16": "f16x2"}[words[-1]], flush=False, saturate=False)


def literal(operand: Operand, type_: str) -> int | None:
    """The bits of a constant as an operand of a type; None for other operands."""
    if not isinstance(operand, Immediate):
        return None
    if operand.kind == "f64" and type_ == "f32":
        return float_bits(float_value(operand.value, 64), 32)
    return TYPES[type_].wrap(operand.value)


def immediate(bits: int, type_: str, like: Operand) -> Immediate:
    """A constant with these bits, as an operand of a type."""
    kind = type_ if type_ in ("f32", "f64") else "integer"
    return Immediate(bits, kind, like.location)  # type: ignore[arg-type]


def straightens(bits: int | None, type_: str) -> int:
    """What a factor makes of a multiplication: 1 a copy, -1 a negation, 0 a product."""
    if bits is None:
        return 0
    return {ONES[type_]: 1, ONES[type_] | SIGNS[type_]: -1}.get(bits, 0)


def is_move(instruction: Instruction) -> bool:
    """Whether an instruction copies one register to another of its width."""
    match instruction.operands:
        case (Register() as target, Register() as source) if instruction.opcode[0] == "mov":
            return target.type.bits == source.type.bits
    return False


def is_expanded(instruction: Instruction) -> bool:
    """Whether an instruction becomes several with a branch or a call among them."""
    name, *words = instruction.opcode
    if name in ("div", "rem"):
        type_ = words[-1] if words else ""
        if type_ in ("f32", "f64"):
            return bool(_ROUNDINGS.intersection(words))
        return type_ != "u32"
    if name in ("sqrt", "rcp"):
        return bool(_ROUNDINGS.intersection(words))
    if name == "rsqrt":
        return words == ["approx", "f64"]
    if name == "fence":
        return bool({"acq_rel", "sc"}.intersection(words))
    if name == "mma":
        return "s4" in words or "u4" in words or ("m8n8k4" in words and "f16" in words)
    return name == "membar"
