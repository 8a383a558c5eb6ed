"""The search of a segment for queries whose codes rule hardly any row out.

Steps of the codes follow the largest entries. Where entries have no mean, or rows
differ in size by powers of ten, they are too long for most rows. For these queries
products with the rows themselves are computed in single precision, many at a time; rows
that these do not rule out are computed as ever, so that the answer is the same.

Rows are divided by the unit of the segment, a query q by its norm. For d features, in
any order of summation and with or without FMA, a product is then off by at most
``e = (d + 8) 2^-23`` times the norm of the row, and by what underflows. Let L be the
largest key that is wanted. A row x may be one of the answers only if x.q is at least

- (|x|^2 + |q|^2 - L^2) / 2 under "euclidean";
- (1 - L) |x| |q| under "cosine";
- -L under "inner_product",

up to e and to the rounding of double precision, for which a share of (d + 16) 2^-51 of
each term is more than enough.
"""

from libc.math cimport INFINITY, NAN, sqrt
from libc.stdlib cimport free

from ..._core.memory cimport allocate, allocate_zeros
from ._encode cimport COSINE, EUCLIDEAN
from ._exact cimport is_present, compute_row, row_of
from ._found cimport worst_key

cdef extern from "products.h":
    enum:
        TILE_ROWS "SKB_TILE_ROWS"
        TILE_QUERIES "SKB_TILE_QUERIES"
    ctypedef struct Threshold "skb_threshold":
        double by_square
        double by_norm
        double constant
    void tile_products "skb_tile_products"(
        const float* rows, const float* queries, Py_ssize_t n_features, float* products
    ) noexcept nogil
    bint reaching "skb_reaching"(
        const float* products, const double* norms, const Threshold* threshold,
        unsigned char* reaches
    ) noexcept nogil

# Products of features that are smaller than this may be lost.
cdef double LEAST_PRODUCT = 2.0 ** -120

# Squared norm, in units, of a row whose products single precision may not hold: it is
# always computed.
cdef double MOST_ROW_SQUARES = 1e60


cdef struct Part:
    # A query that is searched for in this way.
    Query* query
    Found* found
    double norm
    double key                  # for which the threshold is
    Threshold threshold


cdef void _set_threshold(const Rows* rows, Part* part, double key) noexcept nogil:
    """Say what products of answers reach, if their keys are at most this."""
    cdef double d = rows.n_features
    cdef double error = (d + 8.0) * 2.0 ** -23, rounding = (d + 16.0) * 2.0 ** -51
    cdef double scale = 1.0 / (rows.unit * part.norm)
    cdef Threshold* threshold = &part.threshold

    part.key = key
    threshold.by_square = 0.0
    threshold.by_norm = -error
    threshold.constant = -d * LEAST_PRODUCT
    if not key < INFINITY:
        threshold.constant = -INFINITY
    elif rows.metric == EUCLIDEAN:
        threshold.by_square = 0.5 * (1.0 - rounding) * (rows.unit / part.norm)
        threshold.constant += 0.5 * (1.0 - rounding) * (part.norm / rows.unit)
        threshold.constant -= 0.5 * (1.0 + rounding) * key * (key * scale)
    elif rows.metric == COSINE:
        threshold.by_norm += 1.0 - key - rounding * (1.0 + key)
    else:
        threshold.constant -= (key + rounding * abs(key)) * scale


cdef void _pack(
    const Rows* rows, Py_ssize_t start, Py_ssize_t n, float* tile, double* norms
) noexcept nogil:
    """Store n rows by feature, in units, and their norms; zeros beyond.

    The norm of a row that is too large is not a number, which every product reaches.
    """
    cdef Py_ssize_t r, j
    cdef double value, squares, scale = 1.0 / rows.unit
    cdef const char* row

    for r in range(TILE_ROWS):
        norms[r] = 0.0
        if r >= n:
            for j in range(rows.n_features):
                tile[j * TILE_ROWS + r] = 0.0
            continue
        row = row_of(rows, start + r)
        squares = 0.0
        for j in range(rows.n_features):
            value = scale * (
                (<const double*> row)[j] if rows.is_double else (<const float*> row)[j]
            )
            squares += value * value
            tile[j * TILE_ROWS + r] = <float> value
        norms[r] = sqrt(squares) if squares < MOST_ROW_SQUARES else NAN


