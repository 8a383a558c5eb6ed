"""The sampled passes of BUILD and SWAP: sums of the costs of all arms, and moments.

An arm is a candidate x (BUILD) or a swap of x for the medoid l (SWAP); its cost on the
reference j is j's distance to the nearest medoid afterwards,

- BUILD: ``a = min(d(x, j), d1_j)``
- SWAP: ``a`` for a reference of another cluster than l, ``b = min(d(x, j), d2_j)`` for
  one of l's,

with d1 and d2 the distances to the nearest and second nearest medoid now. All costs are
taken relative to those of the leader on the same reference, ``g_j``, and times the
reference's weight. One distance serves the k swaps of a candidate [1]_: with the sums

    S = sum (a - g),                    V_l = sum_{j in l} (b - g) - (a - g),

those of the swap (x, l) are S + V_l, and the second and fourth powers go the same way.
Where the costs have a control variate (see `_distance_variate`), its sums and those of
its products with the costs are kept for the regression on it. What the sums say of the
arms is in `_arm_bounds`.

References
----------
.. [1] E. Schubert and P. J. Rousseeuw, "Faster k-medoids clustering: improving the PAM,
   CLARA, and CLARANS algorithms", SISAP (2019).
"""

import numpy as np

from cython.parallel cimport prange

from sklearn_bandit._core.simd cimport (
    LANES,
    add_floats,
    floats,
    inline_void,
    least,
    load_floats,
    no_floats,
    prefetch_l2,
    simd_void,
)

from ._distances.metrics cimport TILE

cdef enum:
    # Arms that are one task of the sampled sums.
    SLICE = 128
    # References that are summed in registers, before the float32 sums there are added
    # to the double ones in memory. As many more are asked for ahead: they are from all
    # over the tile, where the processor does not expect them.
    RUN = 32


cdef struct Reference:
    Py_ssize_t place        # its row in the tiles
    int label               # its cluster; 0 in BUILD
    # The cost of a candidate at distance d, less that of the leader and times the
    # weight, is weight * d + shift, or what the other medoids leave if that is less.
    float weight
    float shift
    float most              # what they leave now,
    float most_without      # and without the medoid of this cluster
    # The control variate is square * d^2 + slope * d + origin.
    float square
    float slope
    float origin


def pack_references(
    references,
    const float[::1] leader,
    const float[::1] slopes,
    const float[::1] origins,
    int power,
    bint build,
):
    """Put what the passes have to know of some references into one array.

    Parameters
    ----------
    references : References
        Weight, d1, d2 and cluster of each.
    leader : ndarray of shape (n_references,)
        Cost of the leader on each.
    slopes, origins : ndarray of shape (n_references,)
        The control variate; see `ControlVariate`.
    power : int
        Power of the distances that it is linear in, 1 or 2.
    build : bool
        For BUILD, to which clusters do not matter.

    Returns
    -------
    ndarray of bytes
        The references, those of a cluster together: its sums stay in registers.
    """
    cdef const float[::1] weights = references.weights
    cdef const float[::1] nearest = references.nearest
    cdef const float[::1] second = references.second
    cdef const int[::1] labels = references.labels
    cdef const Py_ssize_t[::1] order = np.argsort(references.labels, kind="stable")
    cdef Py_ssize_t m = weights.shape[0], p, j
    cdef char[::1] memory = np.empty(m * sizeof(Reference), dtype=np.int8)
    cdef Reference* packed

    if m == 0:
        return memory.base
    packed = <Reference*> &memory[0]
    for p in range(m):
        j = order[p]
        packed[p].place = j
        packed[p].label = 0 if build else labels[j]
        packed[p].weight = weights[j]
        packed[p].shift = -weights[j] * leader[j]
        packed[p].most = weights[j] * (nearest[j] - leader[j])
        packed[p].most_without = weights[j] * (second[j] - leader[j])
        packed[p].square = slopes[j] if power == 2 else 0.0
        packed[p].slope = slopes[j] if power == 1 else 0.0
        packed[p].origin = -slopes[j] * origins[j]
    return memory.base


