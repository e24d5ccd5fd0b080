// Tells ThreadSanitizer on Linux about the contended paths of Swift's `Mutex`.
//
// The compiler puts a Mutex's uncontended path into the code that uses it, and the sanitizer sees its atomics there. The contended path
// is a futex call inside libswiftSynchronization, which is not instrumented: without these functions, whatever a contended Mutex guards
// is reported as a race. They take the place of the library's, so they exist only in builds with `--sanitize=thread`.

#if defined(__linux__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

static SWIFT void (*library_lock)(uint32_t thread, SELF);
static SWIFT bool (*library_try_lock)(SELF);
static SWIFT void (*library_unlock)(SELF);

static void *library_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function) return function;
    fprintf(stderr, "ThreadSanitizer cannot see Mutex: this version of libswiftSynchronization has no %s\n", name);
    abort();
}

__attribute__((constructor)) static void find_library_functions(void) {
    library_lock = library_function(LOCK);
    library_try_lock = library_function(TRY_LOCK);
    library_unlock = library_function(UNLOCK);
}

SWIFT void habitstore_mutex_lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool habitstore_mutex_try_lock(SELF) __asm__(TRY_LOCK);
SWIFT void habitstore_mutex_unlock(SELF) __asm__(UNLOCK);

SWIFT void habitstore_mutex_lock(uint32_t thread, SELF) {
    library_lock(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool habitstore_mutex_try_lock(SELF) {
    bool isLocked = library_try_lock(mutex);
    if (isLocked) __tsan_acquire(mutex);
    return isLocked;
}

SWIFT void habitstore_mutex_unlock(SELF) {
    __tsan_release(mutex);
    library_unlock(mutex);
}

#endif
#endif
