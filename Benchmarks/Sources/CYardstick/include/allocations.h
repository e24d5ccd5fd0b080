// How often this process asks for memory.
#ifndef CYARDSTICK_ALLOCATIONS_H
#define CYARDSTICK_ALLOCATIONS_H

#include <stdint.h>

/// Whether allocations are counted: with glibc, whose functions can be replaced.
int cy_counts_allocations(void);

/// How often the calling thread has called malloc, calloc, realloc and their aligned kin, ever. Swift's objects, arrays,
/// strings and boxes come from there.
uint64_t cy_thread_allocations(void);

/// Begins or ends counting what all threads do together. It costs each allocation an atomic addition, and so is on only where
/// nothing is timed.
void cy_count_all_allocations(int is_counting);

/// How often all threads have called them while that was counted.
uint64_t cy_all_allocations(void);

#endif
