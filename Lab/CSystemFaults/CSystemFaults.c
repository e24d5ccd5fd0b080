#define _GNU_SOURCE
#include "CSystemFaults.h"

#if defined(__linux__) && defined(__GLIBC__)

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static _Atomic(int64_t) clock_shift;
static atomic_bool clock_moves;
static _Atomic(const char *) faulty_prefix;
static atomic_int faulty_error;
static _Atomic(uint64_t) fault_count;

bool system_faults_are_supported(void) { return true; }

void system_faults_shift_clock(int64_t seconds) {
    atomic_store(&clock_moves, true);
    atomic_store(&clock_shift, seconds);
}

void system_faults_fail(const char *prefix, int error) {
    atomic_store(&faulty_error, 0);
    atomic_store(&faulty_prefix, prefix);
    atomic_store(&faulty_error, error);
}

uint64_t system_faults_count(void) { return atomic_load(&fault_count); }

/// The C library's own function. If a name has several versions, the one that current programs link to.
#define REAL(name) \
    static __typeof__(name) *_Atomic kept; \
    __typeof__(name) *real = atomic_load_explicit(&kept, memory_order_relaxed); \
    if (!real) { \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
        atomic_store_explicit(&kept, real, memory_order_relaxed); \
    }

// MARK: Files

/// The kinds of work that a call does.
enum { NEEDS_ROOM = 1, WRITES = 2, TOUCHES = 4 };

