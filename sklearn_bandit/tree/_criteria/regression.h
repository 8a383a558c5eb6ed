/* Sums over the rows of a node. */

#ifndef SKLEARN_BANDIT_REGRESSION_H
#define SKLEARN_BANDIT_REGRESSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* Two rows at a time: they share a division, and need not wait for each other. */
static void skb_sum_moments(
    const double* moments, const uint32_t* ids, ptrdiff_t n, double* out)
{
    ptrdiff_t i = 0;
    double weight = 0.0, sum = 0.0, squares = 0.0;
#if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
    typedef double two __attribute__((vector_size(16)));
    two a, b, all = {0.0, 0.0}, others = {0.0, 0.0}, extra = {0.0, 0.0};
    for (; i + 1 < n; i += 2) {
        memcpy(&a, moments + 2 * (ptrdiff_t) ids[i], 16);
        memcpy(&b, moments + 2 * (ptrdiff_t) ids[i + 1], 16);
        const two w = __builtin_shufflevector(a, b, 0, 2);
        const two s = __builtin_shufflevector(a, b, 1, 3);
        all += a;
        others += b;
        extra += s * s / w;
    }
    all += others;
    weight = all[0];
    sum = all[1];
    squares = extra[0] + extra[1];
#endif
    for (; i < n; i++) {
        const double* moment = moments + 2 * (ptrdiff_t) ids[i];
        weight += moment[0];
        sum += moment[1];
        squares += moment[1] * moment[1] / moment[0];
    }
    out[0] = weight;
    out[1] = sum;
    out[2] = squares;
}

#endif
