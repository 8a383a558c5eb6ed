"""The searches of an index, over all queries of a call.

A `Searcher` is a snapshot of an index: plain pointers for kernels that run without the
interpreter, one query a thread. What sampling cannot decide cheaply is left to the
caller, who computes it with BLAS and has `Searcher.pick` choose from the result.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY

from ._head cimport MAX_TILES, Head, HeadQuery
from ._query cimport (
    N_STATS,
    Task,
    describe_query,
    pick_for_query,
    search_query,
    search_query_anew,
    search_query_buckets,
    search_query_support,
    search_query_units,
)
from ._survivors cimport Survivors, free_survivors, new_survivors
from ._units cimport BERNSTEIN, BLOCKS, HOEFFDING, ORDERED, PAIRED, WEIGHTED, Units

_SAMPLINGS = {"blocks": BLOCKS, "weighted": WEIGHTED, "ordered": ORDERED}
_RADII = {"paired": PAIRED, "bernstein": BERNSTEIN, "hoeffding": HOEFFDING}


cdef class Searcher:
    """Searches over a snapshot of an index.

    Parameters
    ----------
    first : ndarray of shape (n_first, n_features)
        The fitted atoms.
    second : ndarray of shape (n_second, n_features) or None
        Atoms added later.
    slots : ndarray of intp
        The atoms that have not been removed: rows of `first`, then of `second`.
    rounding : float
        Relative error of a BLAS product of this type.
    norms : ndarray of shape (n_slots,) or None
        Norms of the atoms.
    """

    cdef Task task
    cdef Head head
    cdef bint is_double
    cdef object owners      # keeps what the pointers point into
    cdef Survivors* spare   # room for one query, kept from call to call
    cdef readonly object slots

    def __cinit__(self, first, second, slots, double rounding, norms):
        cdef const Py_ssize_t[::1] slot_view = slots
        cdef const double[::1] norm_view

        self.spare = NULL
        self.owners = [first, second, slots, norms]
        self.slots = slots
        self.is_double = first.dtype == np.float64
        self.task.rows.n_features = first.shape[1]
        self.task.rows.n_first = first.shape[0]
        self.task.rows.first = _address(first, self.is_double)
        self.task.rows.second = NULL
        self.task.n_capacity = first.shape[0]
        if second is not None and second.shape[0] > 0:
            self.task.rows.second = _address(second, self.is_double)
            self.task.n_capacity += second.shape[0]
        self.task.slots = &slot_view[0]
        self.task.n_slots = slot_view.shape[0]
        self.task.rounding = rounding
        self.task.norms = NULL
        if norms is not None:
            norm_view = norms
            self.task.norms = &norm_view[0]
        self.head.n_tiles = 0
        self.head.n_components = 0
        self.head.n_features = first.shape[1]
        self.head.scale = 1.0
        self.head.rounding = rounding
        self.head.norms = self.task.norms

    def __dealloc__(self):
        free_survivors(self.spare)

    def set_components(self, coefs, residual_norms):
        """Add what the components say of the atoms, one row or entry a slot."""
        cdef const double[:, ::1] coef_view = coefs
        cdef const double[::1] residual_view = residual_norms

        self.owners += [coefs, residual_norms]
        self.head.n_components = coef_view.shape[1]
        self.head.coefs = &coef_view[0, 0]
        self.head.residual_norms = &residual_view[0]

    def set_tiles(self, tiles, inflation, double scale):
        """Add the sampled coordinates: for each tile its entries and inflation."""
        cdef const float[:, ::1] tile
        cdef const float[::1] inflate
        cdef Py_ssize_t t

        if len(tiles) > MAX_TILES:
            raise ValueError(f"At most {MAX_TILES} tiles are possible.")
        self.owners += [*tiles, *inflation]
        self.head.scale = scale
        self.head.offsets[0] = 0
        for t in range(len(tiles)):
            tile = tiles[t]
            inflate = inflation[t]
            self.head.tiles[t] = &tile[0, 0]
            self.head.inflation[t] = &inflate[0]
            self.head.offsets[t + 1] = self.head.offsets[t] + tile.shape[1]
        self.head.n_tiles = len(tiles)
        self.head.n_coordinates = self.head.offsets[len(tiles)]

    def describe(self, queries):
        """Look at all entries of the queries once.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.

        Returns
        -------
        ndarray of shape (n_queries, 4)
            Whether the norm is NaN or infinite, number of entries that are not zero,
            largest absolute entry, norm.
        """
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        stats = np.empty((queries.shape[0], N_STATS))
        cdef double[:, ::1] out = stats
        cdef Py_ssize_t i

        if self.is_double:
            doubles = queries
            for i in range(doubles.shape[0]):
                describe_query(&doubles[i, 0], doubles.shape[1], &out[i, 0])
        else:
            singles = queries
            for i in range(singles.shape[0]):
                describe_query(&singles[i, 0], singles.shape[1], &out[i, 0])
        return stats

    def search(
        self,
        queries,
        const double[:, ::1] stats,
        const double[:, ::1] coefs,
        const float[:, ::1] residuals,
        Py_ssize_t k,
        double share,
        double epsilon,
        double give_up_share,
        warm,
        const Py_ssize_t[::1] tail,
        Py_ssize_t tail_length,
        int n_threads,
        indices,
        products,
        counts,
    ):
        """Search in the head, query by query.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats : ndarray of shape (n_queries, 4)
            Their description.
        coefs : ndarray of shape (n_queries, n_components)
            Their coefficients on the components.
        residuals : ndarray of shape (n_queries, n_coordinates) or None
            What the components leave of them at the coordinates of the head. None: drop
            what the components' bounds allow and compute the others exactly.
        k : int
            Neighbours wanted.
        share : float
            Error probability for one atom in one round.
        epsilon : float
            How much worse an answer may be.
        give_up_share : float
            Give up when sampling is predicted to cost more than this share of BLAS.
        warm : tuple or None
            Number of tiles, sums of products and of their squares over these.
        tail : ndarray of intp or None
            First coordinates of blocks, to go on with where the head does not decide.
        tail_length : int
            Coordinates of a block.
        n_threads : int
            Number of threads.
        indices, products, counts : ndarray
            Written: slots of the neighbours, their inner products, and multiplications.

        Returns
        -------
        ndarray of bool
            Which queries were given up; nothing is written for these but their counts.
        """
        cdef Py_ssize_t i, n_queries = queries.shape[0]
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        cdef const float[:, ::1] warm_totals, warm_squares
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        open_queries = np.zeros(n_queries, dtype=np.uint8)
        cdef unsigned char[::1] given_up = open_queries
        cdef Py_ssize_t n_coordinates = 0
        cdef HeadQuery base
        cdef Survivors* alive
        cdef Units units
        cdef const Units* blocks = NULL

        if tail is not None:
            blocks = &units
            units.sampling = BLOCKS
            units.radius = PAIRED
            units.n_units = tail.shape[0] // 2
            units.n_first = self.head.offsets[1]
            units.length = tail_length
            units.starts = &tail[0]
            units.weights = NULL
            units.largest = NULL
            units.norms = NULL
            units.n_total = tail.shape[0]
            units.share = share
            units.epsilon = epsilon / tail.shape[0]
            # Few atoms are left: half of the blocks decide, or all are computed.
            units.give_up_share = INFINITY
            units.k = k
        self.task.k = k
        self._start(&base, k, share, epsilon)
        base.give_up_share = give_up_share
        if warm is not None:
            base.n_warm, warm_totals, warm_squares = warm
            base.warm_total = &warm_totals[0, 0]
            base.warm_square = &warm_squares[0, 0]
        if residuals is not None:
            base.residual = &residuals[0, 0]
            n_coordinates = residuals.shape[1]
        if self.head.n_components > 0:
            base.coefs = &coefs[0, 0]
        if self.is_double:
            doubles = queries
        else:
            singles = queries
        if n_queries == 1:
            # Taken while the interpreter is held: another thread finds it gone.
            alive, self.spare = self.spare, NULL
            if alive == NULL:
                alive = new_survivors(self.task.n_slots)
            with nogil:
                if self.is_double:
                    given_up[0] = search_query(
                        &self.task, &self.head, &base, 0, n_coordinates, &doubles[0, 0],
                        &stats[0, 0], blocks, alive, &slots_out[0, 0],
                        &products_out[0, 0],
                        &counts_out[0],
                    )
                else:
                    given_up[0] = search_query(
                        &self.task, &self.head, &base, 0, n_coordinates, &singles[0, 0],
                        &stats[0, 0], blocks, alive, &slots_out[0, 0],
                        &products_out[0, 0],
                        &counts_out[0],
                    )
            alive, self.spare = self.spare, alive
            free_survivors(alive)
        elif self.is_double:
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                given_up[i] = search_query_anew(
                    &self.task, &self.head, &base, i, n_coordinates, &doubles[i, 0],
                    &stats[i, 0], blocks, &slots_out[i, 0], &products_out[i, 0],
                    &counts_out[i],
                )
        else:
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                given_up[i] = search_query_anew(
                    &self.task, &self.head, &base, i, n_coordinates, &singles[i, 0],
                    &stats[i, 0], blocks, &slots_out[i, 0], &products_out[i, 0],
                    &counts_out[i],
                )
        return open_queries.view(bool)

    cdef void _start(
        self, HeadQuery* base, Py_ssize_t k, double share, double epsilon
    ) noexcept:
        """What all queries have in common; they differ by what they point at."""
        base.k = k
        base.n_atoms = self.task.n_slots
        base.share = share
        base.epsilon = epsilon * self.head.scale / self.head.n_features
        base.give_up_share = INFINITY
        base.n_warm = 0
        base.residual = NULL
        base.coefs = NULL

    def search_buckets(
        self,
        queries,
        const double[:, ::1] stats,
        const double[:, ::1] coefs,
        const float[:, ::1] residuals,
        const Py_ssize_t[::1] order,
        Py_ssize_t bucket_size,
        Py_ssize_t k,
        double share,
        double epsilon,
        int n_threads,
        indices,
        products,
        counts,
    ):
        """Search bucket by bucket, by decreasing norm.

        Parameters
        ----------
        queries, stats, coefs, residuals, k, share, epsilon, n_threads
            As for `search`.
        order : ndarray of intp
            Slots by decreasing norm.
        bucket_size : int
            Atoms of a bucket.
        indices, products, counts : ndarray
            Written, as by `search`.
        """
        cdef Py_ssize_t i, n_queries = queries.shape[0]
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef Py_ssize_t n_coordinates = 0
        cdef HeadQuery base
        cdef int n_failed = 0

        self.task.k = k
        self._start(&base, k, share, epsilon)
        # Survivors of a bucket that sampling on would cost more than are computed.
        base.give_up_share = 1.0
        if residuals is not None:
            base.residual = &residuals[0, 0]
            n_coordinates = residuals.shape[1]
        if self.head.n_components > 0:
            base.coefs = &coefs[0, 0]
        if self.is_double:
            doubles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_buckets(
                    &self.task, &self.head, &base, i, n_coordinates, &doubles[i, 0],
                    &stats[i, 0], &order[0], bucket_size, &slots_out[i, 0],
                    &products_out[i, 0], &counts_out[i],
                )
        else:
            singles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_buckets(
                    &self.task, &self.head, &base, i, n_coordinates, &singles[i, 0],
                    &stats[i, 0], &order[0], bucket_size, &slots_out[i, 0],
                    &products_out[i, 0], &counts_out[i],
                )
        if n_failed:
            raise MemoryError("No memory to search in buckets.")

    def search_support(
        self,
        queries,
        const double[:, ::1] stats,
        Py_ssize_t k,
        int n_threads,
        indices,
        products,
        counts,
    ):
        """Search exactly for sparse queries, from their non-zero entries alone.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats : ndarray of shape (n_queries, 4)
            Their description.
        k : int
            Neighbours wanted.
        n_threads : int
            Number of threads.
        indices, products, counts : ndarray
            Written, as by `search`.
        """
        cdef Py_ssize_t i, n_queries = queries.shape[0]
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef int n_failed = 0

        self.task.k = k
        if self.is_double:
            doubles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_support(
                    &self.task, &doubles[i, 0], <Py_ssize_t> stats[i, 1],
                    &slots_out[i, 0], &products_out[i, 0], &counts_out[i],
                )
        else:
            singles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_support(
                    &self.task, &singles[i, 0], <Py_ssize_t> stats[i, 1],
                    &slots_out[i, 0], &products_out[i, 0], &counts_out[i],
                )
        if n_failed:
            raise MemoryError("No memory for the support of a query.")

    def pick(
        self,
        queries,
        const double[:, ::1] stats,
        scores,
        Py_ssize_t k,
        int n_threads,
        indices,
        products,
        counts,
    ):
        """Choose the best atoms by scores from BLAS; all near ties are computed again.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats : ndarray of shape (n_queries, 4)
            Their description.
        scores : ndarray of shape (n_queries, n_capacity)
            Their inner products with the atoms of all slots.
        k : int
            Neighbours wanted.
        n_threads : int
            Number of threads.
        indices, products, counts : ndarray
            Written, as by `search`; multiplications are added to `counts`.
        """
        cdef Py_ssize_t i, n_queries = queries.shape[0]
        cdef const float[:, ::1] singles, single_scores
        cdef const double[:, ::1] doubles, double_scores
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef int n_failed = 0

        self.task.k = k
        if n_queries == 1:
            n_threads = 1
        if self.is_double:
            doubles = queries
            double_scores = scores
            for i in prange(n_queries, nogil=True, num_threads=n_threads):
                n_failed += pick_for_query(
                    &self.task, &doubles[i, 0], stats[i, 3], &double_scores[i, 0],
                    &slots_out[i, 0], &products_out[i, 0], &counts_out[i],
                )
        else:
            singles = queries
            single_scores = scores
            for i in prange(n_queries, nogil=True, num_threads=n_threads):
                n_failed += pick_for_query(
                    &self.task, &singles[i, 0], stats[i, 3], &single_scores[i, 0],
                    &slots_out[i, 0], &products_out[i, 0], &counts_out[i],
                )
        if n_failed:
            raise MemoryError("No memory to choose among the scores.")

    def search_units(
        self,
        queries,
        Py_ssize_t position,
        const Py_ssize_t[::1] starts,
        weights,
        *,
        str sampling,
        str radius,
        Py_ssize_t k,
        Py_ssize_t n_first,
        Py_ssize_t n_units,
        Py_ssize_t length,
        double n_total,
        double share,
        double epsilon,
        double give_up_share,
        double energy,
        double reach,
        largest,
        norms,
        indices,
        products,
        counts,
    ):
        """Search for one query by sampling units from the atoms.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        position : int
            Which of them.
        starts : ndarray of intp
            First coordinate of each unit, in the order of sampling.
        weights : ndarray or None
            Weights of single coordinates for ``sampling="weighted"``.
        sampling : {"blocks", "weighted", "ordered"}
            What the units are.
        radius : {"paired", "bernstein", "hoeffding"}
            Which confidence radius.
        k, n_first, n_units, length, n_total, share, epsilon, give_up_share, energy, \
            reach, largest, norms
            See ``Units``.
        indices, products, counts : ndarray
            Written, as by `search`.

        Returns
        -------
        bool
            Whether the query was given up.
        """
        cdef Units units
        cdef const double[::1] weight_view, largest_view, norm_view
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef bint given_up

        units.sampling = _SAMPLINGS[sampling]
        units.radius = _RADII[radius]
        units.k = k
        units.n_first = n_first
        units.n_units = n_units
        units.length = length
        units.n_total = n_total
        units.share = share
        units.epsilon = epsilon
        units.give_up_share = give_up_share
        units.energy = energy
        units.reach = reach
        units.starts = &starts[0]
        units.weights = NULL
        units.largest = NULL
        if weights is not None:
            weight_view = weights
            units.weights = &weight_view[0]
        units.norms = NULL
        if norms is not None:
            norm_view = norms
            units.norms = &norm_view[0]
        if largest is not None:
            largest_view = largest
            units.largest = &largest_view[0]
        self.task.k = k
        if self.is_double:
            doubles = queries
            with nogil:
                given_up = search_query_units(
                    &self.task, &units, &doubles[position, 0], &slots_out[position, 0],
                    &products_out[position, 0], &counts_out[position],
                )
        else:
            singles = queries
            with nogil:
                given_up = search_query_units(
                    &self.task, &units, &singles[position, 0], &slots_out[position, 0],
                    &products_out[position, 0], &counts_out[position],
                )
        return given_up


cdef const void* _address(array, bint is_double) except? NULL:
    """Where a C-ordered array of the right type begins."""
    cdef const float[:, ::1] singles
    cdef const double[:, ::1] doubles

    if is_double:
        doubles = array
        return &doubles[0, 0]
    singles = array
    return &singles[0, 0]
