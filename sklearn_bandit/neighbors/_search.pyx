"""The searches of an index, over all queries of a call.

A `Searcher` is a snapshot of an index: plain pointers for kernels that run without the
interpreter, one query a thread. Queries that sampling cannot decide cheaply are left to
the caller. It computes them with BLAS, and `Searcher.pick` chooses from the result.

Several threads may search with one `Searcher` at the same time, with the interpreter's
lock or without it. Nothing in it changes once it is set up, except for the pool
of memory, which has a lock of its own.
"""

import numpy as np

from cython cimport floating

from ._answer cimport Answer
from ._batches cimport (
    Batch,
    pick_all,
    search_all,
    search_all_buckets,
    search_all_supports,
)
from ._coordinate_sample cimport MAX_TILES, CoordinateSample
from ._description cimport describe_vector
from ._direct_sampling cimport (
    BERNSTEIN,
    BLOCKS,
    HOEFFDING,
    ORDERED,
    PAIRED,
    WEIGHTED,
    References,
)
from ._query cimport SampleSearch, Task, search_query, search_query_references
from ._survivors cimport Survivors, SurvivorsPool

# Fewer scores than this are searched by one thread. The threads of BLAS still wait for
# work on the other processors, and starting a second thread there takes longer
# (measured: 20 ms) than all of the work.
cdef Py_ssize_t MIN_PARALLEL = 1 << 22

_SAMPLINGS = {"blocks": BLOCKS, "weighted": WEIGHTED, "ordered": ORDERED}
_RADII = {"paired": PAIRED, "bernstein": BERNSTEIN, "hoeffding": HOEFFDING}


