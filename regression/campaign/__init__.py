"""Campaigns: independent tasks of verification on a Dask cluster, each recorded once."""
