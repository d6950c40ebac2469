"""Results of mma.sync by the million: the simulated core against the golden model, family by family."""
