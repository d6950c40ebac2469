"""From Amaranth to Verilog."""
