#include "CFaultGuard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// The pages, in a list that only grows, so that the handler can walk it without a lock. A slot without a page is free.
struct slot {
    _Atomic(uintptr_t) page;
    struct slot *next;
};

static _Atomic(struct slot *) slots;
static struct sigaction previous;
static uintptr_t page_size;
static int failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int is_guarded(uintptr_t page) {
    for (struct slot *slot = atomic_load(&slots); slot; slot = slot->next)
        if (atomic_load(&slot->page) == page) return 1;
    return 0;
}

// Whether a process sent the signal, rather than a memory access causing it: Linux numbers those from 0 down, Darwin has positive
// constants.
static int was_sent(const siginfo_t *info) {
    return info->si_code <= 0 || info->si_code == SI_USER || info->si_code == SI_QUEUE;
}

static void pass_on(int number, siginfo_t *info, void *context) {
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
        // The access is repeated, and ends the process as it would have without this handler. A signal that was sent is sent again.
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(number, &standard, NULL);
        if (was_sent(info)) raise(number);
    } else {
        previous.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *context) {
    int error = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(page_size - 1);
    // POSIX does not list mmap as safe in a handler, but it is a single system call on all platforms of this code.
    if (was_sent(info) || !is_guarded(page)
        || mmap((void *)page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
            == MAP_FAILED)
        pass_on(number, info, context);
    errno = error;
}

static void install(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &previous) != 0) failure = errno;
}

int habitstore_guard_page(void *page) {
    int code = pthread_once(&once, install);
    if (code || failure) return code ? code : failure;
    for (struct slot *slot = atomic_load(&slots); slot; slot = slot->next) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&slot->page, &none, (uintptr_t)page)) return 0;
    }
    struct slot *slot = malloc(sizeof *slot);
    if (!slot) return ENOMEM;
    atomic_init(&slot->page, (uintptr_t)page);
    slot->next = atomic_load(&slots);
    while (!atomic_compare_exchange_weak(&slots, &slot->next, slot)) {}
    return 0;
}

void habitstore_unguard_page(void *page) {
    for (struct slot *slot = atomic_load(&slots); slot; slot = slot->next) {
        uintptr_t guarded = (uintptr_t)page;
        if (atomic_compare_exchange_strong(&slot->page, &guarded, 0)) return;
    }
}
