"""Which lines, branches and signal bits of the hardware the testbenches reach."""
