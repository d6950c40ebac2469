"""What an assembler makes of several instructions: fused multiply-adds, and constants as divisors.

PTX lets the assembler join a multiplication and an addition without a rounding modifier into one fused
operation. This package repeats the choice of NVIDIA's assembler, on instructions: it replaces some by others
of PTX, before anything is executed. It needs no numpy.

docs/explanation/contraction.md says what is joined, and what is known about it.
"""
