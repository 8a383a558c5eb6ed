"""The searches of an index, over all queries of a call.

A `Searcher` is a snapshot of an index: plain pointers for kernels that run without the
interpreter, one query a thread. What sampling cannot decide cheaply is left to the
caller, who computes it with BLAS and has `Searcher.pick` choose from the result.

Several threads may search with one `Searcher` at the same time, with the interpreter's
lock or without it: nothing in it changes once it is set up, except for the spare
memory, which is handed out and taken back under a lock of its own.
"""

import numpy as np

cimport cython
from cython.parallel cimport prange
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, fabs

from ._batches cimport describe_all, pick_all, search_all, search_all_buckets
from ._coordinate_sample cimport MAX_TILES, Head, HeadQuery
from ._direct_sampling cimport (
    BERNSTEIN,
    BLOCKS,
    HOEFFDING,
    ORDERED,
    PAIRED,
    WEIGHTED,
    Units,
)
from ._query cimport (
    N_STATS,
    Task,
    describe_query,
    search_query,
    search_query_support,
    search_query_units,
)
from ._survivors cimport Survivors, free_survivors, new_survivors

# Fewer scores than this are looked through, and fewer products than this described, by
# one thread: those of BLAS are still waiting for more work on the other processors,
# where a second one takes longer to start (measured: 20 ms) than all of it takes.
cdef Py_ssize_t MIN_PARALLEL = 1 << 22
cdef Py_ssize_t MIN_PARALLEL_PRODUCTS = 1 << 26

