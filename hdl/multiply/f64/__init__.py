"""Walking f64 tiles through the fused multiply-add units."""
