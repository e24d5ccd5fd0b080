#define _GNU_SOURCE
#include "CFutex.h"

#include <errno.h>

#if defined(__linux__)

#include <linux/futex.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/// As in <linux/futex.h> since Linux 5.16.
struct waited_word {
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};

enum { of_32_bits = 2 };

void habitstore_futex_wake(const uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

int habitstore_futex_wait_any(const uint32_t *const *words, const uint32_t *expected, size_t count, int64_t nanoseconds) {
    struct waited_word waited[HABITSTORE_FUTEX_MOST];
    if (count > HABITSTORE_FUTEX_MOST) return EINVAL;
    for (size_t word = 0; word < count; word++) {
        waited[word] = (struct waited_word){expected[word], (uint64_t)(uintptr_t)words[word], of_32_bits, 0};
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec += nanoseconds % 1000000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    long woken = syscall(SYS_futex_waitv, waited, count, 0, &until, CLOCK_MONOTONIC);
    if (woken >= 0 || errno == EAGAIN || errno == EINTR) return 0;
    return errno;
}

#else

void habitstore_futex_wake(const uint32_t *word) { (void)word; }

int habitstore_futex_wait_any(const uint32_t *const *words, const uint32_t *expected, size_t count, int64_t nanoseconds) {
    (void)words, (void)expected, (void)count, (void)nanoseconds;
    return ENOSYS;
}

#endif
