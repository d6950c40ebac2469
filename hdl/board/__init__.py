"""A core on a board: on-chip memory behind its AXI port, and a serial line to the host."""
