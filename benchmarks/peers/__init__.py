"""Comparisons with other libraries, one module per family."""
