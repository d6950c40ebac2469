"""Testbenches of `boards.serial_core`."""