cdef void _compute_reaching(
    const Rows* rows, Part* part, const float* products, const double* norms,
    Py_ssize_t start, Py_ssize_t n,
) noexcept nogil:
    """Compute the rows of a tile whose products reach the threshold of a query."""
    cdef unsigned char[TILE_ROWS] reaches
    cdef Py_ssize_t r
    cdef double key

    if not reaching(products, norms, &part.threshold, reaches):
        return
    for r in range(n):
        if reaches[r] and is_present(rows, start + r):
            compute_row(rows, part.query, start + r, part.found)
    key = worst_key(part.found)
    if key < part.key:
        _set_threshold(rows, part, key)


cdef Py_ssize_t _gather(
    const Rows* rows, Query* queries, Py_ssize_t n_queries, Found* found, Part* parts,
    float* values,
) noexcept nogil:
    """Take the loose queries, divided by their norms; return how many there are."""
    cdef Py_ssize_t i, j, n = 0, d = rows.n_features
    cdef double squares

    for i in range(n_queries):
        if not queries[i].is_loose:
            continue
        squares = 0.0
        for j in range(d):
            squares += queries[i].values[j] * queries[i].values[j]
        if not LEAST_PRODUCT < squares < INFINITY:
            continue
        parts[n].query = &queries[i]
        parts[n].found = &found[i]
        parts[n].norm = sqrt(squares)
        for j in range(d):
            values[n * d + j] = <float> (queries[i].values[j] / parts[n].norm)
        _set_threshold(rows, &parts[n], worst_key(&found[i]))
        n += 1
    return n


cdef void search_by_products(
    const Rows* rows, Query* queries, Py_ssize_t n_queries, Found* found
) noexcept nogil:
    """Search a segment for the queries that are loose, which are then not alone.

    If there are too few of them, or there is no memory, nothing is done.
    """
    cdef Py_ssize_t d = rows.n_features, n_loose = 0, n, tile, group, i
    cdef Py_ssize_t first, start, m
    cdef float[TILE_QUERIES * TILE_ROWS] products
    cdef double[TILE_ROWS] norms
    cdef Part* parts
    cdef float* values
    cdef float* packed

    for i in range(n_queries):
        n_loose += queries[i].is_loose
    if n_loose < TILE_QUERIES:
        return
    parts = <Part*> allocate(n_loose, sizeof(Part))
    values = <float*> allocate_zeros((n_loose + TILE_QUERIES) * d, sizeof(float))
    packed = <float*> allocate(TILE_ROWS * d, sizeof(float))
    if parts != NULL and values != NULL and packed != NULL:
        n = _gather(rows, queries, n_queries, found, parts, values)
        for tile in range((rows.n + TILE_ROWS - 1) // TILE_ROWS):
            start = tile * TILE_ROWS
            m = min(rows.n - start, <Py_ssize_t> TILE_ROWS)
            _pack(rows, start, m, packed, norms)
            for group in range((n + TILE_QUERIES - 1) // TILE_QUERIES):
                first = group * TILE_QUERIES
                tile_products(packed, values + first * d, d, products)
                for i in range(first, min(first + <Py_ssize_t> TILE_QUERIES, n)):
                    _compute_reaching(
                        rows, &parts[i], products + (i - first) * TILE_ROWS, norms,
                        start, m,
                    )
        for i in range(n):
            parts[i].query.is_alone = False
    free(parts)
    free(values)
    free(packed)
