"""Send all samples down a tree that was grown on some of them.

The samples are read once, in place, a block of rows at a time, and added to the totals
of their leaves on the way. What each node then knows of its samples (number, impurity,
prediction) is exact, whoever chose the splits.
"""

import numpy as np

from cython.parallel cimport prange
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, fabsf, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from sklearn_bandit._core.matrix cimport FLOAT32, Matrix, MatrixView, Tile, load_tile
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.tree._common cimport Block
from sklearn_bandit.tree._criteria.base cimport Criterion

MAX_NODES = 1 << 16

cdef enum:
    # Rows of a block: their values (up to a few hundred bytes a row) and places in the
    # tree stay in the second-level cache while they go down, level by level.
    ROUTED_ROWS = 256
    # Rows of one task, if that does not make too many tasks: each has totals of all
    # nodes.
    TASK_ROWS = 1 << 16
    MAX_TASKS = 256


cdef struct Step:
    # A node as routing needs it. A leaf leads to itself.
    float threshold             # the last number that goes left
    int32_t feature
    uint16_t children[2]        # left, right
    uint16_t missing            # where missing values go
    uint16_t unused             # makes it 16 bytes


cdef struct Route:
    # What is sent down which tree, and what comes of it.
    const Matrix* matrix        # the samples
    const Block* block          # their targets
    const Step* steps           # the tree
    Py_ssize_t depth
    Py_ssize_t n_nodes
    uint16_t* leaves            # out: of all samples
    double* totals              # out: of the nodes, for each task


