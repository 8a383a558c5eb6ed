"""Exact neighbours through bytes: all rows are bounded in int8, few computed in full.

Everything that reads or writes codes belongs here; estimators do not.

- ``index``: rows with ids, in segments; what estimators use
- ``codes``: how rows are centred, scaled and encoded; ``estimates``: by what a sample
  says; ``head``: what a rotation puts first; ``calibration``: a head that may miss some
- ``_encode``: one row as bytes (``encode.h``), with what the bytes leave out
- ``_segment``: rows, codes and numbers of rows, as the kernels see them
- ``_prepare``: one query as bytes, and the bound with its proof
- ``_search``: queries shared out among threads
- ``_scan``: scan, select, compute in a segment; one query or many
- ``_products``: many queries whose bounds are loose, by products (``products.h``)
- ``_float_scan``: one query whose bounds are loose, in the rows (``float_scan.h``)
- ``_exact``: distances from the rows themselves, and the choice of the kernels
- ``_found``: the k best, or all within a radius
- ``_constants``: what kernels in C and in Cython share (``constants.h``)
- ``kernels.h``: a table of kernels for each instruction set, chosen at run time;
  ``exact.h``: distances that are the same to the last bit in all of them
"""
