#ifndef C_FUTEX_H
#define C_FUTEX_H

#include <stddef.h>
#include <stdint.h>

/// Waiting on words that processes share (futex(2), futex_waitv of Linux 5.16), which Swift cannot call by itself.

/// The most words that one call waits on.
enum { HABITSTORE_FUTEX_MOST = 128 };

/// Wakes everybody, in all processes, who waits on a word of a file that is mapped.
void habitstore_futex_wake(const uint32_t *word);

/// Waits until one of some words of mapped files is woken, or has another value than is expected of it.
///
/// Returns 0 for any of that, ETIMEDOUT after so many nanoseconds, ENOSYS where the system knows nothing of it, EFAULT where a word
/// is not mapped any more.
int habitstore_futex_wait_any(const uint32_t *const *words, const uint32_t *expected, size_t count, int64_t nanoseconds);

#endif
