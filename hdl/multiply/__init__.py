"""Walking tiles through the arithmetic units."""
