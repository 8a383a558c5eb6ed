"""Quantiles of the normal and of Student's distribution, without the interpreter.

scipy's quantiles have no C interface that is common to all of its releases. Computing
one takes 4 microseconds; a search over many arms keeps a table of them.
"""

from libc.math cimport (
    INFINITY,
    erfc,
    exp,
    fabs,
    floor,
    frexp,
    isinf,
    ldexp,
    lgamma,
    log,
    pi,
    sqrt,
)
from libc.string cimport memset

cdef enum:
    MAX_ITERATIONS = 200
    STEPS = 32      # of the degrees of freedom in a table, between powers of two


cpdef double normal_quantile(double delta) noexcept nogil:
    """Point that a standard normal variable exceeds with probability `delta`.

    Parameters
    ----------
    delta : float
        Tail probability.

    Returns
    -------
    float
        The quantile; infinite for ``delta = 0``.
    """
    return student_quantile(delta, INFINITY)


cpdef double student_quantile(double delta, double df) noexcept nogil:
    """Point that a Student-t variable exceeds with probability `delta`.

    Parameters
    ----------
    delta : float
        Tail probability.
    df : float
        Degrees of freedom; infinite for the normal distribution.

    Returns
    -------
    float
        The quantile; infinite for ``delta = 0``.
    """
    cdef double log_x, x, tail, step
    cdef int _i

    if delta <= 0.0:
        return INFINITY
    if delta > 0.5:
        return -student_quantile(1.0 - delta, df)
    if delta == 0.5:
        return 0.0
    # Newton's method on the logarithm of the tail, a concave function of log x: once
    # right of the root it closes in from there. The normal tail is at most
    # exp(-x^2 / 2) / 2, which gives a start to the right of its root; that root is the
    # start for Student's heavier tail.
    if isinf(df):
        log_x = 0.5 * log(-2.0 * log(2.0 * delta))
    else:
        log_x = log(student_quantile(delta, INFINITY))
    for _i in range(MAX_ITERATIONS):
        x = exp(log_x)
        tail = _tail(x, df)
        step = (log(tail) - log(delta)) * tail / (x * _density(x, df))
        log_x += step
        if fabs(step) < 1e-12:
            break
    return exp(log_x)


cdef void start_quantiles(Quantiles* table, double delta) noexcept nogil:
    """Empty a table."""
    table.delta = delta
    memset(table.values, 0, N_QUANTILES * sizeof(double))


cdef double tabled_quantile(Quantiles* table, double df) noexcept nogil:
    """Student quantile at `df` rounded down to five binary digits."""
    cdef int exponent
    cdef Py_ssize_t place
    cdef double mantissa

    if df < 1.0:
        return student_quantile(table.delta, df)
    mantissa = frexp(df, &exponent)
    place = <Py_ssize_t> (mantissa * (2 * STEPS))  # STEPS .. 2 STEPS - 1
    df = ldexp(<double> place / (2 * STEPS), exponent)
    place += STEPS * (exponent - 2)
    if place >= N_QUANTILES:
        return student_quantile(table.delta, df)
    if table.values[place] == 0.0:
        table.values[place] = student_quantile(table.delta, df)
    return table.values[place]


cdef double coarse_size(double size) noexcept nogil:
    """An effective size, rounded down to a quarter of a power of two.

    One or two quantiles then serve all arms of a search that is over in fewer
    microseconds than a table takes to fill; radii are wider by a few per cent. Measured
    in pursuits of SimpleSong of one minute, five atoms, sampled coefficients
    (``benchmarks mips.song``): a fit takes 0.84 ms, and 0.95 ms without rounding.
    """
    cdef int exponent
    cdef double mantissa = frexp(size, &exponent)

    return ldexp(floor(8.0 * mantissa) / 8.0, exponent)


cdef double _density(double x, double df) noexcept nogil:
    """Density of Student's t; of the standard normal for infinite `df`."""
    cdef double log_scale

    if isinf(df):
        return exp(-0.5 * x * x) / sqrt(2.0 * pi)
    log_scale = lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df) - 0.5 * log(df * pi)
    return exp(log_scale - 0.5 * (df + 1.0) * log(1.0 + x * x / df))


cdef double _tail(double x, double df) noexcept nogil:
    """Probability that Student's t exceeds x > 0, half a regularised beta function."""
    cdef double y

    if isinf(df):
        return 0.5 * erfc(x / sqrt(2.0))
    y = df / (df + x * x)
    if y * (0.5 * df + 2.5) < 0.5 * df + 1.0:
        return 0.5 * _beta(y, 0.5 * df, 0.5)
    return 0.5 - 0.5 * _beta(x * x / (df + x * x), 0.5, 0.5 * df)


cdef double _beta(double x, double a, double b) noexcept nogil:
    """Regularised incomplete beta function for x < (a + 1) / (a + b + 2).

    By its continued fraction (DLMF 8.17.22), from the front by Lentz's method.
    """
    cdef double front, term, c = 1.0, d, value
    cdef int i, m

    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x)
    front = exp(front) / a
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for i in range(2, MAX_ITERATIONS):
        m = i // 2
        if i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        value *= c * d
        if fabs(c * d - 1.0) < 1e-15:
            break
    return front * value
