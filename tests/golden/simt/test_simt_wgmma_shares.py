"""The captured multiplies of warpgroups as commands of four warps, on the golden machine and on a core."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hopper_draws import BYTES, draw_images, draw_wgmma
from test_simt_wgmma import SEED, digest_of, entry_of, instruction_of

from golden.memory import Memory
from golden.ptx.mnemonic import parse_instruction
from golden.tables.commands import Wgmma
from hdl.config import PRESETS
from sim.rtl_machine import RtlMachine
from sim.testbench.reference import golden_machine

LARGE = PRESETS["large"]


@pytest.fixture(scope="module")
def captured():
    with np.load(Path(__file__).parents[2] / "data" / "hopper.npz") as file:
        return dict(file)


def commands(entry, da, db, scale, warp):
    """The share of a warp; D is in the registers from 0 on, and A behind it."""
    return Wgmma(
        parse_instruction(instruction_of(entry)),
        0,
        int(da) if entry["source"] == "s" else entry["regs"],
        int(db),
        a_in_registers=entry["source"] == "r",
        negated=(entry["na"], entry["nb"]),
        transposed=(bool(entry["ta"]), bool(entry["tb"])),
        scale_d=bool(scale),
        warp=warp,
    )


def different(machine, captured, blocks, stored_at):
    """The captured kernels and blocks that a machine computes otherwise than an H200."""
    images, found = {name: draw_images(SEED, name) for name in BYTES}, []
    names, numbers, digests = (captured[key] for key in ("wgmma", "wgmma_number", "wgmma_digest"))
    for name, number, expected in zip(names, numbers, digests, strict=True):
        entry = entry_of(name)
        da, db, ra, c, image, scale = draw_wgmma(SEED, int(number), entry)
        for block in blocks:
            machine.shared.write(stored_at, images[entry["a"]][image[block]])
            for warp in range(4):
                threads = slice(32 * warp, 32 * warp + 32)
                words = np.concatenate([c[block, threads], ra[block, threads]], axis=1).T
                machine.write_registers(0, np.ascontiguousarray(words), warp=warp)
            machine.queue([commands(entry, da[block], db[block], scale, warp) for warp in range(4)])
            machine.finish()
            held = [machine.read_registers(0, entry["regs"], warp=warp).T for warp in range(4)]
            if digest_of(np.concatenate(held)) != expected[block]:
                found.append((str(name), block))
    return found


def test_shares_on_the_golden_machine_equal_the_chip(captured):
    machine = golden_machine(replace(LARGE, warps=4), Memory(4096))
    assert different(machine, captured, [2], LARGE.shared_base) == []


@pytest.mark.long
def test_shares_on_a_large_core_equal_the_chip(captured):
    machine = RtlMachine(LARGE, Memory(4096))
    try:
        assert different(machine, captured, range(8), LARGE.shared_base) == []
    finally:
        machine.close()
