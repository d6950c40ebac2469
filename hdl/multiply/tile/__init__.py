"""The tile multiplier: wmma.mma on an array of dot-product units, three tiles at a time."""