cdef enum:
    # Memory for single queries that is kept, beyond which it is given back: as many
    # threads may search at once without getting memory anew each time.
    MAX_SPARE = 8

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
    cdef Survivors* spare[MAX_SPARE]    # room for a query each, for the next calls
    cdef int n_spare
    cdef cython.pymutex lock            # on these two
    cdef readonly object slots

    def __cinit__(self, first, second, slots, double rounding, norms):
        cdef const Py_ssize_t[::1] slot_view = slots
        cdef const double[::1] norm_view

        self.n_spare = 0
        self.owners = [first, second, slots, norms]
        self.slots = slots
        self.is_double = first.dtype == np.float64
        self.task.rows.n_features = first.shape[1]
        self.task.rows.n_first = first.shape[0]
        self.task.rows.first = _address(first, self.is_double)
        self.task.rows.second = NULL
        if second is not None and second.shape[0] > 0:
            self.task.rows.second = _address(second, self.is_double)
        self.task.slots = &slot_view[0]
        self.task.n_slots = slot_view.shape[0]
        self.task.rounding = rounding
        self.task.norms = NULL
        self.task.largest_norm = 0.0
        if norms is not None:
            norm_view = norms
            self.task.norms = &norm_view[0]
            self.task.largest_norm = norms.max()
        self.head.n_tiles = 0
        self.head.n_coordinates = 0
        self.head.n_components = 0
        self.head.components = NULL
        self.head.n_features = first.shape[1]
        self.head.scale = 1.0
        self.head.rounding = rounding
        self.head.norms = self.task.norms

    def __dealloc__(self):
        cdef int i

        for i in range(self.n_spare):
            free_survivors(self.spare[i])

    def set_components(self, components, coefs, residual_norms):
        """Add what the components say of the atoms, one row or entry a slot."""
        cdef const double[:, ::1] coef_view = coefs
        cdef const double[::1] residual_view = residual_norms

        self.owners += [components, coefs, residual_norms]
        self.head.n_components = coef_view.shape[1]
        self.head.components = _address(components, self.is_double)
        self.head.coefs = &coef_view[0, 0]
        self.head.residual_norms = &residual_view[0]

    def set_tiles(
        self,
        tiles,
        inflation,
        const Py_ssize_t[::1] coordinates,
        components_there,
        double scale,
    ):
        """Add the sampled coordinates: for each tile its entries and inflation."""
        cdef const float[:, ::1] tile
        cdef const float[::1] inflate
        cdef Py_ssize_t t

        if len(tiles) > MAX_TILES:
            raise ValueError(f"At most {MAX_TILES} tiles are possible.")
        self.owners += [*tiles, *inflation, coordinates, components_there]
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
        self.head.coordinates = &coordinates[0]
        self.head.components_there = _address(components_there, self.is_double)

    def describe_atoms(self, atoms):
        """Look at all entries of some atoms once.

        Parameters
        ----------
        atoms : ndarray of shape (n_atoms, n_features)
            The atoms.

        Returns
        -------
        ndarray of shape (n_atoms, 4)
            Whether the norm is NaN or infinite, number of entries that are not zero
            (not counted here), largest absolute entry, norm.
        """
        stats = np.empty((atoms.shape[0], N_STATS))
        cdef double[:, ::1] out = stats
        cdef const void* entries = _address(atoms, self.is_double)

        if self.is_double:
            describe_all(
                <const double*> entries, out.shape[0], &self.head, 0, -1.0, 1,
                &out[0, 0], NULL,
            )
        else:
            describe_all(
                <const float*> entries, out.shape[0], &self.head, 0, -1.0, 1,
                &out[0, 0], NULL,
            )
        return stats

    def describe(self, queries, int n_threads, double low, double high, double few):
        """Look at all entries of the queries once.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        n_threads : int
            Number of threads.
        low, high : float
            Range of a query's largest entry in which squares neither over- nor
            underflow.
        few : float
            Up to so many entries different from zero a query is sparse, and they are
            counted.

        Returns
        -------
        stats : ndarray of shape (n_queries, 4)
            As for `describe_atoms`.
        coefs : ndarray of shape (n_queries, n_components)
            Inner products with the components.
        n_bad, n_extreme, n_sparse : int
            Number of queries whose norm is NaN or infinite, that are out of range, that
            are sparse.
        """
        cdef Py_ssize_t i, n_queries = queries.shape[0]
        cdef Py_ssize_t r = self.head.n_components
        cdef Py_ssize_t n_bad = 0, n_extreme = 0, n_sparse = 0
        stats = np.empty((n_queries, N_STATS))
        coefs = np.empty((n_queries, r))
        cdef double[:, ::1] stats_out = stats
        cdef double[:, ::1] coefs_out = coefs
        cdef double* first_coef = &coefs_out[0, 0] if r > 0 else NULL
        cdef const void* entries = _address(queries, self.is_double)

        if n_queries * self.head.n_features * (r + 1) < MIN_PARALLEL_PRODUCTS:
            n_threads = 1
        with nogil:
            if self.is_double:
                describe_all(
                    <const double*> entries, n_queries, &self.head, r, few, n_threads,
                    &stats_out[0, 0], first_coef,
                )
            else:
                describe_all(
                    <const float*> entries, n_queries, &self.head, r, few, n_threads,
                    &stats_out[0, 0], first_coef,
                )
        for i in range(n_queries):
            n_bad += stats_out[i, 0] != 0.0
            n_sparse += stats_out[i, 1] <= few
            if stats_out[i, 2] > high or 0.0 < stats_out[i, 2] < low:
                n_extreme += 1
        return stats, coefs, n_bad, n_extreme, n_sparse

    def search(
        self,
        queries,
        const double[:, ::1] stats,
        const double[:, ::1] coefs,
        bint samples,
        Py_ssize_t k,
        double share,
        double epsilon,
        double give_up_share,
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
        stats, coefs : ndarray
            Their description.
        samples : bool
            Whether to sample, or only to drop what the components' bounds allow and to
            compute the others exactly.
        k : int
            Neighbours wanted.
        share : float
            Error probability for one atom in one round.
        epsilon : float
            How much worse an answer may be.
        give_up_share : float
            Give up when sampling is predicted to cost more than this share of BLAS.
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
        given_up : ndarray of uint8
            Which queries were given up; nothing is written for these but their counts.
        n_given_up : int
            How many they are.
        """
        cdef Py_ssize_t i, n_given_up = 0, n_queries = queries.shape[0]
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        open_queries = np.empty(n_queries, dtype=np.uint8)
        cdef unsigned char[::1] given_up = open_queries
        cdef const void* entries = _address(queries, self.is_double)
        cdef const double* first_coef = NULL
        cdef Task task = self._task_for(k)
        cdef HeadQuery base
        cdef Units units
        cdef const Units* blocks = self._tail(
            &units, tail, tail_length, k, share, epsilon
        )

        self._start(&base, k, share, epsilon, samples, give_up_share)
        if self.head.n_components > 0:
            first_coef = &coefs[0, 0]
        with nogil:
            if self.is_double:
                search_all(
                    &task, &self.head, &base, <const double*> entries, n_queries,
                    &stats[0, 0], first_coef, blocks, n_threads, &slots_out[0, 0],
                    &products_out[0, 0], &counts_out[0], &given_up[0],
                )
            else:
                search_all(
                    &task, &self.head, &base, <const float*> entries, n_queries,
                    &stats[0, 0], first_coef, blocks, n_threads, &slots_out[0, 0],
                    &products_out[0, 0], &counts_out[0], &given_up[0],
                )
        for i in range(n_queries):
            n_given_up += given_up[i]
        return open_queries, n_given_up

    def search_one(
        self,
        query,
        double low,
        double high,
        double few,
        bint samples,
        Py_ssize_t k,
        double share,
        double epsilon,
        double give_up_share,
        const Py_ssize_t[::1] tail,
        Py_ssize_t tail_length,
        stats,
        indices,
        products,
        counts,
    ):
        """Describe a single query and search for it, without a way back in between.

        A pass over a long query leaves the caches to it: what the interpreter does
        after one takes several times as long.

        Parameters
        ----------
        query : ndarray of shape (1, n_features)
            The query.
        low, high, few
            As for `describe`.
        samples, k, share, epsilon, give_up_share, tail, tail_length
            As for `search`.
        stats : ndarray of shape (1, 4)
            Written: the description, see `describe_atoms`.
        indices, products, counts : ndarray
            Written, as by `search`.

        Returns
        -------
        {"found", "given up", "special"}
            Special queries (NaN, infinity, out of range, sparse) are not searched for.
        """
        cdef double[:, ::1] stats_out = stats
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef const void* entries = _address(query, self.is_double)
        cdef HeadQuery base
        cdef Units units
        cdef const Units* blocks = self._tail(
            &units, tail, tail_length, k, share, epsilon
        )
        cdef Task task = self._task_for(k)
        cdef Survivors* alive = self._take()
        cdef bint given_up = True, is_special

        self._start(&base, k, share, epsilon, samples, give_up_share)
        with nogil:
            if self.is_double:
                describe_query(
                    <const double*> entries, self.head.n_features,
                    <const double*> self.head.components, self.head.n_components, few,
                    &stats_out[0, 0], alive.coefs,
                )
            else:
                describe_query(
                    <const float*> entries, self.head.n_features,
                    <const float*> self.head.components, self.head.n_components, few,
                    &stats_out[0, 0], alive.coefs,
                )
            is_special = (
                stats_out[0, 0] != 0.0
                or stats_out[0, 1] <= few
                or not low <= stats_out[0, 2] <= high
            )
            if not is_special and self.is_double:
                given_up = search_query(
                    &task, &self.head, &base, <const double*> entries,
                    &stats_out[0, 0], alive.coefs, blocks, alive, &slots_out[0, 0],
                    &products_out[0, 0], &counts_out[0],
                )
            elif not is_special:
                given_up = search_query(
                    &task, &self.head, &base, <const float*> entries,
                    &stats_out[0, 0], alive.coefs, blocks, alive, &slots_out[0, 0],
                    &products_out[0, 0], &counts_out[0],
                )
        self._give_back(alive)
        if is_special:
            return "special"
        return "given up" if given_up else "found"

    cdef const Units* _tail(
        self,
        Units* units,
        const Py_ssize_t[::1] tail,
        Py_ssize_t tail_length,
        Py_ssize_t k,
        double share,
        double epsilon,
    ) noexcept:
        """What a search goes on with behind the head; NULL for nothing."""
        if tail is None:
            return NULL
        units.sampling = BLOCKS
        units.radius = PAIRED
        units.n_units = tail.shape[0] // 2
        # No less than twice what the head has told already.
        units.n_first = max(
            self.head.offsets[1], 2 * self.head.n_coordinates // tail_length
        )
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
        return units

    cdef Survivors* _take(self) except NULL:
        """Memory for one query that nobody else uses, and what the last one left in it.

        Whoever takes it gives it back.
        """
        cdef Survivors* alive = NULL

        with self.lock:
            if self.n_spare > 0:
                self.n_spare -= 1
                alive = self.spare[self.n_spare]
        if alive == NULL:
            alive = new_survivors(
                self.task.n_slots, self.head.n_coordinates, self.head.n_components
            )
        if alive == NULL:
            raise MemoryError("No memory to search.")
        return alive

    cdef void _give_back(self, Survivors* alive) noexcept:
        """Keep memory for another query, if there is room for it."""
        with self.lock:
            if self.n_spare < MAX_SPARE:
                self.spare[self.n_spare] = alive
                self.n_spare += 1
                alive = NULL
        free_survivors(alive)

    cdef Task _task_for(self, Py_ssize_t k) except *:
        """The task of one call: other calls may want another number of atoms."""
        cdef Task task = self.task

        if k > task.n_slots:
            raise ValueError(f"{k} atoms are wanted of {task.n_slots}.")
        task.k = k
        return task

    cdef void _start(
        self,
        HeadQuery* base,
        Py_ssize_t k,
        double share,
        double epsilon,
        bint samples,
        double give_up_share,
    ) noexcept:
        """What all queries have in common; they differ by what they point at."""
        base.k = k
        base.n_atoms = self.task.n_slots
        base.share = share
        base.epsilon = epsilon * self.head.scale / self.head.n_features
        base.give_up_share = give_up_share
        base.samples = samples and self.head.n_tiles > 0
        base.coefs = NULL

    def search_buckets(
        self,
        queries,
        const double[:, ::1] stats,
        const double[:, ::1] coefs,
        bint samples,
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
        queries, stats, coefs, samples, k, share, epsilon, n_threads
            As for `search`.
        order : ndarray of intp
            Slots by decreasing norm.
        bucket_size : int
            Atoms of a bucket.
        indices, products, counts : ndarray
            Written, as by `search`.
        """
        cdef Py_ssize_t n_queries = queries.shape[0]
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef const void* entries = _address(queries, self.is_double)
        cdef Task task = self._task_for(k)
        cdef HeadQuery base
        cdef int n_failed

        # Survivors of a bucket that sampling on would cost more than are computed.
        self._start(&base, k, share, epsilon, samples, 1.0)
        with nogil:
            if self.is_double:
                n_failed = search_all_buckets(
                    &task, &self.head, &base, <const double*> entries, n_queries,
                    &stats[0, 0], &coefs[0, 0], &order[0], bucket_size, n_threads,
                    &slots_out[0, 0], &products_out[0, 0], &counts_out[0],
                )
            else:
                n_failed = search_all_buckets(
                    &task, &self.head, &base, <const float*> entries, n_queries,
                    &stats[0, 0], &coefs[0, 0], &order[0], bucket_size, n_threads,
                    &slots_out[0, 0], &products_out[0, 0], &counts_out[0],
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
        cdef Task task = self._task_for(k)
        cdef int n_failed = 0

        if self.is_double:
            doubles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_support(
                    &task, &doubles[i, 0], <Py_ssize_t> stats[i, 1],
                    &slots_out[i, 0], &products_out[i, 0], &counts_out[i],
                )
        else:
            singles = queries
            for i in prange(
                n_queries, nogil=True, schedule="dynamic", num_threads=n_threads
            ):
                n_failed += search_query_support(
                    &task, &singles[i, 0], <Py_ssize_t> stats[i, 1],
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
        cdef Py_ssize_t n_queries = queries.shape[0], n_capacity = scores.shape[1]
        cdef Py_ssize_t[:, ::1] slots_out = indices
        cdef double[:, ::1] products_out = products
        cdef Py_ssize_t[::1] counts_out = counts
        cdef const void* entries = _address(queries, self.is_double)
        cdef const void* score_entries = _address(scores, self.is_double)
        cdef Task task = self._task_for(k)
        cdef int n_failed

        if n_queries * n_capacity < MIN_PARALLEL:
            n_threads = 1
        with nogil:
            if self.is_double:
                n_failed = pick_all(
                    &task, <const double*> entries, n_queries, &stats[0, 0],
                    <const double*> score_entries, n_capacity, n_threads,
                    &slots_out[0, 0], &products_out[0, 0], &counts_out[0],
                )
            else:
                n_failed = pick_all(
                    &task, <const float*> entries, n_queries, &stats[0, 0],
                    <const float*> score_entries, n_capacity, n_threads,
                    &slots_out[0, 0], &products_out[0, 0], &counts_out[0],
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
        cdef Task task = self._task_for(k)
        cdef Survivors* alive

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
        if self.is_double:
            doubles = queries
            alive = self._take()
            with nogil:
                given_up = search_query_units(
                    &task, &units, &doubles[position, 0], alive,
                    &slots_out[position, 0], &products_out[position, 0],
                    &counts_out[position],
                )
        else:
            singles = queries
            alive = self._take()
            with nogil:
                given_up = search_query_units(
                    &task, &units, &singles[position, 0], alive,
                    &slots_out[position, 0], &products_out[position, 0],
                    &counts_out[position],
                )
        self._give_back(alive)
        return given_up


def to_single(const double[:, ::1] products):
    """Return inner products in single precision, or None where it cannot hold them.

    Without numpy's warning, and in half the time.
    """
    cdef Py_ssize_t i, j
    narrow = np.empty((products.shape[0], products.shape[1]), dtype=np.float32)
    cdef float[:, ::1] out = narrow

    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            if fabs(products[i, j]) > FLT_MAX:
                return None
            out[i, j] = <float> products[i, j]
    return narrow


cdef const void* _address(array, bint is_double) except? NULL:
    """Where a C-ordered array of the right type begins."""
    cdef const float[:, ::1] singles
    cdef const double[:, ::1] doubles

    if is_double:
        doubles = array
        return &doubles[0, 0]
    singles = array
    return &singles[0, 0]
