"""Comparisons with other libraries, one module or a few per family."""
