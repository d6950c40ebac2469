"""The forms of the approximate instructions, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ApproximateInstruction:
    """One form."""

    text: str
    """PTX text without operands."""
    function: str
    """The first part of the text: ``"ex2"``, ``"rcp"``, ``"div"``, ..."""
    type: str
    """Type of operands and result, a pair (``"f16x2"``, ``"bf16x2"``) included."""
    flush: bool = False
    """``.ftz``: subnormal operands and results count as zero of their sign."""
    full: bool = False
    """`div.full`: the divisor may have any magnitude."""

    @property
    def element(self) -> str:
        """Type of one number: of an element for pairs."""
        return self.type.removesuffix("x2")

    @property
    def is_narrow(self) -> bool:
        """Whether a number has 16 bits."""
        return self.element in ("f16", "bf16")

    @property
    def packed(self) -> bool:
        """Whether a register contains two numbers, the first in its low half."""
        return self.type.endswith("x2")

    @property
    def bits(self) -> int:
        """Width of the register."""
        return {"f16": 16, "bf16": 16, "f64": 64}.get(self.type, 32)

    @property
    def operands(self) -> int:
        """How many operands there are."""
        return 2 if self.function == "div" else 1


def _form(text: str) -> ApproximateInstruction:
    function, *qualifiers = text.split(".")
    return ApproximateInstruction(
        text=text,
        function=function,
        type=qualifiers[-1],
        flush="ftz" in qualifiers,
        full="full" in qualifiers,
    )


FORMS: dict[str, ApproximateInstruction] = {
    text: _form(text)
    for text in (
        *(
            f"{function}.approx{flush}.f32"
            for function in ("ex2", "rcp", "rsqrt", "sqrt", "lg2", "sin", "cos")
            for flush in ("", ".ftz")
        ),
        "tanh.approx.f32",
        *(f"div.{kind}{flush}.f32" for kind in ("approx", "full") for flush in ("", ".ftz")),
        *(f"ex2.approx.{type}" for type in ("f16", "f16x2", "ftz.bf16", "ftz.bf16x2")),
        *(f"tanh.approx.{type}" for type in ("f16", "f16x2", "bf16", "bf16x2")),
        "rcp.approx.ftz.f64",
        "rsqrt.approx.ftz.f64",
    )
}
"""Every form by its PTX text. `rsqrt.approx.f64` is missing: it is a sequence of instructions, not one result
of the interpolator."""
