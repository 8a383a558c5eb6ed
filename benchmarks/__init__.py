"""Side-by-side measurements: ``python -m benchmarks`` lists them.

- ``harness``: comparisons and tables, how they are timed, printed and stored
- ``data``: real data sets, from a folder or from OpenML
- ``peers/``: ours beside other libraries, by family
- ``thesis/``: the thesis's tables and figures, measured again, one module per chapter
"""
