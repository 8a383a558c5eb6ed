"""A query as the kernels take it, and the bounds that follow.

Let x be a centred row in units and y the query in the same place. What is compared is
a score: ``y.x - |x|**2 / 2`` under "euclidean" (half the squared distance, but for
``|y|**2 / 2``), ``y.x`` under "cosine" and "inner_product", with y free of its part
along the centre, which goes into the bias. With ``x = g S c + e`` (scale, steps, codes,
rest) and ``S y = u z + f`` (unit, integers, rest),

    y.x = g u z.c + g f.c + y.e <= g u z.c + |f| (g |c|) + |y| |e|,

where ``g |c|`` and ``|e|`` are numbers of the row. With a head, ``x = U w + r``, and
``y.x = (U'y).w + y.r``; the part of y outside of the head is multiplied with r only.

Rounding in single precision. A bound has five terms. Each has at most two roundings
before the additions, of which there are at most five with the tail; the product has
four more, as ``|128 high| <= 2 |z|`` and ``|low| <= |z|``. All of them are less than
``16 * 2**-24 = 2**-20`` of the terms' absolute values: the factor of ``g |c|`` has
``2**-20 u |z|`` in addition, the bias of distances and the factors of norms are larger
by ``2**-20``, and `constant` has it of the part along the centre. What underflows is
less than `TINY`. Scales and units are rounded before codes are taken, so that they are
exact.

Rounding in double precision, with e = ``2**-53``. Under "euclidean" x and y are off by
e in each entry, as centre and unit are exact, and ``|x| <= |y| + key`` for a row that
counts: all errors are relative to ``|y|**2 + key**2``, at most ``d + 16`` times e, and
the threshold is lowered by twice as much. An offset of the data is in neither. Under
"cosine" and "inner_product" keys, `shift` and (normalised) rows are off by at most
``3 d + 40`` times e of ``max_row``, and the threshold is lowered by ``8 (d + 16)``
times. Under "manhattan" rows have `REST` in their residuals. A row below the threshold
is therefore farther, as computed, than the k-th.

Rows or queries that single precision cannot hold in units have no bounds: such rows
have infinite residuals, and for such queries every row is computed.
"""

from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_MAX
from libc.math cimport INFINITY, fabs, frexp, ldexp, rint, sqrt
from libc.stddef cimport size_t
from libc.stdlib cimport free
from libc.string cimport memset

from ..._core.memory cimport allocate
from ._constants cimport (
    LARGE,
    LEAST_FACTOR,
    LEAST_SQUARES,
    MOST,
    ROUNDINGS,
    SKB_HIGH_STEP,
    enlarge,
)
from ._encode cimport COSINE, EUCLIDEAN, INNER_PRODUCT, MANHATTAN

cdef extern from "<math.h>" nogil:
    float nextafterf(float, float)

cdef double UP = 1.0 + ROUNDINGS
# The largest integers: in two bytes of 7 bits each, the low one from -64 to 63; in one
# byte of 8 bits.
cdef double LARGEST_IN_TWO = 8191.0, LARGEST_IN_ONE = 127.0
cdef double TINY = 1e-28
# One over this power of two is a number.
cdef int LEAST_EXPONENT = -1000


cdef int new_query(Query* query, Py_ssize_t d, Py_ssize_t width) noexcept nogil:
    """Take memory for a query of `width` codes; return 1 if there is none."""
    cdef size_t n_bytes = 2 * width

    query.values = <double*> allocate(d, sizeof(double))
    query.centred = <double*> allocate(d, sizeof(double))
    query.rotated = <double*> allocate(width, sizeof(double))
    query.given = <double*> allocate(d, sizeof(double))
    query.coded = <int8_t*> allocate(2 * n_bytes, 1)
    return (
        query.values == NULL or query.centred == NULL or query.rotated == NULL
        or query.given == NULL or query.coded == NULL
    )


cdef void free_query(Query* query) noexcept nogil:
    """Give the memory back."""
    free(query.values)
    free(query.centred)
    free(query.rotated)
    free(query.given)
    free(query.coded)


