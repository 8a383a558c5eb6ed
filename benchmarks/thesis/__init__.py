"""The thesis's tables and figures, measured again: ``python -m benchmarks 'thesis.*'``.

One module or two per chapter, with its appendix: ``kmedoids`` and ``kmedoids_claims``
(2), ``forest`` and ``forest_budget`` (3), ``mips`` and ``pursuit`` (4). Every title
begins with the number of the table or figure; what the thesis reports stands beside
what is measured here, quoted in ``_quoted``. Where only a figure was printed, its claim
is quoted instead.
Sizes and numbers of runs are below the thesis's; ``--rounds`` raises the latter.
"""
