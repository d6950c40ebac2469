"""openwmma's cosimulation: programs on the golden model, on the Verilated core, or on both in lockstep."""
