"""The search of a segment for one query whose codes rule too few rows out.

The rows themselves are read in their order, and distances or products are computed in
their own precision, in any order of summation. Rows that these do not rule out are
computed as ever, so that the answer is the same. It takes as long as a brute-force
search.

Let u be the rounding of the rows' type, ``2**-24`` or ``2**-53``, d the number of
features, L the largest key that is wanted, and q' the query in that type.

- Distances. A sum of d squares (or absolute values) of differences, which are all
  positive, is off by at most ``(d + 2) u`` of itself, relatively, while this is small.
  Distances from q' and from q differ by at most ``|q - q'|``: a row is dropped if its
  sum is above ``L + |q - q'|`` (squared), enlarged by ``2 (d + 16) u`` and by
  ``(d + 16) 2**-51`` for the rounding of L. What underflows makes sums too large by
  less than the smallest normal number each.
- Products. The query is divided by its norm. A product with x is off by at most
  ``(d + 2) u |x|``, and |x| itself, from the sum of squares, by ``d u / 2`` of it: a
  row is dropped if its product is below ``-L / |q|`` (under "cosine" ``(1 - L) |x|``)
  less ``2 (d + 16) u |x|`` and the rounding of double precision. Rows whose squares
  underflow or overflow are not dropped.
"""

from libc.float cimport DBL_MAX, FLT_MAX, FLT_MIN
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t

from ._constants cimport SKB_BLOCK
from ._encode cimport COSINE, EUCLIDEAN, MANHATTAN
from ._exact cimport compute_row, is_present, row_of
from ._found cimport worst_key

cdef extern from "float_scan.h":
    ctypedef struct ProductLimit "skb_product_limit":
        double by_norm
        double constant
        double least_squares
        double most_squares
    void sum_squares_single "skb_sum_squares_single"(
        const float*, const float*, Py_ssize_t, Py_ssize_t, double*
    ) noexcept nogil
    void sum_squares_double "skb_sum_squares_double"(
        const double*, const double*, Py_ssize_t, Py_ssize_t, double*
    ) noexcept nogil
    void sum_absolutes_single "skb_sum_absolutes_single"(
        const float*, const float*, Py_ssize_t, Py_ssize_t, double*
    ) noexcept nogil
    void sum_absolutes_double "skb_sum_absolutes_double"(
        const double*, const double*, Py_ssize_t, Py_ssize_t, double*
    ) noexcept nogil
    void sum_products_single "skb_sum_products_single"(
        const float*, const float*, Py_ssize_t, Py_ssize_t, double*, double*
    ) noexcept nogil
    void sum_products_double "skb_sum_products_double"(
        const double*, const double*, Py_ssize_t, Py_ssize_t, double*, double*
    ) noexcept nogil
    Py_ssize_t near "skb_near"(
        const double*, Py_ssize_t, double, int32_t*
    ) noexcept nogil
    Py_ssize_t large "skb_large"(
        const double*, const double*, Py_ssize_t, const ProductLimit*, int32_t*
    ) noexcept nogil

# Squared norms of rows whose products and squares are far from underflow and overflow.
cdef double LEAST_ROW_SQUARES = 1e-20, MOST_ROW_SQUARES = 1e36
# Norms of queries that can be divided by.
cdef double LEAST_QUERY = 1e-150, MOST_QUERY = 1e150


# What a row must not exceed, or must reach.
cdef struct Limits:
    double rounding             # 2 (d + 16) u
    double moved                # |q - q'|, of distances
    double norm                 # of the query, for products
    double most
    ProductLimit product


cdef bint _set_query(
    const Rows* rows, const Query* query, Limits* limits
) noexcept nogil:
    """Store the query in the type of the rows; return whether that is possible."""
    cdef Py_ssize_t d = rows.n_features, j
    cdef bint is_product = rows.metric != EUCLIDEAN and rows.metric != MANHATTAN
    cdef double squares = 0.0, absolutes = 0.0, value, rest, scale = 1.0
    cdef float* single = <float*> query.given

    limits.norm = 1.0
    if is_product:
        for j in range(d):
            squares += query.values[j] * query.values[j]
        limits.norm = sqrt(squares)
        if not LEAST_QUERY < limits.norm < MOST_QUERY:
            return False
        scale = 1.0 / limits.norm
        squares = 0.0
    for j in range(d):
        value = query.values[j] * scale
        if rows.is_double:
            query.given[j] = value
            continue
        if fabs(value) > FLT_MAX:
            return False
        single[j] = <float> value
        rest = value - single[j]
        squares += rest * rest
        absolutes += fabs(rest)
    limits.moved = absolutes if rows.metric == MANHATTAN else sqrt(squares)
    limits.moved *= 1.0 + 2.0 ** -40
    limits.rounding = 2.0 * (d + 16.0) * (2.0 ** -53 if rows.is_double else 2.0 ** -24)
    return True


