"""Bootstrap samples as counts: how often each sample was drawn.

The draws are scikit-learn's, so that its out-of-bag scores leave out the right samples:
those of ``RandomState.randint``, the numbers of the Mersenne Twister (MT19937) cut to
the bits that samples have, without those that are too large. NumPy makes one number at
a time, and half of the processor's guesses which are too large are wrong: 11
nanoseconds a draw, a sixth of the time of shallow forests (covertype, depth 8). Here
all numbers of a state are made together, and nothing is guessed.
"""

import numpy as np

from libc.stdint cimport int64_t, uint16_t, uint32_t

from sklearn_bandit._core.seeds import seeded
from sklearn_bandit._core.simd cimport simd_void

cdef enum:
    # MT19937: words of a state; how far apart the words are that make a new one.
    STATE_WORDS = 624
    STATE_OFFSET = 397

ctypedef fused count_t:
    uint16_t
    int64_t


def draw_counts(random_state, n_samples, n_draws):
    """Draw a bootstrap sample.

    Parameters
    ----------
    random_state : int
        Seed of the draws.
    n_samples : int
        Number of samples to draw from, all with the same probability; less than
        ``2 ** 32``.
    n_draws : int
        Number of draws.

    Returns
    -------
    counts : ndarray of shape (n_samples,), uint16 or int64
        How often each sample was drawn; int64 if some count does not fit into uint16.
    """
    counts = np.zeros(n_samples, dtype=np.uint16)
    add_draws(random_state, n_draws, counts)
    # A count that does not fit has lost a multiple of 65,536.
    if counts.sum(dtype=np.int64) == n_draws:
        return counts
    counts = np.zeros(n_samples, dtype=np.int64)
    add_draws(random_state, n_draws, counts)
    return counts


def add_draws(random_state, Py_ssize_t n_draws, count_t[::1] counts):
    """Draw samples, and count how often each was drawn.

    Parameters
    ----------
    random_state : int
        Seed of the draws.
    n_draws : int
        Number of draws.
    counts : ndarray of shape (n_samples,)
        Counts of all samples, to be added to.
    """
    _, key, position, *_ = seeded(random_state).get_state()
    cdef uint32_t[::1] state = key.astype(np.uint32)
    cdef uint32_t largest = <uint32_t> (counts.shape[0] - 1), mask = largest
    cdef uint32_t draws[STATE_WORDS]
    cdef Py_ssize_t i, n, n_left = n_draws

    if position != STATE_WORDS:
        raise RuntimeError("a new state of MT19937 must not have been drawn from")
    for i in (1, 2, 4, 8, 16):
        mask |= mask >> i
    with nogil:
        while n_left > 0:
            make_words(&state[0])
            n = min(keep_draws(&state[0], mask, largest, draws), n_left)
            for i in range(n):
                counts[draws[i]] += 1
            n_left -= n


cdef inline uint32_t mix(uint32_t word, uint32_t next, uint32_t other) noexcept nogil:
    """A new word of the state, from the one that it replaces and two others."""
    cdef uint32_t joined = (word & 0x80000000U) | (next & 0x7fffffffU)

    return other ^ (joined >> 1) ^ ((0 - (joined & 1)) & 0x9908b0dfU)


cdef simd_void make_words(uint32_t* state) noexcept nogil:
    """Replace all words of a state by new ones."""
    cdef int i, n_first = STATE_WORDS - STATE_OFFSET

    for i in range(n_first):
        state[i] = mix(state[i], state[i + 1], state[i + STATE_OFFSET])
    for i in range(n_first, STATE_WORDS - 1):
        state[i] = mix(state[i], state[i + 1], state[i - n_first])
    i = STATE_WORDS - 1
    state[i] = mix(state[i], state[0], state[STATE_OFFSET - 1])


cdef Py_ssize_t keep_draws(
    const uint32_t* state, uint32_t mask, uint32_t largest, uint32_t* draws
) noexcept nogil:
    """List the numbers of a state that are not too large, and return how many."""
    cdef uint32_t numbers[STATE_WORDS]
    cdef Py_ssize_t i, n = 0

    temper(state, mask, numbers)
    for i in range(STATE_WORDS):
        draws[n] = numbers[i]
        n += numbers[i] <= largest
    return n


cdef simd_void temper(
    const uint32_t* state, uint32_t mask, uint32_t* numbers
) noexcept nogil:
    """Make numbers of the words of a state, cut to the bits of a mask."""
    cdef uint32_t word
    cdef int i

    for i in range(STATE_WORDS):
        word = state[i]
        word ^= word >> 11
        word ^= (word << 7) & 0x9d2c5680U
        word ^= (word << 15) & 0xefc60000U
        word ^= word >> 18
        numbers[i] = word & mask


def list_drawn(const uint16_t[::1] counts):
    """List the samples that were drawn at least once.

    Parameters
    ----------
    counts : ndarray of shape (n_samples,), uint16
        How often each sample was drawn.

    Returns
    -------
    ids : ndarray of uint32
        The samples, in ascending order.
    """
    cdef Py_ssize_t i, n = 0
    ids = np.empty(counts.shape[0] + 1, dtype=np.uint32)
    cdef uint32_t[::1] out = ids

    with nogil:
        for i in range(counts.shape[0]):
            out[n] = <uint32_t> i
            n += counts[i] > 0
    return ids[:n]
