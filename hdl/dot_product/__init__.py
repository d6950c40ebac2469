"""The dot-product unit: every multiplicand format but f64, on sixteen shared multipliers."""
