"""Random programs on the Verilated core and on the golden model, shrunk and saved where they differ."""
