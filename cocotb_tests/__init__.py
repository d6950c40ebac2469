"""cocotb testbenches: one module for each unit of hdl, started by pytest through `sim.testbench.runner`."""
