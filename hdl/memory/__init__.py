"""Loads and stores: from the memories to the registers and back."""
