/* Whether memory is there, without taking it. */

#ifndef SKLEARN_BANDIT_ALLOCATION_H
#define SKLEARN_BANDIT_ALLOCATION_H

#include <stdlib.h>

static int skb_can_allocate(size_t size)
{
    /* Volatile: a compiler may leave out memory that is only compared and freed. */
    void* volatile block = malloc(size);
    int there = block != NULL;

    free(block);
    return there;
}

#endif