cdef void prepare(Query* query, const Rows* rows, bint one_byte) noexcept nogil:
    """Fill in everything but `values` and `own`, which are there, and `given`.

    Under "cosine" `values` are divided by a power of two, which changes no cosine: they
    may be prepared again, for other rows or numbers of bytes. With `one_byte`, what is
    scanned first has one byte a feature: the head, or the query if there is none.
    """
    cdef Py_ssize_t d = rows.n_features, j
    cdef double norm, along = 0.0, size = 0.0
    cdef bint has_head = rows.head.codes != NULL

    query.has_no_bounds = rows.has_no_bounds
    query.is_alone = False
    query.is_loose = False
    query.tail = 0.0
    if rows.metric == MANHATTAN:
        _prepare_differences(query, rows)
        return
    if rows.metric == EUCLIDEAN:
        query.squares = 0.0
        for j in range(d):
            query.centred[j] = (query.values[j] - rows.centre[j]) / rows.unit
            query.squares += query.centred[j] * query.centred[j]
        norm = sqrt(query.squares)
        _set_bytes(&query.full, query, rows, one_byte and not has_head)
        query.full.bias = 1.0
    else:
        size = _prepare_products(query, rows, &along)
        norm = sqrt(query.squares) + 2.0 ** -10 * size
        _set_bytes(&query.full, query, rows, one_byte and not has_head)
        query.full.bias = <float> along
        query.full.constant = <float> (
            ROUNDINGS * fabs(along) * rows.max_bias
            + (d + 16) * DBL_EPSILON * size * rows.max_norm + TINY
        )
    if not norm < MOST:
        query.has_no_bounds = True
    query.full.residual = <float> (norm * UP + LEAST_FACTOR)
    if has_head:
        _prepare_head(query, rows, one_byte, norm)


cdef double _prepare_products(
    Query* query, const Rows* rows, double* along
) noexcept nogil:
    """Centre a query of inner products; return its norm in its own units."""
    cdef Py_ssize_t d = rows.n_features, j
    cdef double squares = 0.0, scale, value, part = 0.0, shift = 0.0
    cdef int exponent

    for j in range(d):
        squares += query.values[j] * query.values[j]
    if squares < LEAST_SQUARES:
        # The squares of a tiny query may be lost.
        squares = 0.0
        for j in range(d):
            value = enlarge(query.values[j])
            squares += value * value
        squares = sqrt(squares) / LARGE
    else:
        squares = sqrt(squares)
    frexp(squares, &exponent)
    query.own_unit = ldexp(1.0, max(exponent, LEAST_EXPONENT)) if squares > 0 else 1.0
    scale = 1.0 / query.own_unit
    if rows.metric == COSINE:
        # A power of two changes no byte, and no cosine.
        for j in range(d):
            query.values[j] *= scale
        query.own_unit = 1.0
        query.own_squares = 0.0
        for j in range(d):
            query.own_squares += query.values[j] * query.values[j]
        scale = 1.0 / sqrt(query.own_squares) if query.own_squares > 0.0 else 0.0
    squares = 0.0
    for j in range(d):
        value = query.values[j] * scale
        part += value * rows.direction[j]
        shift += value * rows.centre[j]
        squares += value * value
    query.squares = 0.0
    for j in range(d):
        query.centred[j] = query.values[j] * scale - part * rows.direction[j]
        query.squares += query.centred[j] * query.centred[j]
    query.shift = shift
    along[0] = part
    return sqrt(squares)


cdef void _set_bytes(
    QueryBytes* query_bytes, Query* query, const Rows* rows, bint one_byte
) noexcept nogil:
    """Set the bytes of the full query."""
    query_bytes.high = query.coded
    query_bytes.low = query.coded + rows.width
    _to_bytes(
        query_bytes, query.centred, rows.steps, rows.n_features, rows.width, one_byte
    )


