"""The frame: the figures of rows, and what is computed from them."""
