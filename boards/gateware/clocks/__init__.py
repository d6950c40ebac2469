"""The clock of a board, made from its oscillator's by the FPGA's own multiplier, one kind of FPGA a file."""
