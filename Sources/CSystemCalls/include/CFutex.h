#ifndef C_FUTEX_H
#define C_FUTEX_H

#include <stddef.h>
#include <stdint.h>

/// Waiting on words that processes share (futex(2), futex_waitv of Linux 5.16), which Swift cannot call directly.

/// The maximum number of words that one call waits on.
enum { HABITSTORE_FUTEX_MOST = 128 };

/// Wakes all waiters, in all processes, on a word of a mapped file.
void habitstore_futex_wake(const uint32_t *word);

/// Waits until one of several words of mapped files is woken or differs from its expected value.
///
/// Returns 0 in these cases, ETIMEDOUT after the given number of nanoseconds, ENOSYS if the system does not support it, EFAULT if a
/// word is no longer mapped.
int habitstore_futex_wait_any(const uint32_t *const *words, const uint32_t *expected, size_t count, int64_t nanoseconds);

#endif
