"""Faults put into the hardware one by one, to see that the tests of each unit notice them."""
