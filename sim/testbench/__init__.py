"""Testbenches of single units: designs, their builds, cocotb runs, and operands at the speed of C++."""