def route(MatrixView X, Criterion criterion, nodes, Py_ssize_t depth, int n_threads):
    """Find the leaf of every sample, and sum up the samples of each leaf.

    Parameters
    ----------
    X : MatrixView
        The samples.
    criterion : Criterion
        Their targets.
    nodes : structured ndarray
        The tree, of less than `MAX_NODES` nodes.
    depth : int
        Its depth.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    leaves : ndarray of shape (n_samples,), uint16
        The leaf of each sample.
    totals : ndarray of shape (n_nodes, n_channels)
        Totals of each leaf; 0 for inner nodes.
    has_infinite : bool
        Whether a value is infinite as float32.
    """
    cdef Py_ssize_t n = X.matrix.n_rows, n_nodes = len(nodes), task
    cdef Py_ssize_t n_rows = max(<Py_ssize_t> TASK_ROWS, n // MAX_TASKS + 1)
    cdef Py_ssize_t n_tasks = (n + n_rows - 1) // n_rows
    cdef Step[::1] steps = _steps(nodes)
    cdef uint16_t[::1] leaves = np.empty(n, dtype=np.uint16)
    cdef double[:, :, ::1] totals = np.zeros((n_tasks, n_nodes, criterion.n_channels))
    cdef uint8_t[::1] infinite = np.zeros(n_tasks, dtype=np.uint8)
    cdef float[:, ::1] tiles = np.empty(
        (n_threads, ROUTED_ROWS * X.matrix.n_columns), dtype=np.float32
    )
    cdef Block block
    cdef Route whole

    memset(&block, 0, sizeof(block))
    criterion.describe(&block)
    whole.matrix = &X.matrix
    whole.block = &block
    whole.steps = &steps[0]
    whole.depth = depth
    whole.n_nodes = n_nodes
    whole.leaves = &leaves[0]
    whole.totals = &totals[0, 0, 0]
    for task in prange(
        n_tasks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        infinite[task] = _route_task(
            &whole, criterion, task, task * n_rows, min((task + 1) * n_rows, n),
            &tiles[thread_num(), 0],
        )
    return np.asarray(leaves), np.asarray(totals).sum(axis=0), bool(np.any(infinite))


def list_samples(const uint16_t[::1] leaves, wanted, sizes):
    """List the samples of some leaves.

    Parameters
    ----------
    leaves : ndarray of shape (n_samples,), uint16
        The leaf of each sample.
    wanted : ndarray of intp
        The leaves to list.
    sizes : ndarray of int64
        How many samples each of these has.

    Returns
    -------
    ids : ndarray of uint32
        Their samples, leaf by leaf, those of a leaf in ascending order.
    """
    cdef Py_ssize_t i, n_wanted = sum(sizes)
    cdef uint32_t[::1] ids = np.empty(n_wanted + 1, dtype=np.uint32)
    # Where the next sample of each leaf goes. Those of all others go behind the last.
    cdef int64_t[::1] next = np.full(MAX_NODES, n_wanted)
    cdef uint8_t[::1] is_wanted = np.zeros(MAX_NODES, dtype=np.uint8)

    np.asarray(next)[wanted] = np.cumsum(sizes) - sizes
    np.asarray(is_wanted)[wanted] = True
    for i in range(leaves.shape[0]):
        ids[next[leaves[i]]] = <uint32_t> i
        next[leaves[i]] += is_wanted[leaves[i]]
    return np.asarray(ids)[:n_wanted]


def summarise_nodes(Criterion criterion, nodes, values, double[:, ::1] totals):
    """Set what the nodes know of their samples.

    Parameters
    ----------
    criterion : Criterion
        That of the samples.
    nodes : structured ndarray
        The tree, parents before their children; changed in place.
    values : ndarray of shape (n_nodes, n_values)
        Predictions of the nodes; changed in place.
    totals : ndarray of shape (n_nodes, n_channels)
        Totals of the leaves; those of inner nodes are added.
    """
    cdef Py_ssize_t n_nodes = len(nodes), i, k
    cdef double[:, ::1] out = values
    cdef double[::1] impurities = np.empty(n_nodes)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef const Py_ssize_t[:] lefts = nodes["left_child"]
    cdef const Py_ssize_t[:] rights = nodes["right_child"]

    for i in range(n_nodes - 1, -1, -1):
        if lefts[i] >= 0:
            for k in range(criterion.n_channels):
                totals[i, k] = totals[lefts[i], k] + totals[rights[i], k]
        impurities[i] = criterion.impurity(&totals[i, 0])
        weights[i] = criterion.weight(&totals[i, 0])
        criterion.value(&totals[i, 0], -INFINITY, INFINITY, &out[i, 0])
    # Samples are not weighted: each adds 1 to the weight.
    nodes["n_node_samples"] = weights
    nodes["weighted_n_node_samples"] = weights
    nodes["impurity"] = impurities


def _steps(nodes):
    """The nodes as routing needs them."""
    cdef Py_ssize_t n_nodes = len(nodes), i
    cdef const Py_ssize_t[:] lefts = nodes["left_child"]
    cdef const Py_ssize_t[:] rights = nodes["right_child"]
    cdef const Py_ssize_t[:] features = nodes["feature"]
    cdef const double[:] thresholds = nodes["threshold"]
    cdef const uint8_t[:] missing_left = nodes["missing_go_to_left"]
    cdef Step example
    cdef Step[::1] steps = np.empty(
        n_nodes, dtype=np.asarray(<Step[:1]> &example).dtype
    )

    if n_nodes >= MAX_NODES:
        raise ValueError(f"Trees of {n_nodes} nodes are too large.")
    for i in range(n_nodes):
        if lefts[i] < 0:
            steps[i].threshold = INFINITY
            steps[i].feature = 0
            steps[i].children[0] = steps[i].children[1] = steps[i].missing = i
        else:
            # Values are float32: the last of these that is not above the threshold.
            steps[i].threshold = <float> thresholds[i]
            if steps[i].threshold > thresholds[i]:
                steps[i].threshold = nextafterf(steps[i].threshold, -INFINITY)
            steps[i].feature = <int32_t> features[i]
            steps[i].children[0] = <uint16_t> lefts[i]
            steps[i].children[1] = <uint16_t> rights[i]
            steps[i].missing = steps[i].children[0 if missing_left[i] else 1]
    return steps


cdef bint _route_task(
    const Route* whole, Criterion criterion, Py_ssize_t task, Py_ssize_t start,
    Py_ssize_t end, float* values,
) noexcept nogil:
    """Send some rows down, add up those of each leaf; whether one is infinite."""
    cdef const Matrix* X = whole.matrix
    cdef Py_ssize_t n, i, n_columns = X.n_columns
    cdef Py_ssize_t stride = X.row_stride // <Py_ssize_t> sizeof(float)
    cdef bint in_place = X.type == FLOAT32 and X.column_stride == sizeof(float)
    cdef double* totals = whole.totals + task * whole.n_nodes * criterion.n_channels
    cdef uint16_t* leaves
    cdef const float* row
    cdef int infinite = 0
    cdef Tile tile

    tile.column = 0
    tile.n_columns = n_columns
    tile.ids = NULL
    tile.n_fetched = n_columns
    while start < end:
        n = min(<Py_ssize_t> ROUTED_ROWS, end - start)
        leaves = whole.leaves + start
        memset(leaves, 0, n * sizeof(uint16_t))
        if in_place:
            row = <const float*> (X.data + start * X.row_stride)
            if stride == n_columns:
                _find_infinite(row, n * n_columns, &infinite)
            else:
                for i in range(n):
                    _find_infinite(row + i * stride, n_columns, &infinite)
            _descend(row, stride, 1, n, whole.steps, whole.depth, leaves)
        else:
            tile.start = start
            tile.n = n
            load_tile(X, &tile, values, ROUTED_ROWS)
            for i in range(n_columns):
                _find_infinite(values + i * ROUTED_ROWS, n, &infinite)
            _descend(values, 1, ROUTED_ROWS, n, whole.steps, whole.depth, leaves)
        criterion.add_rows(whole.block, start, n, leaves, totals)
        start += n
    return infinite != 0


cdef void _descend(
    const float* values, Py_ssize_t row_stride, Py_ssize_t column_stride, Py_ssize_t n,
    const Step* steps, Py_ssize_t depth, uint16_t* places,
) noexcept nogil:
    """Send rows down level by level, so that no row waits for another."""
    cdef const Step* step
    cdef Py_ssize_t i, _level
    cdef uint16_t next_
    cdef float value

    for _level in range(depth):
        for i in range(n):
            step = &steps[places[i]]
            value = values[i * row_stride + step.feature * column_stride]
            next_ = step.children[value > step.threshold]
            places[i] = step.missing if value != value else next_


cdef simd_void _find_infinite(
    const float* values, Py_ssize_t n, int* infinite
) noexcept nogil:
    """Note whether a value is infinite."""
    cdef Py_ssize_t i
    cdef int found = 0

    for i in range(n):
        found |= fabsf(values[i]) > FLT_MAX
    infinite[0] |= found
