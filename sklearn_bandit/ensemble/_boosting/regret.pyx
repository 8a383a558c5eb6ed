"""What a tree is expected to lose by having been grown on a sample.

Under a split whose sides have the values v, a row has the loss ``g v + h v^2 / 2``. The
paired difference between its losses under the best split of another feature, the
runner-up, and under the split that was made has a known mean over the node, and a
standard error that is estimated from some of its rows. The regret of a node is the
expectation of what the runner-up may be better by on all rows. Expectations, unlike
confidence bounds, can be added up over the nodes.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport erfc, exp, pi, sqrt
from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit.bandit._radii cimport (
    MIN_EFFECTIVE,
    effective_size,
    finite_population,
)

from .splits cimport fill_sides
from .tree_nodes cimport Node, TreeNodes

cdef enum:
    # Rows of a node from which the variance of a paired difference is estimated.
    TESTED_ROWS = 1024


def tree_regret(
    TreeNodes tree, const uint8_t[:, :] columns, const uint32_t[::1] rows,
    const float[:, ::1] gradients, double rows_per_sampled, int missing_bin,
    int n_threads
):
    """Estimate what the tree loses by having been grown on a sample.

    Parameters
    ----------
    tree : TreeNodes
        The nodes.
    columns : ndarray of uint8 of shape (n_features, n_samples)
        Bins of the rows.
    rows : ndarray of uint32
        Permutation of the rows in which every node is a stretch.
    gradients : ndarray of float32 of shape (n_samples, 2) or (n_samples, 1)
        What the tree was grown on; without hessians if they are constant.
    rows_per_sampled : float
        Number of rows that the sample was drawn from, for each of its rows.
    missing_bin : int
        The bin of missing values.
    n_threads : int
        Threads to use.

    Returns
    -------
    regret : float
        What better splits would gain, summed over the nodes.
    gain : float
        What the splits that were made gain.
    """
    cdef Py_ssize_t node
    cdef double gain = 0.0
    cdef double[::1] regrets = np.zeros(tree.n)

    for node in prange(
        tree.n, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        if tree.nodes[node].left >= 0 and tree.nodes[node].runner_up.gain > 0.0:
            regrets[node] = _node_regret(
                &tree.nodes[node], columns, rows, gradients, rows_per_sampled,
                missing_bin,
            )
    for node in range(tree.n):
        if tree.nodes[node].left >= 0:
            gain += tree.nodes[node].split.gain / 2.0
    return np.sum(regrets), gain


cdef double _node_regret(
    const Node* node, const uint8_t[:, :] columns, const uint32_t[::1] rows,
    const float[:, ::1] gradients, double rows_per_sampled, int missing_bin
) noexcept nogil:
    """What the runner-up of a node's split is expected to gain over it."""
    cdef uint8_t[256] made_left, other_left
    cdef const uint8_t* made_bins = &columns[node.split.feature, 0]
    cdef const uint8_t* other_bins = &columns[node.runner_up.feature, 0]
    cdef Py_ssize_t step = max(1, (node.stop - node.start) // TESTED_ROWS), i, row
    cdef bint constant = gradients.shape[1] == 1
    cdef double made, other, g, h, difference, n = 0.0, n_rows = node.sums.n
    cdef double sum_1 = 0.0, sum_2 = 0.0, sum_4 = 0.0, mean, error, ratio

    fill_sides(&node.split, missing_bin, made_left)
    fill_sides(&node.runner_up, missing_bin, other_left)
    i = node.start
    while i < node.stop:
        row = rows[i]
        g = gradients[row, 0]
        h = 1.0 if constant else gradients[row, 1]
        made = node.split.value_right
        if made_left[made_bins[row]]:
            made = node.split.value_left
        other = node.runner_up.value_right
        if other_left[other_bins[row]]:
            other = node.runner_up.value_left
        difference = (
            g * other + h * other * other / 2.0 - g * made - h * made * made / 2.0
        )
        sum_1 += difference
        sum_2 += difference * difference
        sum_4 += difference * difference * difference * difference
        n += 1.0
        i += step
    if sum_2 == 0.0:  # the same split in other words
        return 0.0
    if effective_size(sum_2, sum_4) * step < MIN_EFFECTIVE:
        return node.split.gain / 2.0  # nothing is known of the variance
    mean = (node.split.gain - node.runner_up.gain) / 2.0 / n_rows
    error = finite_population(n_rows, n_rows * rows_per_sampled) * sqrt(
        max(sum_2 / n - (sum_1 / n) * (sum_1 / n), 1e-300) / n_rows
    )
    ratio = mean / error
    return n_rows * (
        error * exp(-ratio * ratio / 2.0) / sqrt(2.0 * pi)
        - mean * erfc(ratio / sqrt(2.0)) / 2.0
    )
