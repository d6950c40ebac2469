"""Two stores, and a load that overwrites the last register of the second one: ``python hazard.py rtl``.

C and D are 16 x 16 of f32, B is 16 x 16 of f16. Registers begin as zeros, so C and D must be zeros.
"""

import sys
from pathlib import Path

import numpy as np

import openwmma
from golden.resolve import resolve_instruction
from golden.tables.commands import Load, Store

B, C, D = 0x1000, 0x2000, 0x3000

multiply = resolve_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
on = openwmma.Backend(sys.argv[1])
waves = Path("hazard.fst") if on is openwmma.Backend.RTL else None

machine = openwmma.open_machine(on, openwmma.PRESETS["tiny"], 0x4000, waves=waves)
machine.memory.write(B, np.ones((16, 16), np.float16).reshape(-1).view(np.uint8))
machine.queue(
    [
        Store(multiply.store(), register=17, address=C),
        Store(multiply.store(), register=2, address=D),
        Load(multiply.load("b"), register=9, address=B),
    ]
)
machine.finish()
c, d = (machine.memory.read(address, 1024).view("<f4").reshape(16, 16) for address in (C, D))
machine.close()
print(f"{np.count_nonzero(c)} elements of C and {np.count_nonzero(d)} of D are wrong {np.argwhere(d)[:1]}")
