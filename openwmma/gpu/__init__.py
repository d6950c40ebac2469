"""A GPU as a machine: launches, multiplies and comparisons with the golden model, through NVIDIA's driver."""
