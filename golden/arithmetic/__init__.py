"""Arithmetic of the matrix unit, to the bit: one scalar function on integers for each rule.

===============  ===========================================================================================
`decode`         a bit pattern into sign, significand, exponent and kind
`fdpa`           the fused dot-product-add, and its chain
`round_pack`     the only rounding; conversions and satf
`fma`            sum, product and fused multiply-add of IEEE 754
`division`       quotient and square root of IEEE 754
`whole`          floating-point numbers to integers and back
`integer`        integers and single bits
`exact`          sums without any of the hardware's limits
`rules`          the constants of an instruction under a profile; what `mma.sync` makes of fp8
`compiled`       the mark of the functions that are compiled
`engine`         numba, the cache and the threads
`lanes`          vectors in compiled code, in place of numbers
`arrays`         the scalar functions on arrays
`chains`         chains of FDPAs on batches of tiles
`integer_tiles`  tiles of integers and single bits
`tiles`          every other family, and pieces of batches
`element`        elements as PTX names them
===============  ===========================================================================================

All but the last seven run without numpy and numba: the explanations, the pages and a debugger step through
the functions that the arrays run compiled.
"""