cdef class Searcher:
    """Searches over a snapshot of an index.

    Queries must be C-ordered arrays of the atoms' type.

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
    cdef CoordinateSample sample
    cdef bint is_double
    cdef object owners      # keeps the arrays that the pointers point into
    cdef SurvivorsPool pool
    cdef readonly object slots

    def __cinit__(self, first, second, slots, double rounding, norms):
        cdef const Py_ssize_t[::1] slot_view = slots
        cdef const double[::1] norm_view

        self.pool = SurvivorsPool()
        self.owners = [first, second, slots, norms]
        self.slots = slots
        self.is_double = first.dtype == np.float64
        self.task.rows.n_features = first.shape[1]
        self.task.rows.n_first = first.shape[0]
        self.task.rows.first = self._entries(first)
        self.task.rows.second = NULL
        if second is not None and second.shape[0] > 0:
            self.task.rows.second = self._entries(second)
        self.task.slots = &slot_view[0]
        self.task.n_slots = slot_view.shape[0]
        self.task.rounding = rounding
        self.task.norms = NULL
        self.task.largest_norm = 0.0
        if norms is not None:
            norm_view = norms
            self.task.norms = &norm_view[0]
            self.task.largest_norm = norms.max()
        self.sample.n_tiles = 0
        self.sample.n_coordinates = 0
        self.sample.n_components = 0
        self.sample.components = NULL
        self.sample.n_features = first.shape[1]
        self.sample.scale = 1.0
        self.sample.rounding = rounding
        self.sample.norms = self.task.norms

    cdef const void* _entries(self, array) except? NULL:
        """Where an array of the atoms' type begins."""
        return _address[double](array) if self.is_double else _address[float](array)

    def set_components(self, components, coefs, residual_norms):
        """Add the components, and what they say of the atoms: one row a slot."""
        cdef const double[:, ::1] coef_view = coefs
        cdef const double[::1] residual_view = residual_norms

        self.owners += [components, coefs, residual_norms]
        self.sample.n_components = coef_view.shape[1]
        self.sample.components = self._entries(components)
        self.sample.coefs = &coef_view[0, 0]
        self.sample.residual_norms = &residual_view[0]

    def set_tiles(
        self,
        tiles,
        inflation,
        const Py_ssize_t[::1] coordinates,
        sampled_components,
        double scale,
    ):
        """Add the sampled coordinates: for each tile its entries and inflation."""
        cdef const float[:, ::1] tile
        cdef const float[::1] inflate
        cdef Py_ssize_t t

        if len(tiles) > MAX_TILES:
            raise ValueError(f"At most {MAX_TILES} tiles are possible.")
        self.owners += [*tiles, *inflation, coordinates, sampled_components]
        self.sample.scale = scale
        self.sample.offsets[0] = 0
        for t in range(len(tiles)):
            tile = tiles[t]
            inflate = inflation[t]
            self.sample.tiles[t] = &tile[0, 0]
            self.sample.inflation[t] = &inflate[0]
            self.sample.offsets[t + 1] = self.sample.offsets[t] + tile.shape[1]
        self.sample.n_tiles = len(tiles)
        self.sample.n_coordinates = self.sample.offsets[len(tiles)]
        self.sample.coordinates = &coordinates[0]
        self.sample.sampled_components = self._entries(sampled_components)

    def search(
        self,
        const floating[:, ::1] queries,
        stats,
        coefs,
        plan,
        int n_threads,
        Answer answer,
    ):
        """Search in the coordinate sample, query by query.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats, coefs : ndarray
            Their description.
        plan : Plan
            How to search.
        n_threads : int
            Number of threads.
        answer : Answer
            Written.

        Returns
        -------
        given_up : ndarray of uint8
            Flags of the queries that were given up; only their counts are written.
        n_given_up : int
            Their number.
        """
        cdef Py_ssize_t i, n_given_up = 0
        flags = np.empty(queries.shape[0], dtype=np.uint8)
        cdef unsigned char[::1] given_up = flags
        cdef Batch batch = _batch(self, queries, stats, coefs, n_threads, answer)
        cdef SampleSearch search

        self._start_search(plan, &search)
        with nogil:
            search_all(&search, &queries[0, 0], &batch, &given_up[0])
        for i in range(queries.shape[0]):
            n_given_up += given_up[i]
        return flags, n_given_up

    def search_one(
        self,
        const floating[:, ::1] query,
        double low,
        double high,
        double few,
        plan,
        stats,
        Answer answer,
    ):
        """Describe a single query and search for it, in one call.

        A pass over a long query evicts the interpreter's data from the caches, so that
        Python code between the two steps takes several times as long as usual.

        Parameters
        ----------
        query : ndarray of shape (1, n_features)
            The query.
        low, high, few : float
            As for `describe_queries`.
        plan : Plan
            How to search.
        stats : ndarray of shape (1, 4)
            Written: the description, see `describe_atoms`.
        answer : Answer
            Written.

        Returns
        -------
        {"found", "given up", "special"}
            Special queries (NaN, infinity, out of range, sparse) are not searched for.
        """
        cdef double[:, ::1] stats_out = stats
        cdef SampleSearch search
        cdef Survivors* survivors
        cdef bint given_up = True, is_special

        _check_queries(self, query, answer)
        self._start_search(plan, &search)
        survivors = self._take()
        with nogil:
            describe_vector(
                &query[0, 0], self.sample.n_features,
                <const floating*> self.sample.components, self.sample.n_components,
                few, &stats_out[0, 0], survivors.coefs,
            )
            is_special = (
                stats_out[0, 0] != 0.0
                or stats_out[0, 1] <= few
                or not low <= stats_out[0, 2] <= high
            )
            if not is_special:
                given_up = search_query(
                    &search, &query[0, 0], &stats_out[0, 0], survivors.coefs, survivors,
                    answer.first,
                )
        self.pool.give_back(survivors)
        if is_special:
            return "special"
        return "given up" if given_up else "found"

    def search_buckets(
        self,
        const floating[:, ::1] queries,
        stats,
        coefs,
        plan,
        int n_threads,
        Answer answer,
    ):
        """Search bucket by bucket, by decreasing norm.

        Parameters
        ----------
        queries, stats, coefs, plan, n_threads, answer
            As for `search`.
        """
        cdef const Py_ssize_t[::1] order = plan.order
        cdef Py_ssize_t bucket_size = plan.bucket_size
        cdef Batch batch = _batch(self, queries, stats, coefs, n_threads, answer)
        cdef SampleSearch search
        cdef int n_failed

        self._start_search(plan, &search)
        with nogil:
            n_failed = search_all_buckets(
                &search, &queries[0, 0], &batch, &order[0], bucket_size
            )
        if n_failed:
            raise MemoryError("No memory to search in buckets.")

    def search_support(
        self,
        const floating[:, ::1] queries,
        stats,
        int n_threads,
        Answer answer,
    ):
        """Search exactly for sparse queries, from their non-zero entries alone.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats : ndarray of shape (n_queries, 4)
            Their description.
        n_threads : int
            Number of threads.
        answer : Answer
            Written.
        """
        cdef Batch batch = _batch(self, queries, stats, None, n_threads, answer)
        cdef Task task = self._task_for(answer.k)
        cdef int n_failed

        with nogil:
            n_failed = search_all_supports(&task, &queries[0, 0], &batch)
        if n_failed:
            raise MemoryError("No memory for the support of a query.")

    def pick(
        self,
        const floating[:, ::1] queries,
        stats,
        const floating[:, ::1] scores,
        int n_threads,
        Answer answer,
    ):
        """Choose the best atoms by scores from BLAS; all near ties are computed again.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        stats : ndarray of shape (n_queries, 4)
            Their description.
        scores : ndarray of shape (n_queries, n_scores)
            Their inner products with the atoms of all slots.
        n_threads : int
            Number of threads.
        answer : Answer
            Written; multiplications are added to its counts.
        """
        cdef Batch batch = _batch(self, queries, stats, None, n_threads, answer)
        cdef Task task = self._task_for(answer.k)
        cdef int n_failed

        if scores.shape[0] * scores.shape[1] < MIN_PARALLEL:
            batch.n_threads = 1
        with nogil:
            n_failed = pick_all(
                &task, &queries[0, 0], &batch, &scores[0, 0], scores.shape[1]
            )
        if n_failed:
            raise MemoryError("No memory to choose among the scores.")

    def search_references(
        self, const floating[:, ::1] query, references, Answer answer
    ):
        """Search for one query by sampling references from the atoms.

        Parameters
        ----------
        query : ndarray of shape (1, n_features)
            The query.
        references : References
            What is sampled.
        answer : Answer
            Written.

        Returns
        -------
        bool
            Whether the query was given up.
        """
        cdef Task task = self._task_for(answer.k)
        cdef References sampled
        cdef Survivors* survivors
        cdef bint given_up

        _check_queries(self, query, answer)
        _set_references(references, answer.k, &sampled)
        survivors = self._take()
        with nogil:
            given_up = search_query_references(
                &task, &sampled, &query[0, 0], survivors, answer.first
            )
        self.pool.give_back(survivors)
        return given_up

    cdef Task _task_for(self, Py_ssize_t k) except *:
        """The task of one call, for this number of atoms."""
        cdef Task task = self.task

        if k > task.n_slots:
            raise ValueError(f"{k} atoms are wanted of {task.n_slots}.")
        task.k = k
        return task

    cdef int _start_search(self, plan, SampleSearch* search) except -1:
        """What all queries of a call have in common, from a `Plan`."""
        cdef Py_ssize_t k = plan.k

        search.task = self._task_for(k)
        search.sample = &self.sample
        search.common.k = k
        search.common.n_atoms = self.task.n_slots
        search.common.arm_delta = plan.arm_delta
        search.common.epsilon = (
            <double> plan.epsilon * self.sample.scale / self.sample.n_features
        )
        search.common.give_up_fraction = plan.give_up_fraction
        search.common.samples = plan.samples and self.sample.n_tiles > 0
        search.common.coefs = NULL
        blocks = plan.blocks
        search.has_blocks = blocks is not None
        if search.has_blocks:
            _set_references(blocks, k, &search.blocks)
        return 0

    cdef Survivors* _take(self) except NULL:
        """Memory for one query; the caller gives it back to the pool."""
        return self.pool.take(
            self.task.n_slots, self.sample.n_coordinates, self.sample.n_components
        )


