"""The warpgroup multiplier: `wgmma` with operands in the on-chip memory."""
