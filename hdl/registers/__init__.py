"""The fragment registers and what stays within them."""
