"""What the teaching pages are built from, and the Python that they run in the browser."""
