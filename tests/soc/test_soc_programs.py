"""C programs on the processor of a simulated SoC: the examples, and programs that go wrong."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD
from vcd.reader import TokenKind, tokenize

from openwmma.cli import main

pytestmark = pytest.mark.soc

EXAMPLES = Path(__file__).parents[2] / "examples" / "soc"


def run(source, capfd, *options):
    """Exit code, console and messages of a program."""
    code = main(["soc", "--board", "ulx3s", "--out", str(BUILD), "--simulate", str(source), *options])
    printed = capfd.readouterr()
    return code, printed.out, printed.err


def written(folder, text):
    source = folder / "program.c"
    source.write_text('#include <stdio.h>\n#include "openwmma.h"\n' + text)
    return source


@pytest.mark.parametrize("kind", ["f16", "s8"])
def test_a_matrix_multiply_gives_what_golden_gives(kind, capfd):
    data = f"{EXAMPLES / 'matrices.py'} {kind} 32 32 16"
    code, console, _ = run(EXAMPLES / f"matmul_{kind}.c", capfd, "--data", data)
    assert code == 0, console
    assert "core: 0 of 1024 results differ from the golden model" in console
    on_core = re.search(r"on the core: (\d+) cycles", console)
    on_processor = re.search(r"on the processor: (\d+) cycles", console)
    assert 10 * int(on_core[1]) < int(on_processor[1])
    assert "took operands in 1024 cycles" in console


def test_a_wrong_result_is_found(capfd, tmp_path):
    """The same program with other expectations must not pass."""
    generator = tmp_path / "wrong.py"
    generator.write_text(
        "import runpy, sys\n"
        f"header = runpy.run_path({str(EXAMPLES / 'matrices.py')!r})['header']('s8', 32, 32, 32)\n"
        "head, _, values = header.partition('expected[] __attribute__((aligned(32))) = { ')\n"
        "print(head + 'expected[] = { 123456, ' + values.partition(', ')[2])\n"
    )
    code, console, _ = run(EXAMPLES / "matmul_s8.c", capfd, "--data", str(generator))
    assert code == 1
    assert "core: row 0, column 0: expected 0x1e240, found 0x" in console
    assert "core: 1 of 1024 results differ" in console


def test_the_exit_code_is_that_of_main(capfd, tmp_path):
    code, console, _ = run(written(tmp_path, 'int main(void) { puts("seven"); return 7; }'), capfd)
    assert code == 7
    assert "seven" in console


def test_a_fault_of_the_core_reaches_the_program(capfd, tmp_path):
    """Beyond the memory, at the null pointer, misaligned: each a precise fault, and the core goes on."""
    text = """
