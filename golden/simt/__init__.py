"""Runs whole PTX kernels: grids of blocks of threads, on the host, with matrix instructions on a machine."""
