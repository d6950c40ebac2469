"""Which statements NVIDIA's assembler accepts, and which ones golden accepts."""

import re
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from golden.ptx.blocks import build_blocks
from golden.ptx.body import parse_body, split
from golden.ptx.decoding import Context
from golden.ptx.parser import parse_syntax
from golden.ptx.scalar_types import TYPES
from golden.ptx.source import PtxError, Source
from golden.ptx.syntax import Variable
from golden.simt.compiled import _decode

HEAD = """.version 9.0
.target sm_90a
.address_size 64
.global .b32 glob[8];
.const .b32 cons[8];
.shared .b32 shar[8];
.func func() { ret; }
.entry k(.param .u64 par) {
.local .b32 loca[8];
.reg .pred %p<99>;
.reg .b8 %b<99>;
.reg .b16 %h<99>;
.reg .b32 %r<99>;
.reg .b64 %d<99>;
.reg .b128 %q<99>;
.reg .u8 %bu<99>;
.reg .u16 %hu<99>;
.reg .f16 %hf<99>;
.reg .u32 %ru<99>;
.reg .f32 %rf<99>;
.reg .f16x2 %rx<99>;
.reg .u64 %du<99>;
.reg .f64 %df<99>;
"""
TAIL = "ret;\n}\n"
WRONG = "bar.foo 0;\n"
"""A statement that keeps the assembler from making code of a text that it can parse."""
_ERROR = re.compile(r"ptxas \S*statements\.ptx, line (\d+); (?:error|fatal) *: (.*)")


def assembler():
    """The program of the package nvidia-cuda-nvcc."""
    (folder,) = find_spec("nvidia.cu13").submodule_search_locations
    return Path(folder) / "bin" / "ptxas"


def refused(statements, folder):
    """The errors of the assembler by the number of the statement; it may be the crash of it."""
    found = {}
    for matrices in (False, True):  # which make it crash
        some = {
            number: text
            for number, text in enumerate(statements)
            if text.startswith(("mma", "wmma")) == matrices
        }
        parsed = _refused(some, folder, WRONG)
        left = {number: text for number, text in some.items() if number not in parsed}
        found |= parsed | _refused(left, folder, "")
    return found


def _refused(statements, folder, wrong):
    """As `refused`: in one file, and where it says nothing about a line, in halves."""
    found, left = {}, dict(statements)
    while left:
        path = folder / "statements.ptx"
        path.write_text(HEAD + "".join(f"{text};\n" for text in left.values()) + wrong + TAIL)
        command = [assembler(), "-O0", "-arch", "sm_90a", path, "-o", folder / "out.cubin"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        numbers, first = list(left), HEAD.count("\n") + 1
        errors = {int(line) - first: error for line, error in _ERROR.findall(run.stderr)}
        met = run.returncode == 0 if not wrong else len(left) in errors and run.returncode > 0
        told = {numbers[line]: error for line, error in errors.items() if 0 <= line < len(left)}
        found |= told if met or told else {}
        if met and not any("syntax" in error for error in told.values()):
            return found
        if not told or (run.returncode < 0 and wrong):
            if len(left) == 1:
                return {**found, numbers[0]: f"ends with {run.returncode}: {run.stderr[-200:]}"}
            half = len(left) // 2
            for part in (numbers[:half], numbers[half:]):
                found |= _refused({number: left[number] for number in part}, folder, wrong)
            return found
        left = {number: text for number, text in left.items() if number not in told}
    return found


class Golden:
    """The verdicts of golden on statements; operands are parsed once."""

    def __init__(self):
        self._parsed = {}

    def refusal(self, text):
        """The error of a statement, or None."""
        name, _, operands = text.partition(" ")
        opcode = tuple(name.split("."))
        key = (name if "%q" in operands else opcode[0], operands)
        if key not in self._parsed:
            self._parsed[key] = self._parse(*key)
        source, symbols, body = self._parsed[key]
        if body is None:
            return source
        try:
            parts = body.instructions
            if key[0] == opcode[0]:
                parts = split(source, replace(parts[0], opcode=opcode))
            context = Context(source, (9, 0), symbols, _decode)
            build_blocks(context, replace(body, instructions=list(parts)))
        except PtxError as error:
            return str(error)
        return None

    def _parse(self, name, operands):
        source = Source(f"{HEAD}{name} {operands};\n}}\n", "statement")
        try:
            module = parse_syntax(source)
            entry = module.functions["k"]
            body = parse_body(module, entry)
        except PtxError as error:
            return str(error), None, None
        symbols = {item.key: (replace(item, space="entry"), 0) for item in entry.parameters}
        for item in (*module.variables.values(), *body.variables.values()):
            symbols[item.key] = item, 1024
        symbols["func"] = Variable("func", "func", "function", TYPES["b8"], 0, 1, entry.location), 64
        return source, symbols, body
