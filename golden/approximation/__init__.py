"""Approximate PTX instructions (`ex2.approx`, `div.full`, ...), equal to an NVIDIA H200 in every bit.

`instructions` has every form as data, `operations` a function for each, `call` is `golden.approximate`, and
`explain` gives every step of one result. All profiles share the tables of the `interpolator`:
``docs/explanation/approximate.md`` says on what evidence.
"""
