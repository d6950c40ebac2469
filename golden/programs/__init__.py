"""Programs on any machine: PTX kernels, matrix multiplies and batches of tiles."""