cdef void _to_bytes(
    QueryBytes* query_bytes, const double* values, const double* steps, Py_ssize_t d,
    Py_ssize_t width, bint one_byte,
) noexcept nogil:
    """Round values times steps to integers; `high` and `low` have room for `width`."""
    cdef double largest = 0.0, value, code, unit, rest = 0.0, size = 0.0
    cdef Py_ssize_t j
    cdef int whole, upper
    cdef int8_t* high = <int8_t*> query_bytes.high
    cdef int8_t* low = <int8_t*> query_bytes.low

    for j in range(d):
        value = fabs(values[j] * steps[j])
        largest = value if value > largest else largest
    unit = largest / (LARGEST_IN_ONE if one_byte else LARGEST_IN_TWO)
    # As the kernels have it. If it is lost, the rest is all there is.
    unit = <float> unit
    memset(high, 0, width)
    memset(low, 0, width)
    query_bytes.n_words = <int> (width // 4)
    query_bytes.sum_high = query_bytes.sum_low = 0
    for j in range(d):
        value = values[j] * steps[j]
        code = rint(value / unit) if unit > 1e-37 else 0.0
        if code > LARGEST_IN_TWO or code < -LARGEST_IN_TWO or code != code:
            code = 0.0
        if one_byte:
            code = min(max(code, -LARGEST_IN_ONE), LARGEST_IN_ONE)
        rest += (value - unit * code) * (value - unit * code)
        size += code * code
        whole = <int> code
        if one_byte:
            high[j] = <int8_t> whole
            query_bytes.sum_high += whole
        else:
            # Rounded down, negative numbers too.
            upper = whole + SKB_HIGH_STEP // 2 + (SKB_HIGH_STEP << 10)
            upper = upper // SKB_HIGH_STEP - (1 << 10)
            high[j] = <int8_t> upper
            low[j] = <int8_t> (whole - SKB_HIGH_STEP * upper)
            query_bytes.sum_high += upper
            query_bytes.sum_low += low[j]
    query_bytes.unit = <float> unit
    query_bytes.size = <float> (
        (sqrt(rest) + ROUNDINGS * unit * sqrt(size)) * UP + TINY
    )
    query_bytes.constant = <float> TINY


cdef void _prepare_head(
    Query* query, const Rows* rows, bint one_byte, double norm
) noexcept nogil:
    """Rotate the query; what is outside of the head is multiplied with the tails."""
    cdef Py_ssize_t d = rows.n_features, i, j
    cdef const float* basis
    cdef double part, tail
    cdef QueryBytes* head = &query.head
    cdef bint is_calibrated = rows.head.ratio > 0.0

    if is_calibrated and rows.metric != EUCLIDEAN:
        # Distances between normalised vectors: the query, all of it, less the centre.
        part = 1.0 / sqrt(query.own_squares) if query.own_squares > 0.0 else 0.0
        for j in range(d):
            query.centred[j] = (query.values[j] * part - rows.centre[j]) / rows.unit
    query.head_squares = 0.0
    for i in range(rows.head.width):
        basis = rows.head.basis + i * d
        part = 0.0
        for j in range(d):
            part += basis[j] * query.centred[j]
        query.rotated[i] = part
        query.head_squares += part * part
    head.high = query.coded + 2 * rows.width
    head.low = head.high + rows.width
    _to_bytes(
        head, query.rotated, rows.head.steps, rows.head.width, rows.head.width,
        one_byte,
    )
    if is_calibrated:
        head.bias = 1.0
        head.residual = <float> (sqrt(query.head_squares) * UP + LEAST_FACTOR)
        return
    tail = query.squares - query.head_squares + rows.head.error * query.squares
    query.tail = <float> (sqrt(max(tail, 0.0)) * UP)
    head.bias = query.full.bias
    head.residual = <float> (norm * UP + LEAST_FACTOR)
    head.constant = query.full.constant


cdef void _prepare_differences(Query* query, const Rows* rows) noexcept nogil:
    """Codes of the query, and what they leave out."""
    cdef Py_ssize_t d = rows.n_features, j
    cdef double step = rows.steps[0], value, inside, code, rest = 0.0, outside = 0.0
    cdef unsigned char* codes = <unsigned char*> query.coded

    memset(codes, 128, rows.width)
    for j in range(d):
        value = (query.values[j] - rows.centre[j]) / rows.unit
        inside = min(max(value, -128.0 * step), 127.0 * step)
        code = rint(inside / step)
        rest += fabs(inside - step * code)
        outside += fabs(value - inside)
        codes[j] = <unsigned char> (<int> code + 128)
    if not rest + outside < MOST:
        query.has_no_bounds = True
    query.full.high = query.coded
    query.full.n_words = <int> (rows.width // 8)
    query.full.unit = <float> (step * (1.0 - ROUNDINGS))
    query.full.constant = <float> (
        (rest + ROUNDINGS * outside) * UP + 2.0 ** -40 * outside + TINY
    )
    query.full.outside = <float> (outside * (1.0 - ROUNDINGS))


cdef float threshold_of(
    const Query* query, const Rows* rows, double key, bint in_head
) noexcept nogil:
    """Return the least bound of a row whose key may be as small as this one.

    Keys are distances; under "inner_product" minus the inner product.
    """
    cdef double roundings = (rows.n_features + 16) * DBL_EPSILON
    cdef double threshold, squares
    cdef bint is_calibrated = in_head and rows.head.ratio > 0.0
    cdef float low

    if key == INFINITY:
        return -FLT_MAX
    if rows.metric == MANHATTAN:
        threshold = -key / rows.unit * (1.0 + roundings)
    elif rows.metric == EUCLIDEAN or is_calibrated:
        if rows.metric == EUCLIDEAN:
            squares = (key / rows.unit) * (key / rows.unit)
        else:
            squares = 2.0 * key / rows.unit / rows.unit
        if is_calibrated:
            threshold = 0.5 * (query.head_squares - rows.head.ratio * squares)
        else:
            threshold = 0.5 * (query.squares - squares)
            threshold -= roundings * (query.squares + squares)
    else:
        threshold = 1.0 - key if rows.metric == COSINE else -key / query.own_unit
        threshold = (threshold - query.shift) / rows.unit
        threshold -= 4.0 * roundings * rows.max_row
        if rows.metric == INNER_PRODUCT:
            # Each of the products of a key may have lost as much.
            threshold -= rows.n_features * DBL_MIN / query.own_unit / rows.unit
    if not threshold > -FLT_MAX:
        return -FLT_MAX
    if threshold > FLT_MAX:
        return FLT_MAX
    low = <float> threshold
    return low if low <= threshold else nextafterf(low, -INFINITY)
