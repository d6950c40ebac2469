"""Pages of the documentation, and the diagrams in them."""