cdef bint _set_limits(const Rows* rows, Limits* limits, double key) noexcept nogil:
    """Say what answers with keys up to this reach; return whether that is possible."""
    cdef double d = rows.n_features, exact = (d + 16.0) * 2.0 ** -51
    cdef double largest = DBL_MAX if rows.is_double else FLT_MAX

    if key == INFINITY:
        limits.most = INFINITY
        limits.product.by_norm = 0.0
        limits.product.constant = -INFINITY
        return True
    if rows.metric == EUCLIDEAN or rows.metric == MANHATTAN:
        limits.most = key * (1.0 + exact) + limits.moved
        if rows.metric == EUCLIDEAN:
            limits.most *= limits.most
        limits.most = limits.most * (1.0 + limits.rounding) + d * FLT_MIN
        # Sums that overflow must be above it.
        return limits.most < 0.5 * largest
    limits.product.by_norm = -limits.rounding - exact
    limits.product.constant = 0.0
    if rows.metric == COSINE:
        limits.product.by_norm += 1.0 - key
    else:
        limits.product.constant = -(key + exact * fabs(key)) / limits.norm
    return True


cdef Py_ssize_t _reaching(
    const Rows* rows, const Query* query, Py_ssize_t first, Py_ssize_t n,
    const Limits* limits, int32_t* places,
) noexcept nogil:
    """Write the places of up to 64 rows that may be answers; return how many."""
    cdef double[SKB_BLOCK] sums
    cdef double[SKB_BLOCK] squares
    cdef const void* values = row_of(rows, first)
    cdef const float* single = <const float*> values
    cdef const double* double_ = <const double*> values
    cdef const float* own = <const float*> query.given
    cdef Py_ssize_t d = rows.n_features

    if rows.metric == EUCLIDEAN:
        if rows.is_double:
            sum_squares_double(double_, query.given, n, d, sums)
        else:
            sum_squares_single(single, own, n, d, sums)
        return near(sums, n, limits.most, places)
    if rows.metric == MANHATTAN:
        if rows.is_double:
            sum_absolutes_double(double_, query.given, n, d, sums)
        else:
            sum_absolutes_single(single, own, n, d, sums)
        return near(sums, n, limits.most, places)
    if rows.is_double:
        sum_products_double(double_, query.given, n, d, sums, squares)
    else:
        sum_products_single(single, own, n, d, sums, squares)
    return large(sums, squares, n, &limits.product, places)


cdef bint scan_floats(
    const Rows* rows, const Query* query, const float* bounds, Py_ssize_t start,
    Py_ssize_t n, Found* found,
) noexcept nogil:
    """Search n rows from `start` on; return whether that was possible.

    Rows whose bounds are minus infinity are not there, or have been computed. Without
    bounds none has been.
    """
    cdef int32_t[SKB_BLOCK] places
    cdef Limits limits
    cdef Py_ssize_t block, first, n_found, i, place
    cdef double key = worst_key(found)
    cdef bint is_wanted

    limits.product.least_squares = LEAST_ROW_SQUARES
    limits.product.most_squares = MOST_ROW_SQUARES
    if not _set_query(rows, query, &limits) or not _set_limits(rows, &limits, key):
        return False
    for block in range((n + SKB_BLOCK - 1) // SKB_BLOCK):
        first = block * SKB_BLOCK
        n_found = _reaching(
            rows, query, start + first, min(n - first, <Py_ssize_t> SKB_BLOCK), &limits,
            places,
        )
        for i in range(n_found):
            place = first + places[i]
            if bounds == NULL:
                is_wanted = is_present(rows, start + place)
            else:
                is_wanted = bounds[place] > -INFINITY
            if is_wanted:
                compute_row(rows, query, start + place, found)
        if n_found and worst_key(found) < key:
            key = worst_key(found)
            _set_limits(rows, &limits, key)
    return True
