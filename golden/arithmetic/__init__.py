"""Arithmetic of the matrix unit, to the bit, one step a module.

Floating point goes through the same four functions in every format: `decode`, `align`, `accumulate`
and `round_pack`. `fdpa` composes them into the fused dot-product-add, `fma64` is the f64 unit,
`integer` the integers and single bits, and `exact` the same sums without any of the hardware's limits.
"""