cdef int _check_queries(
    Searcher searcher, const floating[:, ::1] queries, Answer answer
) except -1:
    """Refuse queries whose memory the kernels would misread."""
    if (sizeof(floating) == sizeof(double)) != searcher.is_double:
        raise ValueError("The queries must be of the atoms' type.")
    if queries.shape[1] != searcher.task.rows.n_features:
        raise ValueError("The queries must have as many features as the atoms.")
    if queries.shape[0] != answer.n_queries:
        raise ValueError("The answer must have as many rows as there are queries.")
    return 0


cdef const void* _address(const floating[:, ::1] array) noexcept:
    return &array[0, 0]


cdef Batch _batch(
    Searcher searcher, const floating[:, ::1] queries, stats, coefs, int n_threads,
    Answer answer,
) except *:
    """The queries of a call, checked; `coefs` may be None."""
    cdef const double[:, ::1] stat_view = stats
    cdef const double[:, ::1] coef_view
    cdef Batch batch

    _check_queries(searcher, queries, answer)
    batch.n_queries = answer.n_queries
    batch.n_threads = n_threads
    batch.stats = &stat_view[0, 0]
    batch.coefs = NULL
    if coefs is not None and coefs.shape[1] > 0:
        coef_view = coefs
        batch.coefs = &coef_view[0, 0]
    batch.first = answer.first
    return batch


cdef int _set_references(references, Py_ssize_t k, References* out) except -1:
    """Fill the kernels' struct from a `References` of Python."""
    cdef const Py_ssize_t[::1] starts = references.starts

    out.sampling = _SAMPLINGS[references.sampling]
    out.radius = _RADII[references.radius]
    out.k = k
    out.n_references = references.n_references
    out.n_first = references.n_first
    out.length = references.length
    # A single feature is not sampled.
    out.starts = &starts[0] if starts.shape[0] > 0 else NULL
    out.weights = _optional(references.weights)
    out.n_total = references.n_total
    out.arm_delta = references.arm_delta
    out.epsilon = references.epsilon
    out.give_up_fraction = references.give_up_fraction
    out.energy = references.energy
    out.reach = references.reach
    out.largest = _optional(references.largest)
    out.norms = _optional(references.norms)
    return 0


cdef const double* _optional(array) except? NULL:
    """Where an array begins; NULL for None, or if it is empty."""
    cdef const double[::1] view

    if array is None or len(array) == 0:
        return NULL
    view = array
    return &view[0]
