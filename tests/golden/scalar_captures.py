"""Forms of scalar PTX instructions and what an NVIDIA H200 gave for 512 operand tuples of each."""

from functools import cache
from typing import NamedTuple

import numpy as np
from golden_captures import COMPACT


class Capture(NamedTuple):
    """One form; operands and results zero-extended to 64 bits."""

    text: str
    result_bits: int
    operands: list[np.ndarray]
    results: np.ndarray

    @property
    def opcode(self):
        return self.text.split(".")[0]


@cache
def captures():
    """All forms by their text."""
    with np.load(COMPACT / "scalar.npz") as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    found = {}
    for row, text in enumerate(arrays["text"]):
        widths = [int(bits) for bits in arrays["operand_bits"][row] if bits]
        pool = arrays[f"pool/{arrays['pool'][row]}"]
        operands = [pool[index] & np.uint64(2**bits - 1) for index, bits in enumerate(widths)]
        found[str(text)] = Capture(
            str(text), int(arrays["result_bits"][row]), operands, arrays["results"][row]
        )
    return found


def narrowed(values, bits):
    """The low bits, as the array that an operation takes."""
    return values.astype(bool) if bits == 1 else values.astype(f"u{bits // 8}")


def evaluated(capture, operation):
    """The results of a text, which is a mnemonic, or statements with operands where their order matters.

    In ``add.cc.u32 {t},{a},{b}; addc.u32 {d},{c},{a}`` the carry flag passes from one to the next.
    """
    values = dict(zip("abce", capture.operands, strict=False))
    flag = None
    result = None
    for statement in capture.text.split(";"):
        mnemonic, _, rest = statement.strip().partition(" ")
        found = operation(mnemonic)
        names = [word.strip(" {}") for word in rest.split(",")][1:] if rest else list("abce")
        sources = []
        for bits, name in zip(found.operands, [*names, None, None], strict=False):
            if name is None:
                sources.append(flag)
            elif name in values:
                sources.append(narrowed(values[name], bits))
            else:
                sources.append(np.array([int(name, 0)], np.uint8))
        outcome = found.evaluate(*sources)
        result, flag = outcome if len(found.results) == 2 else (outcome, None)
        bits = found.results[0]
        assert result.dtype == (bool if bits == 1 else f"u{bits // 8}")
        if found.signed:
            result = result.view(f"i{bits // 8}").astype(np.int64).view(np.uint64)
    mask = np.uint64(2**capture.result_bits - 1)
    return result.astype(np.uint64) & mask
