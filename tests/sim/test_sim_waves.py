"""Waveforms: the FST file, and the compressor that stands in for LZ4 in it."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from golden.memory import Memory
from sim.compiler import compiler
from sim.simulation import BusTiming, Simulation
from sim.verilate import build_verilog

COPIER = Path(__file__).with_name("copier.v").read_text()
FST_HEADERS = Path(__file__).parents[2] / "sim" / "harness" / "fst"
HEADER, HIERARCHY_LZ4 = 0, 6

COMPRESSOR = """
#include <cstdio>
#include <iterator>
#include <string>
#include "lz4.h"
int main() {
    std::string input, output;
    for (int byte; (byte = std::getchar()) != EOF;) input.push_back(static_cast<char>(byte));
    output.resize(LZ4_compressBound(input.size()));
    output.resize(LZ4_compress_default(input.data(), &output[0], input.size(), output.size()));
    std::fwrite(output.data(), 1, output.size(), stdout);
}
"""


def decompress(block):
    """An LZ4 block, by its specification."""
    out = bytearray()
    position = 0

    def extended(length):
        nonlocal position
        if length == 15:
            while True:
                byte = block[position]
                position += 1
                length += byte
                if byte != 255:
                    break
        return length

    while position < len(block):
        token = block[position]
        position += 1
        literals = extended(token >> 4)
        out += block[position : position + literals]
        position += literals
        if position == len(block):
            assert literals >= 5 or len(out) < 13
            break
        offset = int.from_bytes(block[position : position + 2], "little")
        position += 2
        assert 1 <= offset <= len(out)
        for _ in range(extended(token & 15) + 4):
            out.append(out[-offset])
    return bytes(out)


def blocks(data):
    """Type and content of the blocks of an FST file."""
    position = 0
    while position < len(data):
        length = int.from_bytes(data[position + 1 : position + 9], "big")
        yield data[position], data[position + 9 : position + 1 + length]
        position += 1 + length


@pytest.fixture(scope="module")
def compressor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lz4")
    source = folder / "compressor.cpp"
    source.write_text(COMPRESSOR)
    program = folder / "compressor"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{FST_HEADERS}"]
    subprocess.run([*compiler().command, *flags, str(source), "-o", str(program)], check=True)
    return lambda data: subprocess.run([program], input=data, capture_output=True, check=True).stdout


RANDOM = np.random.default_rng(4)
TEXTS = {
    "nothing": b"",
    "shorter than a match": b"abcabcabcabc",
    "thirteen equal": b"a" * 13,
    "one run": b"\0" * 100_000,
    "noise": RANDOM.bytes(70_000),
    "few symbols": bytes(RANDOM.integers(0, 3, 50_000, dtype=np.uint8)),
    "far repetition": RANDOM.bytes(65_535) * 2,
    "too far repetition": RANDOM.bytes(65_537) * 2,
    "long literals": RANDOM.bytes(15 + 255) + b"x" * 40,
}


@pytest.mark.parametrize("name", TEXTS)
def test_lz4_blocks_decompress_to_what_they_were(compressor, name):
    packed = compressor(TEXTS[name])
    assert decompress(packed) == TEXTS[name]
    assert len(packed) <= len(TEXTS[name]) + len(TEXTS[name]) // 255 + 16


def test_lz4_compresses_repetition(compressor):
    assert len(compressor(TEXTS["one run"])) < 500
    assert len(compressor(TEXTS["far repetition"])) < 67_000


def copier_with_a_public_register():
    """As every observed core has some: Verilator's library, which takes longest, is then the same."""
    text = COPIER.replace("reg [2:0] state =", "reg [2:0] state /*verilator public_flat_rd*/ =")
    assert text != COPIER
    return text


def test_a_waveform_names_every_port_and_ends_with_the_simulation(tmp_path):
    constants = {"BEAT_BYTES": 16, "DATA_BITS": 128, "OUTSTANDING_READS": 1, "QUEUE_DEPTH": 1, "WARPS": 1}
    path = tmp_path / "copy.fst"
    simulation = Simulation(
        build_verilog(copier_with_a_public_register(), constants, observed=True),
        Memory(4096),
        timing=BusTiming(),
        waves=path,
    )
    simulation.execute([(1, 0, 1024, 16, 0)])
    cycles = simulation.cycles
    simulation.read(0x8000, 100)
    assert simulation.cycles > cycles + 99
    simulation.close()

    found = list(blocks(path.read_bytes()))
    header = next(content for kind, content in found if kind == HEADER)
    assert int.from_bytes(header[:8], "big") == 0
    assert int.from_bytes(header[8:16], "big") == 10 * cycles - 5, (
        "reads in a row are no part of the waveform"
    )
    hierarchy = next(content for kind, content in found if kind == HIERARCHY_LZ4)
    names = decompress(hierarchy[8:])
    assert len(names) == int.from_bytes(hierarchy[:8], "big")
    for port in (b"aclk", b"m_axi_araddr", b"m_axi_wstrb", b"s_axil_rdata"):
        assert port in names
