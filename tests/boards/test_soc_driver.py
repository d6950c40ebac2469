"""The C driver makes the commands that `hdl.command` makes, compiled for this computer."""

import subprocess
from importlib.resources import files
from itertools import product

import pytest

from boards.soc.headers import write_headers
from golden.tables.commands import Fill, Load, Mma, Store
from golden.tables.faults import Cause
from golden.tables.matrix_instructions import LoadInstruction, StoreInstruction
from hdl.command import encode, shape_code, type_code
from hdl.config import PRESETS
from hdl.memory.fragment_geometry import legal_fragments

SMALL = PRESETS["small"]
DRIVER = files("boards") / "soc" / "software"
SYSTEM_HEADERS = {
    "generated/csr.h": "static inline void openwmma_ev_enable_write(unsigned x) {}\n"
    "static inline void timer0_uptime_latch_write(unsigned x) {}\n"
    "static inline unsigned long long timer0_uptime_cycles_read(void) { return 0; }\n",
    "generated/mem.h": "#define OPENWMMA_BASE 0x90000000L\n",
    "generated/soc.h": "#define OPENWMMA_INTERRUPT 2\n",
    "irq.h": "static inline int irq_attach(unsigned x, void (*f)(void)) { return 0; }\n"
    "static inline unsigned irq_getmask(void) { return 0; }\n"
    "static inline void irq_setmask(unsigned x) {}\nstatic inline void irq_setie(unsigned x) {}\n",
    "system.h": "static inline void flush_cpu_dcache(void) {}\n",
}
"""What LiteX generates for a SoC, as far as the driver uses it."""

PROGRAM = r"""
#include <stdio.h>
#include "openwmma.h"
int main(void)
{
	char kind;
	unsigned f[6];
	while (scanf(" %c %u %u %u %u %u %u", &kind, f, f + 1, f + 2, f + 3, f + 4, f + 5) == 7) {
		openwmma_types types = {f[0], f[1], f[2], f[3], f[4]};
		openwmma_command c =
			kind == 'l' ? openwmma_load(f[0], f[1], f[2], f[3], f[4], (void *)(uintptr_t)0x40001000, f[5]) :
			kind == 's' ? openwmma_store(f[1], f[2], f[3], f[4], (void *)(uintptr_t)0x40001000, f[5]) :
			kind == 'm' ? openwmma_mma(&types, 8, 16, f[5], 24) : openwmma_fill(f[0], f[1], f[2]);
		printf("%u %u %u %u %u\n", c.words[0], c.words[1], c.words[2], c.words[3], c.words[4]);
	}
	for (unsigned cause = 0; cause < CAUSES + 2; cause++)
		printf("%s\n", openwmma_cause_name(cause));
	return 0;
}
"""
POINTERS = ["-Wno-pointer-to-int-cast", "-Wno-int-to-pointer-cast"]
"""Those of the processor have 32 bits."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """From lines of input to the lines that the driver prints."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "generated").mkdir()
    for name, text in SYSTEM_HEADERS.items():
        (folder / name).write_text(text)
    (folder / "main.c").write_text(PROGRAM)
    write_headers(SMALL, folder)
    command = [
        "cc",
        f"-DCAUSES={max(Cause)}",
        "-std=gnu11",
        "-Wall",
        "-Werror",
        *POINTERS,
        f"-I{folder}",
        f"-I{DRIVER}",
    ]
    command += ["-o", str(folder / "main"), str(folder / "main.c"), str(DRIVER / "openwmma.c")]
    subprocess.run(command, check=True, capture_output=True)

    def answer(lines):
        done = subprocess.run(
            [str(folder / "main")], input="\n".join(lines), check=True, capture_output=True, text=True
        )
        return done.stdout.splitlines()

    return answer


def cases():
    """Every fragment and every plain multiply of the preset, with its line for the driver."""
    for (use, name, shape, layout), register, stride in product(legal_fragments(SMALL), (0, 55), (8, 4096)):
        fields = (
            "abcd".index(use),
            int(layout == "col"),
            shape_code(shape),
            type_code(name),
            register,
            stride,
        )
        if use == "d":
            instruction = StoreInstruction(layout=layout, shape=shape, type=name, space="global")
            yield "s", fields, Store(instruction, register, 0x4000_1000, stride)
        else:
            instruction = LoadInstruction(use=use, layout=layout, shape=shape, type=name, space="global")
            yield "l", fields, Load(instruction, register, 0x4000_1000, stride)
    for instruction in SMALL.multiplies():
        if instruction.saturate or instruction.mnemonic == "wgmma":
            continue
        if instruction.rounding not in (None, "rn") or instruction.operation not in (None, "xor"):
            continue
        types = (type_code(instruction.types[use]) for use in "abcd")
        yield "m", (shape_code(instruction.shape), *types, 40), Mma(instruction, 8, 16, 40, 24)
    for register, count, value in product((0, 63), (1, 32), (0, 0xFFFF_FFFF)):
        yield "f", (register, count, value, 0, 0, 0), Fill(register, count, value)


def test_commands_are_those_of_the_encoder(answers):
    lines, expected = [], []
    for kind, fields, command in cases():
        lines.append(" ".join(map(str, (kind, *fields))))
        expected.append(" ".join(map(str, encode(command))))
    found = answers(lines)[: len(lines)]
    assert {line[0] for line in lines} == set("lsmf")
    assert [item for item in zip(lines, found, expected, strict=True) if item[1] != item[2]] == []


def test_causes_have_their_names(answers):
    names = {0: "none", **{cause: cause.name.lower().replace("_", " ") for cause in Cause}}
    assert answers([]) == [names.get(code, "unknown") for code in range(max(Cause) + 2)]
