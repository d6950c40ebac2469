"""Every step of one approximate result, as plain data: what `golden.explain` returns for these forms."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Special:
    """A result that does not come from the polynomial."""

    operand: int
    result: int
    """Bit patterns."""
    reason: str

    def __str__(self) -> str:
        return f"special   0x{self.operand:x} -> 0x{self.result:x}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """One f32 operation before or after the unit."""

    operation: Literal["*", "-"] = "*"
    left: int
    right: int
    result: int
    """Bit patterns of f32."""
    rounding: Literal["rn", "rz"] = "rn"
    reason: str

    def __str__(self) -> str:
        return (
            f"f32       0x{self.left:08x} {self.operation} 0x{self.right:08x} = 0x{self.result:08x}"
            f" ({self.rounding}): {self.reason}"
        )


@dataclass(frozen=True, kw_only=True)
class Interpolation:
    """One use of the interpolator."""

    function: str
    """Name of the table."""
    operand: int
    """Bit pattern."""
    argument: int
    """23 bits; for tanh the magnitude in units of ``2**-31``."""
    row: int
    offset: int
    """Number of the row, and the argument within it."""
    offset_bits: int
    c0: int
    c1: int
    c2: int
    """The row."""
    square: int
    """The truncated square of the offset's upper 15 bits."""
    total: int
    """``c0 + c1 * offset + c2 * square``, in units of ``2**-fraction_bits``."""
    fraction_bits: int
    magnitude: int
    """What is truncated: the total; for lg2, exponent and total together, complemented if negative."""
    unit_exponent: int
    """The magnitude's unit is ``2**unit_exponent``."""
    cut_bits: int
    """How many low bits of the magnitude are dropped."""
    kept: int
    lost: int
    """Value of the other bits, and of those dropped."""
    negative: bool
    result: int
    """Bit pattern."""

    def __str__(self) -> str:
        sign = "-" if self.negative else ""
        return "\n".join(
            (
                f"argument  {self.argument} (0x{self.argument:06x}) of 0x{self.operand:x}",
                f"row       {self.row} of {self.function}: c0 {self.c0}, c1 {self.c1}, c2 {self.c2}",
                f"offset    {self.offset} of 2**{self.offset_bits}, truncated square {self.square}",
                f"sum       {self.c0} + {self.c1} * {self.offset} + {self.c2} * {self.square} = {self.total}",
                f"          in units of 2**-{self.fraction_bits}",
                f"cut       {self.magnitude} >> {self.cut_bits} = {self.kept}, {self.lost} dropped",
                f"result    {sign}{self.kept} * 2**{self.unit_exponent + self.cut_bits} = 0x{self.result:x}",
            )
        )


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """Truncation of an f32 result to f16 or bf16."""

    type: str
    source: int
    result: int
    """Bit patterns."""

    def __str__(self) -> str:
        return f"truncated 0x{self.source:08x} to {self.type} 0x{self.result:04x}"


ApproximateStep = Special | Arithmetic | Interpolation | Narrowing


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """How one result of an approximate instruction came about; its text shows it line by line."""

    instruction: str
    """PTX text."""
    operands: tuple[int, ...]
    """Bit patterns."""
    notes: tuple[str, ...]
    """What was done to operands that came as values."""
    steps: tuple[ApproximateStep, ...]
    """In the order in which they happen."""
    result: int
    """Bit pattern, as `golden.approximate` returns it."""
    value: float
    """The result's value."""
    correct: int | None
    """Bit pattern of the correctly rounded result; None where there is no finite one."""
    difference: int | None
    """Result minus correctly rounded result, in units in the last place (numbers of the format apart)."""

    def __str__(self) -> str:
        operands = ", ".join(f"0x{bits:x}" for bits in self.operands)
        lines = [f"{self.instruction}({operands}) = 0x{self.result:x} ({self.value!r})"]
        lines += [f"  note      {note}" for note in self.notes]
        lines += [f"  {line}" for step in self.steps for line in str(step).splitlines()]
        if self.correct is not None:
            lines.append(
                f"  correctly rounded: 0x{self.correct:x}, difference {self.difference} in the last place"
            )
        return "\n".join(lines)
