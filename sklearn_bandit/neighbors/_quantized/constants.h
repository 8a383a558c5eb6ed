/* Constants of the search in bytes that kernels in C and in Cython share. */

#ifndef SKLEARN_BANDIT_QUANTIZED_CONSTANTS_H
#define SKLEARN_BANDIT_QUANTIZED_CONSTANTS_H

#define SKB_BLOCK 64        /* rows of a block */
#define SKB_GROUP 6         /* queries of a group: 24 of 32 registers hold their sums */
#define SKB_BYTE_OFFSET 128
#define SKB_HIGH_STEP 128   /* what one step of the high byte is worth */

/* Rounding of single precision, sixteen times: more than the operations of a bound. */
#define SKB_ROUNDINGS 0x1p-20
/* In units: single precision cannot hold the bounds of larger rows or queries. */
#define SKB_MOST 1e12
/* Larger squares may overflow when they are summed. */
#define SKB_MOST_SQUARES 1e290
/* Smaller squares are computed again, of values times a large power of two. */
#define SKB_LEAST_SQUARES 1e-250
#define SKB_LARGE 0x1p600
/* Least factor of residuals in a bound: times 0, infinite ones would not be numbers. */
#define SKB_LEAST_FACTOR 1e-10

/* A value times that power. Sums may be reordered, and its square, which overflows, be
   taken out of them: the product is therefore made before anything is done with it. */
static inline double skb_enlarge(double value)
{
    volatile double enlarged = value * SKB_LARGE;
    return enlarged;
}

#endif
