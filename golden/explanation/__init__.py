"""Every step of one result."""
