"""What is run for minutes or hours: searches for faults, and measures of what the tests have seen."""
