"""What every family may import, and in which nothing is learned.

- ``simd``: kernels for wide vectors, with a table of what each platform gets
- ``threads``, ``thread_start``, ``tasks``, ``openmp``: how many threads, what they do
- ``random``, ``memory``, ``interrupts``: random numbers, allocation and Ctrl-C inside
  kernels
- ``matrix``, ``transpose``: dense matrices of any type read in place; bytes transposed
- ``bin_lookup``: values put into bins by a table, for trees and boosting
- ``radix_sort``: keys sorted digit by digit
- ``contributions``: what every sample contributes to a score
- ``seeds``: generators of many seeds, one after the other
- ``progress``: ``verbose`` and scikit-learn's callbacks
- ``validation``: checks of targets and weights
- ``conversion``: fitted estimators as those of scikit-learn
- ``documentation``: where an estimator is documented
- ``unchanged``: a fit that fails leaves the estimator as it was
- ``typing``: annotations that estimators share
"""
