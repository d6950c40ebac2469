"""The f64 fused multiply-add, one stage a file."""
