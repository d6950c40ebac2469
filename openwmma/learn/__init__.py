"""The teaching pages: what they compute in Python, the data they are built from, and their server."""
