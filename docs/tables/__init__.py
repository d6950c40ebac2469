"""Tables of the reference pages, written from the code that they describe."""