static openwmma_fault fault_at(uint32_t address)
{
	const void *place = (const void *)address;

	openwmma_queue(openwmma_fill(0, 8, 1));
	openwmma_queue(openwmma_load(OPENWMMA_USE_A, OPENWMMA_LAYOUT_ROW, OPENWMMA_SHAPE_M16N16K16,
		OPENWMMA_TYPE_F16, 0, place, 16));
	openwmma_wait_interrupt();
	return openwmma_take_fault();
}
int main(void)
{
	if (openwmma_open())
		return 2;
	const uint32_t addresses[] = {0, 0x3FFFF000, 0x42000000, 0x40100001, 0x40100000, 0x1000};
	for (unsigned place = 0; place < 6; place++) {
		openwmma_fault fault = fault_at(addresses[place]);
		printf("%#lx: %s\\n", (long)addresses[place], openwmma_cause_name(fault.cause));
	}
	return 0;
}
"""
    code, console, _ = run(written(tmp_path, text), capfd)
    assert code == 0
    assert re.findall(r"^(0x\w+|0): (.+?)\r?$", console, re.MULTILINE) == [
        ("0", "read decode error"),
        ("0x3ffff000", "read decode error"),
        ("0x42000000", "read decode error"),
        ("0x40100001", "misaligned address"),
        ("0x40100000", "none"),
        ("0x1000", "none"),
    ]


def test_a_trap_of_the_processor_ends_the_program(capfd, tmp_path):
    text = 'int main(void) { asm volatile(".word 0"); return 0; }'
    code, console, _ = run(written(tmp_path, text), capfd)
    assert code == 3
    assert re.search(r"processor trap: cause 2 at 0x4\w+, address 0; the core's fault: none", console)


def test_a_program_that_does_not_end(capfd, tmp_path):
    text = 'int main(void) { puts("begun"); for (;;) ; }'
    code, console, messages = run(written(tmp_path, text), capfd, "--limit", "60")
    assert code == 1
    assert "begun" in console
    assert "openwmma: the program did not end within 60 s" in messages


def test_a_program_that_does_not_compile(capfd, tmp_path):
    code, _, messages = run(written(tmp_path, "int main(void) { return absent; }"), capfd)
    assert code == 1
    assert "program.c" in messages
    assert "'absent' undeclared" in messages


def test_a_waveform_begins_with_main(capfd, tmp_path):
    waves = tmp_path / "soc.vcd"
    code, _, _ = run(written(tmp_path, "int main(void) { return 5; }"), capfd, "--waves", str(waves))
    assert code == 5
    scopes, times = set(), []
    with waves.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                scopes.add(token.scope.ident)
            elif token.kind is TokenKind.CHANGE_TIME:
                times.append(token.time_change)
    assert {"sim", "openwmma_core", "VexRiscv"} <= scopes
    assert times == sorted(times)
    # The BIOS has taken more of the time than the program.
    assert times[0] > times[-1] - times[0] > 0


def test_a_program_compiled_for_a_board(capfd, tmp_path, monkeypatch):
    """The simulated SoC stands for the board's build: both have LiteX's libraries and headers."""
    source = written(tmp_path, 'int main(void) { puts("compiled for a board"); return 0; }')
    assert main(["soc", "--board", "ulx3s", "--compile", str(source)]) == 2
    missing = "expected build/ulx3s from openwmma build --board ulx3s"
    assert capfd.readouterr().err == f"openwmma: --compile {source}: {missing}\n"
    assert run(source, capfd)[0] == 0
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "ulx3s").symlink_to(BUILD / "ulx3s")
    monkeypatch.chdir(tmp_path)
    assert main(["soc", "--board", "ulx3s", "--compile", str(source)]) == 0
    image = Path("build/ulx3s/program/program.bin")
    assert capfd.readouterr().out == f"written: {image}\n"
    assert b"compiled for a board" in image.read_bytes()
    sections = subprocess.run(
        ["riscv64-unknown-elf-objdump", "-h", image.with_suffix(".elf")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.search(r"\.text +\w+ +40000000 ", sections), "the BIOS begins there"


def test_data_that_cannot_be_made(capfd, tmp_path):
    source = written(tmp_path, "int main(void) { return 0; }")
    code, _, messages = run(source, capfd, "--data", f"{EXAMPLES / 'matrices.py'} f16 3 3 3")
    assert code == 1
    assert "matrices.py f16 3 3 3" in messages


def test_bad_usage(capfd, tmp_path):
    source = written(tmp_path, "int main(void) { return 0; }")
    assert main(["soc", "--board", "de10", "--simulate", str(source)]) == 2
    assert "--board de10: expected one of ulx3s, ecpix5, arty" in capfd.readouterr().err
    assert main(["soc", "--board", "ulx3s", "--simulate", "absent.c"]) == 2
    assert "--simulate absent.c: expected a file of C that exists" in capfd.readouterr().err
    assert main(["soc", "--board", "ulx3s"]) == 2
    assert "soc: expected either --simulate or --compile" in capfd.readouterr().err
    waves = ["--waves", str(tmp_path / "absent" / "soc.vcd")]
    assert main(["soc", "--board", "ulx3s", "--simulate", str(source), *waves]) == 2
    assert "expected a file in a folder that exists" in capfd.readouterr().err
