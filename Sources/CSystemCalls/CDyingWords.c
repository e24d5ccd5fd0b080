#include "CFaultGuard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

// The signals of Swift's preconditions, overflows and fatal errors: ud2 on x86, brk on ARM, and the runtime's abort.
static const int numbers[] = {SIGILL, SIGTRAP, SIGABRT};
enum { count = sizeof numbers / sizeof *numbers };

static struct sigaction previous[count];
static int users;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// The handler reads what its thread has set, so these exist by then.
static _Thread_local const char *volatile words;
static _Thread_local volatile sig_atomic_t is_handling;

static void say(const char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(STDERR_FILENO, text, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text += written;
        left -= (size_t)written;
    }
}

static void handle(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (words) say(words);
    words = NULL;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    const struct sigaction *before = &standard;
    // A handler that was installed later and passes on to this one may have become the previous one, which would be an endless
    // loop.
    for (int i = 0; i < count && !is_handling; i++)
        if (numbers[i] == number) before = &previous[i];
    is_handling = 1;
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN) {
        // The signal is pending until this returns, and then has its usual effect.
        sigaction(number, &standard, NULL);
        raise(number);
    } else {
        before->sa_handler(number);
    }
    is_handling = 0;
    errno = error;
}

const char *habitstore_begin_dying_words(const char *text) {
    const char *outer = words;
    words = text;
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        for (int i = 0; i < count; i++) sigaction(numbers[i], &action, &previous[i]);
    }
    pthread_mutex_unlock(&lock);
    return outer;
}

void habitstore_end_dying_words(const char *outer) {
    words = outer;
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        for (int i = 0; i < count; i++) {
            struct sigaction current;
            // A handler that was installed meanwhile remains; it may still pass on to this one.
            if (sigaction(numbers[i], NULL, &current) == 0 && current.sa_flags & SA_SIGINFO
                && current.sa_sigaction == handle)
                sigaction(numbers[i], &previous[i], NULL);
        }
    }
    pthread_mutex_unlock(&lock);
}
