"""Approximate PTX instructions (`ex2.approx`, `div.full`, ...), equal to an NVIDIA H200 in every bit.

=================  ===========================================================
`instructions`     every form, as data; needs no numpy
`call`             `golden.approximate`: arrays of values or of bit patterns
`operations`       one function per form, on bit patterns alone; f16, bf16 and their pairs
`interpolator`     the unit: piecewise quadratic interpolation, and its tables
`unit`             the f32 forms with ``.ftz``, sin, cos and tanh
`upper_word`       the forms on the upper word of an f64
`scaled`           the f32 forms without ``.ftz``, and the divisions
`explain`          every step of one result, as `steps`
`exact`            the correctly rounded result, for comparison
=================  ===========================================================

All profiles share the tables: ``docs/explanation/approximate.md`` says on what evidence.
"""
