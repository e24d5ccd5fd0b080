// Counts this process's memory allocations.
#ifndef CYARDSTICK_ALLOCATIONS_H
#define CYARDSTICK_ALLOCATIONS_H

#include <stdint.h>

/// Whether allocations are counted: only with glibc, whose functions can be replaced.
int cy_counts_allocations(void);

/// The total number of the calling thread's calls of malloc, calloc, realloc and their aligned variants, which allocate Swift's objects, arrays,
/// strings
/// and boxes.
uint64_t cy_thread_allocations(void);

/// Starts or stops counting the allocations of all threads together. This costs each allocation an atomic addition, so it is on only while nothing is
/// timed.
void cy_count_all_allocations(int is_counting);

/// The number of allocations of all threads while they were counted.
uint64_t cy_all_allocations(void);

#endif
