"""Sums of groups: products of e2m1 with block scales, as ``.kind::mxf4`` and ``.kind::mxf4nvf4`` add them."""
