"""What every family may import and in which nothing is learned.

SIMD, threads, random numbers, memory, matrices, progress and docstrings.
"""