def accumulate(
    const float[:, :, ::1] tiles,
    const char[::1] references,
    int n_clusters,
    Py_ssize_t n_arms,
    double[:, :, ::1] sums,
    int n_threads,
):
    """Add a block of references to the sums of the arms.

    Parameters
    ----------
    tiles : ndarray of shape (n_tiles, n_block, ARM_TILE)
        Distances to the references of the block.
    references : ndarray of bytes
        Those that are added: the leading ones of the block, by `pack_references`.
    n_clusters : int
        Number of medoids for SWAP, 0 for BUILD.
    n_arms : int
        How many arms the tiles hold.
    sums : ndarray of shape (n_tiles, n_planes, ARM_TILE)
        Added to. The planes are S, and V_l for each l. Each may be a group: of three
        with the second and fourth power, of six with the control variate's first and
        second power and its products with the costs as well.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t m = references.shape[0] // sizeof(Reference)
    cdef Py_ssize_t n_slices = (n_arms + SLICE - 1) // SLICE, p, t, i
    cdef int group = sums.shape[1] // (1 + n_clusters)
    cdef const Reference* packed

    if m > tiles.shape[1]:
        raise ValueError("There are more references than distances.")
    if n_arms == 0 or m == 0:
        return
    packed = <const Reference*> &references[0]
    # A thread without a slice would only be waited for.
    n_threads = min(n_threads, n_slices)
    for p in prange(n_slices, nogil=True, schedule="dynamic", num_threads=n_threads):
        t = p * SLICE // TILE
        i = p * SLICE % TILE
        _accumulate_slice(
            &tiles[t, 0, i], min(SLICE, n_arms - p * SLICE), packed, m, n_clusters,
            group, &sums[t, 0, i],
        )


cdef void _accumulate_slice(
    const float* tile,
    Py_ssize_t width,
    const Reference* references,
    Py_ssize_t m,
    int n_clusters,
    int group,
    double* sums,
) noexcept nogil:
    # What is beyond the last arm comes along.
    cdef Py_ssize_t n_strips = (width + LANES - 1) // LANES, start = 0, stop, n, p, i
    cdef const Reference* run
    cdef double* own

    while start < m:
        stop = _run_end(references, start, m)
        run = references + start
        n = stop - start
        for p in range(stop, min(stop + RUN, m)):
            for i in range(0, width, 16):
                prefetch_l2(tile + references[p].place * TILE + i)
        if n_clusters == 0:
            _add_build(group, tile, n_strips, run, n, sums)
        else:
            own = sums + (1 + run.label) * group * TILE
            _add_swap(group, tile, n_strips, run, n, sums, own)
        start = stop


cdef inline Py_ssize_t _run_end(
    const Reference* references, Py_ssize_t start, Py_ssize_t m
) noexcept nogil:
    """End of the references that are summed in registers from `start` on."""
    cdef Py_ssize_t stop = start
    while (
        stop < min(start + RUN, m) and references[stop].label == references[start].label
    ):
        stop += 1
    return stop


cdef simd_void _add_build(
    int group,
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    double* s,
) noexcept nogil:
    """Add a run of references for some strips of a tile, LANES arms each."""
    if group == 1:
        _add_run(1, False, tile, n_strips, run, n, s, s)
    elif group == MOMENTS:
        _add_run(MOMENTS, False, tile, n_strips, run, n, s, s)
    else:
        _add_run(WITH_VARIATE, False, tile, n_strips, run, n, s, s)


cdef simd_void _add_swap(
    int group,
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    double* s,
    double* v,
) noexcept nogil:
    """The same for SWAP; `v` has the planes of the cluster that the run is of."""
    if group == 1:
        _add_run(1, True, tile, n_strips, run, n, s, v)
    elif group == MOMENTS:
        _add_run(MOMENTS, True, tile, n_strips, run, n, s, v)
    else:
        _add_run(WITH_VARIATE, True, tile, n_strips, run, n, s, v)


cdef inline_void _add_run(
    const int group,
    const bint swap,
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    double* s,
    double* own,
) noexcept nogil:
    """Sum a run in registers; `own` has the control variate's planes, and V_l's.

    With `group` and `swap` known to the compiler, sums that are not added to any plane
    are not computed. The powers are not those of `bandit._moments`, which reads the
    costs of one arm: here costs are never stored, and the powers of LANES arms are
    summed while their distances are in registers.
    """
    cdef floats d, x, a, b, f, a_1, a_2, a_4, b_1, b_2, b_4, f_1, f_2, product
    cdef Py_ssize_t _strip, p
    for _strip in range(n_strips):
        a_1 = a_2 = a_4 = b_1 = b_2 = b_4 = f_1 = f_2 = product = no_floats()
        for p in range(n):
            d = load_floats(tile + run[p].place * TILE)
            x = run[p].weight * d + run[p].shift
            a = least(x, run[p].most)
            b = least(x, run[p].most_without) if swap else a
            a_1 = a_1 + a
            b_1 = b_1 + b
            if group == WITH_VARIATE:
                f = d * (run[p].square * d + run[p].slope) + run[p].origin
                f_1 = f_1 + f
                f_2 = f_2 + f * f
                product = product + b * f
            a = a * a
            b = b * b
            a_2 = a_2 + a
            b_2 = b_2 + b
            a_4 = a_4 + a * a
            b_4 = b_4 + b * b
        add_floats(s, a_1)
        if swap:
            add_floats(own, b_1 - a_1)
        if group >= MOMENTS:
            add_floats(s + TILE, a_2)
            add_floats(s + 2 * TILE, a_4)
            if swap:
                add_floats(own + TILE, b_2 - a_2)
                add_floats(own + 2 * TILE, b_4 - a_4)
        if group == WITH_VARIATE:
            add_floats(own + 3 * TILE, f_1)
            add_floats(own + 4 * TILE, f_2)
            add_floats(own + 5 * TILE, product)
        tile += LANES
        s += LANES
        own += LANES
