// How often this process asks for memory.
#ifndef CYARDSTICK_ALLOCATIONS_H
#define CYARDSTICK_ALLOCATIONS_H

#include <stdint.h>

/// Whether allocations are counted: with glibc, whose functions can be replaced.
int cy_counts_allocations(void);

/// How often the calling thread has called malloc, calloc, realloc and their aligned kin, ever. Swift's objects, arrays,
/// strings and boxes come from there.
uint64_t cy_thread_allocations(void);

#endif
