"""All thresholds of a feature in a node of a few rows, at once.

Sorting a few rows takes a branch for each comparison, and half of these are guessed
wrongly. Here each row is compared with all others instead: a lane of a vector is a row
taken for the threshold, and its sums are over the rows on its left. That is quadratic,
but nearly without a branch: it takes a few vector instructions a row.

The vectors are the compiler's own. These are broken up for the instruction set that a
function is compiled for before it is cloned, so ``simd_void`` cannot widen them: the
kernel is a macro that is expanded for each instruction set, and for each number of
rows, which is a constant in it.
"""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    # Rows up to which comparing all pairs is faster than filling a histogram: with 64,
    # forests on Beijing air quality took a tenth longer.
    MAX_PAIRED = 32


cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    typedef struct {
        uint32_t ids[32];
        double weights[32];
        double sums[32];
        int n;
        double weight;
        double total;
    } skb_few_rows;

    typedef struct {
        int varies;
        int any_missing;
        double score;
        int last;
        int next;
        double bins[32];
        double scores[32];
    } skb_pair_split;

    #if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    typedef double skb_doubles __attribute__((vector_size(64)));
    typedef int64_t skb_lanes __attribute__((vector_size(64)));
    typedef int32_t skb_numbers __attribute__((vector_size(32)));
    typedef uint8_t skb_octet __attribute__((vector_size(8)));
    #define SKB_BYTES(b) ((b) * 0x0101010101010101ULL)
    #define SKB_WHERE(mask, x, y) \\
        ((skb_doubles) (((mask) & (skb_lanes) (x)) | (~(mask) & (skb_lanes) (y))))
    #define SKB_SMALLER(x, y) SKB_WHERE((x) < (y), x, y)
    #define SKB_SWAP(x, ...) __builtin_shufflevector(x, x, __VA_ARGS__)
    #define SKB_SMALLEST(out, x) do { \\
        skb_doubles v = (x); \\
        v = SKB_SMALLER(v, SKB_SWAP(v, 4, 5, 6, 7, 0, 1, 2, 3)); \\
        v = SKB_SMALLER(v, SKB_SWAP(v, 2, 3, 0, 1, 6, 7, 4, 5)); \\
        out = v[0] < v[1] ? v[0] : v[1]; \\
    } while (0)

    #define SKB_PAIRS(NAME, WIDTH) \\
    static void NAME(const skb_few_rows* few, const uint8_t* column, \\
        ptrdiff_t stride, int offset, double tie, double best, skb_pair_split* out) \\
    { \\
        enum { N_VECTORS = WIDTH / 8 }; \\
        const skb_doubles zero = {0.0}; \\
        const skb_doubles beyond = 512.0 - zero; \\
        skb_doubles bin[N_VECTORS], left_weight[N_VECTORS], left[N_VECTORS]; \\
        skb_doubles loss[N_VECTORS], least = INFINITY - zero, last = beyond; \\
        skb_lanes is_last[N_VECTORS]; \\
        uint64_t first = 0, differs = 0, missing = 0; \\
        for (int k = 0; k < N_VECTORS; k++) { \\
            uint64_t word = 0; \\
            for (int i = 0; i < 8; i++) \\
                word |= (uint64_t) column[few->ids[8 * k + i] * stride] << 8 * i; \\
            if (k == 0) \\
                first = SKB_BYTES(word & 255); \\
            differs |= word ^ first; \\
            missing |= (~word - SKB_BYTES(1)) & word & SKB_BYTES(128); \\
            skb_octet bytes; \\
            memcpy(&bytes, &word, 8); \\
            bytes += (uint8_t) offset; \\
            bin[k] = __builtin_convertvector( \\
                __builtin_convertvector(bytes, skb_numbers), skb_doubles); \\
            memcpy(out->bins + 8 * k, &bin[k], 64); \\
            left_weight[k] = zero; \\
            left[k] = zero; \\
            is_last[k] = zero == zero; \\
        } \\
        out->varies = differs != 0; \\
        if (!differs) \\
            return; \\
        for (int j = 0; j < few->n; j++) { \\
            const skb_doubles own = out->bins[j] - zero; \\
            const skb_doubles weight = few->weights[j] - zero; \\
            const skb_doubles sum = few->sums[j] - zero; \\
            for (int k = 0; k < N_VECTORS; k++) { \\
                const skb_lanes is_left = own <= bin[k]; \\
                left_weight[k] += SKB_WHERE(is_left, weight, zero); \\
                left[k] += SKB_WHERE(is_left, sum, zero); \\
                is_last[k] &= is_left; \\
            } \\
        } \\
        for (int k = 0; k < N_VECTORS; k++) { \\
            const skb_doubles right_weight = few->weight - left_weight[k]; \\
            const skb_doubles right = few->total - left[k]; \\
            const skb_doubles score = \\
                (left[k] * left[k] * right_weight + right * right * left_weight[k]) \\
                / (left_weight[k] * right_weight); \\
            const skb_lanes useless = is_last[k] | (bin[k] < (double) offset); \\
            loss[k] = SKB_WHERE(useless, INFINITY - zero, -score); \\
            least = SKB_SMALLER(loss[k], least); \\
            loss[k] = -loss[k]; \\
            memcpy(out->scores + 8 * k, &loss[k], 64); \\
        } \\
        double lowest, place; \\
        SKB_SMALLEST(lowest, least); \\
        out->any_missing = missing != 0; \\
        out->score = -lowest; \\
        const double tied = -lowest - tie * fabs(lowest); \\
        if (!(tied > best)) \\
            return; \\
        for (int k = 0; k < N_VECTORS; k++) \\
            last = SKB_SMALLER(SKB_WHERE(loss[k] >= tied, bin[k], beyond), last); \\
        SKB_SMALLEST(place, last); \\
        out->last = (int) place; \\
        last = beyond; \\
        for (int k = 0; k < N_VECTORS; k++) \\
            last = SKB_SMALLER(SKB_WHERE(bin[k] > place, bin[k], beyond), last); \\
        SKB_SMALLEST(place, last); \\
        out->next = (int) place; \\
    }
    #else
    #define SKB_PAIRS(NAME, WIDTH) \\
    static void NAME(const skb_few_rows* few, const uint8_t* column, \\
        ptrdiff_t stride, int offset, double tie, double best, skb_pair_split* out) \\
    { \\
        const int n = few->n; \\
        out->varies = 0; \\
        out->any_missing = 0; \\
        out->score = -INFINITY; \\
        out->last = 512; \\
        out->next = 512; \\
        for (int i = 0; i < n; i++) { \\
            const uint8_t bin = column[few->ids[i] * stride]; \\
            out->any_missing |= bin == 255; \\
            out->bins[i] = (uint8_t) (bin + offset); \\
            out->varies |= out->bins[i] != out->bins[0]; \\
        } \\
        if (!out->varies) \\
            return; \\
        for (int i = 0; i < n; i++) { \\
            double left_weight = 0.0, left = 0.0, right_weight, right; \\
            int is_last = 1; \\
            for (int j = 0; j < n; j++) { \\
                const int is_left = out->bins[j] <= out->bins[i]; \\
                left_weight += is_left ? few->weights[j] : 0.0; \\
                left += is_left ? few->sums[j] : 0.0; \\
                is_last &= is_left; \\
            } \\
            right_weight = few->weight - left_weight; \\
            right = few->total - left; \\
            out->scores[i] = is_last || out->bins[i] < offset ? -INFINITY \\
                : (left * left * right_weight + right * right * left_weight) \\
                / (left_weight * right_weight); \\
            out->score = out->scores[i] > out->score ? out->scores[i] : out->score; \\
        } \\
        for (int i = 0; i < n; i++) \\
            if (out->scores[i] >= out->score - tie * fabs(out->score) \\
                && out->bins[i] < out->last) \\
                out->last = (int) out->bins[i]; \\
        for (int i = 0; i < n; i++) \\
            if (out->bins[i] > out->last && out->bins[i] < out->next) \\
                out->next = (int) out->bins[i]; \\
    }
    #endif

    #define SKB_ALL_PAIRS(SET) \\
    SKB_PAIRS(skb_pairs_8_##SET, 8) \\
    SKB_PAIRS(skb_pairs_16_##SET, 16) \\
    SKB_PAIRS(skb_pairs_24_##SET, 24) \\
    SKB_PAIRS(skb_pairs_32_##SET, 32) \\
    static const skb_pairs skb_pairs_##SET[] = { \\
        skb_pairs_8_##SET, skb_pairs_16_##SET, skb_pairs_24_##SET, \\
        skb_pairs_32_##SET};

    typedef void (*skb_pairs)(const skb_few_rows*, const uint8_t*, ptrdiff_t, int,
        double, double, skb_pair_split*);

    SKB_ALL_PAIRS(any)
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \\
        __GNUC__ >= 12
    #define SKB_DISPATCH_PAIRS
    #pragma GCC push_options
    #pragma GCC target("arch=x86-64-v3")
    SKB_ALL_PAIRS(v3)
    #pragma GCC pop_options
    #pragma GCC push_options
    #pragma GCC target("arch=x86-64-v4")
    SKB_ALL_PAIRS(v4)
    #pragma GCC pop_options
    #endif

    static skb_pairs skb_pairs_for(int n)
    {
        const int size = (n + 7) / 8 - 1;
    #ifdef SKB_DISPATCH_PAIRS
        if (__builtin_cpu_supports("x86-64-v4"))
            return skb_pairs_v4[size];
        if (__builtin_cpu_supports("x86-64-v3"))
            return skb_pairs_v3[size];
    #endif
        return skb_pairs_any[size];
    }
    """
    # The rows of a small node, made up to a multiple of 8 by rows like the first
    # without any weight.
    ctypedef struct FewRows "skb_few_rows":
        uint32_t ids[32]
        double weights[32]
        double sums[32]         # weight times y
        int n
        double weight           # of all rows
        double total

    ctypedef struct PairSplit "skb_pair_split":
        bint varies             # whether the feature does; if not, no more is known
        bint any_missing        # whether some rows have the missing bin
        double score            # of the best split
        int last                # if that is better than `best`: its bin,
        int next                # and the next that has rows, both plus `offset`
        double bins[32]         # of each row, plus `offset`
        double scores[32]       # of the split after each row's bin

    ctypedef void (*Pairs "skb_pairs")(
        const FewRows* few,
        const uint8_t* column,  # bins of the feature, `stride` apart
        Py_ssize_t stride,
        int offset,             # 1: the missing bin becomes 0, the first of all
        double tie,             # relative difference of scores that are the same
        double best,            # score of the best split so far
        PairSplit* out,
    ) noexcept nogil

    # The kernel for so many rows, on the processor at hand.
    Pairs pairs_for "skb_pairs_for"(int n) noexcept nogil
