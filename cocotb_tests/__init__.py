"""cocotb testbenches: one module for each unit of hdl, started by pytest through `cocotb_tests.runner`."""
