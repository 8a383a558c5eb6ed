"""Exact neighbours through bytes: rows are bounded in int8, few are computed in full."""