static bool is_faulty_name(const char *path) {
    const char *prefix = atomic_load(&faulty_prefix);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return prefix && strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_faulty_file(int file) {
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = 0;
    return is_faulty_name(path);
}

/// The configured error if it concerns such a call; otherwise 0.
static int wanted_error(int does) {
    int error = atomic_load(&faulty_error);
    switch (error) {
    case ENOSPC: return does & NEEDS_ROOM ? error : 0;
    case EROFS: return does & WRITES ? error : 0;
    default: return error;
    }
}

/// Whether the call must fail; if so, `errno` is set.
static bool fails(int file, int does) {
    if (atomic_load_explicit(&faulty_error, memory_order_relaxed) == 0) return false;
    int before = errno;
    int error = wanted_error(does);
    bool is_faulty = error && is_faulty_file(file);
    errno = is_faulty ? error : before;
    if (is_faulty) atomic_fetch_add(&fault_count, 1);
    return is_faulty;
}

static bool opening_fails(const char *path, int flags) {
    if (atomic_load_explicit(&faulty_error, memory_order_relaxed) == 0) return false;
    int before = errno;
    struct stat status;
    bool makes = (flags & O_CREAT) && stat(path, &status) != 0;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    int error = wanted_error(TOUCHES | (makes ? NEEDS_ROOM : 0) | (writes ? WRITES : 0));
    bool is_faulty = error && is_faulty_name(path);
    errno = is_faulty ? error : before;
    if (is_faulty) atomic_fetch_add(&fault_count, 1);
    return is_faulty;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list arguments; \
            va_start(arguments, flags); \
            mode = va_arg(arguments, mode_t); \
            va_end(arguments); \
        } \
        if (opening_fails(path, flags)) return -1; \
        REAL(name) \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

/// Wraps a function whose first parameter is the file.
#define ON_FILE(type, name, does, failed, parameters, arguments) \
    type name parameters { \
        if (fails(file, does)) return failed; \
        REAL(name) \
        return real arguments; \
    }
#define WRITING (NEEDS_ROOM | WRITES | TOUCHES)
ON_FILE(ssize_t, write, WRITING, -1, (int file, const void *bytes, size_t count), (file, bytes, count))
ON_FILE(ssize_t, writev, WRITING, -1, (int file, const struct iovec *parts, int count), (file, parts, count))
ON_FILE(ssize_t, pwrite, WRITING, -1, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
ON_FILE(ssize_t, pwrite64, WRITING, -1, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
ON_FILE(ssize_t, pread, TOUCHES, -1, (int file, void *bytes, size_t count, off_t at), (file, bytes, count, at))
ON_FILE(ssize_t, pread64, TOUCHES, -1, (int file, void *bytes, size_t count, off64_t at), (file, bytes, count, at))
ON_FILE(int, ftruncate, WRITES | TOUCHES, -1, (int file, off_t size), (file, size))
ON_FILE(int, ftruncate64, WRITES | TOUCHES, -1, (int file, off64_t size), (file, size))
ON_FILE(int, fsync, TOUCHES, -1, (int file), (file))
ON_FILE(int, fdatasync, TOUCHES, -1, (int file), (file))
ON_FILE(int, posix_fallocate, WRITING, errno, (int file, off_t at, off_t size), (file, at, size))

// MARK: The clock

static void shift(struct timespec *time) { time->tv_sec += atomic_load(&clock_shift); }

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime)
    int code = real(clock, time);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(time);
    return code;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(gettimeofday)
    int code = real(time, zone);
    if (code == 0) time->tv_sec += atomic_load(&clock_shift);
    return code;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

/// How long a wait until a time of day sleeps before it checks the clock again, in nanoseconds.
static const int64_t slice = 20 * 1000 * 1000;
/// Earlier times belong to another clock, which counts from the start of the machine.
static const time_t earliest = 1000 * 1000 * 1000;

/// The next check for a wait until a time of the shifted clock, as a time of the true clock.
///
/// - Returns: whether the time has come.
static bool next_look(const struct timespec *until, struct timespec *look) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t left = (int64_t)(until->tv_sec - now.tv_sec) * 1000000000 + (until->tv_nsec - now.tv_nsec);
    int64_t wait = left < 0 ? 0 : left < slice ? left : slice;
    int64_t nanoseconds = now.tv_nsec + wait;
    look->tv_sec = now.tv_sec - atomic_load(&clock_shift) + nanoseconds / 1000000000;
    look->tv_nsec = nanoseconds % 1000000000;
    return left <= 0;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static __typeof__(pthread_cond_timedwait) *_Atomic kept;
    __typeof__(pthread_cond_timedwait) *real = atomic_load(&kept);
    if (!real) {
        // The unversioned function is for programs from before 2002.
        real = (__typeof__(pthread_cond_timedwait) *)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
        if (!real) real = (__typeof__(pthread_cond_timedwait) *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
        atomic_store(&kept, real);
    }
    if (!atomic_load(&clock_moves) || until->tv_sec < earliest) return real(condition, mutex, until);
    struct timespec look;
    bool is_over = next_look(until, &look);
    int code = real(condition, mutex, &look);
    // A spurious wakeup: the caller checks its condition and waits again.
    return code == ETIMEDOUT && !is_over && !next_look(until, &look) ? 0 : code;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    REAL(sem_timedwait)
    if (!atomic_load(&clock_moves)) return real(semaphore, until);
    while (true) {
        struct timespec look;
        bool is_over = next_look(until, &look);
        int code = real(semaphore, &look);
        if (code == 0 || errno != ETIMEDOUT || is_over) return code;
    }
}

// MARK: Deaths

enum { most_frames = 64 };
/// The amount that malloc asks the system for if its heap cannot grow: without this much there is no memory left.
static const size_t heap_step = 1 << 20;

/// The heap may be full or damaged, and its lock held, so nothing here allocates.
static void tell_death(int number, siginfo_t *info, void *context) {
    (void)context;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(number, &standard, NULL);
    void *room = mmap(NULL, heap_step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_full = room == MAP_FAILED;
    if (!is_full) munmap(room, heap_step);
    char line[64];
    int length = snprintf(line, sizeof line, "died of signal %d%s at:\n", number, is_full ? " with no memory left" : "");
    ssize_t written = write(STDERR_FILENO, line, length);
    void *frames[most_frames];
    int count = backtrace(frames, most_frames);
    // The first frame is this function.
    if (written > 0 && count > 1) backtrace_symbols_fd(frames + 1, count - 1, STDERR_FILENO);
    // The fault happens again and ends the process as it would have without this handler. A signal that was sent is sent again.
    if (info->si_code <= 0) raise(number);
}

void system_faults_tell_deaths(void) {
    // The first call loads the library that it needs.
    void *frame;
    backtrace(&frame, 1);
    struct sigaction action = {.sa_sigaction = tell_death, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT};
    for (size_t each = 0; each < sizeof numbers / sizeof *numbers; each++) sigaction(numbers[each], &action, NULL);
}

#else

bool system_faults_are_supported(void) { return false; }
void system_faults_shift_clock(int64_t seconds) { (void)seconds; }
void system_faults_fail(const char *prefix, int error) { (void)prefix, (void)error; }
uint64_t system_faults_count(void) { return 0; }
void system_faults_tell_deaths(void) {}

#endif
