"""Testbenches of what `hdl.verilog` writes."""
