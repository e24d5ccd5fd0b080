// Counts allocations by replacing glibc's functions, which still do the work. Functions omitted here, such as strdup and reallocarray, call these.
// Each
// call costs one addition to a thread-local variable, and a check whether all threads are counted.
#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__GLIBC__)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread uint64_t allocations;
static atomic_int counts_all;
static atomic_uint_fast64_t all_allocations;

static inline void note(void) {
    allocations++;
    if (atomic_load_explicit(&counts_all, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&all_allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    note();
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}

int cy_counts_allocations(void) { return 1; }

uint64_t cy_thread_allocations(void) { return allocations; }

void cy_count_all_allocations(int is_counting) { atomic_store(&counts_all, is_counting); }

uint64_t cy_all_allocations(void) { return atomic_load(&all_allocations); }

#else

int cy_counts_allocations(void) { return 0; }

uint64_t cy_thread_allocations(void) { return 0; }

void cy_count_all_allocations(int is_counting) { (void)is_counting; }

uint64_t cy_all_allocations(void) { return 0; }

#endif
