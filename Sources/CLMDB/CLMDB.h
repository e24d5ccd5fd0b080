// The system's LMDB (0.9.24 or later of the 0.9 series). Swift imports every macro that is used, so nothing of it is
// wrapped.
#ifndef HABITSTORE_CLMDB_H
#define HABITSTORE_CLMDB_H

#include <lmdb.h>

#if defined(__GLIBC__)
#include <malloc.h>

// Blocks of a MiB and more get a mapping of their own from now on, whatever was freed before.
static inline void clmdb_map_large_blocks(void) { mallopt(M_MMAP_THRESHOLD, 1 << 20); }
#else
static inline void clmdb_map_large_blocks(void) {}
#endif

#endif
